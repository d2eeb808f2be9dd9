package engine

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// believing returns a handle that believes commit records in the home of a write.
func (t *Table) believing(home Remote) *Table {
	if t.Knows(home.Table) {
		return t
	}
	return t.WithHomes(home.Table)
}

// place is where the commit record of the write is.
func (w *write) place() Remote { return Remote{w.table.Name, w.partition()} }

// rollBack rolls back what the write has prepared, or may have, so that it never commits. If it fails, programs that meet a prepared
// row, or a worker, do that.
func (w *write) rollBack(ctx context.Context) (failed error) {
	home := w.place()
	for _, m := range w.currentPlan.remotes {
		if err := m.table.believing(home).finishPrepared(ctx, m.at.Partition, w.id, finisher{home: &home, exclude: true}); err != nil {
			failed = err
		}
	}
	return failed
}

// rollBackRefused makes sure that a refused write never commits, and rolls back what it has prepared. committed reports that it has
// committed before.
func (w *write) rollBackRefused(ctx context.Context) (committed bool, err error) {
	record, err := w.table.abort(ctx, w.partition(), w.id, placesOf(w.currentPlan.remotes)...)
	if err != nil || record != RecordAborted {
		return err == nil, err
	}
	if w.rollBack(ctx) != nil {
		w.notification = nil // it stays, and a worker rolls back
	}
	return false, nil
}

// finish finishes the remotes of a committed write, all at the same time. If it fails, programs that meet a prepared row, or a
// worker, do that.
func (w *write) finish(ctx context.Context) {
	if len(w.currentPlan.remotes) == 0 {
		return
	}
	InOrder(ctx, w.currentPlan.remotes, func(ctx context.Context, m *remote) (struct{}, error) {
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
	_ = m.table.believing(home).finishPrepared(ctx, m.at.Partition, w.id, finisher{home: &home})
	m.finished(nil)
}

// finished keeps the ETags that the rows of the caller's operations have now.
func (m *remote) finished(etags []azcore.ETag) {
	m.part.out.etags = make([]azcore.ETag, len(m.steps))
	n := 0
	for i := range m.steps {
		if m.part.out.etags[i] = superseded; etags == nil || fateOf(&m.steps[i]) == fatePart {
			continue
		}
		n++
		m.part.out.etags[i] = etags[n]
	}
}

// appliedRemotes tells the targets of the operations in the remotes what is stored now.
func (w *write) appliedRemotes() {
	for _, m := range w.currentPlan.remotes {
		for i := range m.steps {
			if s := &m.steps[i]; s.derived == nil {
				s.applied(m.part.out.etags[i], idEnding(w.id))
			}
		}
	}
}
