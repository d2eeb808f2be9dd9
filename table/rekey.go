package table

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Rekey moves the row to the key that the schema makes of e.Value, whose key fields were changed. It inserts the new row, with the
// columns that T does not know, and deletes the old row by its ETag, both or neither. The partition must stay the same, because no
// transaction covers two. If the key is the same, Rekey is Replace. Afterwards e is the new row.
//
// Errors: ErrExists if a row has the new key; ErrChanged and ErrNotFound about the old row; ErrOtherPartition; ErrPartial; ErrNoETag;
// ErrUnknownOutcome; *LimitError, *ValueError and *keys.KeyError. 1 request.
func (t *Table[T]) Rekey(ctx context.Context, e *Entity[T]) error {
	return t.h.rekeyByFields(ctx, e)
}

func (h handle) rekeyByFields(ctx context.Context, e entity) error {
	p, s := e.parts(), h.shape
	if p.value == nil {
		return h.opError("Rekey", keys.Key{}, errNil)
	}
	if s.partition.set && s.row.set && s.agrees(p.value, *p.key) == nil {
		return h.rekey(ctx, e, *p.key) // also if it is one that the schema would not make
	}
	return h.rekey(ctx, e, s.keyOf(p.value))
}

// RekeyAt is Rekey to an explicit key, for schemas that leave a binding out.
func (t *Table[T]) RekeyAt(ctx context.Context, e *Entity[T], to keys.Key) error {
	return t.h.rekey(ctx, e, to)
}

func (h handle) rekey(ctx context.Context, e entity, to keys.Key) (err error) {
	ctx, end := h.engine.Span(ctx, "Rekey")
	defer func() { end(err) }()
	remove, p := h.of("Rekey", aztables.TransactionTypeDelete, e, removes, true)
	fail := func(err error) error { return h.opError("Rekey", remove.op.Key, err) }
	switch {
	case remove.op.Err != nil:
		return fail(remove.op.Err)
	case to == *p.key:
		return h.replace("Rekey", e).send(ctx)
	case to.Err() == nil && to.PartitionKey() != p.key.PartitionKey():
		return fail(ErrOtherPartition)
	}
	insert := h.begin("Rekey", aztables.TransactionTypeAdd, to)
	value := p.value
	if row, isRow := value.(*Row); isRow { // which contains its key
		moved := *row
		moved.Key = to
		value = &moved
	}
	if insert.op.Body, insert.op.Err = h.create(to, value, p.row, reserved.MaintainerState); insert.op.Err != nil {
		return fail(insert.op.Err)
	}
	insert.op.Known = true
	insert.op.Target = &target{parts: p, use: rekeys, to: to}
	remove, insert = remove.maintained(), insert.maintained()
	if remove.op.Err != nil {
		return fail(remove.op.Err)
	}
	// The entity gives up its derived rows first, so that it can take them again under the other key.
	_, err = engine.Commit(ctx, "Rekey", remove.op.Key, []engine.Op{remove.op, insert.op})
	return public(err)
}
