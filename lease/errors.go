package lease

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrHeld: another holder has the lease. The error is a *[HeldError].
	ErrHeld = errors.New("another holder has the lease")

	// ErrLost: the holder does not have the lease any more. The error is a *[LostError].
	ErrLost = errors.New("the lease is lost")
)

// HeldError reports that another holder has a lease. It is [ErrHeld].
type HeldError struct {
	Name  string        // of the lease
	Owner string        // as the holder's program names itself; for people
	Fence int64         // of the holder
	Left  time.Duration // until another program may take the lease if the holder does not renew it, by the service's clock

	timeToLive time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lease %s: %v: %.100q, with fence %d; it ends in %v unless it is renewed", e.Name, ErrHeld, e.Owner, e.Fence, e.Left.Round(time.Second))
}

// Unwrap returns ErrHeld.
func (e *HeldError) Unwrap() error { return ErrHeld }

// wait returns for how long to wait until the lease is looked at again: until it can be over, but for the time to live if its holder has
// renewed it in time.
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

// LostError reports that a holder does not have its lease any more, as far as it can know. It is [ErrLost].
type LostError struct {
	Name   string // of the lease
	Fence  int64  // of the holder that has lost it
	Reason string // a sentence without a full stop
	Err    error  // of the last renewal, if that is the cause; nil for none
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("lease %s: %v, which was held with fence %d: %s", e.Name, ErrLost, e.Fence, e.Reason)
	if e.Err != nil {
		text += "; the last renewal failed: " + e.Err.Error()
	}
	return text
}

// Unwrap returns ErrLost, and Err if it is not nil.
func (e *LostError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrLost}
	}
	return []error{ErrLost, e.Err}
}

// RestoredError reports that another holder has entered a partition, with a fence that is greater or the same, although the row of the lease says that none
// was after this one: the table of leases was restored, or dropped and made again. Call [Leases.Raise] with Entered, and acquire the lease again.
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
