package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
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

// maxReadBacks is the most rows that are read to learn the outcome of a write.
const maxReadBacks = 10

// readBack reads rows of the write, the refused one first, and at most so many. If one of them contains the operation ID, the write
// was applied, and the caller's other rows are read for their ETags. Deleted rows show nothing.
func (w *write) readBack(ctx context.Context, failed, most int) (etags []azcore.ETag, ours bool, err error) {
	var order []int
	for i := range w.currentPlan.steps {
		switch s := &w.currentPlan.steps[i]; {
		case s.StoresID && i == failed:
			order = slices.Insert(order, 0, i)
		case s.StoresID:
			order = append(order, i)
		}
	}
	at, etag := -1, azcore.ETag("")
	for _, i := range order[:min(len(order), most)] {
		if etag, ours, err = w.readBackRow(ctx, &w.currentPlan.steps[i]); err != nil {
			return nil, false, err
		}
		at = i
		if ours {
			break
		}
	}
	if !ours {
		return nil, false, nil
	}
	return w.etags(ctx, at, etag), true, nil
}

// etags reads the ETags of the caller's rows after the write was applied, but for a step whose ETag is known.
func (w *write) etags(ctx context.Context, known int, etag azcore.ETag) []azcore.ETag {
	etags := make([]azcore.ETag, len(w.currentPlan.steps))
	for i := range w.currentPlan.steps {
		switch s := &w.currentPlan.steps[i]; {
		case i == known:
			etags[i] = etag
		case s.deletes(), s.opIndex < 0, s.derived != nil:
		default:
			var err error
			if etags[i], _, err = w.readBackRow(ctx, s); err != nil || etags[i] == "" {
				etags[i] = stored.Superseded
			}
		}
	}
	return etags
}

// readBackRow reads a row and reports whether it contains the operation ID. A missing row does not. If the content is what the
// write stored, the ETag is the row's. Otherwise it is superseded, so that the caller's next write cannot overwrite content that
// the caller has not seen. After a merge into a row that was not read, the full content is unknown: the operation ID and the sent
// columns are compared.
func (w *write) readBackRow(ctx context.Context, s *step) (etag azcore.ETag, ours bool, err error) {
	f, err := w.readStep(ctx, s)
	if s.Current != nil {
		*s.Current = f.row
	}
	if err != nil || f.row == nil {
		return "", false, err
	}
	id := stored.IDColumn(w.id)
	ours = edm.Same(stored.Find(f.row.Columns(), reserved.OperationID), id.Value)
	same := false
	if after, err := w.stored(s).Decoded(); err == nil && after != nil {
		same = len(after) == len(f.row.Columns()) && containsAll(f.row.Columns(), after)
	} else {
		same = ours && containsAll(f.row.Columns(), s.Body.Columns())
	}
	if !same {
		return stored.Superseded, ours, nil
	}
	return f.row.ETag, ours, nil
}

// containsAll reports whether columns contain each of some other columns.
func containsAll(columns, others []edm.Column) bool {
	return !slices.ContainsFunc(others, func(c edm.Column) bool { return !slices.ContainsFunc(columns, c.Same) })
}

// abort stores an abort record for a write whose outcome is unknown, so that the write can no longer commit, or finds that it
// committed.
func (w *write) abort(ctx context.Context, out outcome) state {
	record, err := w.table.abort(ctx, w.partition(), w.id, placesOf(w.currentPlan.remotes)...)
	switch {
	case err != nil && out.kind == wire.Refused:
		// Do not report a refusal: the write may be applied.
		w.out.err = w.newUnknownError(fmt.Errorf("%s, and the abort record could not be stored: %w", errs.Brief(out.err), errs.Cause(err)))
		return stateInDoubt
	case err != nil:
		w.out.err = w.newUnknownError(errs.Cause(cmp.Or(w.sent.doubt, out.err)))
		return stateInDoubt
	case record != commit.Aborted:
		return w.doneBySight(ctx, w.etags(ctx, -1, ""))
	}
	if w.rollBack(ctx) == nil {
		w.withdraw(ctx) // else a worker rolls back
	}
	if out.kind != wire.Refused {
		w.out.err = errs.With(errs.ErrGivenUp, errs.Cause(cmp.Or(w.sent.doubt, out.err)))
	}
	return stateAborted
}

// afterRefusalWithRecord is afterRefusal for a write with a commit record. If the commit record exists already, it shows the
// outcome of the write. If another step was refused, no earlier request was applied, since the step of the commit record comes
// first and passed. So the write may be replanned with the same operation ID.
func (w *write) afterRefusalWithRecord(ctx context.Context, out outcome) outcome {
	if out.failed != 0 || !errors.Is(out.err, errs.ErrExists) {
		return out
	}
	rec, err := w.table.Record(ctx, w.partition(), w.id)
	switch {
	case err != nil || rec == nil:
		w.sent.recordLost = err == nil
		w.sent.doubt = cmp.Or[error](w.sent.doubt, errs.With(errs.ErrUnknownOutcome, cmp.Or(err, errRecordLost)))
		return outcome{kind: wire.Unknown, failed: -1, err: w.sent.doubt}
	case rec.State == commit.Aborted:
		w.sent.doubt = nil
		out.neverApplies, out.err = true, errs.With(errs.ErrGivenUp, errors.New("another process has stored an abort record in the place of its commit record"))
		return out
	}
	return outcome{kind: wire.Done, etags: w.etags(ctx, -1, "")}
}

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
	if late := w.currentPlan.late; !late.IsZero() && w.table.Options.Now().After(late) {
		return true
	}
	if !w.currentPlan.record {
		return false
	}
	began, err := commit.TimeOf(w.id)
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
	return outcome{kind: wire.Refused, failed: -1, neverApplies: !w.sent.mayStillApply, err: errs.With(errs.ErrGivenUp, errStale)}
}
