package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// abort stores an abort record for a write whose outcome is unknown, so that the write can no longer commit, or finds that it
// committed.
func (w *write) abort(ctx context.Context, out outcome) state {
	record, err := w.table.abort(ctx, w.partition(), w.id, placesOf(w.currentPlan.remotes)...)
	switch {
	case err != nil && out.kind == wire.Refused:
		// Do not report a refusal: the write may be applied.
		w.out.err = w.newUnknownError(fmt.Errorf("%s, and the abort record could not be stored: %w", Brief(out.err), cause(err)))
		return stateInDoubt
	case err != nil:
		w.out.err = w.newUnknownError(cause(firstError(w.sent.doubt, out.err)))
		return stateInDoubt
	case record != RecordAborted:
		return w.doneBySight(ctx, w.etags(ctx, -1, ""))
	}
	if w.rollBack(ctx) == nil {
		w.withdraw(ctx) // else a worker rolls back
	}
	if out.kind != wire.Refused {
		w.out.err = &Condition{ErrGivenUp, cause(firstError(w.sent.doubt, out.err))}
	}
	return stateAborted
}

// afterRefusalWithRecord is afterRefusal for a write with a commit record. If the record exists already, it tells what became of
// the write. If another step was refused, no earlier request was applied, since the step of the commit record comes first and
// passed. So the write may be replanned with the same operation ID.
func (w *write) afterRefusalWithRecord(ctx context.Context, out outcome) outcome {
	if out.failed != 0 || !errors.Is(out.err, ErrExists) {
		return out
	}
	rec, err := w.table.Record(ctx, w.partition(), w.id)
	switch {
	case err != nil || rec == nil:
		w.sent.recordLost = err == nil
		w.sent.doubt = firstError(w.sent.doubt, &Condition{ErrUnknownOutcome, firstError(err, errRecordLost)})
		return outcome{kind: wire.Unknown, failed: -1, err: w.sent.doubt}
	case rec.State == RecordAborted:
		w.sent.doubt = nil
		out.neverApplies, out.err = true, &Condition{ErrGivenUp, errors.New("another process has stored an abort record in the place of its commit record")}
		return out
	}
	return outcome{kind: wire.Done, etags: w.etags(ctx, -1, "")}
}
