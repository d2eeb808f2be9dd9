package table

import (
	"context"
	"iter"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Scan yields the rows of a range of the partition as they will be after this transaction, as far as it is planned, without the row of
// the changing entity. It is for shared rows that are made anew, such as the least value of a group after the entity with it has left.
// The order is not specified. The rows are not protected against concurrent writers: also Load and Put a row that every writer of the
// range writes. Errors end the write; ErrRanged if the client's signature is for a range of rows, because others would be left out. 1
// request for each 1,000 rows.
func (p *Plan) Scan(ctx context.Context, rows keys.Range) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if err := rows.Err(); err != nil {
			yield(nil, err)
			return
		}
		var f filter[Row]
		f.key(edm.PartitionKey, "eq", p.partition)
		f.keys(edm.RowKey, rows)
		stopped := false
		err := p.core.each(ctx, f.b.String(), "", func(r *Row) bool {
			rk := r.Key.RowKey()
			_, planned := p.planned[rk]
			if planned || rk == p.key.RowKey() || !rows.Contains(rk) {
				return true
			}
			stopped = !yield(r, nil)
			return !stopped
		})
		if err == nil && !stopped && p.core.shared.rowsOnly.Load() {
			err = ErrRanged
		}
		if err != nil {
			p.unread = err
			yield(nil, err)
			return
		}
		for rk, raw := range p.planned {
			if stopped || raw == nil || rk == p.key.RowKey() || !rows.Contains(rk) {
				continue
			}
			columns, err := columnsOf(raw)
			if stopped = !yield(&Row{Key: keys.Stored(p.partition, rk), columns: columns}, err); err != nil {
				return
			}
		}
	}
}

// each calls f for the rows of a filter, of whatever type, the library's own included, until it returns false. The rows have the
// properties of choice, all if it is "". 1 request for each 1,000.
func (c *core) each(ctx context.Context, filter, choice string, f func(*Row) bool) error {
	for p := c.rows(filter, choice); !p.at.done; {
		body, err := p.next(ctx, 0)
		if err != nil {
			return conditioned(ctx, err)
		}
		stopped, bad := false, error(nil)
		r := edm.NewReader(body)
		err = r.Page(func(in edm.Entity) bool {
			columns, cerr := r.Columns()
			if bad = cerr; bad != nil {
				return false
			}
			stopped = !f(&Row{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, columns: columns})
			return !stopped
		})
		if err = either(bad, err); err != nil || stopped {
			return err
		}
		p.turn()
	}
	return nil
}

// Untyped returns the same table as rows of any type, without the maintainers of this handle, for programs that repair derived rows:
// it also writes the library's rows. named says whether rows that it writes contain the operation ID, as entities do, and derived rows
// of several entities do not.
func (t *Table[T]) Untyped(named bool) *Table[Row] {
	plan, _ := edm.NewPlan(emptyType, nil)
	u := &Table[Row]{core: *t.core.plain(), plan: plan, derivedRows: true}
	u.opt.OmitOperationID = u.opt.OmitOperationID || !named
	return u
}

// IgnoreCorruptState returns a handle for repairs, which ignores corrupt maintainer state: it takes the entity for one without derived rows,
// instead of failing with a *DecodeError.
func (t *Table[T]) IgnoreCorruptState() *Table[T] {
	c := *t
	c.ignoresCorruptState = true
	return &c
}

// Whole returns the row as an entity, also if the row is a copy, for writes of the copy itself.
func (t *Table[T]) WholeRow(row *Row) (*Entity[Row], error) {
	if row == nil {
		return nil, t.opError("Whole", keys.Key{}, errNil)
	}
	w := edm.NewWriter(nil, row.Key.PartitionKey(), row.Key.RowKey())
	row.write(w)
	body, err := w.Finish()
	if err != nil {
		return nil, t.opError("Whole", row.Key, err)
	}
	return &Entity[Row]{Value: *row, Key: row.Key, ETag: row.ETag, Timestamp: row.Timestamp, raw: body}, nil
}

// Maintainers returns the maintainers of the handle.
func (t *Table[T]) Maintainers() []Maintainer[T] { return slices.Clone(t.maintainers) }
