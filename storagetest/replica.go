package storagetest

import (
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// replica is the account at its second location. It executes the requests of the first location once more, at their times, when the
// lag has passed. The services number their ETags, IDs and receipts, so the second execution has the same effect.
type replica struct {
	services map[string]protocol.Service // by their names; nil if the account has no second location
	lag      time.Duration
	changes  []change
	synced   time.Time // the second location has all changes until then
}

// change is a request that the second location has not executed.
type change struct {
	at      time.Time
	request *received
	in      protocol.Injection
}

// record keeps a request that may have changed something.
func (x *replica) record(r *received, in protocol.Injection, now time.Time) {
	if x.services == nil || r.reads() {
		return
	}
	x.changes = append(x.changes, change{now, r, in})
	x.synchronize(now)
}

// synchronize executes the changes that the second location has now, and returns the time until which it has all changes.
func (x *replica) synchronize(now time.Time) time.Time {
	until := now.Add(-x.lag)
	for len(x.changes) > 0 && !x.changes[0].at.After(until) {
		c := x.changes[0]
		x.changes = x.changes[1:]
		x.services[c.request.service].Receive(c.request.Request, c.at).Execute(c.at, c.in)
	}
	if until.After(x.synced) {
		x.synced = until
	}
	return x.synced
}
