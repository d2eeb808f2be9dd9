package index

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// counted is a definition whose rows come to what all entities of a group add.
type counted[T any] interface {
	maintainer[T]
	// shareNow is what an entity should remember to have added.
	shareNow(e *table.Entity[T]) ([]string, error)
	// sum makes the rows of all groups anew, of the rows of the entities.
	sum(pk string, entities iter.Seq2[*table.Row, error]) (map[string]*table.Row, error)
}

func (m *summaries[T, K]) shareNow(e *table.Entity[T]) ([]string, error) {
	sh, err := m.share(&e.Value, e.Key)
	return sh.texts(), err
}

func (m *summaries[T, K]) sum(pk string, entities iter.Seq2[*table.Row, error]) (map[string]*table.Row, error) {
	totals, err := m.countAll(entities)
	if err != nil {
		return nil, err
	}
	rows := map[string]*table.Row{}
	for rk, t := range totals {
		if rows[rk], err = m.row(keys.Stored(pk, rk), *t); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// recount looks at the summaries of the partition. Every write that adds to a group, or takes from it, writes the group's row: so
// what all entities come to is what the row should hold, if the row was the same before and after they were read.
func (in *inspection[T]) recount(ctx context.Context, d counted[T]) error {
	var open map[string]bool // what is looked at once more; nil at first, for all
	for range rounds {
		before, err := in.totals(ctx, d)
		if err != nil {
			return err
		}
		want, err := d.sum(in.pk, func(yield func(*table.Row, error) bool) {
			for row, err := range in.table.Rows(ctx, table.Query[T]{Partition: keys.Stored(in.pk, "").Partition(), Rows: in.table.Range()}) {
				if err == nil {
					err = in.pace(ctx, 1)
				}
				if !yield(row, err) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
		after, err := in.totals(ctx, d)
		if err != nil {
			return err
		}
		busy := map[string]bool{}
		for _, rk := range slices.Sorted(maps.Keys(union(want, after))) {
			if is := after[rk]; open != nil && !open[rk] || is != nil && want[rk] != nil && is.Same(want[rk]) {
				continue
			}
			if !unchanged(before[rk], after[rk]) {
				busy[rk] = true
				continue
			}
			f := Fault{Definition: d.Name(), Kind: Stale, Row: keys.Stored(in.pk, rk)}
			switch {
			case after[rk] == nil:
				f.Kind = Missing
			case want[rk] == nil:
				f.Kind = Dangling
			}
			if in.opt.Repair {
				if f.Err = in.write(ctx, after[rk], want[rk]); f.Err != nil && lost(f.Err) {
					busy[rk] = true
					continue
				}
				f.Repaired = f.Err == nil
			}
			in.found(f)
		}
		if open = busy; len(open) == 0 {
			return nil
		}
	}
	for rk := range open {
		in.found(Fault{Definition: d.Name(), Kind: Stale, Row: keys.Stored(in.pk, rk), Err: errBusy})
	}
	return nil
}

func union(a, b map[string]*table.Row) map[string]*table.Row {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// unchanged tells whether a row is of the same version, or was not there and is not there.
func unchanged(before, after *table.Row) bool {
	if before == nil || after == nil {
		return before == nil && after == nil
	}
	return before.ETag == after.ETag
}

// totals are the rows of a definition.
func (in *inspection[T]) totals(ctx context.Context, d counted[T]) (map[string]*table.Row, error) {
	all := map[string]*table.Row{}
	for _, r := range d.ranges() {
		for row, err := range in.table.Rows(ctx, table.Query[T]{Partition: keys.Stored(in.pk, "").Partition(), Rows: r}) {
			if err != nil {
				return nil, err
			}
			all[row.Key.RowKey()] = row
		}
	}
	in.tally(0, 0, len(all))
	return all, nil
}

// again repairs an entity that has not added to a summary what it should.
func (in *inspection[T]) again(ctx context.Context, d counted[T], f Fault) error {
	for range rounds {
		e, row, err := in.get(ctx, f.Entity.RowKey())
		if err != nil {
			return err
		}
		if e == nil {
			return nil
		}
		share, err := d.shareNow(e)
		if err != nil {
			return err
		}
		if slices.Equal(share, row.Remembered(d.Name())) {
			return nil // somebody has written it
		}
		if f.Err = in.table.Replace(force(ctx), e); f.Err == nil || !lost(f.Err) {
			break
		}
	}
	if f.Repaired = f.Err == nil; errors.Is(f.Err, context.Canceled) {
		return f.Err
	}
	in.found(f)
	return nil
}
