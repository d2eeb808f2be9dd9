package crashtest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// run is one run of a workload. Its requests are held, each process's, and let go one at a time when everybody is held, asleep
// or has ended; so what happens is decided by who is let go, and by nothing else.
type run struct {
	made uint64 // processes, each with chance of its own

	opt     Options
	seed    uint64
	service *storagetest.Service
	w       Workload
	start   time.Time
	wake    chan struct{} // a request was held, or a process has ended

	mu       sync.Mutex
	waiting  []*held
	running  int
	sending  *held // the request that is on its way to the account
	owner    map[int]string
	sent     []storagetest.Request // of processes under test
	mishaps  []string              // that happened to them
	trace    []string
	watching bool // Always must be true
	wrong    error
}

// held is a request that waits to be let go.
type held struct {
	process *Process
	request storagetest.Request
	sum     uint64
	free    chan struct{}
	fault   storagetest.Fault
	dies    bool
}

func newRun(build func() Workload, opt Options, seed uint64) *run {
	r := &run{opt: opt, seed: seed, start: time.Now(), wake: make(chan struct{}, 1), owner: map[int]string{}, w: build()}
	opt.Service.Faults = r.plan
	opt.Service.AfterRequest = r.seen
	if opt.Service.ShuffleSeed != 0 {
		opt.Service.ShuffleSeed += seed
	}
	r.service = storagetest.New(&opt.Service)
	return r
}

// guarded turns a panic into an error.
func guarded(what string, f func() error) (panicked bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			panicked, err = true, fmt.Errorf("%s panicked: %v\n%s", what, r, debug.Stack())
		}
	}()
	return false, f()
}

// hold holds a request until it is let go or its context ends.
func (r *run) hold(ctx context.Context, h *held) error {
	r.changed(func() { r.waiting = append(r.waiting, h) })
	select {
	case <-h.free:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = slices.DeleteFunc(r.waiting, func(o *held) bool { return o == h })
	return context.Cause(ctx)
}

// changed changes the state and wakes the stage.
func (r *run) changed(f func()) {
	r.mu.Lock()
	f()
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// free lets a request go, with what goes wrong with it.
func (r *run) free(h *held, f storagetest.Fault, dies bool) {
	h.fault, h.dies = f, dies
	r.mu.Lock()
	r.waiting = slices.DeleteFunc(r.waiting, func(o *held) bool { return o == h })
	r.mu.Unlock()
	close(h.free)
}

// send sends a request that was let go.
func (r *run) send(h *held, req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.sending = h
	r.mu.Unlock()
	resp, err := r.service.Do(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sending == h {
		r.sending = nil // it never arrived
	}
	return resp, err
}

// plan tells the account what goes wrong with the request that arrives.
func (r *run) plan(q storagetest.Request) storagetest.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.sending
	if h == nil {
		return storagetest.Fault{} // of a check
	}
	r.sending = nil
	r.owner[q.Number] = h.process.name
	if !h.process.tested {
		return storagetest.Fault{}
	}
	r.sent = append(r.sent, q)
	if h.fault != (storagetest.Fault{}) || h.dies {
		m := mishap{len(r.sent), h.fault, h.dies}
		r.mishaps = append(r.mishaps, fmt.Sprintf("%v (%s, number %d)", m, h.process.name, q.Number))
	}
	if h.dies {
		r.note("%s dies", h.process.name)
	}
	return h.fault
}

// seen writes down what has reached the account, and looks whether all is well.
func (r *run) seen(q storagetest.Request) {
	r.mu.Lock()
	name, known := r.owner[q.Number]
	if known && r.watching {
		r.note("%s: %v", name, q)
	}
	r.mu.Unlock()
	if known {
		r.look(q.String())
	}
}

// note adds a line to the trace.
func (r *run) note(format string, args ...any) {
	r.trace = append(r.trace, fmt.Sprintf("%8.3fs  ", time.Since(r.start).Seconds())+fmt.Sprintf(format, args...))
}

// look checks what must always be true.
func (r *run) look(when string) {
	r.mu.Lock()
	skip := !r.watching || r.w.Always == nil || r.wrong != nil
	r.mu.Unlock()
	if skip {
		return
	}
	if _, err := guarded("Always", func() error { return r.w.Always(r.service) }); err != nil {
		r.mu.Lock()
		r.wrong = fmt.Errorf("after %s: %w", when, err)
		r.mu.Unlock()
	}
}

// result is how a process has ended.
type result struct {
	name     string
	panicked bool
	err      error
}

// stage runs processes at the same time, until all have ended. next is called whenever everybody is held, asleep or has
// ended, and lets something happen.
func (r *run) stage(next func([]*held), tested bool, names []string, fs ...func(context.Context, *Process) error) []result {
	results := make([]result, len(fs))
	r.running = len(fs)
	for i, f := range fs {
		results[i].name = names[i]
		ctx, cancel := context.WithTimeout(context.Background(), r.opt.Timeout)
		ctx, kill := context.WithCancelCause(ctx)
		p := &Process{name: names[i], run: r, tested: tested, ctx: ctx, kill: kill, rng: rand.New(rand.NewPCG(r.seed, r.made))}
		r.made++
		go func() {
			defer r.changed(func() { r.running-- })
			defer cancel()
			defer kill(nil)
			results[i].panicked, results[i].err = guarded(p.name, func() error { return f(ctx, p) })
		}()
	}
	for {
		synctest.Wait()
		r.mu.Lock()
		waiting, running := slices.Clone(r.waiting), r.running
		r.mu.Unlock()
		switch {
		case running == 0:
			return results // whatever it has left running ends with its context
		case len(waiting) == 0:
			<-r.wake // time passes until somebody wakes up
		default:
			slices.SortStableFunc(waiting, func(a, b *held) int {
				return cmp.Or(cmp.Compare(a.process.name, b.process.name), cmp.Compare(a.request.String(), b.request.String()), cmp.Compare(a.sum, b.sum))
			})
			next(waiting)
		}
	}
}

// calm lets requests go in their order.
func (r *run) calm(waiting []*held) { r.free(waiting[0], storagetest.Fault{}, false) }

// apart runs Setup or Drain.
func (r *run) apart(name string, next func([]*held), f func(context.Context, *Process) error) error {
	if f == nil {
		return nil
	}
	if res := r.stage(next, false, []string{name}, f)[0]; res.panicked {
		return res.err
	} else if res.err != nil {
		return fmt.Errorf("%s: %w", name, res.err)
	}
	return nil
}

// setup prepares the account.
func (r *run) setup() error {
	if err := r.apart("setup", r.calm, r.w.Setup); err != nil {
		return &setupError{err}
	}
	r.watching = true
	r.look("setup")
	return r.wrong
}

// setupError is why nothing could be run.
type setupError struct{ error }

func (e *setupError) Unwrap() error { return e.error }

// settle brings the account to rest and checks it.
func (r *run) settle(next func([]*held)) error {
	late := len(r.service.LateRequests())
	if err := r.apart("drain", next, r.w.Drain); err != nil {
		return err
	}
	if r.service.Deliver(); late > 0 { // also where all have arrived while Drain was looking elsewhere
		if err := r.apart("drain", r.calm, r.w.Drain); err != nil {
			return fmt.Errorf("after the last late request: %w", err)
		}
	}
	r.mu.Lock()
	wrong := r.wrong
	r.mu.Unlock()
	if wrong != nil {
		return wrong
	}
	if r.w.Check == nil {
		return nil
	}
	_, err := guarded("Check", func() error { return r.w.Check(r.service) })
	return err
}

// processNames names the processes under test.
func processNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("process %d", i+1))
	}
	return names
}

// bubble runs f where time is not that of the world. What blocks it for ever is an error.
func bubble(t *testing.T, f func()) (err error) {
	ended := false
	defer func() {
		switch r := recover(); {
		case r != nil:
			err = fmt.Errorf("the run does not end: %v", r)
		case !ended && err == nil:
			err = fmt.Errorf("the run was ended by t.FailNow, which belongs into the test's own goroutine")
		}
	}()
	synctest.Test(t, func(*testing.T) { f() })
	ended = true
	return nil
}

// mishap is a fault at a request, by its place among those of the processes under test.
type mishap struct {
	at    int
	fault storagetest.Fault
	dies  bool
}

func (m mishap) String() string {
	s := fmt.Sprintf("at request %d of the processes: %v", m.at, m.fault)
	if m.dies {
		s += ", and the process dies"
	}
	return s
}

// deaths are the faults of a request of a process that dies; to it, all others are the same.
func deaths() []storagetest.Fault {
	return []storagetest.Fault{storagetest.LostRequest(), storagetest.LostResponse()}
}

// indent puts a text under a heading.
func indent(lines []string) string { return "\n    " + strings.Join(lines, "\n    ") }
