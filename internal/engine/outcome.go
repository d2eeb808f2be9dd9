package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// outcome is what has become of the steps.
type outcome struct {
	kind         wire.Outcome
	etags        []azcore.ETag // of the steps
	failed       int           // the step that was refused, -1 for none
	err          error
	neverApplies bool // nothing that was sent with the operation ID can be applied any more
	responded    bool // the response to the current transaction says so, and not what is stored
}

// maxReadBacks is the most rows that are read to learn the outcome of a write.
const maxReadBacks = 10

// readBack reads rows of the write, the refused one first, and at most so many. If one of them
// contains the operation ID, the write was applied, and the caller's other rows are read for their
// ETags. Deleted rows show nothing.
func (w *write) readBack(ctx context.Context, failed, most int) (etags []azcore.ETag, ours bool, err error) {
	var order []int
	for i := range w.currentTransaction.steps {
		switch s := &w.currentTransaction.steps[i]; {
		case s.StoresID && i == failed:
			order = slices.Insert(order, 0, i)
		case s.StoresID:
			order = append(order, i)
		}
	}
	at, etag := -1, azcore.ETag("")
	for _, i := range order[:min(len(order), most)] {
		if etag, ours, err = w.readBackRow(ctx, &w.currentTransaction.steps[i]); err != nil {
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

// etags reads the ETags of the caller's rows after the write was applied, but for a step whose ETag
// is known.
func (w *write) etags(ctx context.Context, known int, etag azcore.ETag) []azcore.ETag {
	etags := make([]azcore.ETag, len(w.currentTransaction.steps))
	for i := range w.currentTransaction.steps {
		switch s := &w.currentTransaction.steps[i]; {
		case i == known:
			etags[i] = etag
		case s.deletes(), s.opIndex < 0, s.derived != nil:
		default:
			var err error
			if etags[i], _, err = w.readBackRow(ctx, s); err != nil || etags[i] == "" {
				etags[i] = stored.UnknownETag
			}
		}
	}
	return etags
}

// readBackRow reads a row and reports whether it contains the operation ID. A missing row does not.
// If the content is what the write stored, the ETag is the row's. Otherwise it is UnknownETag, so
// that the caller's next write cannot overwrite content that the caller has not seen. After a merge
// into a row that was not read, the full content is unknown: the operation ID and the sent columns
// are compared.
func (w *write) readBackRow(ctx context.Context, s *step) (etag azcore.ETag, ours bool, err error) {
	f, err := w.readStep(ctx, s)
	w.seen = seenRow{s.Key, f}
	if s.Current != nil {
		*s.Current = f.row
	}
	if err != nil || f.row == nil {
		return "", false, err
	}
	ours = stored.SameID(f.row.Columns(), []edm.Column{stored.IDColumn(w.id)})
	same := false
	if after, err := w.stored(s).Decoded(); err == nil && after != nil {
		same = len(after) == len(f.row.Columns()) && containsAll(f.row.Columns(), after)
	} else {
		same = ours && containsAll(f.row.Columns(), s.Body.Columns())
	}
	if !same {
		return stored.UnknownETag, ours, nil
	}
	return f.row.ETag, ours, nil
}

// containsAll reports whether columns contain each of some other columns.
func containsAll(columns, others []edm.Column) bool {
	return !slices.ContainsFunc(others, func(c edm.Column) bool { return !slices.ContainsFunc(columns, c.Same) })
}

// abort stores an abort record for a write whose outcome is unknown, so that the write can no
// longer commit, or finds that it committed.
func (w *write) abort(ctx context.Context, out outcome) state {
	record, err := w.table.abort(ctx, w.partition(), w.id, placesOf(w.currentTransaction.participants)...)
	switch {
	case err != nil && out.kind == wire.Refused:
		// Do not report a refusal: the write may be applied.
		w.out.err = w.newUnknownError(fmt.Errorf("%s, and the abort record could not be stored: %w", errs.Brief(out.err), errs.Cause(err)))
		return stateInDoubt
	case err != nil:
		w.out.err = w.newUnknownError(errs.Cause(cmp.Or(w.sent.doubt, out.err)))
		return stateInDoubt
	case record != commit.Aborted:
		return w.doneAsRead(ctx, w.etags(ctx, -1, ""))
	}
	if w.rollBack(ctx) == nil {
		w.withdraw(ctx) // else a worker rolls back
	}
	if out.kind != wire.Refused {
		w.out.err = errs.With(errs.ErrGivenUp, errs.Cause(cmp.Or(w.sent.doubt, out.err)))
	}
	return stateAborted
}

// afterRefusalWithRecord is afterRefusal for a write with a commit record. If the commit record
// exists already, it shows the outcome of the write. If another step was refused, no earlier
// request was applied, since the step of the commit record comes first and passed. So the write may
// be replanned with the same operation ID.
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

// unsent is the outcome of a stale write, which is not sent any more. If nothing that was sent with
// its operation ID can be applied, the write begins again with another ID.
func (w *write) unsent() outcome {
	return outcome{kind: wire.Refused, failed: -1, neverApplies: !w.sent.mayStillApply, err: errs.With(errs.ErrGivenUp, w.whyStale())}
}

// resolve reports whether the write was applied; see errs.UnknownError.
func (w *write) resolve(ctx context.Context) (done bool, err error) {
	w.resolving.Lock()
	defer w.resolving.Unlock()
	if w.state != stateInDoubt {
		return w.state == stateCommitted, nil
	}
	ctx, end := w.table.Span(ctx, "Resolve")
	defer func() { end(err) }()
	ctx, cancel := Bound(ctx, w.table.Options.WriteTimeout)
	defer cancel()
	state, err := w.table.abort(ctx, w.partition(), w.id, placesOf(w.currentTransaction.participants)...)
	if err != nil {
		return false, w.table.OpError("Resolve", RecordKey(w.partition(), w.id), err)
	}
	if state != commit.Aborted {
		w.state = stateCommitted
		w.showing = nil // the bulk work of the write has ended
		w.finish(ctx)
		w.show(lasting(ctx))
		defer w.awaitShow()
		w.applied(callersItems(w, w.etags(ctx, -1, "")))
		w.appliedParticipants()
		return true, nil
	}
	w.state = stateAborted
	_ = w.rollBack(ctx) // else a worker does it
	w.tellTargets(false)
	return false, nil
}

// newUnknownError returns an *UnknownError for a write with a commit record whose outcome is
// unknown.
func (w *write) newUnknownError(err error) error {
	return errs.NewUnknownError(w.table.Name, w.partition(), w.id, err, w.resolve)
}

// afterRefusal is the outcome if the service has refused a step.
func (w *write) afterRefusal(ctx context.Context, failed int, refusal error) outcome {
	out := outcome{kind: wire.Refused, failed: failed, err: w.inCallersTerms(refusal)}
	switch {
	case w.currentTransaction.record:
		return w.afterRefusalWithRecord(ctx, out)
	case w.sent.doubt == nil && !w.repeated(failed, refusal):
		return out
	case failed >= 0 && w.currentTransaction.steps[failed].derived != nil && w.repairable(failed, refusal):
		return out // the entity's own step, which comes first, passed: so no earlier request was applied
	}
	most := 1 // if the network has repeated the request, the refused row shows it
	if w.sent.doubt != nil {
		most = maxReadBacks
	}
	etags, ours, err := w.readBack(ctx, failed, most)
	var re *azcore.ResponseError
	switch {
	case err == nil && ours:
		return outcome{kind: wire.Done, etags: etags}
	case w.sent.doubt != nil:
		return outcome{kind: wire.Unknown, failed: -1, err: w.sent.doubt}
	case errors.As(err, &re) && re.StatusCode == http.StatusForbidden:
		return out // a caller that may not read cannot find out; see account.Grant
	case err != nil:
		// Do not return the refusal: an earlier request of this write may have caused it.
		w.sent.doubt = errs.With(errs.ErrUnknownOutcome, fmt.Errorf("%s, and the row could not be read: %w", errs.Brief(refusal), wire.Redact(err)))
		return outcome{kind: wire.Unknown, failed: -1, err: w.sent.doubt}
	}
	if w.currentTransaction.steps[failed].deletes() && errors.Is(out.err, errs.ErrNotFound) {
		if b, is := out.err.(*errs.BatchError); is {
			b.Err = &errs.Explained{Err: b.Err, Explanation: repeatedDelete}
		} else {
			out.err = &errs.Explained{Err: out.err, Explanation: repeatedDelete}
		}
	}
	return out
}
