package table

import (
	"context"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// InsertRow stores a row that was read elsewhere, or is a copy ([Row.Copy]), as a new entity under a key, with the columns that T
// does not know; what the library keeps with an entity, such as its life, begins anew. The row must be one of T, as Get would read
// it, and is upgraded as by Get. Requests and errors are those of Insert, and those of Get about the row.
func (t *Table[T]) InsertRow(ctx context.Context, k keys.Key, r *Row) (*Entity[T], error) {
	return t.storing(ctx, t.InsertRowOp(k, r))
}

// InsertRowOp is [Table.InsertRow] as part of a transaction. [Stored] gives the entity.
func (t *Table[T]) InsertRowOp(k keys.Key, r *Row) Op {
	fail := func(err error) Op { return Op{core: &t.core, method: "InsertRow", key: k, err: err} }
	if strings.HasPrefix(k.RowKey(), reserved.First) {
		return fail(keys.Raw(k.RowKey()).Err())
	}
	if r == nil || k.Err() != nil {
		return fail(either(k.Err(), errNil))
	}
	w := edm.NewWriter(nil, k.PartitionKey(), k.RowKey())
	r.WithoutSystemProperties().write(w, reserved.OperationID)
	body, err := w.Finish()
	if err != nil {
		return fail(err)
	}
	in := edm.NewReader(body)
	row, err := in.One()
	if err != nil {
		return fail(err)
	}
	e, _, err := t.decode(in, row)
	if err != nil {
		return fail(err)
	}
	if v, ok := any(&e.Value).(*Row); ok {
		v.Key = k
	}
	op := t.op("InsertRow", aztables.TransactionTypeAdd, k)
	// The key may be one that this library would not make: of a row that others have written, and that was moved.
	if op.body, op.err = t.encode(k, &e.Value, e.raw); op.err != nil {
		return op
	}
	is := &Entity[T]{Value: e.Value, Key: k}
	op.stored, op.done = is, is.renew
	return t.maintained(op, true, nil)
}
