package table

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// send sends the steps until their outcome is known, or the time or the tries are over.
//
// A request that could not be sent, or whose outcome is unknown, is sent again: the same operations, under the same name. What
// an operation with a condition then meets may be its own work, and so may be what any operation meets whose request arrived
// twice. The intent tells, if there is one, or the name that the row carries: where it is ours, the write is done. Where it is
// not, the refusal stands if the write was sent once; if it was sent before, it may have been done and overwritten since, and
// nobody knows.
func (w *write) send(ctx context.Context) outcome {
	tries := attempts{retry: w.core.opt.Retry}
	var last error
	for {
		if w.stale() {
			return w.unsent()
		}
		etags, failed, verdict, err := w.once(ctx)
		switch verdict {
		case wire.Done:
			return outcome{verdict: wire.Done, etags: etags}
		case wire.Refused:
			return w.refused(ctx, failed, err)
		case wire.Unknown:
			w.doubt = err
		default:
			if !dialing(err) && w.doubt == nil {
				return outcome{verdict: wire.NotSent, failed: -1, err: err}
			}
		}
		if last = err; !tries.again(ctx, err) {
			break
		}
		// What has no condition would be done once more, over what others have done since. The others are told.
		if w.doubt != nil && w.unconditional() {
			if etags, ours, err := w.readBack(ctx, -1, maxReadBacks); ours && err == nil {
				return outcome{verdict: wire.Done, etags: etags}
			}
		}
	}
	if w.doubt == nil {
		return outcome{verdict: wire.NotSent, failed: -1, err: last}
	}
	if !w.record {
		if etags, ours, err := w.readBack(ctx, -1, maxReadBacks); ours && err == nil {
			return outcome{verdict: wire.Done, etags: etags}
		}
	}
	return outcome{verdict: wire.Unknown, failed: -1, err: w.doubt}
}

// unconditional tells whether nothing of the write depends on what is stored.
func (w *write) unconditional() bool {
	return !slices.ContainsFunc(w.steps, func(op Op) bool {
		return op.kind == aztables.TransactionTypeAdd || op.match != "" && op.match != azcore.ETagAny
	})
}

// dialing tells whether a request could not be sent because nobody was there, which may be otherwise soon.
func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// once sends the steps once. failed is the one that was refused.
func (w *write) once(ctx context.Context) (etags []azcore.ETag, failed int, verdict wire.Verdict, err error) {
	if w.batch {
		return w.core.transact(ctx, w.steps)
	}
	var call wire.Call
	op := w.steps[0]
	etag, err := op.request(call.Write(ctx, w.core.tryTimeout()))
	if op.kind == aztables.TransactionTypeDelete {
		err = call.CheckBare(err)
	} else {
		err = call.CheckWrite(string(etag), err)
	}
	verdict = call.Verdict(err)
	return []azcore.ETag{etag}, 0, verdict, w.core.judged(&call, wire.Redact(err))
}

// refused is the outcome of steps that the service has refused, for one of them.
func (w *write) refused(ctx context.Context, failed int, refusal error) outcome {
	out := outcome{verdict: wire.Refused, failed: failed, err: w.refusal(refusal)}
	switch {
	case w.record:
		return w.refusedExactly(ctx, out)
	case w.doubt == nil && !w.repeated(failed, refusal):
		return out
	case failed >= 0 && w.steps[failed].derived != nil && w.mendable(failed, refusal):
		return out // the row that it follows from was as it should be, so the write was not done before; and it is not done twice
	}
	most := 1 // of a request that arrived twice, the row that was refused tells
	if w.doubt != nil {
		most = maxReadBacks
	}
	etags, ours, err := w.readBack(ctx, failed, most)
	var re *azcore.ResponseError
	switch {
	case err == nil && ours:
		return outcome{verdict: wire.Done, etags: etags}
	case w.doubt != nil:
		return outcome{verdict: wire.Unknown, failed: -1, err: w.doubt}
	case errors.As(err, &re) && re.StatusCode == http.StatusForbidden:
		return out // who may not read cannot look; see Grant
	case err != nil:
		// Not the refusal's condition: it may be its own work that it has met.
		w.doubt = &condition{ErrUnknownOutcome, fmt.Errorf("%s, and the row could not be read: %w", brief(refusal), wire.Redact(err))}
		return outcome{verdict: wire.Unknown, failed: -1, err: w.doubt}
	}
	if w.steps[failed].kind == aztables.TransactionTypeDelete && errors.Is(out.err, ErrNotFound) {
		if b, is := out.err.(*BatchError); is {
			b.Err = &explainedError{b.Err, repeatedDelete}
		} else {
			out.err = &explainedError{out.err, repeatedDelete}
		}
	}
	return out
}

const repeatedDelete = "the network may have repeated the request of this delete, so that the delete itself removed the row; a handle of Exact can tell"

// mendable tells whether a derived row was refused for not being as it should.
func (w *write) mendable(failed int, refusal error) bool {
	d := w.steps[failed].derived
	return !(d.taken != nil && errors.Is(refusal, ErrExists))
}

// repeated tells whether an operation may have been refused because the write had been done already, its request having
// arrived twice.
func (w *write) repeated(failed int, refusal error) bool {
	if failed < 0 || w.steps[failed].derived != nil {
		return false // of a derived row: the row that it follows from was as it should be
	}
	switch op := w.steps[failed]; {
	case op.kind == aztables.TransactionTypeAdd:
		return errors.Is(refusal, ErrExists)
	case op.kind == aztables.TransactionTypeDelete:
		return errors.Is(refusal, ErrNotFound) || errors.Is(refusal, ErrChanged)
	default:
		return errors.Is(refusal, ErrChanged)
	}
}

// refusal is the service's refusal of a step in the caller's words.
func (w *write) refusal(err error) error {
	b, is := err.(*BatchError)
	if !is {
		return err
	}
	b = &BatchError{Index: b.Index, Key: b.Key, Code: b.Code, Err: b.Err}
	if b.Index >= 0 {
		step := w.steps[b.Index]
		b.Index = step.caller
		if d := step.derived; d != nil {
			cause := b.Err
			if d.taken != nil && errors.Is(cause, ErrExists) {
				cause = &condition{d.taken, cause}
			}
			b.Err = &DerivedError{Maintainer: d.by, Key: step.key, Err: cause}
		}
	}
	if !w.together {
		return b.Err
	}
	return b
}
