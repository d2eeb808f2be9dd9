package crashtest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// Enumerate runs a workload once without faults, and then for each of its requests with each fault that it can have, with the
// process dying before and after it, and for each that writes, with its arriving late and once more, after each number of
// other requests. Workloads of few requests are also run with two mishaps. The processes run one after the other, and send
// one request at a time. The runs are spread over the processors.
func Enumerate(t *testing.T, build func() Workload, o *Options) *Report {
	t.Helper()
	e := &enumeration{t: t, build: build, opt: o.withDefaults(), report: &Report{}}
	golden := e.run(nil)
	e.report.Planned, e.report.Requests = 1, len(golden.requests)
	if golden.err != nil {
		return e.report // nothing can be said of the rest
	}
	parallel(len(golden.requests), func(i int) {
		// How many requests come after it decides how late it can be.
		after := golden.total
		var firsts []outcome
		for _, m := range e.mishaps(golden.requests[i], i+1) {
			out := e.run([]mishap{m})
			after = max(after, out.total)
			firsts = append(firsts, out)
		}
		for _, m := range e.late(golden.requests[i], i+1, min(e.opt.Late, after-i)) {
			out := e.run([]mishap{m})
			if soon(m) {
				firsts = append(firsts, out)
			}
		}
		if len(golden.requests) > e.opt.Pairs {
			return
		}
		for _, first := range firsts {
			for j := i + 1; j < len(first.requests); j++ {
				for _, m := range append(e.mishaps(first.requests[j], j+1), e.late(first.requests[j], j+1, min(e.opt.Late, 1))...) {
					e.run(append(first.mishaps[:1:1], m))
				}
			}
		}
	})
	return e.report.sorted()
}

// soon tells whether a request arrives late, but not much.
func soon(m mishap) bool { return m.fault == storagetest.Late(1) || m.fault == storagetest.Late(0) }

type enumeration struct {
	t     *testing.T
	build func() Workload
	opt   Options

	mu     sync.Mutex
	report *Report
}

// outcome is what one run has shown.
type outcome struct {
	mishaps  []mishap
	requests []storagetest.Request // of the processes under test
	total    int                   // of these and Drain
	err      error
}

// mishaps are what can happen to a request, but for being late.
func (e *enumeration) mishaps(q storagetest.Request, at int) (all []mishap) {
	for _, f := range e.opt.Faults(q) {
		all = append(all, mishap{at: at, fault: f})
	}
	if e.opt.Deaths > 0 {
		for _, f := range deaths() {
			all = append(all, mishap{at: at, fault: f, dies: true})
		}
	}
	return all
}

// late are the ways in which a request can be late, up to after a number of others.
func (e *enumeration) late(q storagetest.Request, at, most int) (all []mishap) {
	if reads(q) || e.opt.Late < 0 {
		return nil
	}
	for n := range most + 1 {
		all = append(all, mishap{at: at, fault: storagetest.Late(n)}, mishap{at: at, fault: storagetest.LateDuplicate(n)})
		if e.opt.Deaths > 0 {
			all = append(all, mishap{at: at, fault: storagetest.Late(n), dies: true})
		}
	}
	return all
}

// run makes one run.
func (e *enumeration) run(mishaps []mishap) outcome {
	out := outcome{mishaps: mishaps}
	var r *run
	strayed := false
	err := bubble(e.t, func() {
		r = newRun(e.build, e.opt, e.opt.Seed)
		if out.err = r.setup(); out.err != nil {
			return
		}
		next := func(waiting []*held) {
			for _, m := range mishaps {
				if m.at == len(r.sent)+1 {
					r.free(waiting[0], m.fault, m.dies)
					return
				}
			}
			r.calm(waiting)
		}
		names := processNames(len(r.w.Processes))
		for i, f := range r.w.Processes {
			switch res := r.stage(next, true, names[i:i+1], f)[0]; {
			case out.err != nil || res.err == nil:
			case res.panicked:
				out.err = res.err
			case mishaps == nil:
				out.err = fmt.Errorf("%s, to which nothing happened: %w", res.name, res.err)
			}
		}
		out.requests = r.sent
		strayed = len(r.mishaps) < len(mishaps)
		if err := r.settle(r.calm); out.err == nil {
			out.err = err
		}
		out.total = len(r.owner)
	})
	if err != nil {
		out.err = err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Runs++
	if mishaps != nil {
		e.report.Planned++
	}
	if strayed && out.err == nil {
		e.report.Strayed++
	}
	if out.err != nil {
		e.report.Violations = append(e.report.Violations, Violation{Err: out.err, Mishaps: r.mishaps, Trace: r.trace})
	}
	return out
}
