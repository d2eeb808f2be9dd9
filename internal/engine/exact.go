package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// UnknownError is table.UnknownError.
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
	if w.state != inDoubt {
		return w.state == committed, nil
	}
	ctx, end := w.table.Span(ctx, "Resolve")
	defer func() { end(err) }()
	ctx, cancel := Bound(ctx, w.table.Options.WriteTimeout)
	defer cancel()
	state, err := w.table.abort(ctx, e.Partition, e.ID)
	if err != nil {
		return false, w.table.OpError("Resolve", RecordKey(e.Partition, e.ID), err)
	}
	if state != RecordAborted {
		w.state = committed
		w.applied(own(w, w.etags(ctx, -1, "")))
		return true, nil
	}
	w.state = aborted
	w.tellTargets(false)
	return false, nil
}

// unknown is the error of a write with a commit record whose outcome is not known.
func (w *write) unknown(err error) error {
	return &UnknownError{Table: w.table.Name, Partition: w.partition(), ID: w.id, Err: err, write: w}
}

// abort ends a write with a commit record that may be applied, or may still be: an abort record makes sure that it is not.
func (w *write) abort(ctx context.Context, out outcome) state {
	record, err := w.table.abort(ctx, w.partition(), w.id)
	switch {
	case err != nil && out.verdict == wire.Refused:
		// It is not reported as a refusal, for it may be applied.
		w.out.err = w.unknown(fmt.Errorf("%s, and the abort record could not be stored: %w", Brief(out.err), cause(err)))
		return inDoubt
	case err != nil:
		w.out.err = w.unknown(cause(either(w.sent.doubt, out.err)))
		return inDoubt
	case record != RecordAborted:
		return w.done(ctx, w.etags(ctx, -1, ""))
	}
	w.withdraw(ctx)
	if out.verdict != wire.Refused {
		w.out.err = &Condition{ErrGivenUp, cause(either(w.sent.doubt, out.err))}
	}
	return aborted
}

// refusedWithRecord is refused for a write with a commit record. If the record exists already, it tells what became of the write. Any other
// refusal came before the write was applied, and it is not applied twice: another plan may be sent with the same operation ID.
func (w *write) refusedWithRecord(ctx context.Context, out outcome) outcome {
	if out.failed != 0 || !errors.Is(out.err, ErrExists) {
		return out
	}
	rec, err := w.table.Record(ctx, w.partition(), w.id)
	switch {
	case err != nil || rec == nil:
		w.sent.recordLost = err == nil
		w.sent.doubt = either(w.sent.doubt, &Condition{ErrUnknownOutcome, either(err, errRecordLost)})
		return outcome{verdict: wire.Unknown, failed: -1, err: w.sent.doubt}
	case rec.State == RecordAborted:
		w.sent.doubt = nil
		out.dead, out.err = true, &Condition{ErrGivenUp, errors.New("another process has stored an abort record in the place of its commit record")}
		return out
	}
	return outcome{verdict: wire.Done, etags: w.etags(ctx, -1, "")}
}
