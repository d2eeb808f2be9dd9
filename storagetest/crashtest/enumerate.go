package crashtest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

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

// Enumerate runs a workload once without faults, and then for each of its requests with each fault that it can have; of the
// faults after which a process may die it makes a second run in which it does. Workloads of few requests are also run with
// two mishaps. The runs are spread over the processors.
func Enumerate(t *testing.T, build func() Workload, o *Options) *Report {
	t.Helper()
	e := &enumeration{build: build, opt: o.withDefaults(), report: &Report{}}
	golden, ok := e.run(t, nil)
	if !ok {
		return e.report // nothing can be said of the rest
	}
	e.report.Requests = len(golden)
	firsts := e.mishaps(golden, 0)
	parallel(t, "faults", len(firsts), func(t *testing.T, i int) {
		first := firsts[i]
		after, _ := e.run(t, []mishap{first})
		if len(golden) > e.opt.Pairs {
			return
		}
		for _, second := range e.mishaps(after, first.at) {
			e.run(t, []mishap{first, second})
		}
	})
	return e.report.sorted()
}

// parallel calls f for 0 to n-1, spread over the processors.
func parallel(t *testing.T, name string, n int, f func(t *testing.T, i int)) {
	shards := min(n, runtime.GOMAXPROCS(0))
	t.Run(name, func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for i := shard; i < n; i += shards {
					f(t, i)
				}
			})
		}
	})
}

type enumeration struct {
	build func() Workload
	opt   Options

	mu     sync.Mutex
	report *Report
}

// mishaps are all that can happen at one of the requests behind a place.
func (e *enumeration) mishaps(requests []storagetest.Request, behind int) (all []mishap) {
	for i := behind; i < len(requests); i++ {
		can := e.opt.Faults(requests[i])
		for _, f := range can {
			all = append(all, mishap{at: i + 1, fault: f})
		}
		for _, f := range can {
			if kills(f) {
				all = append(all, mishap{at: i + 1, fault: f, dies: true})
			}
		}
	}
	return all
}

// kills tells whether a death with the fault is another one than with others.
func kills(f storagetest.Fault) bool {
	switch f {
	case storagetest.LostRequest(), storagetest.LostReply():
		return true
	}
	for _, d := range deadly() {
		if f == d {
			return true
		}
	}
	return false
}

// run makes one run, and returns the requests of the processes under test. ok is false after a violation.
func (e *enumeration) run(t *testing.T, mishaps []mishap) (requests []storagetest.Request, ok bool) {
	var err error
	var r *run
	bubble(t, func() {
		r = newRun(e.build, e.opt)
		if err = r.setup(); err != nil {
			return
		}
		gate := func(storagetest.Request) func() (storagetest.Fault, bool) {
			return func() (storagetest.Fault, bool) {
				n := r.sent() + 1
				for _, m := range mishaps {
					if m.at == n {
						return m.fault, m.dies
					}
				}
				return storagetest.Fault{}, false
			}
		}
		for i, f := range r.w.Processes {
			ctx, p, end := r.process(context.Background(), fmt.Sprintf("process %d", i+1), gate)
			switch panicked, perr := guarded(ctx, p, f); {
			case err != nil || perr == nil:
			case panicked:
				err = perr
			case mishaps == nil:
				err = fmt.Errorf("%s, to which nothing happened: %w", p.name, perr)
			}
			end()
		}
		for _, q := range r.service.Requests() {
			if r.owner[q.Number] != "" {
				requests = append(requests, q)
			}
		}
		if serr := r.settle(); err == nil {
			err = serr
		}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Runs++
	if err != nil {
		v := Violation{Err: err, Trace: r.trace()}
		for _, m := range mishaps {
			v.Mishaps = append(v.Mishaps, m.String())
		}
		e.report.Violations = append(e.report.Violations, v)
	}
	return requests, err == nil
}
