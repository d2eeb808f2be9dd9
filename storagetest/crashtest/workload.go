package crashtest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// Workload is what is tested. A function that returns one makes it anew for every run, with whatever its functions share, such
// as what each process was told.
type Workload struct {
	// Setup fills the account before anything can fail. May be nil.
	Setup func(ctx context.Context, p *Process) error

	// Processes are what may fail, die, and run at once. What they return is ignored but in the run without faults, where an
	// error is a violation: what a process was told is for the workload to remember, and for Check to judge. A panic is a
	// violation always.
	Processes []func(ctx context.Context, p *Process) error

	// Drain is what comes after: workers and sweepers, until nothing is left to do. It runs without faults, in a process of
	// its own, and once more after all late requests have arrived. An error is a violation. May be nil.
	Drain func(ctx context.Context, p *Process) error

	// Always must be true after every request. May be nil.
	Always func(s *storagetest.Service) error

	// Check must be true in the end.
	Check func(s *storagetest.Service) error
}

// Process is a program that uses the account: the Transport of its clients. It is safe for concurrent use.
type Process struct {
	name string
	run  *run
	gate gate // nil for a process to which nothing happens
	kill context.CancelCauseFunc

	mu   sync.Mutex
	dead bool
}

// gate is asked about each request of a process under test. It may take its time, and returns what then decides.
type gate func(storagetest.Request) func() (f storagetest.Fault, dies bool)

// ErrDead is the error of every request of a process that has died.
var ErrDead = errors.New("crashtest: the process is dead")

// ConnectionString is that of the account.
func (p *Process) ConnectionString() string { return p.run.service.ConnectionString() }

// Service is the account.
func (p *Process) Service() *storagetest.Service { return p.run.service }

// Do sends a request, if the process lives: Process is a policy.Transporter.
func (p *Process) Do(r *http.Request) (*http.Response, error) {
	if p.isDead() {
		return nil, ErrDead
	}
	if p.gate == nil {
		resp, err := p.run.service.Do(r)
		p.run.look()
		return resp, err
	}
	q, r, err := p.run.service.Describe(r)
	if err != nil {
		return nil, err
	}
	decide := p.gate(q)
	dies, sent := p.run.send(p, decide)
	if dies {
		// The request goes its way without the process.
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	if p.isDead() && !dies {
		sent()
		return nil, ErrDead
	}
	resp, err := p.run.service.Do(r)
	sent()
	p.run.look()
	if dies {
		return nil, ErrDead
	}
	return resp, err
}

func (p *Process) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.kill(ErrDead)
}

func (p *Process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// Options of a test. The zero value is ready for use.
type Options struct {
	// Service are the options of the account.
	Service storagetest.Options

	// Faults are what can happen to a request. Defaults to Faults.
	Faults func(storagetest.Request) []storagetest.Fault

	// Timeout bounds each process, Setup and Drain, on the account's clock. Defaults to 10 minutes.
	Timeout time.Duration

	// Pairs is how many requests a workload may have for Enumerate to try two faults in a run. Defaults to 8; below 0 it
	// never does.
	Pairs int

	// Runs is how many schedules are run. Defaults to 2,000.
	Runs int

	// Seed is that of the first schedule; the next have the numbers that follow. Defaults to 1.
	Seed uint64

	// Mishaps is how often a schedule lets something go wrong with a request, and how often with that the process dies.
	// Default to 0.1 and 0.3; below 0 never.
	Mishaps, Deaths float64
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Faults == nil {
		out.Faults = Faults
	}
	if out.Timeout == 0 {
		out.Timeout = 10 * time.Minute
	}
	if out.Pairs == 0 {
		out.Pairs = 8
	}
	if out.Runs == 0 {
		out.Runs = 2000
	}
	if out.Seed == 0 {
		out.Seed = 1
	}
	if out.Mishaps == 0 {
		out.Mishaps = 0.1
	}
	if out.Deaths == 0 {
		out.Deaths = 0.3
	}
	return out
}

// Faults is every fault that a request can have.
func Faults(r storagetest.Request) []storagetest.Fault {
	all := []storagetest.Fault{
		storagetest.NotSent(), storagetest.LostRequest(), storagetest.LostReply(), storagetest.Hang(), storagetest.Slow(time.Minute), storagetest.Cut(0),
		storagetest.Refuse(503, "ServerBusy"), storagetest.Refuse(500, "OperationTimedOut"), storagetest.Refuse(408, "RequestTimeout"),
	}
	switch r.Kind {
	case "get", "table-query":
		return append(all, storagetest.Cut(40))
	case "query":
		return append(all, storagetest.Cut(40), storagetest.Short(0), storagetest.Short(1))
	}
	all = append(all, deadly()...)
	all = append(all, storagetest.HangAfter(), storagetest.Twice(), storagetest.Again(0), storagetest.Again(1), storagetest.Again(2),
		storagetest.RefuseAfter(503, "ServerBusy"), storagetest.RefuseAfter(500, "OperationTimedOut"), storagetest.RefuseAfter(408, "RequestTimeout"))
	if r.Kind == "transaction" {
		all = append(all, storagetest.RefuseInside(409, "EntityAlreadyExists"), storagetest.RefuseInside(412, "UpdateConditionNotSatisfied"), storagetest.RefuseInside(503, "ServerBusy"),
			storagetest.Cut(-1), storagetest.Cut(300), storagetest.CutClean(0), storagetest.CutClean(300), storagetest.CutClean(-3))
	}
	return all
}

// deadly are the faults besides LostRequest and LostReply that a request of a process that dies can have: to the process all
// others are the same.
func deadly() []storagetest.Fault {
	return []storagetest.Fault{storagetest.Late(0), storagetest.Late(1), storagetest.Late(2), storagetest.Late(4)}
}
