package engine

import (
	"context"
	"fmt"
)

// UnknownError is the error of a write with a commit record whose outcome is unknown. It can be resolved later.
type UnknownError struct {
	Table, Partition string
	ID               string // the operation ID
	Err              error

	write *write
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s (%s; its operation ID is %s)", ErrUnknownOutcome, Brief(cause(e.Err)), e.ID)
}

func (*UnknownError) brief() {}

func (e *UnknownError) Unwrap() []error { return []error{ErrUnknownOutcome, e.Err} }

// Resolve reports whether the write was applied; see table.UnknownError.Resolve.
func (e *UnknownError) Resolve(ctx context.Context) (done bool, err error) {
	w := e.write
	w.resolving.Lock()
	defer w.resolving.Unlock()
	if w.state != stateInDoubt {
		return w.state == stateCommitted, nil
	}
	ctx, end := w.table.Span(ctx, "Resolve")
	defer func() { end(err) }()
	ctx, cancel := Bound(ctx, w.table.Options.WriteTimeout)
	defer cancel()
	state, err := w.table.abort(ctx, e.Partition, e.ID, placesOf(w.currentPlan.remotes)...)
	if err != nil {
		return false, w.table.OpError("Resolve", RecordKey(e.Partition, e.ID), err)
	}
	if state != RecordAborted {
		w.state = stateCommitted
		w.showing = nil // the bulk work of the write has ended
		w.show(ctx)
		defer w.awaitShow()
		w.finish(ctx)
		w.applied(callersPart(w, w.etags(ctx, -1, "")))
		w.appliedRemotes()
		w.showLate(ctx)
		return true, nil
	}
	w.state = stateAborted
	_ = w.rollBack(ctx) // else a worker does it
	w.tellTargets(false)
	return false, nil
}

// newUnknownError is the error of a write with a commit record whose outcome is not known.
func (w *write) newUnknownError(err error) error {
	return &UnknownError{Table: w.table.Name, Partition: w.partition(), ID: w.id, Err: err, write: w}
}
