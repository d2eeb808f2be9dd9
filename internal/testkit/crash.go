package testkit

import (
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// ForRace returns the options of a crash test. Under the race detector, which is ten times slower, it leaves few runs and faults:
// the detector finds data races, which need no rare schedule, and the same tests run in full without it.
func ForRace(o crashtest.Options) *crashtest.Options {
	if !Race {
		return &o
	}
	o.Runs, o.PairLimit, o.MaxLateness, o.Sample = min(o.Runs, 10), -1, -1, 5
	if o.Faults == nil {
		o.Faults = func(storagetest.Request) []storagetest.Fault {
			return []storagetest.Fault{storagetest.LostResponse(), storagetest.Refuse(503, "ServerBusy")}
		}
	}
	return &o
}
