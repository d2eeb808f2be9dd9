package crashtest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// Enumerate runs a workload once without faults, and then once for each of its requests and each
// fault of the request: the faults of Options, a crash of the process before and after the request,
// and for a write, late arrival and a late duplicate after each number of other requests. Short
// workloads also run with each pair of faults. The processes run one after the other. The runs use
// all processors. With -v, each thousandth run is logged.
func Enumerate(t *testing.T, build func() Workload, o *Options) *Report {
	t.Helper()
	e := &enumeration{t: t, build: build, options: o.withDefaults(), report: &Report{}}
	faultless := e.run(nil)
	e.report.Required, e.report.Requests = 1, len(faultless.requests)
	if faultless.err != nil {
		return e.report // the other runs would show nothing
	}
	inParallel(len(faultless.requests), func(i int) {
		longest := faultless.total // bounds how late a request can arrive
		var firsts []outcome
		for _, in := range e.sample(i, e.injections(faultless.requests[i], i+1)) {
			out := e.run([]injection{in})
			longest = max(longest, out.total)
			firsts = append(firsts, out)
		}
		for _, in := range e.sample(i, e.lateInjections(faultless.requests[i], i+1, min(e.options.MaxLateness, longest-i))) {
			out := e.run([]injection{in})
			if in.fault == storagetest.Late(0) || in.fault == storagetest.Late(1) {
				firsts = append(firsts, out)
			}
		}
		if len(faultless.requests) > e.options.PairLimit {
			return
		}
		for _, first := range firsts {
			for j := i + 1; j < len(first.requests); j++ {
				seconds := e.injections(first.requests[j], j+1)
				for _, second := range e.sample(i+j, append(seconds, e.lateInjections(first.requests[j], j+1, min(e.options.MaxLateness, 1))...)) {
					e.run(append(first.injections[:1:1], second))
				}
			}
		}
	})
	return e.report.sorted()
}

// enumeration is the state of Enumerate.
type enumeration struct {
	t       *testing.T
	build   func() Workload
	options Options

	mu     sync.Mutex
	report *Report
}

// outcome is the outcome of one run.
type outcome struct {
	injections []injection
	requests   []storagetest.Request // of the processes under test
	total      int                   // requests of the processes under test and of Drain
	err        error
}

// injections returns the faults of a request, except late arrival.
func (e *enumeration) injections(r storagetest.Request, at int) (all []injection) {
	for _, f := range e.options.Faults(r) {
		all = append(all, injection{at: at, fault: f})
	}
	if e.options.CrashRate > 0 {
		for _, f := range crashFaults() {
			all = append(all, injection{at: at, fault: f, crash: true})
		}
	}
	return all
}

// lateInjections returns the late arrivals of a request, after up to maxOthers other requests.
func (e *enumeration) lateInjections(r storagetest.Request, at, maxOthers int) (all []injection) {
	if isRead(r) || e.options.MaxLateness < 0 {
		return nil
	}
	for n := range maxOthers + 1 {
		all = append(all, injection{at: at, fault: storagetest.Late(n)}, injection{at: at, fault: storagetest.LateDuplicate(n)})
		if e.options.CrashRate > 0 {
			all = append(all, injection{at: at, fault: storagetest.Late(n), crash: true})
		}
	}
	return all
}

// sample returns one of Options.Sample faults of request number i. Each request has other kinds of
// faults than the one before.
func (e *enumeration) sample(i int, all []injection) []injection {
	n := max(e.options.Sample, 1)
	var some []injection
	for k := (n - i%n) % n; k < len(all); k += n {
		some = append(some, all[k])
	}
	return some
}

// run makes one run and adds it to the report.
func (e *enumeration) run(injections []injection) outcome {
	out := outcome{injections: injections}
	var r *run
	err := bubble(e.t, func() {
		r = newRun(e.build, e.options, e.options.Seed)
		if out.err = r.setup(); out.err == nil {
			out.err = r.runInTurn(injections)
			out.requests = r.sent
			if err := r.finish(r.inOrder); out.err == nil {
				out.err = err
			}
			out.total = len(r.senders)
		}
	})
	if err != nil {
		out.err = err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.countRun(e.t)
	if injections != nil {
		e.report.Required++
	}
	switch {
	case out.err != nil:
		e.report.Violations = append(e.report.Violations, Violation{Err: out.err, Faults: r.injected, Trace: r.trace})
	case len(r.injected) < len(injections):
		e.report.Diverged++
	}
	return out
}

// runInTurn runs the processes one after the other with faults.
func (r *run) runInTurn(injections []injection) (err error) {
	choose := func(held []*heldRequest) {
		for _, in := range injections {
			if in.at == len(r.sent)+1 {
				r.release(held[0], in.fault, in.crash)
				return
			}
		}
		r.inOrder(held)
	}
	names := processNames(len(r.workload.Processes))
	for i, program := range r.workload.Processes {
		switch res := r.runProcesses(choose, true, names[i:i+1], program)[0]; {
		case err != nil || res.err == nil:
		case res.panicked:
			err = res.err
		case injections == nil:
			err = fmt.Errorf("%s failed without a fault: %w", res.name, res.err)
		}
	}
	return err
}

// injection is a fault of one request of the processes under test.
type injection struct {
	at    int // the request's place among the requests of the processes under test; starts with 1
	fault storagetest.Fault
	crash bool // the process crashes with the request
}

func (i injection) String() string {
	s := fmt.Sprintf("at request %d of the processes: %v", i.at, i.fault)
	if i.crash {
		s += ", and the process crashes"
	}
	return s
}

// crashFaults returns the faults of a request whose process crashes. Other faults make no
// difference to a crashed process.
func crashFaults() []storagetest.Fault {
	return []storagetest.Fault{storagetest.LostRequest(), storagetest.LostResponse()}
}
