package verify

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/table"
)

// confirmAll confirms candidates, by the RowKeys of their entities, several at a time, and repairs the faults if Options.Repair is
// set.
func (p *partition[T]) confirmAll(ctx context.Context, candidates map[string][]candidate) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(candidates)), 1000) {
		b := newBatch[T]()
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

// repairBatch repairs the faults of a batch. Entities that cannot be repaired with the others are repaired alone.
func (p *partition[T]) repairBatch(ctx context.Context, b *batch[T], candidates map[string][]candidate) error {
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
		if rk := a.entity.Key.RowKey(); skipped[i] != nil && err == nil {
			p.logConflict(ctx, rk, skipped[i])
			err = p.confirmAndNote(ctx, rk, candidates[rk], nil)
		}
	}
	return err
}

// removeBatch removes entities from rows, with one write for each row, by the ETag with which the faults were confirmed: every
// write that adds an entity changes the row.
func (p *partition[T]) removeBatch(ctx context.Context, removals []removal) error {
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
