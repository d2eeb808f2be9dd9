package lease

import (
	"errors"
	"fmt"
	"time"
)

// ErrLost: the holder does not have the lease any more, as far as it can know. The text of the
// error says why; if the last renewal failed, the error wraps its error, too.
var ErrLost = errors.New("the lease is lost")

// HeldError reports that another holder has a lease.
type HeldError struct {
	Name  string        // of the lease
	Owner string        // as the holder's program names itself; for people
	Fence int64         // of the holder
	Left  time.Duration // until another program may take the lease if the holder does not renew it, by the service's clock

	timeToLive time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lease %s: another holder has the lease: %.100q, with fence %d; it ends in %v unless it is renewed", e.Name, e.Owner, e.Fence, e.Left.Round(time.Second))
}

// wait returns for how long to wait until the lease is looked at again: until it can be over, but
// for the time to live if its holder has renewed it in time.
func (e *HeldError) wait() time.Duration {
	left := e.Left.Truncate(time.Second)
	if left < e.Left {
		left += time.Second // the dates of responses are whole seconds
	}
	if age := e.timeToLive + allowance - e.Left; age <= e.timeToLive/3+allowance {
		left = max(left, e.timeToLive)
	}
	return left
}

// lost returns the error of a holder that has lost its lease: the reason is a sentence without a
// full stop.
func (l *Lease) lost(reason string) error {
	return fmt.Errorf("lease %s: %w, which was held with fence %d: %s", l.name, ErrLost, l.fence, reason)
}

// RestoredError reports that another holder has entered a partition, with a fence that is greater
// or the same, although the row of the lease says that none was after this one: the table of leases
// was restored, or dropped and made again. Call [Leases.Raise] with Entered, and acquire the lease
// again.
type RestoredError struct {
	Name             string // of the lease
	Fence            int64  // of the holder
	Table, Partition string // that it could not enter
	Entered          int64  // the fence of the holder that has entered
}

func (e *RestoredError) Error() string {
	return fmt.Sprintf("lease %s: its fence is %d, but another holder with fence %d has entered the partition %q of table %s: the table of leases was restored, or dropped; release the lease, call Leases.Raise with %d, and acquire it again",
		e.Name, e.Fence, e.Entered, e.Partition, e.Table, e.Entered)
}
