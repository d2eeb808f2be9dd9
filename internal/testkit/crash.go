package testkit

import (
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// ForRace returns the options of a crash test, with few runs and faults under the race detector: it is ten times slower, and looks for data
// races, which need no rare schedule.
func ForRace(o crashtest.Options) *crashtest.Options {
	if !Race {
		return &o
	}
	o.Runs, o.PairLimit, o.MaxLateness = min(o.Runs, 10), -1, -1
	if o.Faults == nil {
		o.Faults = func(storagetest.Request) []storagetest.Fault {
			return []storagetest.Fault{storagetest.LostResponse(), storagetest.Refuse(503, "ServerBusy")}
		}
	}
	return &o
}
