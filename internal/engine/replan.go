package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// restartWithNewID lets the write begin again with another operation ID. Nothing that was sent so
// far can be applied any more.
func (w *write) restartWithNewID(ctx context.Context) (err error) {
	w.withdraw(ctx)
	if !w.currentTransaction.record {
		w.outerStored = nil // see renewOuter
	}
	w.sent, w.currentTransaction.participants, w.prepared = history{}, nil, nil
	w.id, err = w.table.Options.newOperationID()
	w.outerID = w.id
	return err
}

// contended turns the last conflict into ErrContended, if it was about a row that the write had to
// read: a row that entities share, the row of a write by key, or one that only reserved the key of
// an insert. Other outcomes stay as they are. ended is the error of the context, nil if the context
// has not ended.
func (w *write) contended(out outcome, ended error) outcome {
	var re *azcore.ResponseError
	if out.failed < 0 || !errors.As(out.err, &re) {
		return out
	}
	cause := error(re)
	if ended != nil {
		cause = errors.Join(ended, re)
	}
	contended := errs.With(errs.ErrContended, cause)
	var de *errs.DerivedError
	var be *errs.BatchError
	switch s := &w.currentTransaction.steps[out.failed]; {
	case s.derived == nil && !s.replannable && !s.inserts(), s.derived != nil && (!s.derived.loaded || s.derived.ifExists != nil):
	case errors.As(out.err, &de):
		de.Err = contended
	case errors.As(out.err, &be):
		be.Err = contended
	default:
		out.err = contended
	}
	return out
}

// overtaken makes the error of a refused move ErrChanged if a concurrent writer has changed the
// entity: the old row is gone, or not the version that was read. The move may be refused because of
// a row of that writer's, so overtaken reads the old row then.
func (w *write) overtaken(ctx context.Context) {
	if w.state != stateAborted || w.out.kind != wire.Refused || len(w.ops) == 0 || w.ops[0].Counterpart == nil {
		return
	}
	refusal := w.out.err
	var de *errs.DerivedError
	derived := errors.As(refusal, &de)
	switch {
	case !derived && errors.Is(refusal, errs.ErrNotFound):
		w.out.err = movedAway(refusal)
	case w.out.failed >= 0 && len(w.participantOps)+len(w.currentTransaction.participants) == 0: // the service has checked the old row in the same transaction
	case derived && de.Key != (keys.Key{}), errors.Is(refusal, errs.ErrExists), errors.Is(refusal, errs.ErrGivenUp):
		ctx, cancel := w.table.attempt(ctx)
		defer cancel()
		switch f, err := w.table.readRow(ctx, w.ops[0].Key); {
		case err != nil || f.hidden || f.etag() == w.ops[0].Match:
		case f.row == nil:
			w.out.err = movedAway(errs.With(errs.ErrNotFound, f.gone))
		default:
			w.out.err = errs.ErrChanged
		}
	}
}

// movedAway returns ErrChanged for a move whose old row is gone.
func movedAway(err error) error {
	return &errs.Explained{Err: errs.With(errs.ErrChanged, err), Explanation: "it is not under this key any more"}
}

// final reports whether a late duplicate of the request would be refused too: after a changed ETag
// it would, but a row that exists may be deleted by then.
func (w *write) final() bool {
	if w.out.failed < 0 || errors.Is(w.out.err, errs.ErrTableNotFound) {
		return true
	}
	match := w.currentTransaction.steps[w.out.failed].Match
	return match != "" && match != azcore.ETagAny
}

// canReplan reports whether another plan may succeed. repaired reports that the next plan corrects
// a derived row, so that no pause is needed.
func (w *write) canReplan(ctx context.Context) (repaired, again bool) {
	out := w.out
	if out.failed < 0 || out.neverApplies {
		return false, out.neverApplies
	}
	s := &w.currentTransaction.steps[out.failed]
	lost := errors.Is(out.err, errs.ErrChanged) || errors.Is(out.err, errs.ErrNotFound) || errors.Is(out.err, errs.ErrExists)
	d := s.derived
	switch {
	case !lost:
		return false, false
	case d == nil && s.inserts() && !s.replannable:
		return w.reservedOnly(ctx, s)
	case d == nil:
		return false, s.replannable
	case d.ifExists != nil && errors.Is(out.err, errs.ErrExists):
		return w.ownAfterAll(ctx, d, out.err)
	case d.loaded:
		return false, true
	}
	f, err := w.readRow(ctx, d.key)
	if err != nil {
		return false, false
	}
	return w.note(d, f), true
}

// reservedOnly reports whether the key of a refused insert is only reserved by another write, which
// has not committed: reading the row ends that write. Tables without an outbox have no such writes.
func (w *write) reservedOnly(ctx context.Context, s *step) (repaired, again bool) {
	if !errors.Is(w.out.err, errs.ErrExists) {
		return false, false
	}
	if s.Table.Mode.Ends() != nil {
		gone, _, err := w.freed(ctx, s.Table, s.Key)
		if err != nil {
			w.couldNotRead(err)
		}
		return false, gone
	}
	if s.Table.Mode.Outbox == nil {
		return false, false
	}
	f, err := w.readRow(ctx, s.Key)
	if err != nil {
		w.couldNotRead(err)
	}
	return false, err == nil && f.row == nil && !f.hidden
}

// couldNotRead is for a row that is refused because it exists, and that may only be reserved by
// another write: whether it is, is not known. The write is not applied.
func (w *write) couldNotRead(err error) {
	cause := error(errs.With(errs.ErrGivenUp, fmt.Errorf("%s, and the row could not be read: %w", errs.Brief(w.out.err), wire.Redact(err))))
	var be *errs.BatchError
	if errors.As(w.out.err, &be) {
		other := *be
		other.Err = cause
		cause = &other
	}
	w.out.err = cause
}

// note keeps what was read of a derived row, for the next plan. It reports whether the row is noted
// for the first time.
func (w *write) note(d *derivedRow, f readResult) bool {
	_, known := w.corrections[d.key.RowKey()]
	w.corrections[d.key.RowKey()] = f
	return !known
}

// ownAfterAll reads the row of a unique value that is taken. The write is replanned if the row is a
// copy of the entity that wants the value, or of an entity that this write deletes, or if the row
// is gone by now. Otherwise the error names the row's owner.
func (w *write) ownAfterAll(ctx context.Context, d *derivedRow, refusal error) (repaired, again bool) {
	if !d.after.IsCopy() && w.outbox == nil && w.only == "" {
		return false, false
	}
	f, err := w.readRow(ctx, d.key)
	switch {
	case err != nil && (w.outbox != nil || w.only != ""):
		w.couldNotRead(err)
		return false, false
	case err != nil:
		return false, false
	case f.row == nil && !d.after.IsCopy(): // it was only reserved
		return false, !f.hidden
	case !d.after.IsCopy():
		return false, false
	case f.row == nil || stored.SameOwner(f.row, d.after) || w.deletes(f.row):
		return w.note(d, f), true
	}
	owner, isCopy := f.row.Primary()
	if isCopy {
		switch free, err := w.ownerOver(ctx, d, owner, f.etag()); {
		case err != nil:
			w.couldNotRead(err)
			return false, false
		case free:
			return false, true
		}
	}
	var de *errs.DerivedError
	if errors.As(refusal, &de) {
		de.Owner = owner
	}
	return false, false
}

// deletes reports whether a row is a copy of an entity that this write deletes, with its derived
// rows.
func (w *write) deletes(row *stored.Row) bool {
	k, isCopy := row.Primary()
	return isCopy && slices.ContainsFunc(w.ops, func(op *Op) bool { return op.needsPlanning && op.deletes() && op.Key == k })
}

// inCallersTerms returns the refusal of a step as an error of the caller's operation.
func (w *write) inCallersTerms(err error) error {
	b, is := err.(*errs.BatchError)
	if !is {
		return err
	}
	b = &errs.BatchError{Index: b.Index, Key: b.Key, Code: b.Code, Err: b.Err}
	if b.Index >= 0 {
		s := &w.currentTransaction.steps[b.Index]
		b.Index = s.opIndex
		if d := s.derived; d != nil {
			cause := b.Err
			if d.ifExists != nil && errors.Is(cause, errs.ErrExists) {
				cause = errs.With(d.ifExists, cause)
			}
			b.Err = &errs.DerivedError{Maintainer: d.by, Key: s.Key, Err: cause}
		} else if s.Absent != nil && errors.Is(b.Err, errs.ErrNotFound) {
			b.Err = s.Absent
		}
	}
	if !w.asTransaction {
		return b.Err
	}
	return b
}
