package testkit

import (
	"context"
	"fmt"
	"sync"

	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// faultSample leaves out faults: all of them take several times as long as all other tests.
var faultSample = Count("faultsample", 4, "of so many faults that a test enumerates, one is tried")

// Sample returns the sample of a test with many runs: n times that of the others, unless each fault
// is to be tried.
func Sample(n int) int {
	if *faultSample == 1 {
		return 1
	}
	return n * *faultSample
}

// Crash returns the options of a crash test. Enumerate runs one of so many faults as the flag
// faultsample says, unless the options name a sample; each request has other kinds of faults than
// the one before. With -short and under the race detector, Crash leaves few runs and faults.
func Crash(o crashtest.Options) *crashtest.Options {
	if o.Sample == 0 {
		o.Sample = *faultSample
	}
	if !Few() {
		return &o
	}
	if o.Runs == 0 || o.Runs > 5 {
		o.Runs = 5
	}
	o.PairLimit, o.MaxLateness = -1, -1
	o.Sample = max(o.Sample, 4**shortSample)
	if o.Faults == nil {
		o.Faults = func(storagetest.Request) []storagetest.Fault {
			return []storagetest.Fault{storagetest.LostResponse(), storagetest.Refuse(503, "ServerBusy")}
		}
	}
	return &o
}

// NewID returns a function that makes the random IDs of a process, which repeat with the schedule.
func NewID(p *crashtest.Process) func() string {
	var mu sync.Mutex // writes of several goroutines
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprintf("%016X", p.Rand().Uint64())
	}
}

// InSequence returns a process that does the work of several, one after the other.
func InSequence(steps ...func(context.Context, *crashtest.Process) error) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		for _, step := range steps {
			if err := step(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}
}
