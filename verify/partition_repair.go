package verify

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// batch collects the faults of many entities in rows that they share: repaired one by one, each
// would write the whole row.
type batch struct {
	mu        sync.Mutex
	additions []addition // entities that are missing in rows
	removals  []removal
	rows      map[candidate]*table.Row // the rows of the removals, each read once for all
}

// removal is an entity that a row should not name.
type removal struct {
	candidate candidate
	row       *table.Row // as it was when the fault was confirmed
	fault     Fault
}

// addRemoval adds a removal. Removals of the same version of a row share one copy of it.
func (b *batch) addRemoval(r removal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if row := b.rows[r.candidate]; row != nil && row.ETag == r.row.ETag {
		r.row = row
	} else {
		b.rows[r.candidate] = r.row
	}
	b.removals = append(b.removals, r)
}

// confirmAll confirms candidates, by the RowKeys of their entities, several at a time, and repairs
// the faults unless DryRun is set.
func (p *partition) confirmAll(ctx context.Context, candidates map[string][]candidate) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(candidates)), 1000) {
		b := &batch{rows: map[candidate]*table.Row{}}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(10)
		for _, entity := range some {
			g.Go(func() error { return p.confirmAndNote(gctx, entity, candidates[entity], b) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if err := p.repairBatch(ctx, b, candidates); err != nil {
			return err
		}
	}
	return nil
}

// repairBatch repairs the faults of a batch. Entities that cannot be repaired with the others are
// repaired alone.
func (p *partition) repairBatch(ctx context.Context, b *batch, candidates map[string][]candidate) error {
	if err := p.removeBatch(ctx, b.removals); err != nil {
		return err
	}
	var names []string
	for _, a := range b.additions {
		for _, f := range a.faults {
			if !slices.Contains(names, f.Definition) {
				names = append(names, f.Definition)
			}
		}
	}
	skipped, err := p.writeTogether(ctx, b.additions, names...)
	for i, a := range b.additions {
		if _, is := skipped[i]; is {
			continue
		}
		for _, f := range a.faults {
			f.Repaired = true
			p.noteFault(f)
		}
	}
	for i, a := range b.additions {
		rk := tabledoor.KeyOf(a.entity).RowKey()
		if skipped[i] != nil && err == nil {
			p.logConflict(ctx, rk, skipped[i])
			err = p.confirmAndNote(ctx, rk, candidates[rk], nil)
		}
	}
	return err
}

// removeBatch removes entities from rows, with one write for each row, by the ETag with which the
// faults were confirmed: every write that adds an entity changes the row.
func (p *partition) removeBatch(ctx context.Context, removals []removal) error {
	byRow := map[candidate][]removal{}
	for _, r := range removals {
		byRow[r.candidate] = append(byRow[r.candidate], r)
	}
	for of, all := range byRow {
		row := all[0].row
		var entities []string
		for _, r := range all {
			if r.row.ETag == row.ETag {
				entities = append(entities, r.fault.Entity.RowKey())
			}
		}
		rest, err := p.snapshots[of.snapshot].maintainer.Without(row, entities...)
		if err == nil {
			err = p.writeRow(ctx, row, rest)
		}
		var open []removal
		for _, r := range all {
			switch other := r.row.ETag != row.ETag; { // confirmed in another version of the row
			case ctx.Err() != nil && (other || err != nil):
				r.fault.Err = cmp.Or(err, ctx.Err())
			case other || mustReread(err):
				p.logConflict(ctx, r.fault.Entity.RowKey(), cmp.Or(err, table.ErrChanged))
				open = append(open, r)
				continue
			default:
				r.fault.Err, r.fault.Repaired = err, err == nil
			}
			p.noteFault(r.fault)
		}
		for _, r := range open {
			if err := p.confirmAndNote(ctx, r.fault.Entity.RowKey(), []candidate{of}, nil); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// writeAdditions writes the additions, as many as possible in each transaction, each entity by its
// ETag. Entities that a concurrent writer has changed become candidates.
func (p *partition) writeAdditions(ctx context.Context) error {
	all := p.additions
	p.additions = nil
	skipped, err := p.writeTogether(ctx, all)
	for i, a := range all {
		p.logConflict(ctx, tabledoor.KeyOf(a.entity).RowKey(), skipped[i])
		for _, f := range a.faults {
			switch reason, is := skipped[i]; {
			case !is:
				f.Repaired = true
				p.noteFault(f)
			case reason == nil: // not reached
			case f.Row == keys.Key{} && len(p.snapshots) > 0:
				p.addCandidates(tabledoor.KeyOf(a.entity).RowKey(), candidate{row: stateOnly})
			case f.Row == keys.Key{}:
				f.Err = reason
				p.noteFault(f)
			case slices.ContainsFunc(p.summaries, func(d derived.PerGroup) bool { return d.Name() == f.Definition }):
				p.miscounted = append(p.miscounted, f)
			default:
				j := slices.IndexFunc(p.snapshots, func(s *snapshot) bool { return s.maintainer.Name() == f.Definition })
				p.addCandidates(tabledoor.KeyOf(a.entity).RowKey(), candidate{j, f.Row.RowKey()})
			}
		}
	}
	return err
}

// writeTogether writes entities in as few transactions as possible, with no more rows at a time
// than may be written in a second. It returns why entities were skipped, by their position; nil for
// those that were not reached.
func (p *partition) writeTogether(
	ctx context.Context, all []addition, definitions ...string,
) (skipped map[int]error, err error) {
	skipped = map[int]error{}
	// CheckUnique costs a request for each unique row.
	writer := p.repairTable(derived.RepairMode{CheckUnique: p.unverifiedUnique(), Foreign: p.foreign}, definitions...)
	stop := func(done int, err error) (map[int]error, error) {
		for i := done; i < len(all); i++ {
			skipped[i] = nil
		}
		return skipped, err
	}
	for done := 0; done < len(all); {
		rows, n := 0, 0
		for _, a := range all[done:] {
			cost := 1 + len(a.faults) + p.rowsPerWrite()
			if p.opt.Rate > 0 && n > 0 && rows+cost > p.opt.Rate {
				break
			}
			rows, n = rows+cost, n+1
		}
		if err = p.pacer.Spend(ctx, rows); err != nil {
			n = 0
		} else {
			p.entitiesWritten.Store(true)
			var result engine.BulkResult
			touches := door.Ops(all[done:done+n], func(a addition) table.Op { return writer.TouchOp(a.entity) })
			result, err = door.Bulk(ctx, touches, &engine.BulkOptions{Skip: func(i int, err error) bool {
				skipped[done+i] = err
				return true
			}})
			n = result.ResumeAt
		}
		if err != nil {
			return stop(done+n, err)
		}
		done += n
	}
	return skipped, nil
}

// writeRow is derived.WriteRow, and pays for it.
func (p *partition) writeRow(ctx context.Context, is, want *table.Row) error {
	if err := p.pacer.Spend(ctx, 1); err != nil {
		return err
	}
	return derived.WriteRow(ctx, p.table, is, want)
}

// removeEntity removes an entity from a row that should not name it, by the row's ETag: a
// concurrent write that makes it right changes the row.
func (p *partition) removeEntity(ctx context.Context, d derived.PerEntity, row *table.Row, entity string) error {
	if row == nil {
		return nil
	}
	rest, err := d.Without(row, entity)
	if err != nil {
		return err
	}
	return p.writeRow(ctx, row, rest)
}

// releaseRows writes an entity so that the rows of a definition that it should not have are
// deleted, and removed from its maintainer state. Otherwise the entity's next write would delete
// the rows of the new owner. It adds no rows, because a row that the entity lacks may belong to
// another one.
func (p *partition) releaseRows(ctx context.Context, d derived.PerEntity, e tabledoor.Entity) error {
	if err := p.pacer.Spend(ctx, 2+p.rowsPerWrite()); err != nil {
		return err
	}
	return p.repairEntity(ctx, e, derived.RepairMode{ReleaseOnly: true, CheckUnique: true, Foreign: p.foreign}, d.Name())
}

// repairEntity writes an entity by a handle of repairTable.
func (p *partition) repairEntity(
	ctx context.Context, e tabledoor.Entity, mode derived.RepairMode, definitions ...string,
) error {
	p.entitiesWritten.Store(true)
	return p.repairTable(mode, definitions...).Touch(ctx, e)
}

// repairTable returns a handle whose touches of entities repair derived rows, and change nothing
// else in the entities: rows of an older version of the schema stay of that version. The mode holds
// for all definitions, but Rewrite and ReleaseOnly only for those that are named.
func (r *run) repairTable(mode derived.RepairMode, definitions ...string) tabledoor.Untyped {
	all := slices.Clone(door.Table(r.table).Mode.Maintainers)
	for i, m := range all {
		d, is := m.Typed().(derived.Maintainer)
		if !is {
			continue
		}
		_, perGroup := d.(derived.PerGroup)
		chosen, verified, mode := slices.Contains(definitions, m.Name()), r.verifies(m.Name()), mode
		mode.Rewrite, mode.ReleaseOnly = chosen && !mode.ReleaseOnly, chosen && mode.ReleaseOnly
		mode.Active, mode.RowsRead, mode.CountsGroups = true, verified, perGroup && verified
		all[i] = m.Of(d.InRepairMode(mode))
	}
	return door.InMode(r.table, func(m *engine.Mode) {
		m.Maintainers, m.Repairs = all, true
		m.SetEnds(door.Table(r.handle).Mode.Ends())
	})
}
