package azurite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The account of every emulator, with its published key.
const (
	account = "devstoreaccount1"
	key     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

const (
	startTimeout = time.Minute
	stopTimeout  = 5 * time.Second
)

// Server is a running emulator.
type Server struct {
	ConnectionString string

	cmd    *exec.Cmd
	stdin  io.Closer
	exited chan struct{}
}

// Open returns the emulator that Env names, or starts one.
func Open(ctx context.Context) (*Server, error) {
	if cs := os.Getenv(Env); cs != "" {
		return &Server{ConnectionString: cs}, nil
	}
	return Start(ctx)
}

// Start starts an emulator on free loopback ports and waits until its three services listen. The
// caller must call Stop.
func Start(ctx context.Context) (*Server, error) {
	cmd, rewrite, err := command(ctx)
	if err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, stdin: stdin, exited: make(chan struct{})}
	endpoints := make(chan map[string]string, 1)
	go func() {
		collectEndpoints(stdout, endpoints)
		cmd.Wait()
		close(s.exited)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case at := <-endpoints:
		s.ConnectionString = connectionString(at, rewrite)
		return s, nil
	case <-s.exited:
		return nil, fmt.Errorf("azurite ended before its services listened:\n%s", bytes.TrimSpace(stderr.Bytes()))
	case <-ctx.Done():
		s.Stop()
		return nil, fmt.Errorf("azurite did not listen in time: %w", ctx.Err())
	}
}

// command returns the command that runs Azurite from npm, or in Docker if there is no npm, and a
// function that returns the address of an endpoint that Azurite prints.
func command(ctx context.Context) (*exec.Cmd, func(string) string, error) {
	if node, err := exec.LookPath("node"); err == nil {
		dir, err := Install(ctx)
		if err == nil {
			args := append([]string{"-e", wrapper, "--"}, Flags...)
			cmd := exec.Command(node, append(args, "--blobPort", "0", "--queuePort", "0", "--tablePort", "0")...)
			cmd.Env = append(os.Environ(), "AZURITE_MAIN="+filepath.Join(dir, "node_modules", "azurite", "dist", "src", "azurite.js"))
			cmd.Dir = dir
			return cmd, func(s string) string { return s }, nil
		}
		if !errors.Is(err, ErrNoRuntime) {
			return nil, nil, err
		}
	}
	return dockerCommand()
}

var listening = regexp.MustCompile(`^Azurite (Blob|Queue|Table) service is successfully listening at (http://\S+)`)

// collectEndpoints sends the three endpoints that Azurite prints, and then discards the output
// until the process ends.
func collectEndpoints(stdout io.Reader, endpoints chan<- map[string]string) {
	at := map[string]string{}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			if at[m[1]] = m[2]; len(at) == 3 {
				endpoints <- at
			}
		}
	}
	io.Copy(io.Discard, stdout)
}

func connectionString(at map[string]string, rewrite func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "DefaultEndpointsProtocol=http;AccountName=%s;AccountKey=%s;", account, key)
	for _, service := range []string{"Blob", "Queue", "Table"} {
		fmt.Fprintf(&b, "%sEndpoint=%s/%s;", service, rewrite(at[service]), account)
	}
	return b.String()
}

// PID returns the process ID of an emulator that Start started, 0 for any other.
func (s *Server) PID() int {
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Stop ends an emulator that Start started. It does nothing for any other emulator.
func (s *Server) Stop() {
	if s == nil || s.cmd == nil {
		return
	}
	s.stdin.Close()
	select {
	case <-s.exited:
	case <-time.After(stopTimeout):
		s.cmd.Process.Kill()
		<-s.exited
	}
}
