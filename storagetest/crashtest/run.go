package crashtest

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit/storagetest"
)

// run is one run of a workload.
type run struct {
	opt     Options
	service *storagetest.Service
	w       Workload

	first int // the number of the last request of Setup

	turn sync.Mutex // of the request that is on its way to the account
	now  *sending   // that request

	mu    sync.Mutex
	owner map[int]string // which process has sent a request, by its number
	wrong error          // what Always has found
}

// sending is a request on its way to the account.
type sending struct {
	process string
	fault   storagetest.Fault
}

func newRun(build func() Workload, opt Options) *run {
	r := &run{opt: opt, w: build(), owner: map[int]string{}}
	r.service = storagetest.New(&opt.Service)
	return r
}

// process makes a process that lives as long as ctx.
func (r *run) process(ctx context.Context, name string, gate gate) (context.Context, *Process, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Timeout)
	ctx, kill := context.WithCancelCause(ctx)
	return ctx, &Process{name: name, run: r, gate: gate, kill: kill}, func() { kill(nil); cancel() }
}

// calm runs a function in a process to which nothing happens.
func (r *run) calm(name string, f func(context.Context, *Process) error) error {
	if f == nil {
		return nil
	}
	r.service.SetFaults(nil)
	ctx, p, end := r.process(context.Background(), name, nil)
	defer end()
	if _, err := guarded(ctx, p, f); err != nil {
		return fmt.Errorf("%s: %w", strings.ToLower(name), err)
	}
	return nil
}

// guarded calls f. A panic is an error that is told from those that f returns, for nothing that happens to a process is a
// reason for one.
func guarded(ctx context.Context, p *Process, f func(context.Context, *Process) error) (panicked bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			panicked, err = true, fmt.Errorf("%s panicked: %v\n%s", p.name, r, debug.Stack())
		}
	}()
	return false, f(ctx, p)
}

// setup prepares the account.
func (r *run) setup() error {
	if err := r.calm("Setup", r.w.Setup); err != nil {
		return err
	}
	if all := r.service.Requests(); len(all) > 0 {
		r.first = all[len(all)-1].Number
	}
	r.service.SetFaults(func(q storagetest.Request) storagetest.Fault {
		r.mu.Lock()
		now := r.now
		r.owner[q.Number] = now.process
		r.mu.Unlock()
		r.arrived()
		return now.fault
	})
	return nil
}

// send lets a request of a process go next, alone until it has arrived; sent ends that for one that does not.
func (r *run) send(p *Process, decide func() (storagetest.Fault, bool)) (dies bool, sent func()) {
	r.turn.Lock()
	mine := &sending{process: p.name}
	mine.fault, dies = decide()
	r.mu.Lock()
	r.now = mine
	r.mu.Unlock()
	if dies = dies && !p.isDead(); dies {
		p.die()
	}
	return dies, func() {
		r.mu.Lock()
		waits := r.now == mine
		r.mu.Unlock()
		if waits {
			r.arrived()
		}
	}
}

// arrived lets the next request go.
func (r *run) arrived() {
	r.mu.Lock()
	r.now = nil
	r.mu.Unlock()
	r.turn.Unlock()
}

// look checks what must always be true.
func (r *run) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w.Always == nil || r.wrong != nil {
		return
	}
	if err := r.w.Always(r.service); err != nil {
		all := r.service.Requests()
		r.wrong = fmt.Errorf("after request %d: %w", all[len(all)-1].Number, err)
	}
}

// settle brings the account to rest and checks it.
func (r *run) settle() error {
	if err := r.calm("Drain", r.w.Drain); err != nil {
		return err
	}
	if late := r.service.Deliver(); late != nil {
		r.look()
		if err := r.calm("Drain", r.w.Drain); err != nil {
			return fmt.Errorf("after the last late request: %w", err)
		}
	}
	r.look()
	if r.wrong != nil {
		return r.wrong
	}
	return r.w.Check(r.service)
}

// trace lists the requests since Setup, each with the process that has sent it.
func (r *run) trace() []string {
	var lines []string
	for _, q := range r.service.Requests() {
		if q.Number <= r.first {
			continue
		}
		name := r.owner[q.Number]
		if name == "" {
			name = "drain"
		}
		lines = append(lines, name+": "+q.String())
	}
	return lines
}

// sent counts the requests of processes under test.
func (r *run) sent() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.owner)
}

// bubble runs f where time is not that of the world.
func bubble(t *testing.T, f func()) {
	synctest.Test(t, func(*testing.T) { f() })
}

// Violation is a run after which something was not true.
type Violation struct {
	Err     error
	Mishaps []string // what went wrong, in words
	Seed    uint64   // of a schedule
	Trace   []string // the requests, late ones where they were sent
}

func (v Violation) String() string {
	s := v.Err.Error()
	if v.Seed != 0 {
		s += fmt.Sprintf("\n  seed %d", v.Seed)
	}
	for _, m := range v.Mishaps {
		s += "\n  " + m
	}
	return s + "\n    " + strings.Join(v.Trace, "\n    ")
}

// Report is what a test has found.
type Report struct {
	Requests   int // of the run without faults
	Runs       int // in all
	Distinct   int // schedules that differ from all others
	Violations []Violation
}

// Require fails the test unless there were runs and no violations. It prints the first three.
func (r *Report) Require(t testing.TB) {
	t.Helper()
	if r.Runs == 0 {
		t.Error("nothing was run")
	}
	for i, v := range r.Violations {
		if i == 3 {
			break
		}
		t.Errorf("violation %d of %d, in %d runs: %v", i+1, len(r.Violations), r.Runs, v)
	}
}

// String is a summary in a line.
func (r *Report) String() string {
	s := fmt.Sprintf("%d runs", r.Runs)
	if r.Requests > 0 {
		s = fmt.Sprintf("%d requests, %s", r.Requests, s)
	}
	if r.Distinct > 0 {
		s += fmt.Sprintf(", %d distinct schedules", r.Distinct)
	}
	return s + fmt.Sprintf(", %d violations", len(r.Violations))
}

// sorted orders violations of parallel runs.
func (r *Report) sorted() *Report {
	slices.SortFunc(r.Violations, func(a, b Violation) int {
		switch {
		case a.Seed < b.Seed:
			return -1
		case a.Seed > b.Seed:
			return 1
		}
		return strings.Compare(strings.Join(a.Mishaps, ""), strings.Join(b.Mishaps, ""))
	})
	return r
}
