package verify

import (
	"context"
	"slices"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// mostFills is how many entities wait to be written together.
const mostFills = 1000

// newEntity is an entity that lacks rows elsewhere, and has none that it should not have: one from before a definition.
type newEntity[T any] struct {
	entity *table.Entity[T]
	lacks  []rowElsewhere
}

// fill notes an entity that lacks rows, to be written together with others. It reports whether it has.
func (r *elsewhereRun[T]) fill(ctx context.Context, e *table.Entity[T], rows []rowElsewhere, want []keys.Key) (is bool, err error) {
	if !r.opt.Repair || len(rows) == 0 {
		return false, nil
	}
	for _, row := range rows {
		if !slices.Contains(want, row.key) {
			return false, nil
		}
	}
	r.fills = append(r.fills, newEntity[T]{e, rows})
	if len(r.fills) < mostFills {
		return true, nil
	}
	return true, r.writeFills(ctx)
}

// writeFills writes the entities by transactions of as many as these hold. Those that cannot be written so are confirmed, and repaired one by
// one.
func (r *elsewhereRun[T]) writeFills(ctx context.Context) error {
	all := r.fills
	r.fills = nil
	n := len(all)
	for _, f := range all {
		n += len(f.lacks)
	}
	if err := r.pacer.Spend(ctx, n); err != nil || len(all) == 0 {
		return err
	}
	writer, err := r.writer(nil, derived.Filling(door.Table(r.table).Mode.Outbox, r.table))
	if err != nil {
		return err
	}
	refused := map[int]bool{}
	result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for _, f := range all {
			if !yield(writer.TouchOp(f.entity), nil) {
				return
			}
		}
	}, &table.BulkOptions{Skip: func(i int, _ error) bool { refused[i] = true; return true }})
	for i, f := range all[:result.ResumeAt] {
		if refused[i] {
			r.confirm(ctx, f.entity.Key, f.lacks, true)
			continue
		}
		for _, row := range f.lacks {
			r.noteFault(Fault{Definition: r.elsewhere[row.definition].Name(), Kind: Missing, Row: row.key, Entity: f.entity.Key, Repaired: true})
		}
	}
	return err
}
