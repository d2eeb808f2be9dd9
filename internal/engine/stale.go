package engine

import (
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// mostAge is the greatest age of an operation ID with which a write is still sent: twice the write's timeout, when an outbox shows
// its notification, and no more than half the retention of abort records.
func (o *Options) mostAge() time.Duration {
	if most := 2 * o.WriteTimeout; most > 0 {
		return min(most, Retention/2)
	}
	return Retention / 2
}

// stale reports whether the operation ID of a write with a commit record is too old to be sent, or lies in the future, by the wall
// clock. Contexts end by another clock, which stands still while a machine is suspended. Without this check, a write that continues
// after the retention could commit although its abort record was stored and swept. A clock that was set looks the same; it costs a
// new operation ID.
//
// If the wall clock of the machine stands still as well, nothing tells the writer how much time has passed. The service then
// refuses requests that are signed with the account's key, but not those with a shared access signature or a token.
//
// The same holds for a plan that a maintainer has bounded; see Plan.NotAfter.
func (w *write) stale() bool {
	if late := w.currentPlan.late; !late.IsZero() && w.table.Options.Now().After(late) {
		return true
	}
	if !w.currentPlan.record {
		return false
	}
	began, err := TimeOf(w.id)
	age, most := w.table.Options.Now().Sub(began), w.table.Options.mostAge()
	return err != nil || age > most || age < -most
}

var errStale = errors.New("its operation ID is too old, or lies in the future: the machine was suspended, or its clock was set")

// unsent is the outcome of a stale write, which is not sent any more. If nothing that was sent with its operation ID can be
// applied, the write begins again with another ID.
func (w *write) unsent() outcome {
	if w.sent.doubt != nil {
		return outcome{kind: wire.Unknown, failed: -1, err: w.sent.doubt}
	}
	return outcome{kind: wire.Refused, failed: -1, neverApplies: !w.sent.mayStillApply, err: &Condition{ErrGivenUp, errStale}}
}
