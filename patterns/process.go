package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Environment variables by which a process of the catalogue tells another what to do.
const (
	otherEnv      = "AZTABLEKIT_PATTERNS_OTHER"
	connectionEnv = "AZTABLEKIT_PATTERNS_CONNECTION"
)

// Other runs the recipe's second half in another process, which has nothing of this one but the account and the words that
// it is given. What it finds become answers of the step.
func (r *Run) Other(ctx context.Context, words ...string) error {
	cmd, err := r.half(ctx, words)
	if err != nil {
		return err
	}
	out, err := cmd.Output()
	if err != nil {
		var ee *exec.ExitError
		if errors.As(err, &ee) {
			err = fmt.Errorf("the other process: %w: %s", err, ee.Stderr)
		}
		return err
	}
	for line := range strings.Lines(string(out)) {
		r.Answer("%s", strings.TrimSuffix(line, "\n"))
	}
	return nil
}

// Killed is Other for a process that must not survive what it does.
func (r *Run) Killed(ctx context.Context, words ...string) error {
	cmd, err := r.half(ctx, words)
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	var ee *exec.ExitError
	if !errors.As(err, &ee) || ee.Exited() || ctx.Err() != nil {
		return fmt.Errorf("the other process was not killed: %v: %s", err, out)
	}
	r.Answer("%v; its requests are its own and not counted here", err)
	return nil
}

// half is another process of this program.
func (r *Run) half(ctx context.Context, words []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(append([]string{r.service.name, r.report.Name}, words...))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), otherEnv+"="+string(text), connectionEnv+"="+r.service.connection)
	cmd.WaitDelay = 10 * time.Second
	return cmd, nil
}

// other is what a process does that was started by Other. It tells whether this process was.
func other(ctx context.Context) (was bool, err error) {
	text := os.Getenv(otherEnv)
	if text == "" {
		return false, nil
	}
	var words []string
	if err := json.Unmarshal([]byte(text), &words); err != nil || len(words) < 2 {
		return true, fmt.Errorf("%s cannot be read: %v", otherEnv, err)
	}
	rec, ok := find(words[1])
	if !ok || rec.other == nil {
		return true, fmt.Errorf("%s has no second half", words[1])
	}
	s, err := connect(words[0], os.Getenv(connectionEnv))
	if err != nil {
		return true, err
	}
	r := &Run{service: s, report: rec.head()}
	err = r.Do("there", func() error { return rec.other(ctx, r, words[2:]) })
	for _, step := range r.report.Steps {
		for _, a := range step.Answers {
			fmt.Println(a)
		}
		fmt.Printf("requests there: %v\n", step.Requests)
	}
	return true, err
}
