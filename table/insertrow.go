package table

import (
	"context"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// InsertRow stores a row that was read elsewhere, or is a copy, as a new entity under a key. The columns that T does not know are
// stored, too, but not the row's operation ID, incarnation, maintainer state and owner. The row must be one of T, as Get would read
// it, and is upgraded as by Get. Requests and errors are those of Insert, and about the row those of Get. It is for packages of this
// module.
func (t *Table[T]) InsertRow(ctx context.Context, k keys.Key, r *engine.Row) (*Entity[T], error) {
	return storing[T](ctx, t.h.insertRow(k, rowOf(r)))
}

func (h handle) insertRow(k keys.Key, r *Row) Op {
	op := h.begin("InsertRow", aztables.TransactionTypeAdd, k)
	var e entity
	switch {
	case strings.HasPrefix(k.RowKey(), reserved.First):
		op.op.Err = keys.Raw(k.RowKey()).Err()
	case r == nil || k.Err() != nil:
		op.op.Err = either(k.Err(), errNil)
	default:
		e, op.op.Body, op.op.Err = h.rowToInsert(k, r)
	}
	if op.op.Err != nil {
		return op
	}
	op.op.Known = true
	op.on(e, makesEntity)
	op.maintain()
	return op
}
