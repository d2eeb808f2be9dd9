package table

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Rekey moves the row to the key that the schema makes of e.Value, whose key fields were changed. It inserts the new row, with the
// columns that T does not know, and deletes the old row by its ETag, both or neither. The partition must stay the same: [Table.Move]
// moves an entity to another. If the key is the same, Rekey is Replace. Afterwards e is the new row.
//
// Errors: ErrExists if a row has the new key; ErrChanged about the old row, which is also ErrNotFound if it is gone; ErrOtherPartition; ErrPartial; ErrNoETag;
// ErrUnknownOutcome; *LimitError, *ValueError and *keys.KeyError. 1 request.
func (t *Table[T]) Rekey(ctx context.Context, e *Entity[T]) error {
	return t.h.rekeyByFields(ctx, e)
}

func (h handle) rekeyByFields(ctx context.Context, e entity) error {
	to, err := h.keyByFields("Rekey", e)
	if err != nil {
		return err
	}
	return h.rekey(ctx, e, to)
}

// keyByFields returns the key that the schema makes of an entity's fields: the one that it has, if that agrees with them.
func (h handle) keyByFields(method string, e entity) (keys.Key, error) {
	p, s := e.parts(), h.shape
	if p.value == nil {
		return keys.Key{}, h.opError(method, keys.Key{}, errNil)
	}
	if s.partition.set && s.row.set && s.agrees(p.value, *p.key) == nil {
		return *p.key, nil // also if it is one that the schema would not make
	}
	return s.keyOf(p.value), nil
}

// RekeyAt is Rekey to an explicit key, for schemas that leave a binding out.
func (t *Table[T]) RekeyAt(ctx context.Context, e *Entity[T], to keys.Key) error {
	return t.h.rekey(ctx, e, to)
}

func (h handle) rekey(ctx context.Context, e entity, to keys.Key) (err error) {
	ctx, end := h.engine.Span(ctx, "Rekey")
	defer func() { end(err) }()
	p := e.parts()
	switch {
	case p.value != nil && to == *p.key:
		return h.replace("Rekey", e).send(ctx)
	case p.value != nil && to.Err() == nil && to.PartitionKey() != p.key.PartitionKey():
		return h.opError("Rekey", *p.key, &engine.Explained{Err: ErrOtherPartition, Explanation: "use Move, which needs an outbox: see maintain.WithOutbox"})
	}
	remove, insert, err := h.moving("Rekey", e, h, to)
	if err != nil {
		return h.opError("Rekey", remove.op.Key, err)
	}
	// The entity gives up its derived rows first, so that it can take them again under the other key.
	_, err = engine.Commit(ctx, "Rekey", remove.op.Key, []*engine.Op{&remove.op, &insert.op})
	return public(err)
}

// moving returns the operations that delete an entity and insert it under another key, perhaps by the handle of another table.
func (h handle) moving(method string, e entity, other handle, to keys.Key) (remove, insert Op, err error) {
	remove, p := h.of(method, aztables.TransactionTypeDelete, e, removes, true)
	if remove.op.Err != nil {
		return remove, insert, remove.op.Err
	}
	insert = other.begin(method, aztables.TransactionTypeAdd, to)
	value := p.value
	if row, isRow := value.(*Row); isRow { // which contains its key
		moved := *row
		moved.Key = to
		value = &moved
	}
	if insert.op.Err = other.agree(to, value); insert.op.Err != nil {
		return remove, insert, insert.op.Err
	}
	if insert.op.Err = other.create(&insert.op.Body, to, value, p.row, reserved.MaintainerState); insert.op.Err != nil {
		return remove, insert, insert.op.Err
	}
	insert.op.Known = true
	insert.on(e, rekeys)
	insert.target.change = &change{key: to}
	from := *p.key
	remove.op.Counterpart, insert.op.Counterpart = &to, &from
	remove.maintain()
	insert.maintain()
	return remove, insert, remove.op.Err
}
