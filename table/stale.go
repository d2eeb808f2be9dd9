package table

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// mostAge is the greatest age of an operation ID with which a write is still sent: twice the write's timeout, by when an outbox shows its
// notification, and no more than half the retention of abort records.
func (o *Common) mostAge() time.Duration {
	if most := 2 * o.WriteTimeout; most > 0 {
		return min(most, CommitRecordRetention/2)
	}
	return CommitRecordRetention / 2
}

// stale reports whether the operation ID of an exact write is too old to be sent, or of a time to come, by the wall clock. Contexts end by
// another clock, which stands still while a machine is suspended: a write that wakes up after the retention would be committed although
// its abort record was stored and swept. A clock that was set has the same effect, and costs a new operation ID.
//
// If the wall clock of the machine stands still as well, nothing tells the writer how much time has passed. The service then refuses
// requests that are signed with the account's key, but not those with a shared access signature or a token.
func (w *write) stale() bool {
	if !w.record {
		return false
	}
	began, err := opTimeOf(w.id)
	age, most := w.core.opt.Now().Sub(began), w.core.opt.mostAge()
	return err != nil || age > most || age < -most
}

var errStale = errors.New("its operation ID is too old, or of a time to come: the machine was suspended, or its clock was set")

// unsent is the outcome of a write that is not sent (again) since it is stale. If nothing that was sent under its name can be applied,
// the write begins anew with another one.
func (w *write) unsent() outcome {
	if w.doubt != nil {
		return outcome{verdict: wire.Unknown, failed: -1, err: w.doubt}
	}
	return outcome{verdict: wire.Refused, failed: -1, dead: !w.refusalMayEnd, err: &condition{ErrGivenUp, errStale}}
}

// announceAgain announces a committed write once more if it is stale by now: it was held up on its way, and a worker may have found
// nothing, and deleted the notification.
func (w *write) notifyAgain(ctx context.Context) {
	was := w.notification
	if was == nil || !w.stale() {
		return
	}
	if w.notification = nil; w.notify(ctx) != nil {
		w.notification = was
	}
}
