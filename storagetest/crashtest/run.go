package crashtest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing/synctest"

	"github.com/aztablekit/aztablekit/storagetest"
)

// run is one run of a workload. When each process waits for a held request, sleeps or has ended, the run releases one request. The
// order of the releases and the faults thus determine the run.
type run struct {
	*network
	workload Workload
	options  Options
	seed     uint64
	started  uint64 // the number of processes so far, each with its own random numbers
}

// chooser chooses what happens next: it releases one of the held requests, or lets time pass.
type chooser func(held []*heldRequest)

// newRun starts a run.
func newRun(build func() Workload, o Options, seed uint64) *run {
	if o.Service.ShuffleSeed != 0 {
		o.Service.ShuffleSeed += seed
	}
	w := build()
	return &run{network: newNetwork(o.Service, w.Invariant), workload: w, options: o, seed: seed}
}

// inOrder chooses the first request, without a fault.
func (r *run) inOrder(held []*heldRequest) { r.release(held[0], storagetest.Fault{}, false) }

// result is the result of a process.
type result struct {
	name     string
	panicked bool
	err      error
}

// runProcesses runs processes at the same time until all have ended.
func (r *run) runProcesses(choose chooser, tested bool, names []string, programs ...func(context.Context, *Process) error) []result {
	results := make([]result, len(programs))
	r.running = len(programs)
	for i, program := range programs {
		results[i].name = names[i]
		ctx, stop := context.WithTimeout(context.Background(), r.options.Timeout)
		ctx, cancel := context.WithCancelCause(ctx)
		p := &Process{name: names[i], network: r.network, tested: tested, ctx: ctx, cancel: cancel, rng: rand.New(rand.NewPCG(r.seed, r.started))}
		r.started++
		go func() {
			defer r.update(func() { r.running-- })
			defer stop()
			defer cancel(nil)
			results[i].panicked, results[i].err = recovered(p.name, func() error { return program(ctx, p) })
		}()
	}
	for {
		synctest.Wait()
		r.mu.Lock()
		held, running := slices.Clone(r.waiting), r.running
		r.mu.Unlock()
		switch {
		case running == 0:
			return results // requests that a process has left behind end with its context
		case len(held) == 0:
			<-r.wake // time passes until a process continues
		default:
			slices.SortStableFunc(held, func(a, b *heldRequest) int {
				return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.request.String(), b.request.String()), cmp.Compare(a.checksum, b.checksum))
			})
			choose(held)
		}
	}
}

// runUntested runs Setup or Drain.
func (r *run) runUntested(name string, choose chooser, program func(context.Context, *Process) error) error {
	if program == nil {
		return nil
	}
	if res := r.runProcesses(choose, false, []string{name}, program)[0]; res.panicked {
		return res.err
	} else if res.err != nil {
		return fmt.Errorf("%s: %w", name, res.err)
	}
	return nil
}

// setup runs Setup and checks the invariant for the first time.
func (r *run) setup() error {
	if err := r.runUntested("setup", r.inOrder, r.workload.Setup); err != nil {
		return &setupError{err}
	}
	r.watching = true
	r.checkInvariant("setup")
	return r.violation
}

// setupError is an error of Setup, with which no further run makes sense.
type setupError struct{ error }

func (e *setupError) Unwrap() error { return e.error }

// finish runs Drain, delivers late requests and checks the account.
func (r *run) finish(choose chooser) error {
	late := len(r.service.LateRequests())
	if err := r.runUntested("drain", choose, r.workload.Drain); err != nil {
		return err
	}
	if r.service.Deliver(); late > 0 { // Drain may have missed the effects of requests that arrived while it was running
		if err := r.runUntested("drain", r.inOrder, r.workload.Drain); err != nil {
			return fmt.Errorf("after the last late request: %w", err)
		}
	}
	if err := r.firstViolation(); err != nil {
		return err
	}
	if r.workload.Check == nil {
		return nil
	}
	_, err := recovered("Check", func() error { return r.workload.Check(r.service) })
	return err
}

// processNames returns the names of n processes under test.
func processNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("process %d", i+1))
	}
	return names
}
