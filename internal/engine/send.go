package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// send sends the plan until its outcome is known, or the time or the attempts are used up.
//
// A request that could not be sent, or whose outcome is unknown, is sent again: the same operations with the same operation ID. The
// second request can be refused because the first one was applied. So can a request that the network has delivered twice. The
// commit record, or else the operation ID in the row, shows that the write was applied. If the row has another ID, a write that was
// sent once was refused. A write that was sent twice may have been applied and then overwritten: its outcome is unknown.
func (w *write) send(ctx context.Context) state {
	w.out = w.sendPlan(ctx)
	w.sent.withoutRecord = w.sent.withoutRecord || !w.currentPlan.record && w.sent.doubt != nil
	switch w.out.kind {
	case wire.Done:
		if !w.out.responded {
			return w.doneBySight(ctx, w.out.etags)
		}
		w.keepLoaded(w.out.etags)
		return w.done(ctx, w.out.etags)
	case wire.Refused:
		return stateRefused
	}
	return stateGivenUp
}

func (w *write) sendPlan(ctx context.Context) outcome {
	tries := attempts{retry: w.table.Options.Retry, log: w.log()}
	var last error
	for {
		if w.stale() {
			return w.unsent()
		}
		etags, failed, verdict, err := w.sendOnce(ctx)
		switch verdict {
		case wire.Done:
			return outcome{kind: wire.Done, etags: etags, responded: true}
		case wire.Refused:
			return w.afterRefusal(ctx, failed, err)
		case wire.Unknown:
			w.sent.doubt = err
		default:
			if !dialing(err) && w.sent.doubt == nil {
				return outcome{kind: wire.NotSent, failed: -1, err: err}
			}
		}
		if last = err; !tries.wait(ctx, err) {
			break
		}
		// A write without a condition could overwrite what concurrent writers have stored since. So read the row first.
		if w.sent.doubt != nil && w.unconditional() {
			if etags, ours, err := w.readBack(ctx, -1, maxReadBacks); ours && err == nil {
				return outcome{kind: wire.Done, etags: etags}
			}
		}
	}
	if w.sent.doubt == nil {
		return outcome{kind: wire.NotSent, failed: -1, err: last}
	}
	if !w.currentPlan.record {
		if etags, ours, err := w.readBack(ctx, -1, maxReadBacks); ours && err == nil {
			return outcome{kind: wire.Done, etags: etags}
		}
	}
	return outcome{kind: wire.Unknown, failed: -1, err: w.sent.doubt}
}

// unconditional reports whether nothing of the write depends on what is stored.
func (w *write) unconditional() bool {
	return !slices.ContainsFunc(w.currentPlan.steps, func(s step) bool {
		return s.inserts() || s.Match != "" && s.Match != azcore.ETagAny
	})
}

// sendOnce sends the plan once. failed is the step that was refused.
func (w *write) sendOnce(ctx context.Context) (etags []azcore.ETag, failed int, verdict wire.Outcome, err error) {
	if w.currentPlan.batch {
		return w.table.transact(ctx, w.currentPlan.steps)
	}
	s := &w.currentPlan.steps[0]
	etag, verdict, err := s.sendAlone(ctx)
	return []azcore.ETag{etag}, 0, verdict, err
}

// afterRefusal is the outcome if the service has refused a step.
func (w *write) afterRefusal(ctx context.Context, failed int, refusal error) outcome {
	out := outcome{kind: wire.Refused, failed: failed, err: w.inCallersTerms(refusal)}
	switch {
	case w.currentPlan.record:
		return w.afterRefusalWithRecord(ctx, out)
	case w.sent.doubt == nil && !w.repeated(failed, refusal):
		return out
	case failed >= 0 && w.currentPlan.steps[failed].derived != nil && w.repairable(failed, refusal):
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
		w.sent.doubt = &Condition{ErrUnknownOutcome, fmt.Errorf("%s, and the row could not be read: %w", Brief(refusal), wire.Redact(err))}
		return outcome{kind: wire.Unknown, failed: -1, err: w.sent.doubt}
	}
	if w.currentPlan.steps[failed].deletes() && errors.Is(out.err, ErrNotFound) {
		if b, is := out.err.(*BatchError); is {
			b.Err = &Explained{b.Err, repeatedDelete}
		} else {
			out.err = &Explained{out.err, repeatedDelete}
		}
	}
	return out
}

const repeatedDelete = "the network may have repeated the request of this delete, so that the delete itself removed the row; a handle of Exact can tell"

// repairable reports whether a derived row was refused because it is not as the plan expected.
func (w *write) repairable(failed int, refusal error) bool {
	d := w.currentPlan.steps[failed].derived
	return !(d.ifExists != nil && errors.Is(refusal, ErrExists))
}

// repeated reports whether a step may have been refused because its request arrived twice, and the first was applied.
func (w *write) repeated(failed int, refusal error) bool {
	if failed < 0 || w.currentPlan.steps[failed].derived != nil {
		return false // the entity's own step, which comes first, passed
	}
	switch s := &w.currentPlan.steps[failed]; {
	case s.inserts():
		return errors.Is(refusal, ErrExists)
	case s.deletes():
		return errors.Is(refusal, ErrNotFound) || errors.Is(refusal, ErrChanged)
	default:
		return errors.Is(refusal, ErrChanged)
	}
}
