package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// GetParts reads some parts of an entity, with its head. whole reports that these are all of its parts. Requests: 1 if the parts
// are the head, or begin with part 1; otherwise 2 at the same time. A torn read is repeated as by Get.
func (t *Table) GetParts(ctx context.Context, k keys.Key, parts []uint8) (row *Row, whole bool, err error) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(n uint8) bool { return n == 0 })
	var gone error
	var torn tornReads
	err = torn.policy(t).Repeat(ctx, t.Log("GetFields", k), func() (again bool, err error) {
		var a *assembly
		switch {
		case len(parts) == 0:
			a, gone, err = t.readHead(ctx, k)
		case parts[0] == 1:
			if a, err = t.readRows(ctx, k, parts[len(parts)-1]); a == nil {
				gone = &Condition{ErrNotFound, errNoRow}
			}
		default:
			a, gone, err = t.readHeadAndParts(ctx, k, parts[0], parts[len(parts)-1])
		}
		if err != nil || a == nil {
			return false, err
		}
		gone, whole = nil, true
		for _, part := range a.directory {
			if !slices.Contains(parts, part.number) {
				whole = false
			} else if !slices.Contains(a.found, part.number) {
				a.fail(fmt.Sprintf("lists part %d, which is missing", part.number))
			}
		}
		a.columns = slices.DeleteFunc(a.columns, func(c edm.Column) bool { return c.Part > 0 && !slices.Contains(parts, c.Part) })
		row = a.row()
		return torn.again(a, a.err)
	})
	if err == nil && gone != nil {
		err = gone
	}
	return row, whole, err
}

// readHead reads the head of an entity alone, nil if there is none.
func (t *Table) readHead(ctx context.Context, k keys.Key) (a *assembly, gone, err error) {
	f, err := t.readRow(ctx, k)
	if err != nil || f.row == nil {
		return nil, f.gone, err
	}
	in := edm.Entity{PartitionKey: k.PartitionKey(), RowKey: k.RowKey(), ETag: string(f.row.ETag), Timestamp: f.row.Timestamp}
	return assemble(in, f.row.Columns), nil, nil
}

// readHeadAndParts reads the head of an entity, and parts behind it, at the same time.
func (t *Table) readHeadAndParts(ctx context.Context, k keys.Key, first, last uint8) (a *assembly, gone, err error) {
	type partRow struct {
		rowKey  string
		columns []edm.Column
	}
	var rows []partRow
	reads := []func(context.Context) error{
		func(ctx context.Context) (err error) {
			a, gone, err = t.readHead(ctx, k)
			return err
		},
		func(ctx context.Context) error {
			return t.eachPhysical(ctx, rowsFilter(k.PartitionKey(), partKey(k, first).RowKey(), partKey(k, last).RowKey()), "", func(in edm.Entity, columns []edm.Column) bool {
				rows = append(rows, partRow{in.RowKey, columns})
				return true
			})
		},
	}
	InOrder(ctx, reads, func(ctx context.Context, read func(context.Context) error) (struct{}, error) {
		return struct{}{}, read(ctx)
	}, func(_ struct{}, rerr error) bool {
		err = firstError(err, rerr)
		return err == nil
	})
	if err != nil || a == nil {
		return nil, gone, err
	}
	for _, row := range rows {
		a.add(row.rowKey, row.columns)
	}
	return a, nil, nil
}
