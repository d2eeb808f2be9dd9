package index

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// snapshot is what the rows of a definition have said.
type snapshot[T any] struct {
	maintainer perEntity[T]
	links      map[link]uint64
	owners     map[string]string // of unique rows
}

// shoot reads the rows of a definition.
func (in *partitionRun[T]) readRows(ctx context.Context, shot *snapshot[T]) error {
	all := in.derivedRows(ctx, shot.maintainer, true)
	if d, ok := shot.maintainer.(searched); ok {
		all = in.searchRows(ctx, d)
	}
	for row, err := range all {
		if err != nil {
			return err
		}
		in.count(0, 0, 1)
		for _, entity := range shot.maintainer.EntitiesIn(row) {
			if shot.links[link{row.Key.RowKey(), entity}] = in.digest(shot.maintainer.Content(row)); shot.maintainer.Unique() {
				shot.owners[row.Key.RowKey()] = entity
			}
		}
	}
	return nil
}

// derived are the rows of a definition. Those that say that maintainers remember something of them, as entities do, would be
// refused to all who write them: first lets this be a fault.
func (in *partitionRun[T]) derivedRows(ctx context.Context, d maintainer[T], first bool) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		for _, r := range d.Ranges() {
			for row, err := range in.scan(ctx, r) {
				if err == nil && !d.Owns(row) {
					in.foreign[row.Key.RowKey()] = true
					continue
				}
				if err == nil && first && hasState(row) {
					row, err = in.removeState(ctx, d, row)
				}
				if err == nil && row == nil {
					continue // it has gone
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

func hasState(row *table.Row) bool { return row.Type(reserved.MaintainerState) != "" }

// cleanse takes from a derived row what entities alone have, and gives the row as it is without that.
func (in *partitionRun[T]) removeState(ctx context.Context, d maintainer[T], row *table.Row) (*table.Row, error) {
	f := Fault{Definition: d.Name(), Kind: Stale, Row: row.Key, Err: errChanging}
	for range rounds {
		clean := row.WithoutSystemProperties()
		if entity, is := row.Primary(); is {
			clean = clean.At(entity).Copy(row.Key, row.ProjectionID())
			clean.ETag = row.ETag
		} else {
			clean.Own(row.Owner())
		}
		if !in.opt.Repair {
			f.Err = nil
			in.noteFault(f)
			return clean, nil
		}
		err := in.writeRow(ctx, clean, clean)
		if err == nil && row.Type(reserved.OperationID) != "" {
			return withoutOperationID(clean), nil // a full copy that names no write is stale
		}
		if !mustReread(err) {
			f.Err, f.Repaired = err, err == nil
			in.noteFault(f)
			return clean, ctx.Err()
		}
		if row, err = in.getRow(ctx, row.Key.RowKey()); err != nil || row == nil || !hasState(row) {
			return row, err
		}
	}
	in.noteFault(f)
	return row, nil
}

// unnamed is a row without its operation ID.
func withoutOperationID(row *table.Row) *table.Row {
	var names []string
	for name := range row.All() {
		if name != reserved.OperationID {
			names = append(names, name)
		}
	}
	return row.Project(names...)
}

// held are the rows that are found by a condition.
func (in *partitionRun[T]) searchRows(ctx context.Context, d searched) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		q := table.Query[table.Row]{Partition: keys.Stored(in.pk, "").Partition(), Where: d.Condition(), PageSize: in.pageSize()}
		for e, err := range in.table.Untyped(false).List(ctx, q) {
			var row *table.Row
			if err == nil {
				row, err = &e.Value, in.pace(ctx, 1)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// elsewhere is a definition whose rows are found by a condition.
type searched interface{ Condition() table.Cond[table.Row] }

// digest tells contents apart.
func (v *run[T]) digest(row *table.Row) uint64 {
	if row == nil {
		return 0
	}
	var sum uint64
	for name, value := range row.All() { // in any order
		var h maphash.Hash
		h.SetSeed(v.seed)
		fmt.Fprintf(&h, "%s %s %v", name, row.Type(name), value)
		sum += h.Sum64()
	}
	return sum
}
