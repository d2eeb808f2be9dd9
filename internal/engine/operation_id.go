package engine

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/stored"
)

// newID returns 80 random bits.
func newID() string {
	b := make([]byte, commit.RandomLength)
	rand.Read(b) // it never fails
	for i := range b {
		b[i] = commit.Digits[b[i]&31]
	}
	return string(b)
}

// idEnding returns an operation ID as the ending of rows.
func idEnding(id string) *edm.Ending { return stored.IDColumn(id).Ending() }

var unassignedEnding = stored.UnassignedID.Ending()

// mostAge is the greatest age of an operation ID with which a write is still sent: twice the write's timeout, when an outbox shows
// its notification, and no more than half the retention of abort records.
func (o *Options) mostAge() time.Duration {
	if most := 2 * o.WriteTimeout; most > 0 {
		return min(most, commit.Retention/2)
	}
	return commit.Retention / 2
}

// stale reports whether the operation ID of a write with a commit record is too old to be sent, or lies in the future, by the wall
// clock. Contexts end by another clock, which stands still while a machine is suspended. Without this check, a write that continues
// after the retention could commit although its abort record was stored and swept. A clock that was set looks the same; it costs a
// new operation ID.
//
// If the wall clock of the machine stands still as well, the writer cannot find out how much time has passed. The service then
// refuses requests that are signed with the account's key, but not requests with a shared access signature or a token.
//
// The same holds for a plan that a maintainer has bounded; see Plan.NotAfter.
func (w *write) stale() bool {
	if late := w.currentTransaction.late; !late.IsZero() && w.table.Options.Now().After(late) {
		return true
	}
	if !w.currentTransaction.record {
		return false
	}
	began, err := commit.TimeOf(w.id)
	age, most := w.table.Options.Now().Sub(began), w.table.Options.mostAge()
	return err != nil || age > most || age < -most
}

var errStale = errors.New("its operation ID is too old, or lies in the future: the machine was suspended, or its clock was set")
