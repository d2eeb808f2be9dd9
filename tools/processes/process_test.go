package processes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

var must = testkit.NoError

// programs are what a process of a test can run, by name. Each gets its settings, in JSON.
var programs = map[string]func(settings []byte) error{
	"mover": runMover, "relocator": runRelocator, "uploader": runUploader, "log writer": runLogWriter, "released": runReleased, "lease holder": runLeaseHolder, "visit sweeper": runVisitSweeper,
	"teller": runTeller,
}

// The environment variables that make a process of a test run a program.
const (
	programEnv  = "AZTABLEKIT_PROGRAM"
	settingsEnv = "AZTABLEKIT_SETTINGS"
)

// service is what all processes write to: the emulator, and with -short the service in memory. TestMain opens it.
var service connection

func TestMain(m *testing.M) {
	flag.Parse()
	if run := programs[os.Getenv(programEnv)]; run != nil {
		exit(run([]byte(os.Getenv(settingsEnv))))
	}
	if testing.Short() {
		text, err := storagetest.New(nil).Listen()
		if err != nil {
			exit(err)
		}
		service = connection{Connection: text}
		os.Exit(m.Run())
	}
	s, err := azurite.Open(context.Background())
	if err != nil {
		exit(err)
	}
	service = connection{Connection: s.ConnectionString, ASCII: true}
	code := m.Run()
	s.Stop()
	os.Exit(code)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// connection is how a process reaches the service. It is part of the settings of each program.
type connection struct {
	Connection string
	ASCII      bool // of the emulator: see azurite.ASCII
}

// open returns the account, with a policy in front of each request if there is one.
func (c connection) open(more ...policy.Policy) (*account.Account, error) {
	o := &account.Options{}
	if c.ASCII {
		o.Client.PerCallPolicies = append(o.Client.PerCallPolicies, azurite.ASCII{})
	}
	o.Client.PerRetryPolicies = more
	return account.FromConnectionString(c.Connection, o)
}

var serial atomic.Int64

// freshName returns a name for tables, queues and containers that no other test uses.
func freshName() string { return fmt.Sprintf("t%d%x", serial.Add(1), time.Now().UnixNano()) }

// process is a running program.
type process struct {
	lines *bufio.Scanner // what it prints

	cmd    *exec.Cmd
	input  io.Closer
	stderr strings.Builder
	killed atomic.Bool
}

// start starts a program, with more environment variables.
func start(program string, settings any, env ...string) (*process, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, "-test.run=^$")}
	p.cmd.Env = append(append(os.Environ(), programEnv+"="+program, settingsEnv+"="+string(text)), env...)
	p.cmd.Stderr = &p.stderr
	p.input, err = p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(out)
	return p, p.cmd.Start()
}

// kill ends the process as a crash does.
func (p *process) kill() {
	p.killed.Store(true)
	p.cmd.Process.Signal(syscall.SIGKILL)
}

// end closes the input of the process. See inputContext.
func (p *process) end() { p.input.Close() }

// wait waits for the end of the process, whose lines are read. It returns an error unless the process was killed, or ended without one.
func (p *process) wait() error {
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if p.killed.Load() && errors.As(err, &exit) && !exit.Exited() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, p.stderr.String())
	}
	return nil
}

// inputContext returns a context that ends with the input of this process, which it does even if the test is killed.
func inputContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx
}
