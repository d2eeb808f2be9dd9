package table

import (
	"context"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// InsertRow stores a row that was read elsewhere, or is a copy ([Row.Copy]), as a new entity under a key, with the columns that T
// does not know; what the library stores with an entity, such as its incarnation, is not copied. The row must be one of T, as Get would read
// it, and is upgraded as by Get. Requests and errors are those of Insert, and those of Get about the row.
func (t *Table[T]) InsertRow(ctx context.Context, k keys.Key, r *Row) (*Entity[T], error) {
	return storing[T](ctx, t.InsertRowOp(k, r))
}

// InsertRowOp is [Table.InsertRow] as part of a transaction. [Stored] gives the entity.
func (t *Table[T]) InsertRowOp(k keys.Key, r *Row) Op { return t.h.insertRow(k, r) }

func (h handle) insertRow(k keys.Key, r *Row) Op {
	op := h.begin("InsertRow", aztables.TransactionTypeAdd, k)
	switch {
	case strings.HasPrefix(k.RowKey(), reserved.First):
		op.op.Err = keys.Raw(k.RowKey()).Err()
	case r == nil || k.Err() != nil:
		op.op.Err = either(k.Err(), errNil)
	default:
		op.stored, op.op.Body, op.op.Err = h.rowToInsert(k, r)
	}
	if op.op.Err != nil {
		return op
	}
	op.op.Known = true
	op.op.Target = &target{parts: op.stored.parts(), use: makesEntity}
	return op.maintained()
}
