package recipe

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Environment variables that name what a child process of the catalogue runs.
const (
	childEnv      = "AZTABLEKIT_PATTERNS_CHILD"
	connectionEnv = "AZTABLEKIT_PATTERNS_CONNECTION"
)

// RunChild runs the child part of the recipe in another process, which gets only the account and
// these words. The answers of the child become answers of the step.
func (r *Run) RunChild(ctx context.Context, words ...string) error {
	cmd, err := r.childCommand(ctx, words)
	if err != nil {
		return err
	}
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("child process: %w: %s", err, exit.Stderr)
		}
		return err
	}
	for line := range strings.Lines(string(out)) {
		r.Answer("%s", strings.TrimSuffix(line, "\n"))
	}
	return nil
}

// RunKilledChild is RunChild for a child that kills itself. A child that survives is an error.
func (r *Run) RunKilledChild(ctx context.Context, words ...string) error {
	cmd, err := r.childCommand(ctx, words)
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Exited() || ctx.Err() != nil {
		return fmt.Errorf("child process: got %v, want a killed process: %s", err, out)
	}
	r.Answer("%v; the requests of that process are not counted here", err)
	return nil
}

// Child is a child process that runs.
type Child struct {
	cmd   *exec.Cmd
	lines chan string // its answers; closed when it has ended
	errs  bytes.Buffer
}

// StartChild is RunChild for a child that runs until Stop.
func (r *Run) StartChild(ctx context.Context, words ...string) (*Child, error) {
	cmd, err := r.childCommand(ctx, words)
	if err != nil {
		return nil, err
	}
	c := &Child{cmd: cmd, lines: make(chan string)}
	cmd.Stderr = &c.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // until the process ends: Stop takes what is left
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	return c, nil
}

// Next returns the next answer of the child.
func (c *Child) Next() (string, error) {
	line, more := <-c.lines
	if !more {
		return "", fmt.Errorf("child process: got no answer: %w", cmp.Or(c.Stop(), io.ErrUnexpectedEOF))
	}
	return line, nil
}

// Answers returns the channel of the child's answers, which is closed when it has ended.
func (c *Child) Answers() <-chan string { return c.lines }

// Pause stops the child as a machine that hangs does (SIGSTOP), until Resume.
func (c *Child) Pause() error { return c.cmd.Process.Signal(sigStop) }

// Resume lets a child go on that Pause has stopped (SIGCONT).
func (c *Child) Resume() error { return c.cmd.Process.Signal(sigCont) }

// Stop asks the child to end, as a platform does before it starts a new release, and waits for it.
// A child that fails is an error.
func (c *Child) Stop() error {
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return errors.Join(err, c.cmd.Process.Kill(), c.cmd.Wait()) // as on Windows, which has no signals
	}
	return c.End()
}

// End waits for the end of a process that ends by itself.
func (c *Child) End() error {
	for range c.lines { // the rest
	}
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("child process: %w: %s", err, c.errs.String())
	}
	return nil
}

func (r *Run) childCommand(ctx context.Context, words []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(append([]string{r.service.Name, r.report.Name}, words...))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childEnv+"="+string(text), connectionEnv+"="+r.service.Connection)
	cmd.WaitDelay = 10 * time.Second
	return cmd, nil
}

// RunAsChild does the work of a process that RunChild has started, and reports whether this process
// is one. connect returns the service of a name and a connection string.
func (all Recipes) RunAsChild(ctx context.Context, connect func(name, connection string) (*Service, error)) (child bool, err error) {
	text := os.Getenv(childEnv)
	if text == "" {
		return false, nil
	}
	var words []string
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		return true, fmt.Errorf("environment variable %s: %w", childEnv, err)
	}
	if len(words) < 2 {
		return true, fmt.Errorf("environment variable %s is %s; want a JSON array of service, recipe and arguments", childEnv, text)
	}
	rec, err := all.Find(words[1])
	if err != nil || rec.Child == nil {
		return true, fmt.Errorf("environment variable %s: recipe %q has no part for a child process", childEnv, words[1])
	}
	s, err := connect(words[0], os.Getenv(connectionEnv))
	if err != nil {
		return true, err
	}
	r := &Run{service: s, report: rec.Head(), answers: os.Stdout}
	err = r.Do("child process", func() error { return rec.Child(ctx, r, words[2:]) })
	fmt.Printf("requests of the other process: %v\n", r.report.Steps[0].Requests)
	return true, err
}
