package crashtest

import (
	"time"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// Options of a test. The zero value is ready for use.
type Options struct {
	// Service contains the options of the account. The test sets Faults and AfterRequest itself. If ShuffleSeed is not 0, each
	// schedule has another order of messages.
	Service storagetest.Options

	// Faults returns the faults to inject into a request, besides late arrival and crashes. Defaults to the function Faults.
	Faults func(storagetest.Request) []storagetest.Fault

	// MaxLateness is the greatest number of other requests after which a late write or its duplicate arrives. Enumerate tests each
	// number, and arrival at the end. Schedules choose the arrival at random. Defaults to 16; no write is late if MaxLateness is
	// negative.
	MaxLateness int

	// Timeout bounds each process, Setup and Drain, by the account's clock. Defaults to 10 minutes.
	Timeout time.Duration

	// PairLimit is the greatest number of requests of a workload for which Enumerate injects two faults into one run. Defaults to
	// 8; never if PairLimit is negative.
	PairLimit int

	// Sample makes Enumerate inject only one of Sample faults, spread evenly over the requests and kinds of faults: for a quick test,
	// such as one under the race detector. Defaults to 1, which is all faults.
	Sample int

	// Runs is the number of schedules. Defaults to 2,000.
	Runs int

	// Seed is the seed of the first schedule. The seeds of later schedules are the numbers that follow. Defaults to 1.
	Seed uint64

	// FaultRate is the fraction of the requests of a schedule with a fault, and CrashRate the fraction of those faults with which
	// the process crashes. Default to 0.1 and 0.2; never if negative. If CrashRate is negative, Enumerate injects no crashes
	// either.
	FaultRate, CrashRate float64
}

// withDefaults returns the options with their defaults.
func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	setDefault(&out.MaxLateness, 16)
	setDefault(&out.Timeout, 10*time.Minute)
	setDefault(&out.PairLimit, 8)
	setDefault(&out.Sample, 1)
	setDefault(&out.Runs, 2000)
	setDefault(&out.Seed, 1)
	setDefault(&out.FaultRate, 0.1)
	setDefault(&out.CrashRate, 0.2)
	if out.Faults == nil {
		out.Faults = Faults
	}
	return out
}

func setDefault[T comparable](value *T, defaultValue T) {
	if *value == *new(T) {
		*value = defaultValue
	}
}

// Faults returns the faults that a request can have, except late arrival and crashes, which Options control, and truncated
// responses, on some of which the SDK's SubmitTransaction panics.
func Faults(r storagetest.Request) []storagetest.Fault {
	all := []storagetest.Fault{
		storagetest.NotSent(), storagetest.LostRequest(), storagetest.LostResponse(), storagetest.Hang(), storagetest.Slow(time.Minute), storagetest.Cut(0),
		storagetest.Refuse(503, "ServerBusy"), storagetest.Refuse(500, "OperationTimedOut"), storagetest.Refuse(408, "RequestTimeout"),
	}
	switch {
	case r.Kind == requests.Query || r.Kind == requests.BlobList || r.Kind == requests.ContainerList:
		return append(all, storagetest.Cut(40), storagetest.ShortPage(0), storagetest.ShortPage(1))
	case isRead(r):
		return append(all, storagetest.Cut(40))
	}
	all = append(all, storagetest.ExecuteThenHang(), storagetest.Twice(),
		storagetest.ExecuteThenRefuse(503, "ServerBusy"), storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), storagetest.ExecuteThenRefuse(408, "RequestTimeout"))
	if r.Kind == requests.Transaction {
		all = append(all, storagetest.RefuseInTransaction(409, "EntityAlreadyExists"), storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied"), storagetest.RefuseInTransaction(503, "ServerBusy"),
			storagetest.Cut(-1), storagetest.Cut(300))
	}
	return all
}

// isRead reports whether a request changes nothing. A request for messages is not a read, because it hides the messages.
func isRead(r storagetest.Request) bool {
	switch r.Kind {
	case requests.Get, requests.Query, requests.TableQuery, requests.MessagePeek, requests.QueueGet, requests.QueueList,
		requests.ContainerGet, requests.ContainerList, requests.BlobGet, requests.BlobProperties, requests.BlobBlocks, requests.BlobList:
		return true
	}
	return false
}
