package crashtest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// Schedules runs a workload many times, its processes at once, each time in another order of their requests and with other
// mishaps. The runs are spread over the processors. A workload whose functions do the same again when they are told the same
// is repeated exactly by its seed: with Options{Seed: seed, Runs: 1}.
func Schedules(t *testing.T, build func() Workload, o *Options) *Report {
	t.Helper()
	opt := o.withDefaults()
	report, seen := &Report{}, map[uint64]bool{}
	var mu sync.Mutex
	parallel(t, "schedules", opt.Runs, func(t *testing.T, i int) {
		s := schedule{seed: opt.Seed + uint64(i)}
		s.run(t, build, opt)
		mu.Lock()
		defer mu.Unlock()
		report.Runs++
		seen[s.hash] = true
		if s.err != nil {
			report.Violations = append(report.Violations, Violation{Err: s.err, Seed: s.seed, Mishaps: s.mishaps, Trace: s.r.trace()})
		}
	})
	report.Distinct = len(seen)
	return report.sorted()
}

// schedule is one run, with what a seed makes of it.
type schedule struct {
	seed    uint64
	rng     *rand.Rand
	r       *run
	err     error
	mishaps []string
	hash    uint64

	mu      sync.Mutex
	waiting []*held
	running int
	panic   error
	wake    chan struct{} // something has happened
}

// held is a request that waits to be let go.
type held struct {
	process int
	request storagetest.Request
	free    chan struct{}
	fault   storagetest.Fault
	dies    bool
}

func (s *schedule) run(t *testing.T, build func() Workload, opt Options) {
	s.rng = rand.New(rand.NewPCG(s.seed, 0x9e3779b97f4a7c15))
	bubble(t, func() {
		s.r = newRun(build, opt)
		if s.err = s.r.setup(); s.err != nil {
			return
		}
		s.wake = make(chan struct{}, 1)
		var wg sync.WaitGroup
		s.running = len(s.r.w.Processes)
		for i, f := range s.r.w.Processes {
			ctx, p, end := s.r.process(context.Background(), fmt.Sprintf("process %d", i+1), s.hold(i))
			wg.Go(func() {
				defer s.changed(func() { s.running-- })
				defer end()
				// What it was told is for the workload to remember.
				if panicked, err := guarded(ctx, p, f); panicked {
					s.changed(func() { s.panic = err })
				}
			})
		}
		s.schedule()
		wg.Wait()
		for range len(s.r.service.Underway()) / 2 { // half of what is late comes before the rest is done
			s.r.service.DeliverOne(0)
			s.r.look()
		}
		if s.err = s.panic; s.err == nil {
			s.err = s.r.settle()
		}
	})
}

// changed changes the state and wakes the scheduler.
func (s *schedule) changed(f func()) {
	s.mu.Lock()
	f()
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// hold holds each request of a process until the scheduler lets it go.
func (s *schedule) hold(process int) gate {
	return func(q storagetest.Request) func() (storagetest.Fault, bool) {
		w := &held{process: process, request: q, free: make(chan struct{})}
		s.changed(func() { s.waiting = append(s.waiting, w) })
		<-w.free
		return func() (storagetest.Fault, bool) { return w.fault, w.dies }
	}
}

// schedule lets requests go, one at a time, until all processes have ended.
func (s *schedule) schedule() {
	h := fnv.New64a()
	for {
		synctest.Wait() // everybody is held, asleep, or has ended
		s.mu.Lock()
		waiting, running := slices.Clone(s.waiting), s.running
		s.mu.Unlock()
		late := s.r.service.Underway()
		switch {
		case running == 0 && len(waiting) == 0:
			s.hash = h.Sum64()
			return
		case len(waiting) == 0:
			<-s.wake // time passes until somebody wakes up
			continue
		case s.rng.IntN(20) == 0:
			d := time.Duration(1) << s.rng.IntN(37) // up to a minute
			fmt.Fprint(h, "pause ", d, ";")
			time.Sleep(d)
			continue
		case len(late) > 0 && s.rng.IntN(4) == 0:
			q := s.r.service.DeliverOne(s.rng.IntN(len(late)))
			s.r.look()
			fmt.Fprint(h, "late ", q.Kind, ";")
			s.mishaps = append(s.mishaps, fmt.Sprintf("request %d arrives before request %d", q.Number, s.r.sent()+s.r.first+1))
			continue
		}
		slices.SortStableFunc(waiting, func(a, b *held) int {
			return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.request.String(), b.request.String()))
		})
		w := waiting[s.rng.IntN(len(waiting))]
		s.decide(w)
		fmt.Fprint(h, w.process, " ", w.request.Kind, " ", w.fault, " ", w.dies, ";")
		s.mu.Lock()
		s.waiting = slices.DeleteFunc(s.waiting, func(o *held) bool { return o == w })
		s.mu.Unlock()
		close(w.free)
	}
}

// decide says what goes wrong with a request.
func (s *schedule) decide(w *held) {
	if s.rng.Float64() >= s.r.opt.Mishaps {
		return
	}
	can := s.r.opt.Faults(w.request)
	if len(can) == 0 {
		return
	}
	w.fault = can[s.rng.IntN(len(can))]
	if kills(w.fault) {
		w.dies = s.rng.Float64() < s.r.opt.Deaths
	}
	if w.fault != (storagetest.Fault{}) {
		s.mishaps = append(s.mishaps, fmt.Sprintf("process %d, %v: %v, dies: %v", w.process+1, w.request, w.fault, w.dies))
	}
}
