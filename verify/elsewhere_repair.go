package verify

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// repair repairs rows of an entity: by a write of the entity if its maintainer state is wrong, or
// if its rows change together with it; else as a worker does.
func (r *elsewhereRun) repair(ctx context.Context, s *entityElsewhere, faults []faultElsewhere, evident bool) error {
	rewrite := r.rewritten(faults)
	var written error
	if evident || len(rewrite) > 0 {
		var taken *Fault
		var err error
		written, taken, err = r.writeEntity(ctx, s, faults, rewrite)
		switch {
		case err != nil:
			return err
		case taken != nil:
			r.noteTaken(faults, taken, written)
			return nil
		case mustReread(written):
			return written
		}
	}
	for _, f := range faults {
		if err := r.repairRow(ctx, f, evident, written); err != nil {
			return err
		}
	}
	return nil
}

// rewritten returns the definitions whose rows a write of the entity repairs, because they change
// together with it.
func (r *elsewhereRun) rewritten(faults []faultElsewhere) (definitions []string) {
	for _, f := range faults {
		if changeWithEntities(r.elsewhere[f.of.definition]) && f.Kind != Dangling && f.Kind != DuplicateValue {
			definitions = append(definitions, f.Definition)
		}
	}
	return definitions
}

// writeEntity writes an entity with its rows. written is the error of the write, and taken the
// fault of the row that another entity has, if that is this error.
func (r *elsewhereRun) writeEntity(
	ctx context.Context, s *entityElsewhere, faults []faultElsewhere, rewrite []string,
) (written error, taken *Fault, err error) {
	if err := r.pacer.Spend(ctx, 2+len(faults)); err != nil {
		return nil, nil, err
	}
	writer := r.writer(rewrite, derived.Filling(door.Table(r.table).Mode.Outbox, r.table, func(keys.Key, error) {}))
	written = writer.Touch(ctx, s.entity)
	taken, err = r.takenRow(ctx, written, faults, true)
	if err != nil {
		return written, nil, err
	}
	if taken != nil {
		written = writer.Touch(ctx, s.entity) // its row may have been one that should not exist
	}
	taken, err = r.takenRow(ctx, written, faults, false)
	return written, taken, err
}

// noteTaken notes the faults of an entity that cannot be written until it has another value than
// that of the row taken.
func (r *elsewhereRun) noteTaken(faults []faultElsewhere, taken *Fault, written error) {
	for i := range faults {
		if f := &faults[i].Fault; f == taken {
			f.Kind = DuplicateValue
		} else {
			f.Err = written
		}
	}
	for _, f := range faults {
		r.noteFault(f.Fault)
	}
}

// repairRow repairs a row that the write of the entity has not repaired, and notes its fault.
// written is the error of that write. The error is one after which the row must be read again.
func (r *elsewhereRun) repairRow(ctx context.Context, f faultElsewhere, evident bool, written error) error {
	if f.Kind == DuplicateValue || f.Err != nil {
		r.noteFault(f.Fault)
		return nil
	}
	switch d := r.elsewhere[f.of.definition]; {
	case evident, changeWithEntities(d) && f.Kind != Dangling:
		f.Err = written
	case changeWithEntities(d):
		f.Err = d.DeleteDangling(ctx, f.row)
	default:
		f.Err = r.reconcile(ctx, f.Entity, f.of)
	}
	if mustReread(f.Err) {
		return f.Err
	}
	f.Repaired = f.Err == nil
	r.noteFault(f.Fault)
	return nil
}

// takenRow returns the fault of the row that another entity has, if that is the error of a write,
// with its owner. If confirm is set, it confirms that row, and repairs it if its owner should not
// have it.
func (r *elsewhereRun) takenRow(
	ctx context.Context, written error, faults []faultElsewhere, confirm bool,
) (*Fault, error) {
	var de *table.DerivedError
	if !errors.Is(written, derived.ErrTaken) || !errors.As(written, &de) {
		return nil, nil
	}
	i := slices.IndexFunc(faults, func(f faultElsewhere) bool { return f.Definition == de.Maintainer && f.Row == de.Key })
	if i < 0 || de.Owner == (keys.Key{}) {
		return nil, nil
	}
	faults[i].Owner = de.Owner
	if !confirm {
		return &faults[i].Fault, nil
	}
	return &faults[i].Fault, r.confirmOnce(ctx, de.Owner, []rowElsewhere{faults[i].of}, false)
}

// reconcile makes a row follow from its entity, as a worker does.
func (r *elsewhereRun) reconcile(ctx context.Context, entity keys.Key, row rowElsewhere) error {
	if err := r.pacer.Spend(ctx, 3); err != nil {
		return err
	}
	target, err := r.elsewhere[row.definition].Target(entity, row.key)
	if err != nil {
		return err
	}
	return reconcile.Reconcile(ctx, r.table, entity, target)
}

// writer returns a handle whose writes of entities also change the rows elsewhere before they
// return. Those of some definitions are written even if nothing has changed.
func (r *elsewhereRun) writer(rewrite []string, out commit.Outbox) tabledoor.Untyped {
	all := slices.Clone(door.Table(r.table).Mode.Maintainers)
	for i, m := range all {
		if d, is := m.Typed().(derived.Elsewhere); is {
			all[i] = m.Of(d.InRepairMode(derived.RepairMode{Active: true, Rewrite: slices.Contains(rewrite, d.Name())}))
		}
	}
	return door.InMode(r.table, func(m *engine.Mode) {
		m.SetEnds(door.Table(r.handle).Mode.Ends())
		m.Maintainers, m.Repairs, m.Outbox = all, true, out
	})
}

// hasPendingRecord reports whether a commit record is pending that will change rows of an entity.
// With Repair, it notifies the workers of records that are overdue.
func (r *elsewhereRun) hasPendingRecord(
	ctx context.Context, entity keys.Key, faults []faultElsewhere,
) (is bool, err error) {
	var kinds []string
	for _, f := range faults {
		if kind := r.elsewhere[f.of.definition].Kind(); kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return false, nil
	}
	for effect, err := range reconcile.PendingEffects(ctx, r.table, entity, kinds) {
		if err == nil && !r.opt.DryRun && effect.Overdue {
			err = r.notify(ctx, entity.PartitionKey(), effect.OperationID)
		}
		if err != nil {
			return false, err
		}
		is = true
	}
	return is, nil
}

// notify sends the notification of a write again, once.
func (r *elsewhereRun) notify(ctx context.Context, partition, id string) error {
	if _, sent := r.notified.LoadOrStore(partition+"/"+id, true); sent {
		return nil
	}
	t := door.Table(r.table)
	if _, err := engine.InnerOutbox(t.Mode.Outbox).Notify(ctx, commit.Notification{Table: t.Name, Partition: partition, OperationID: id}); err != nil {
		return err
	}
	r.count(derived.Notified, 1)
	return nil
}

// mostFills is how many entities wait to be written together.
const mostFills = 200

// newEntity is an entity that lacks rows elsewhere, and has none that it should not have: one from
// before a definition.
type newEntity struct {
	entity tabledoor.Entity
	rows   []rowElsewhere
	kinds  []string // of the rows
}

// add adds a row that the entity does not record.
func (e *newEntity) add(row rowElsewhere, exists bool) {
	kind := Missing
	if exists {
		kind = StateMismatch
	}
	e.rows, e.kinds = append(e.rows, row), append(e.kinds, kind)
}

// writeFills writes the entities by transactions of as many as these hold. Those that cannot be
// written so are confirmed, and repaired one by one.
func (r *elsewhereRun) writeFills(ctx context.Context) error {
	all := r.fills
	r.fills = nil
	n := len(all)
	for _, f := range all {
		n += len(f.rows)
	}
	if err := r.pacer.Spend(ctx, n); err != nil || len(all) == 0 {
		return err
	}
	var mu sync.Mutex
	failures := map[keys.Key]error{}
	writer := r.writer(nil, derived.Filling(door.Table(r.table).Mode.Outbox, r.table, func(entity keys.Key, err error) {
		mu.Lock()
		defer mu.Unlock()
		failures[entity] = err
	}))
	refused := map[int]bool{}
	touches := door.Ops(all, func(f newEntity) table.Op { return writer.TouchOp(f.entity) })
	result, err := door.Bulk(ctx, touches, &engine.BulkOptions{Skip: func(i int, _ error) bool {
		refused[i] = true
		return true
	}})
	for i, f := range all[:result.ResumeAt] {
		if refused[i] {
			r.confirm(ctx, tabledoor.KeyOf(f.entity), f.rows, true)
			continue
		}
		failed := failures[tabledoor.KeyOf(f.entity)]
		for n, row := range f.rows {
			r.noteFault(Fault{Definition: r.elsewhere[row.definition].Name(), Kind: f.kinds[n], Row: row.key, Entity: tabledoor.KeyOf(f.entity), Repaired: failed == nil, Err: failed})
		}
	}
	return err
}
