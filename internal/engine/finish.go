package engine

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/stored"
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

// doneBySight is done for a write of which the stored rows show that it was applied. They do not show which transaction was: if it may be an
// earlier one, the calls of the current transaction may delete what another writer still needs.
func (w *write) doneBySight(ctx context.Context, etags []azcore.ETag) state {
	if w.sent.mayStillApply {
		w.currentTransaction.after = nil
	}
	return w.done(ctx, etags)
}

// tellTargets sets the targets in doubt, or ends their doubt.
func (w *write) tellTargets(inDoubt bool) {
	for i := range w.ops {
		if target := w.ops[i].Target; target != nil {
			target.SetInDoubt(inDoubt)
		}
	}
}

// applied gives the targets what is stored now.
func (w *write) applied(etags []azcore.ETag) {
	steps := callersItems(w, w.currentTransaction.steps)
	for i := range steps {
		steps[i].applied(etags[i], steps[i].id)
	}
}

// keepLoaded keeps the rows that the write has loaded and written, as they are now, for the next transaction of the partition.
func (w *write) keepLoaded(etags []azcore.ETag) {
	if w.ahead == nil || w.ahead.room == nil {
		return
	}
	for i := range w.currentTransaction.steps {
		s := &w.currentTransaction.steps[i]
		if s.derived == nil || !s.derived.loaded || s.deletes() {
			continue
		}
		columns, err := w.stored(s).Decoded()
		if err == nil && columns != nil {
			w.ahead.keep((&stored.Row{Key: s.Key, ETag: etags[i]}).With(columns), s.sent().Length)
		}
	}
}

// rollBack rolls back what the write has prepared, or may have, so that it never commits. If it fails, programs that read a
// prepared row, or a worker, do that.
func (w *write) rollBack(ctx context.Context) (failed error) {
	home := w.place()
	for _, m := range w.currentTransaction.remotes {
		if err := m.table.believing(home).endPrepared(ctx, m.at.Partition, w.id, ender{home: &home, exclude: true}); err != nil {
			failed = err
		}
	}
	return failed
}

// abortAndRollBack makes sure that a refused write never commits, and rolls back what it has prepared. committed reports that it has
// committed before.
func (w *write) abortAndRollBack(ctx context.Context) (committed bool, err error) {
	record, err := w.table.abort(ctx, w.partition(), w.id, placesOf(w.currentTransaction.remotes)...)
	if err != nil || record != commit.Aborted {
		return err == nil, err
	}
	if w.rollBack(ctx) != nil {
		w.notification = nil // it stays, and a worker rolls back
	}
	return false, nil
}

// finish finishes the remotes of a committed write, all at the same time. If it fails, programs that read a prepared row, or a
// worker, do that.
func (w *write) finish(ctx context.Context) {
	if len(w.currentTransaction.remotes) == 0 {
		return
	}
	InOrder(ctx, w.currentTransaction.remotes, func(ctx context.Context, m *remote) (struct{}, error) {
		w.finishRemote(ctx, m)
		return struct{}{}, nil
	}, func(struct{}, error) bool { return true })
}

func (w *write) finishRemote(ctx context.Context, m *remote) {
	if m.etags != nil {
		if t, err := m.finishTransaction(w.id, w.place()); err == nil {
			withID(t.steps, w.id)
			etags, _, verdict, _ := m.table.transact(ctx, t.steps)
			if verdict == wire.Done {
				m.finished(etags)
				return
			}
		}
	}
	home := w.place()
	_ = m.table.believing(home).endPrepared(ctx, m.at.Partition, w.id, ender{home: &home})
	m.finished(nil)
}

// finished keeps the ETags that the rows of the caller's operations have now.
func (m *remote) finished(etags []azcore.ETag) {
	m.participant.out.etags = make([]azcore.ETag, len(m.steps))
	n := 0
	for i := range m.steps {
		m.participant.out.etags[i] = stored.Superseded
		if etags == nil || fateOf(&m.steps[i]) == stored.FatePart {
			continue
		}
		n++
		m.participant.out.etags[i] = etags[n]
	}
}

// appliedRemotes gives the targets of the operations in the remotes their stored rows.
func (w *write) appliedRemotes() {
	for _, m := range w.currentTransaction.remotes {
		for i := range m.steps {
			if s := &m.steps[i]; s.derived == nil {
				s.applied(m.participant.out.etags[i], idEnding(w.id))
			}
		}
	}
}

// finishTransaction makes the transaction that finishes, by the ETags of the preparation.
func (m *remote) finishTransaction(id string, home commit.Remote) (transaction, error) {
	p := &preparation{key: preparationKey(m.at.Partition, id), home: home, etag: m.etags[0]}
	first, err := p.end(m.table)
	if err != nil {
		return transaction{}, err
	}
	steps := []step{first}
	for i := range m.steps {
		s := m.steps[i]
		etag := m.etags[1+i]
		switch fateOf(&s) {
		case stored.FatePart:
			continue
		case stored.FateInsert, stored.FateReplace:
			s.own()
			s.Kind, s.Match = aztables.TransactionTypeUpdateReplace, etag
		case stored.FateDelete:
			s.own()
			s.Match = etag
		}
		steps = append(steps, s)
	}
	for n := range m.images {
		s, err := libraryStep(m.table, aztables.TransactionTypeDelete, imageKey(m.at.Partition, id, n+1), azcore.ETagAny, nil)
		if err != nil {
			return transaction{}, err
		}
		steps = append(steps, s)
	}
	return transaction{steps: steps, batch: true}, nil
}
