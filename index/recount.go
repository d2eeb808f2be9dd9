package index

import (
	"context"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// counted is a definition whose rows come to what all entities of a group add.
type perGroup[T any] interface {
	maintainer[T]
	// shareNow is what an entity should remember to have added.
	StateOf(e *table.Entity[T]) ([]string, error)
	// agrees tells whether a row comes to what it should, but for extremes that may be bounds: of measures that say so, or of all.
	Matches(is, should *table.Row, all bool) bool
	// same tells whether a row says what it should, whatever others have put into it besides.
	Equals(is, should *table.Row) bool
	// nobody is the row of a group that counts nobody, and deserted tells whether a row is one.
	EmptyGroup(group keys.Key) *table.Row
	IsEmptyGroup(row *table.Row) bool
	// sum makes the rows of all groups anew, of the rows of the entities.
	Totals(pk string, entities iter.Seq2[*table.Row, error]) (groupTotals, error)
}

// sums are the rows of the groups of a partition as they should be.
type groupTotals struct {
	rows     map[string]*table.Row
	recorded map[string]*table.Row // of the entities alone that remember to be in one; nil where all do
	members  map[string]string     // one of these, of each group
	failed   map[string]error      // of which the row cannot be made
}

func (m *summaryMaintainer[T, K]) StateOf(e *table.Entity[T]) ([]string, error) {
	sh, err := m.contributionOf(&e.Value, e.Key)
	return m.stateOf(sh), err
}

func (m *summaryMaintainer[T, K]) Matches(is, should *table.Row, all bool) bool {
	a, whole := m.totalOf(is)
	b, _ := m.totalOf(should)
	return whole && a.matches(&b, m.approximate(b.count, all))
}

func (m *summaryMaintainer[T, K]) Equals(is, should *table.Row) bool {
	a, whole := m.totalOf(is)
	b, _ := m.totalOf(should)
	return whole && reflect.DeepEqual(a, b)
}

func (m *summaryMaintainer[T, K]) EmptyGroup(group keys.Key) *table.Row {
	r := &table.Row{Key: group}
	r.Own(m.tag.text)
	_ = r.Set("Count", int64(0)) // which is a name and a value that a row may have
	return r
}

func (m *summaryMaintainer[T, K]) IsEmptyGroup(row *table.Row) bool {
	return row.WithoutSystemProperties().Same(m.EmptyGroup(row.Key).WithoutSystemProperties())
}

func (m *summaryMaintainer[T, K]) Totals(pk string, entities iter.Seq2[*table.Row, error]) (groupTotals, error) {
	is := groupTotals{members: map[string]string{}, failed: map[string]error{}}
	noted, all := map[string]*total{}, true
	totals, err := m.totalsOf(entities, "", func(row *table.Row, sh contribution, remembered bool) {
		if all = all && remembered; remembered {
			is.members[sh.group] = row.Key.RowKey()
			addContribution(noted, sh, len(m.measures))
		}
	})
	if err != nil {
		return is, err
	}
	rows := func(totals map[string]*total, bad map[string]error) map[string]*table.Row {
		rows := map[string]*table.Row{}
		for rk, t := range totals {
			if !m.ix.All().Contains(rk) {
				continue // which its members are to forget
			}
			if row, err := m.row(keys.Stored(pk, rk), *t); err != nil {
				bad[rk] = err
			} else {
				rows[rk] = row
			}
		}
		return rows
	}
	if is.rows = rows(totals, is.failed); !all {
		is.recorded = rows(noted, map[string]error{})
	}
	return is, nil
}

// counted reads the rows of the groups, counts all entities, and reads the rows of the groups again.
func (in *partitionRun[T]) readTotals(ctx context.Context, d perGroup[T], first bool) (before map[string]*table.Row, s groupTotals, after map[string]*table.Row, err error) {
	if before, err = in.groupRows(ctx, d, first); err != nil {
		return nil, s, nil, err
	}
	if s, err = d.Totals(in.pk, in.scan(ctx, in.table.Range())); err != nil {
		return nil, s, nil, err
	}
	after, err = in.groupRows(ctx, d, false)
	return before, s, after, err
}

// recount looks at the summaries of the partition. Every write that adds to a group, or takes from it, writes the group's row: so
// what all entities come to is what the row should hold, if the row was the same before and after they were read. A row that is not
// there has no version to go by: it is made first, as one that counts nobody, which every writer counts anew. Verify reports an
// entity without maintainer state by itself, not as a fault of the summary.
func (in *partitionRun[T]) verifySummary(ctx context.Context, d perGroup[T], first bool) error {
	var open map[string]FaultKind // what is looked at once more, and what is known to be wrong there; nil at first, for all
	for round := range rounds {
		before, sums, after, err := in.readTotals(ctx, d, first && round == 0)
		if err != nil {
			return err
		}
		again := map[string]FaultKind{}
		for _, rk := range slices.Sorted(maps.Keys(union(sums.rows, union(sums.failed, union(after, open))))) {
			kind, looked := open[rk]
			if open != nil && !looked {
				continue
			}
			is, should := after[rk], sums.rows[rk]
			f := Fault{Definition: d.Name(), Kind: kind, Row: keys.Stored(in.pk, rk)}
			if f.Err = sums.failed[rk]; f.Err != nil {
				f.Kind = Stale
				in.noteFault(f)
				continue
			}
			if should != nil && in.foreign[rk] {
				f.Kind, f.Err = Missing, foreignRowError(d.Name(), f.Row)
				in.noteFault(f)
				continue
			}
			if is == nil && should == nil || is != nil && should != nil && d.Equals(is, should) {
				if f.Repaired = true; kind != 0 {
					in.noteFault(f) // somebody's write has, meanwhile
				}
				continue
			}
			if !unchanged(before[rk], is) {
				again[rk] = kind
				continue
			}
			// Bounds are no fault, of measures that are loose; nor, for a repair that makes them exact, of others.
			agrees := is != nil && should != nil && kind == 0 && d.Matches(is, should, in.opt.Repair)
			if kind == 0 && lacksUncountedOnly(d, sums, is, rk) && !in.opt.Repair {
				continue
			}
			switch {
			case f.Kind != 0:
			case is == nil:
				f.Kind = Missing
			case should == nil:
				f.Kind = Dangling
			default:
				f.Kind = Stale
			}
			switch {
			case is == nil && kind == 0:
				missing, err := in.groupIsMissing(ctx, d, rk, sums.members[rk])
				if err != nil {
					return err
				}
				if !missing {
					again[rk] = kind
					continue
				}
			case agrees && !in.opt.Repair:
				continue
			}
			if in.opt.Repair {
				if is == nil {
					f.Err = in.insertEmptyGroup(ctx, d, f.Row)
				} else {
					f.Err = in.writeRow(ctx, is, should)
				}
				switch {
				case mustReread(f.Err) && agrees && d.Matches(is, should, false):
					continue // others were faster with what is right
				case mustReread(f.Err) && agrees:
					again[rk] = 0
					continue
				case mustReread(f.Err), is == nil && f.Err == nil:
					again[rk] = f.Kind
					continue
				}
				f.Repaired = f.Err == nil
			}
			if !agrees && !(should == nil && d.IsEmptyGroup(is)) { // for a row that counts nobody says nothing wrong
				in.noteFault(f)
			}
		}
		if open = again; len(open) == 0 {
			return nil
		}
	}
	for rk, kind := range open {
		if kind == 0 {
			in.noteUnconfirmed()
			continue
		}
		in.noteFault(Fault{Definition: d.Name(), Kind: kind, Row: keys.Stored(in.pk, rk), Err: errChanging})
	}
	return ctx.Err()
}

// told reports whether a row lacks just the entities that remember nothing, of which Verify tells one by one.
func lacksUncountedOnly[T any](d perGroup[T], of groupTotals, is *table.Row, rk string) bool {
	noted := of.recorded[rk]
	return of.recorded != nil && ((is == nil || d.IsEmptyGroup(is)) && noted == nil || is != nil && noted != nil && d.Matches(is, noted, true))
}

// precount adds to the summaries what they lack for entities that remember nothing: before these are written, which then changes
// nothing. open reports whether something else may be wrong.
func (in *partitionRun[T]) addUncounted(ctx context.Context, d perGroup[T]) (open bool, err error) {
	for round := range rounds {
		before, sums, after, err := in.readTotals(ctx, d, round == 0)
		if err != nil {
			return true, err
		}
		again := false
		for rk := range union(sums.rows, union(sums.failed, after)) {
			is, should := after[rk], sums.rows[rk]
			switch {
			case is != nil && should != nil && d.Equals(is, should):
			case should == nil || in.foreign[rk] || !lacksUncountedOnly(d, sums, is, rk):
				open = true
			case !unchanged(before[rk], is):
				again = true
			case is == nil:
				err = in.insertEmptyGroup(ctx, d, keys.Stored(in.pk, rk))
				again = true
			default:
				err = in.writeRow(ctx, is, should)
				again = again || mustReread(err)
			}
			if open = open || err != nil && !mustReread(err); ctx.Err() != nil {
				return true, ctx.Err()
			}
		}
		if !again {
			return open, nil
		}
	}
	return true, nil
}

// begin makes the row of a group, which nobody is counted in as yet.
func (in *partitionRun[T]) insertEmptyGroup(ctx context.Context, d perGroup[T], group keys.Key) error {
	if err := in.pace(ctx, 1); err != nil {
		return err
	}
	_, err := in.table.Untyped(false).InsertAt(ctx, group, d.EmptyGroup(group))
	return err
}

// uncounted tells whether an entity is in a group that has no row, at one instant.
func (in *partitionRun[T]) groupIsMissing(ctx context.Context, d perGroup[T], group, member string) (missing bool, err error) {
	row, err := in.getRow(ctx, member)
	if err != nil || row == nil || !slices.Contains(row.MaintainerState(d.Name()), group) {
		return false, err
	}
	is, err := in.getRow(ctx, group)
	if err != nil || is != nil {
		return false, err
	}
	again, err := in.getRow(ctx, member)
	return err == nil && unchanged(row, again), err
}

// union is the keys of two maps.
func union[A, B any](a map[string]A, b map[string]B) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// unchanged tells whether a row is of the same version, or was not there and is not there.
func unchanged(before, after *table.Row) bool {
	if before == nil || after == nil {
		return before == nil && after == nil
	}
	return before.ETag == after.ETag
}

// paced are the rows of a range.
func (in *partitionRun[T]) scan(ctx context.Context, r keys.Range) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		for row, err := range in.table.Rows(ctx, table.Query[T]{Partition: keys.Stored(in.pk, "").Partition(), Rows: r, PageSize: in.pageSize()}) {
			if err == nil {
				err = in.pace(ctx, 1)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// totals are the rows of a definition.
func (in *partitionRun[T]) groupRows(ctx context.Context, d perGroup[T], first bool) (map[string]*table.Row, error) {
	all := map[string]*table.Row{}
	for row, err := range in.derivedRows(ctx, d, first) {
		if err != nil {
			return nil, err
		}
		all[row.Key.RowKey()] = row
	}
	if first {
		in.count(0, 0, len(all))
	}
	return all, nil
}

// again is about an entity that has not added to a summary what it should, which it says itself.
func (in *partitionRun[T]) countEntity(ctx context.Context, f Fault) error {
	d := in.summaries[slices.IndexFunc(in.summaries, func(d perGroup[T]) bool { return d.Name() == f.Definition })]
	f.Err = errChanging
	for range rounds {
		e, row, err := in.getEntity(ctx, f.Entity.RowKey())
		var unreadable *unreadableError
		switch {
		case err == errForeign || errors.As(err, &unreadable):
			f.Err = err
			in.noteFault(f)
			return nil
		case err != nil:
			return err
		}
		var share []string
		if e != nil {
			if share, f.Err = d.StateOf(e); f.Err != nil {
				break
			}
		}
		if e == nil || slices.Equal(share, contributionState(row.MaintainerState(d.Name()))) {
			f.Err = nil // somebody has written it
			break
		}
		if err := in.pace(ctx, 3+in.rowsPerWrite()); err != nil { // it, and the groups that it leaves and joins
			return err
		}
		in.entitiesWritten.Store(true)
		if f.Err = in.table.Replace(in.repairing().context(ctx), e); f.Err == nil || !mustReread(f.Err) {
			break
		}
	}
	if mustReread(f.Err) {
		in.noteUnconfirmed()
		return ctx.Err()
	}
	f.Repaired = f.Err == nil
	in.noteFault(f)
	return ctx.Err()
}
