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

// Schedules runs a workload once without faults, and then many times with all processes at once.
// Each run has a random order of requests and random faults, of the same kinds as in [Enumerate].
// Time also passes at random while requests are held, so leases and contexts end. The runs use all
// processors. With -v, each thousandth run is logged.
//
// A seed reproduces a run, with the same other options, if the workload is deterministic. A
// [Violation] reports whether its seed has reproduced the violation.
func Schedules(t *testing.T, build func() Workload, o *Options) *Report {
	t.Helper()
	options := o.withDefaults()
	e := &enumeration{t: t, build: build, options: options, report: &Report{}}
	faultless := e.run(nil)
	report := e.report
	report.Requests, report.Required = len(faultless.requests), options.Runs
	if report.Runs = 0; faultless.err != nil {
		report.Required = 0
		return report
	}
	distinct := map[uint64]bool{}
	var mu sync.Mutex
	stop := false
	inParallel(options.Runs, func(i int) {
		mu.Lock()
		stopped := stop
		mu.Unlock()
		if stopped {
			return
		}
		s := runSchedule(t, build, options, options.Seed+uint64(i))
		reproducible := false
		if s.err != nil {
			again := runSchedule(t, build, options, s.seed)
			reproducible = again.err != nil && again.err.Error() == s.err.Error() && again.id() == s.id()
		}
		mu.Lock()
		defer mu.Unlock()
		report.countRun(t)
		distinct[s.id()] = true
		if s.err == nil {
			return
		}
		report.Violations = append(report.Violations, Violation{Err: s.err, Seed: s.seed, Reproducible: reproducible, Faults: s.run.injected, Trace: s.run.trace})
		var setup *setupError
		stop = stop || errors.As(s.err, &setup)
	})
	report.Distinct = len(distinct)
	return report.sorted()
}

// schedule is a run that a seed determines.
type schedule struct {
	seed uint64
	rng  *rand.Rand
	run  *run
	hash hash.Hash64 // of the order of the requests and their faults
	err  error
}

// runSchedule makes one run.
func runSchedule(t *testing.T, build func() Workload, o Options, seed uint64) *schedule {
	s := &schedule{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), hash: fnv.New64a()}
	err := bubble(t, func() {
		s.run = newRun(build, o, seed)
		if s.err = s.run.setup(); s.err != nil {
			return
		}
		processes := s.run.workload.Processes
		for _, res := range s.run.runProcesses(s.choose(true), true, processNames(len(processes)), processes...) {
			if res.panicked && s.err == nil {
				s.err = res.err
			}
		}
		if s.err == nil {
			s.err = s.run.finish(s.choose(false))
		}
	})
	if err != nil {
		s.err = err
	}
	return s
}

// id identifies the order of the requests and their faults.
func (s *schedule) id() uint64 { return s.hash.Sum64() }

// choose returns a random chooser: it releases a request, delivers a late request, or lets time
// pass.
func (s *schedule) choose(withFaults bool) chooser {
	return func(held []*heldRequest) {
		late := len(s.run.service.LateRequests())
		switch {
		case withFaults && s.rng.IntN(20) == 0:
			s.pause()
			return
		case late > 0 && s.rng.IntN(4) == 0:
			r := s.run.service.DeliverOne(s.rng.IntN(late))
			fmt.Fprint(s.hash, "late ", string(r.Kind), r.Status, ";")
			return
		}
		h := held[s.rng.IntN(len(held))]
		var f storagetest.Fault
		crash := false
		if withFaults && s.rng.Float64() < s.run.options.FaultRate {
			f, crash = s.fault(h.request)
		}
		fmt.Fprint(s.hash, h.process, string(h.request.Kind), h.request.Table, h.request.Queue, h.request.Container, h.request.Blob, h.request.PartitionKey, len(h.request.Operations), f, crash, ";")
		s.run.release(h, f, crash)
	}
}

// fault returns a random fault for a request, and whether the process crashes.
func (s *schedule) fault(r storagetest.Request) (f storagetest.Fault, crash bool) {
	canBeLate := !isRead(r) && s.run.options.MaxLateness >= 0
	if s.rng.Float64() < s.run.options.CrashRate {
		faults := crashFaults()
		if canBeLate {
			faults = append(faults, storagetest.Late(0))
		}
		return faults[s.rng.IntN(len(faults))], true
	}
	faults := s.run.options.Faults(r)
	if canBeLate {
		faults = append(faults, storagetest.Late(0), storagetest.LateDuplicate(0))
	}
	if len(faults) == 0 {
		return storagetest.Fault{}, false
	}
	return faults[s.rng.IntN(len(faults))], false
}

// pause lets time pass while requests are held: a random time, or until a process continues.
func (s *schedule) pause() {
	if s.rng.IntN(2) == 0 {
		d := time.Duration(1) << s.rng.IntN(37) // up to a minute
		s.note("%v pass", d)
		time.Sleep(d)
		return
	}
	select {
	case <-s.run.wake: // an earlier signal
	default:
	}
	timeout := time.NewTimer(time.Duration(s.rng.Int64N(int64(s.run.options.Timeout))))
	defer timeout.Stop()
	start := time.Now()
	select {
	case <-s.run.wake:
	case <-timeout.C:
	}
	s.note("%v pass", time.Since(start))
}

func (s *schedule) note(format string, args ...any) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	s.run.network.note(format, args...)
}
