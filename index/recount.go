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
	// sum makes the rows of all groups anew, of the rows of the entities, and says who is in each.
	sum(pk string, entities iter.Seq2[*table.Row, error]) (rows map[string]*table.Row, members map[string]string, err error)
}

func (m *summaries[T, K]) shareNow(e *table.Entity[T]) ([]string, error) {
	sh, err := m.share(&e.Value, e.Key)
	return m.texts(sh), err
}

func (m *summaries[T, K]) sum(pk string, entities iter.Seq2[*table.Row, error]) (rows map[string]*table.Row, members map[string]string, err error) {
	members = map[string]string{}
	totals, err := m.count(func(yield func(*table.Row, error) bool) {
		for row, err := range entities {
			if err == nil {
				if group := m.shareOf(row.Remembered(m.ix.name)).row; group != "" {
					members[group] = row.Key.RowKey()
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}, "")
	if err != nil {
		return nil, nil, err
	}
	rows = map[string]*table.Row{}
	for rk, t := range totals {
		if rows[rk], err = m.row(keys.Stored(pk, rk), *t); err != nil {
			return nil, nil, err
		}
	}
	return rows, members, nil
}

// recount looks at the summaries of the partition. Every write that adds to a group, or takes from it, writes the group's row: so
// what all entities come to is what the row should hold, if the row was the same before and after they were read. A row that is not
// there has no version to go by: there an entity of the group decides.
func (in *inspection[T]) recount(ctx context.Context, d counted[T]) error {
	var open map[string]bool // what is looked at once more; nil at first, for all
	for range rounds {
		before, err := in.totals(ctx, d)
		if err != nil {
			return err
		}
		want, members, err := d.sum(in.pk, func(yield func(*table.Row, error) bool) {
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
			is := after[rk]
			if open != nil && !open[rk] || is != nil && want[rk] != nil && is.Same(want[rk]) {
				continue
			}
			f := Fault{Definition: d.Name(), Kind: Stale, Row: keys.Stored(in.pk, rk)}
			repair := func() error { return in.write(ctx, is, want[rk]) }
			switch {
			case !unchanged(before[rk], is):
				busy[rk] = true
				continue
			case is == nil:
				e, missing, err := in.uncounted(ctx, d, rk, members[rk])
				if err != nil {
					return err
				}
				if !missing {
					busy[rk] = true
					continue
				}
				f.Kind, repair = Missing, func() error { return in.table.Replace(force(ctx, d.Name()), e) }
			case want[rk] == nil:
				f.Kind = Dangling
			}
			if in.opt.Repair {
				if f.Err = repair(); f.Err != nil && lost(f.Err) {
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
	for range open {
		in.undecided()
	}
	return ctx.Err()
}

// uncounted tells whether an entity is in a group that has no row, at one instant.
func (in *inspection[T]) uncounted(ctx context.Context, d counted[T], group, member string) (e *table.Entity[T], missing bool, err error) {
	e, row, err := in.get(ctx, member)
	var unreadable *unreadableError
	if err == errForeign || errors.As(err, &unreadable) {
		return nil, false, nil
	}
	if err != nil || e == nil || !slices.Contains(row.Remembered(d.Name()), group) {
		return nil, false, err
	}
	is, err := in.getRow(ctx, group)
	if err != nil || is != nil {
		return nil, false, err
	}
	again, err := in.getRow(ctx, member)
	return e, err == nil && unchanged(row, again), err
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
			if err := in.pace(ctx, 1); err != nil {
				return nil, err
			}
			all[row.Key.RowKey()] = row
		}
	}
	in.tally(0, 0, len(all))
	return all, nil
}

// again is about an entity that has not added to a summary what it should, which it says itself.
func (in *inspection[T]) again(ctx context.Context, f Fault) error {
	if !in.opt.Repair {
		in.found(f)
		return nil
	}
	d := in.sums[slices.IndexFunc(in.sums, func(d counted[T]) bool { return d.Name() == f.Definition })]
	f.Err = errBusy
	for range rounds {
		e, row, err := in.get(ctx, f.Entity.RowKey())
		var unreadable *unreadableError
		switch {
		case err == errForeign || errors.As(err, &unreadable):
			f.Err = err
			in.found(f)
			return nil
		case err != nil:
			return err
		}
		var share []string
		if e != nil {
			if share, f.Err = d.shareNow(e); f.Err != nil {
				break
			}
		}
		if e == nil || slices.Equal(share, row.Remembered(d.Name())) {
			f.Err = nil // somebody has written it
			break
		}
		if f.Err = in.table.Replace(ctx, e); f.Err == nil || !lost(f.Err) {
			break
		}
	}
	f.Repaired = f.Err == nil
	in.found(f)
	return ctx.Err()
}
