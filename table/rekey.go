package table

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Rekey moves the row to the key that the schema makes of e.Value, whose key fields have been changed: the new row is
// inserted, with the columns that T does not know, and the old one deleted by its ETag, both or neither. The partition must
// stay the same, for no transaction covers two. Where the key is the same, it is Replace. 1 request; e then is the new row.
//
// Errors: ErrExists where a row has the new key; ErrChanged and ErrNotFound about the old one; ErrOtherPartition;
// ErrPartial; ErrNoETag; ErrUnknownOutcome; *LimitError, *ValueError and *keys.KeyError.
func (t *Table[T]) Rekey(ctx context.Context, e *Entity[T]) error {
	if e == nil {
		return t.opError("Rekey", keys.Key{}, errNil)
	}
	if t.schema.Partition.IsSet() && t.schema.Row.IsSet() && t.agrees(&e.Value, e.Key) == nil {
		return t.RekeyAt(ctx, e, e.Key) // also where e.Key is one that the schema would not make
	}
	return t.RekeyAt(ctx, e, t.keyOf(&e.Value))
}

// RekeyAt is Rekey to an explicit key, for schemas that leave a binding out.
func (t *Table[T]) RekeyAt(ctx context.Context, e *Entity[T], to keys.Key) (err error) {
	ctx, end := t.span(ctx, "Rekey")
	defer func() { end(err) }()
	remove := t.of("Rekey", aztables.TransactionTypeDelete, e, true)
	fail := func(err error) error { return t.opError("Rekey", remove.key, err) }
	switch {
	case remove.err != nil:
		return fail(remove.err)
	case to == e.Key:
		op := t.replaceOp("Rekey", e)
		return t.maintained(op, true, op.old).send(ctx)
	case to.Err() == nil && to.PartitionKey() != e.Key.PartitionKey():
		return fail(ErrOtherPartition)
	}
	insert := t.op("Rekey", aztables.TransactionTypeAdd, to)
	v := &e.Value
	row, isRow := any(v).(*Row) // which holds its key
	if isRow {
		moved := *row
		moved.Key = to
		v = any(&moved).(*T)
	}
	if insert.body, insert.err = t.create(to, v, e.raw, reserved.MaintainerState); insert.err != nil {
		return fail(insert.err)
	}
	remove, insert = t.maintained(remove, true, remove.old), t.maintained(insert, true, nil)
	if remove.err != nil {
		return fail(remove.err)
	}
	insert.done = func(etag azcore.ETag, body []byte) {
		if e.Key = to; isRow {
			row.Key = to
		}
		e.renew(etag, body)
	}
	// What the entity gives up first can be taken again under the other key.
	_, err = t.commit(ctx, "Rekey", remove.key, []Op{remove, insert}, true)
	return err
}
