package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// prepare prepares the remotes of the plan, all at the same time. If one of them is refused, the others are rolled back, and the
// write is planned again if that may help: with another operation ID, so that what was prepared belongs to no write that can commit.
func (w *write) prepare(ctx context.Context, conflicts *Conflicts) state {
	all := w.currentPlan.remotes
	if len(all) == 0 {
		return stateReady
	}
	i := 0
	InOrder(ctx, all, func(ctx context.Context, m *remote) (outcome, error) { return w.prepareRemote(ctx, m), nil }, func(out outcome, _ error) bool {
		all[i].part.out = out
		i++
		return true
	})
	i = slices.IndexFunc(all, func(m *remote) bool { return m.part.out.kind != wire.Done })
	if i < 0 {
		return stateReady
	}
	bad := all[i].part
	_, err := w.rollBackRefused(ctx)
	repaired, again := false, false
	if bad.out.kind == wire.Refused {
		repaired, again = bad.canReplan(ctx)
	}
	if again && !repaired {
		more, ended := conflicts.Wait(ctx, w.log(), bad.out.err)
		if again = more; !again {
			bad.out = bad.contended(bad.out, ended)
		}
	}
	if err != nil {
		w.notification = nil // it stays, and a worker rolls back
	}
	if again {
		if err := w.restartWithNewID(ctx); err != nil {
			bad.out.err = err
		} else {
			return stateBegun
		}
	}
	w.withdraw(ctx)
	w.out = bad.out
	if w.out.kind == wire.Unknown { // what is prepared and not committed is not applied
		w.out.err = &Condition{ErrGivenUp, cause(w.out.err)}
	}
	return stateAborted
}

// prepareRemote sends the transaction that prepares a remote until its outcome is known, or the time or the attempts are used up.
func (w *write) prepareRemote(ctx context.Context, m *remote) outcome {
	m.etags = nil
	plan := m.prepare
	withID(plan.steps, w.id)
	tries := attempts{retry: w.table.Options.Retry, log: m.part.log()}
	for {
		if w.stale() {
			return outcome{kind: wire.Refused, failed: -1, neverApplies: true, err: &Condition{ErrGivenUp, errStale}}
		}
		etags, failed, verdict, err := m.table.transact(ctx, plan.steps)
		m.part.currentPlan = transaction{steps: plan.steps[1 : 1+len(m.steps)], batch: true}
		switch {
		case verdict == wire.Done:
			m.etags = etags
			return outcome{kind: wire.Done}
		case verdict == wire.Refused && failed == 0 && errors.Is(err, ErrExists):
			return w.preparedBefore(ctx, m, err)
		case verdict == wire.Refused:
			return m.refused(failed, err)
		}
		if !tries.wait(ctx, err) {
			return outcome{kind: wire.Unknown, failed: -1, err: err}
		}
	}
}

// preparedBefore is the outcome if a preparation exists: by an earlier request of this one, or rolled back since.
func (w *write) preparedBefore(ctx context.Context, m *remote, refusal error) outcome {
	f, err := m.table.readStored(ctx, preparationKey(m.at.Partition, w.id))
	if err == nil && f.row != nil {
		if p, err := preparationOf(f.row); err == nil && !p.over {
			return outcome{kind: wire.Done} // its ETags are not known: the resolver finishes it
		}
	}
	return outcome{kind: wire.Refused, failed: -1, neverApplies: true, err: &Condition{ErrGivenUp, refusal}}
}

// refused is the outcome if the service has refused a step of the preparation, in the terms of the caller.
func (m *remote) refused(failed int, err error) outcome {
	var be *BatchError
	if !errors.As(err, &be) || failed < 1 || failed > len(m.steps) {
		return outcome{kind: wire.Refused, failed: -1, err: err}
	}
	own := *be
	own.Index = failed - 1
	return outcome{kind: wire.Refused, failed: failed - 1, err: m.part.inCallersTerms(&own)}
}
