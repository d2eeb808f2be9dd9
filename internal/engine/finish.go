package engine

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// done ends a write that was applied.
func (w *write) done(ctx context.Context, etags []azcore.ETag) state {
	w.out = outcome{kind: wire.Done, etags: etags}
	if n := len(w.corrections); n > 0 {
		w.table.shared.repaired.Add(int64(n))
		w.log().Repaired(ctx, n)
	}
	w.updateCompleted(etags)
	w.notifyAgain(ctx)
	w.show(ctx)
	w.finish(ctx)
	w.showLate(ctx)
	return stateCommitted
}

// doneBySight is done for a write of which the stored rows show that it was applied. They do not show which plan was: if it may be an
// earlier one, the calls of the current plan may delete what another writer still needs.
func (w *write) doneBySight(ctx context.Context, etags []azcore.ETag) state {
	if w.sent.mayStillApply {
		w.currentPlan.after = nil
	}
	return w.done(ctx, etags)
}

// tellTargets tells the targets whether the outcome is unknown.
func (w *write) tellTargets(inDoubt bool) {
	for i := range w.ops {
		if target := w.ops[i].Target; target != nil {
			target.SetInDoubt(inDoubt)
		}
	}
}

// applied gives the targets what is stored now.
func (w *write) applied(etags []azcore.ETag) {
	steps := callersPart(w, w.currentPlan.steps)
	for i := range steps {
		steps[i].applied(etags[i], steps[i].id)
	}
}

// keepLoaded keeps the rows that the write has loaded and written, as they are now, for the next transaction of the partition.
func (w *write) keepLoaded(etags []azcore.ETag) {
	if w.ahead == nil || w.ahead.room == nil {
		return
	}
	for i := range w.currentPlan.steps {
		s := &w.currentPlan.steps[i]
		if s.derived == nil || !s.derived.loaded || s.deletes() {
			continue
		}
		columns, err := w.stored(s).Decoded()
		if err == nil && columns != nil {
			w.ahead.keep(&Row{Key: s.Key, ETag: etags[i], Columns: columns}, s.sent().Length)
		}
	}
}
