package verify

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// takeSnapshot reads the rows of a definition.
func (p *partition[T]) takeSnapshot(ctx context.Context, d derived.PerEntity[T]) error {
	s := &snapshot[T]{maintainer: d, digests: map[rowEntity]uint64{}, owners: map[string]string{}}
	all := p.derivedRows(ctx, d, true)
	if d, is := d.(derived.Searched); is {
		all = p.search(ctx, d.Condition())
	}
	for row, err := range all {
		if err != nil {
			return err
		}
		p.count(0, 0, 1)
		for _, entity := range d.EntitiesIn(row) {
			if s.digests[rowEntity{row.Key.RowKey(), entity}] = p.digest(d.Content(row)); d.Unique() {
				s.owners[row.Key.RowKey()] = entity
			}
		}
	}
	p.snapshots = append(p.snapshots, s)
	return nil
}

// derivedRows yields the rows of a definition. On the first pass over the definition it also reports rows that contain maintainer
// state, as no derived row should: no writer could write them.
func (p *partition[T]) derivedRows(ctx context.Context, d derived.Maintainer[T], first bool) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		for _, r := range d.Ranges() {
			for row, err := range p.scan(ctx, r) {
				if err == nil && !d.Owns(row) {
					p.foreign[row.Key.RowKey()] = true
					continue
				}
				if err == nil && first && hasState(row) {
					row, err = p.removeState(ctx, d, row)
				}
				if err == nil && row == nil {
					continue // deleted meanwhile
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

// search yields the rows of the partition that meet a condition.
func (p *partition[T]) search(ctx context.Context, where table.Cond[table.Row]) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		q := table.Query[table.Row]{Partition: keys.Stored(p.pk, "").Partition(), Where: where, PageSize: p.pacer.PageSize()}
		for e, err := range table.RowsOf(p.table.Engine(), false).List(ctx, q) {
			var row *table.Row
			if err == nil {
				row, err = &e.Value, p.pacer.Spend(ctx, 1)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func hasState(row *table.Row) bool { return row.Type(reserved.MaintainerState) != "" }

// removeState removes maintainer state from a derived row, and returns the row without it.
func (p *partition[T]) removeState(ctx context.Context, d derived.Maintainer[T], row *table.Row) (*table.Row, error) {
	f := Fault{Definition: d.Name(), Kind: Stale, Row: row.Key, Err: errChanging}
	for a := range p.attempts(ctx, row.Key.RowKey()) {
		clean := derived.WithoutSystemProperties(row)
		if entity, is := row.Engine().Primary(); is {
			clean = derived.Copy(clean.At(entity), row.Key, row.Engine().ProjectionID())
			clean.ETag = row.ETag
		} else {
			derived.Own(clean, row.Engine().Owner())
		}
		if !p.opt.Repair {
			f.Err = nil
			p.noteFault(f)
			return clean, nil
		}
		err := p.writeRow(ctx, clean, clean)
		if err == nil && row.Type(reserved.OperationID) != "" {
			return withoutOperationID(clean), nil // makes a full copy stale, so that it is repaired with its entity
		}
		if !mustReread(err) {
			f.Err, f.Repaired = err, err == nil
			p.noteFault(f)
			return clean, ctx.Err()
		}
		a.conflict = err
		if row, err = p.getRow(ctx, row.Key.RowKey()); err != nil || row == nil || !hasState(row) {
			return row, err
		}
	}
	p.noteFault(f)
	return row, ctx.Err()
}

func withoutOperationID(row *table.Row) *table.Row {
	var names []string
	for name := range row.All() {
		if name != reserved.OperationID {
			names = append(names, name)
		}
	}
	return derived.Project(row, names...)
}

// digest returns a number that differs if contents differ.
func (r *run[T]) digest(row *table.Row) uint64 {
	if row == nil {
		return 0
	}
	var sum uint64 // independent of the order of the properties
	for name, value := range row.All() {
		var h maphash.Hash
		h.SetSeed(r.seed)
		fmt.Fprintf(&h, "%s %s %v", name, row.Type(name), value)
		sum += h.Sum64()
	}
	return sum
}
