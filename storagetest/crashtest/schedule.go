package crashtest

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// Schedules runs a workload once without faults, and then many times with its processes at once, each time in another order
// of their requests and with other mishaps: those of Enumerate, and time that passes while requests are held, so that leases
// and contexts end. The runs are spread over the processors.
//
// A run is repeated by its seed, with the same other options, if the workload does the same again when the same happens to
// it; a violation says whether its seed has.
func Schedules(t *testing.T, build func() Workload, o *Options) *Report {
	t.Helper()
	opt := o.withDefaults()
	golden := &enumeration{t: t, build: build, opt: opt, report: &Report{}}
	first := golden.run(nil)
	report := golden.report
	report.Requests, report.Planned = len(first.requests), opt.Runs
	if report.Runs = 0; first.err != nil {
		report.Planned = 0
		return report
	}
	seen := map[uint64]bool{}
	var mu sync.Mutex
	stop := false
	parallel(opt.Runs, func(i int) {
		mu.Lock()
		over := stop
		mu.Unlock()
		if over {
			return
		}
		s := schedule{seed: opt.Seed + uint64(i)}
		s.make(t, build, opt)
		repeats := false
		if s.err != nil {
			again := schedule{seed: s.seed}
			again.make(t, build, opt)
			repeats = again.err != nil && again.err.Error() == s.err.Error() && again.id == s.id
		}
		mu.Lock()
		defer mu.Unlock()
		report.Runs++
		seen[s.id] = true
		if s.err == nil {
			return
		}
		report.Violations = append(report.Violations, Violation{Err: s.err, Seed: s.seed, Repeats: repeats, Mishaps: s.r.mishaps, Trace: s.r.trace})
		var setup *setupError
		stop = stop || errors.As(s.err, &setup)
	})
	report.Different = len(seen)
	return report.sorted()
}

// schedule is one run, as a seed makes it.
type schedule struct {
	seed uint64
	rng  *rand.Rand
	r    *run
	err  error
	hash hash.Hash64 // of who was let go when, and what became of it
	id   uint64
}

func (s *schedule) make(t *testing.T, build func() Workload, opt Options) {
	s.rng = rand.New(rand.NewPCG(s.seed, 0x9e3779b97f4a7c15))
	s.hash = fnv.New64a()
	err := bubble(t, func() {
		s.r = newRun(build, opt, s.seed)
		if s.err = s.r.setup(); s.err != nil {
			return
		}
		for _, res := range s.r.stage(s.next(true), true, processNames(len(s.r.w.Processes)), s.r.w.Processes...) {
			if res.panicked && s.err == nil {
				s.err = res.err
			}
		}
		if s.err == nil {
			s.err = s.r.settle(s.next(false))
		}
	})
	if err != nil {
		s.err = err
	}
	s.id = s.hash.Sum64()
}

// next lets one thing happen: a request goes, with or without a mishap; one that is late arrives; or time passes.
func (s *schedule) next(mishaps bool) func([]*held) {
	return func(waiting []*held) {
		late := len(s.r.service.LateRequests())
		switch {
		case mishaps && s.rng.IntN(20) == 0:
			s.pause()
			return
		case late > 0 && s.rng.IntN(4) == 0:
			q := s.r.service.DeliverOne(s.rng.IntN(late))
			fmt.Fprint(s.hash, "late ", q.Kind, q.Status, ";")
			return
		}
		h := waiting[s.rng.IntN(len(waiting))]
		var f storagetest.Fault
		dies := false
		if mishaps && s.rng.Float64() < s.r.opt.Mishaps {
			f, dies = s.mishap(h.request)
		}
		fmt.Fprint(s.hash, h.process.name, h.request.Kind, h.request.Table, h.request.Queue, h.request.PartitionKey, len(h.request.Operations), f, dies, ";")
		s.r.free(h, f, dies)
	}
}

// mishap chooses what goes wrong with a request.
func (s *schedule) mishap(q storagetest.Request) (storagetest.Fault, bool) {
	writes := !reads(q) && s.r.opt.Late >= 0
	if s.rng.Float64() < s.r.opt.Deaths {
		can := deaths()
		if writes {
			can = append(can, storagetest.Late(0))
		}
		return can[s.rng.IntN(len(can))], true
	}
	can := s.r.opt.Faults(q)
	if writes {
		can = append(can, storagetest.Late(0), storagetest.LateDuplicate(0))
	}
	if len(can) == 0 {
		return storagetest.Fault{}, false
	}
	return can[s.rng.IntN(len(can))], false
}

// pause lets time pass while requests are held: a moment, or until somebody wakes up.
func (s *schedule) pause() {
	if s.rng.IntN(2) == 0 {
		d := time.Duration(1) << s.rng.IntN(37) // up to a minute
		s.note("%v pass", d)
		time.Sleep(d)
		return
	}
	select {
	case <-s.r.wake: // from before
	default:
	}
	most := time.NewTimer(time.Duration(s.rng.Int64N(int64(s.r.opt.Timeout))))
	defer most.Stop()
	start := time.Now()
	select {
	case <-s.r.wake:
	case <-most.C:
	}
	s.note("%v pass", time.Since(start))
}

func (s *schedule) note(format string, args ...any) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.note(format, args...)
}
