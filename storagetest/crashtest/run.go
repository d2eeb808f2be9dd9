package crashtest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// run is one run of a workload. When each process waits for a held request, sleeps or has ended,
// the run releases one request. The order of the releases and the faults thus determine the run.
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

// setupError: Setup has failed, so that no further run makes sense.
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

// Options of a test. The zero value is ready for use.
type Options struct {
	// Service contains the options of the account. The test sets Faults and AfterRequest itself. If
	// ShuffleSeed is not 0, each schedule has another order of messages.
	Service storagetest.Options

	// Faults returns the faults to inject into a request, besides late arrival and crashes.
	// Defaults to the function Faults.
	Faults func(storagetest.Request) []storagetest.Fault

	// MaxLateness is the greatest number of other requests after which a late write or its
	// duplicate arrives. Enumerate tests each number, and arrival at the end. Schedules choose the
	// arrival at random. Defaults to 16; no write is late if MaxLateness is negative.
	MaxLateness int

	// Timeout bounds each process, Setup and Drain, by the account's clock. Defaults to 10 minutes.
	Timeout time.Duration

	// PairLimit is the greatest number of requests of a workload for which Enumerate injects two
	// faults into one run. Defaults to 8; never if PairLimit is negative.
	PairLimit int

	// Sample makes Enumerate inject only one of Sample faults, spread evenly over the requests and
	// kinds of faults: for a quick test, such as a test under the race detector. Defaults to 1,
	// which is all faults.
	Sample int

	// Runs is the number of schedules. Defaults to 2,000.
	Runs int

	// Seed is the seed of the first schedule. The seeds of later schedules are the numbers that
	// follow. Defaults to 1.
	Seed uint64

	// FaultRate is the fraction of the requests of a schedule with a fault, and CrashRate the
	// fraction of these faults with which the process crashes. Default to 0.1 and 0.2; never if
	// negative. If CrashRate is negative, Enumerate injects no crashes either.
	FaultRate, CrashRate float64
}

// withDefaults returns the options with their defaults.
func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	setDefault(&out.MaxLateness, 16)
	setDefault(&out.Timeout, 10*time.Minute)
	setDefault(&out.PairLimit, 8)
	setDefault(&out.Sample, 1)
	setDefault(&out.Runs, 2000)
	setDefault(&out.Seed, 1)
	setDefault(&out.FaultRate, 0.1)
	setDefault(&out.CrashRate, 0.2)
	if out.Faults == nil {
		out.Faults = Faults
	}
	return out
}

func setDefault[T comparable](value *T, defaultValue T) {
	if *value == *new(T) {
		*value = defaultValue
	}
}

// Faults returns the faults that a request can have, except late arrival and crashes, which Options
// control, and truncated responses, on some of which the SDK's SubmitTransaction panics.
func Faults(r storagetest.Request) []storagetest.Fault {
	all := []storagetest.Fault{
		storagetest.NotSent(), storagetest.LostRequest(), storagetest.LostResponse(), storagetest.Hang(), storagetest.Slow(time.Minute), storagetest.Cut(0),
		storagetest.Refuse(503, "ServerBusy"), storagetest.Refuse(500, "OperationTimedOut"), storagetest.Refuse(408, "RequestTimeout"),
	}
	switch {
	case r.Kind == requests.Query || r.Kind == kinds.BlobList || r.Kind == kinds.ContainerList:
		return append(all, storagetest.Cut(40), storagetest.ShortPage(0), storagetest.ShortPage(1))
	case isRead(r):
		return append(all, storagetest.Cut(40))
	}
	all = append(all, storagetest.ExecuteThenHang(), storagetest.Twice(),
		storagetest.ExecuteThenRefuse(503, "ServerBusy"), storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), storagetest.ExecuteThenRefuse(408, "RequestTimeout"))
	if r.Kind == requests.Transaction {
		all = append(all, storagetest.RefuseInTransaction(409, "EntityAlreadyExists"), storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied"), storagetest.RefuseInTransaction(503, "ServerBusy"),
			storagetest.Cut(-1), storagetest.Cut(300))
	}
	return all
}

// isRead reports whether a request changes nothing. A request for messages is not a read, because
// it hides the messages.
func isRead(r storagetest.Request) bool {
	switch r.Kind {
	case requests.Get, requests.Query, kinds.TableQuery, kinds.MessagePeek, kinds.QueueGet, kinds.QueueList,
		kinds.ContainerGet, kinds.ContainerList, kinds.BlobGet, kinds.BlobProperties, kinds.BlobBlocks, kinds.BlobList:
		return true
	}
	return false
}

// Violation is a run in which a check failed.
type Violation struct {
	Err          error
	Faults       []string // the injected faults
	Seed         uint64   // of a schedule
	Reproducible bool     // a second run with the seed had the same violation
	Trace        []string // the requests that reached the account after Setup, with their times
}

// String returns the error, the faults and the trace.
func (v Violation) String() string {
	s := v.Err.Error()
	if v.Seed != 0 {
		s += fmt.Sprintf("\n  seed %d; Options{Seed: %d, Runs: 1} repeats the run", v.Seed, v.Seed)
		if !v.Reproducible {
			s += fmt.Sprintf("\n  seed %d did not reproduce the violation: the workload is not deterministic", v.Seed)
		}
	}
	for _, f := range v.Faults {
		s += "\n  " + f
	}
	return s + "\n    " + strings.Join(v.Trace, "\n    ")
}

// Report is the result of a test.
type Report struct {
	Requests   int // of the processes under test in the run without faults
	Required   int // the number of runs that the test requires
	Runs       int // the number of runs
	Diverged   int // runs that did not send the request that a fault was for
	Distinct   int // schedules that differ in the order of the requests or in the faults
	Violations []Violation
}

// Require fails the test if runs are missing or have diverged, or if there are violations. Require
// prints the simplest violation for each of up to three errors.
func (r *Report) Require(t testing.TB) {
	t.Helper()
	switch {
	case r.Requests == 0 && len(r.Violations) == 0:
		t.Error("the processes have sent no requests")
	case r.Runs < r.Required:
		t.Errorf("got %d runs; want %d", r.Runs, r.Required)
	case r.Diverged > 0:
		t.Errorf("%d of %d runs did not send the request that a fault was for: the workload is not deterministic", r.Diverged, r.Runs)
	}
	printed := map[string]bool{}
	for _, v := range r.Violations {
		if len(printed) == 3 {
			break
		}
		if !printed[v.Err.Error()] {
			printed[v.Err.Error()] = true
			t.Errorf("one of %d violations in %d runs: %v", len(r.Violations), r.Runs, v)
		}
	}
}

// countRun counts a run, and logs each thousandth.
func (r *Report) countRun(t testing.TB) {
	t.Helper()
	r.Runs++
	if r.Runs%1000 == 0 {
		t.Logf("so far: %v", r)
	}
}

// String returns the numbers of the report in one line.
func (r *Report) String() string {
	s := fmt.Sprintf("%d requests, %d runs", r.Requests, r.Runs)
	if r.Distinct > 0 {
		s += fmt.Sprintf(", %d distinct schedules", r.Distinct)
	}
	return s + fmt.Sprintf(", %d violations", len(r.Violations))
}

// sorted sorts the violations, the simplest first, and returns the report.
func (r *Report) sorted() *Report {
	slices.SortStableFunc(r.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(len(a.Faults), len(b.Faults)), cmp.Compare(a.Seed, b.Seed), cmp.Compare(len(a.Trace), len(b.Trace)), strings.Compare(strings.Join(a.Faults, ""), strings.Join(b.Faults, "")))
	})
	return r
}

// leftBehind is how long a run waits for what its processes have left behind, such as a client that
// pauses before it repeats a request: time stands still in a bubble whose function has returned.
const leftBehind = time.Minute

// bubble calls f in a bubble of testing/synctest. A deadlock in f is an error.
func bubble(t *testing.T, f func()) (err error) {
	ended := false
	defer func() {
		switch r := recover(); {
		case r != nil:
			err = fmt.Errorf("the run does not end: %v", r)
		case !ended && err == nil:
			err = fmt.Errorf("t.FailNow ended the run; call t.FailNow only in the goroutine of the test")
		}
	}()
	synctest.Test(t, func(*testing.T) {
		f()
		time.Sleep(leftBehind)
	})
	ended = true
	return nil
}

// recovered calls f and returns a panic as an error.
func recovered(name string, f func() error) (panicked bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			panicked, err = true, fmt.Errorf("%s panicked: %v\n%s", name, r, debug.Stack())
		}
	}()
	return false, f()
}

// Workload is the program under test. The function that builds a Workload is called for each run,
// so the state that the functions of a Workload share is new in each run.
type Workload struct {
	// Setup fills the account before the first fault. May be nil.
	Setup func(ctx context.Context, p *Process) error

	// Processes are under test. They may fail, crash and run at the same time, so shared state
	// needs a lock. A returned error is a violation in the run without faults, and is ignored in
	// other runs: if Check needs the results of the processes, the Workload stores them. A panic is
	// always a violation.
	Processes []func(ctx context.Context, p *Process) error

	// Drain runs after the Processes, as workers and sweepers do, until no work is left. Drain runs
	// without faults, in another process, while late requests arrive, and again after the last late
	// request. An error is a violation. May be nil.
	Drain func(ctx context.Context, p *Process) error

	// Invariant must return nil after Setup, and after each later request that reaches the account.
	// Invariant reads the Service and must not send requests. May be nil.
	Invariant func(s *storagetest.Service) error

	// Check must return nil at the end of the run. May be nil.
	Check func(s *storagetest.Service) error
}

// inParallel calls f with 0 to n-1, on all processors.
func inParallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}
