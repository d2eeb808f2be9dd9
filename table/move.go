package table

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Move moves an entity to the key that the schema makes of e.Value, whose key fields were changed,
// in any partition:
//
//	e.Value.Department = "Marketing"
//	err := staff.Move(ctx, e)
//
// The entity is under the old key or under the new one, never under both and never under none, for
// every reader and writer of this library, also if the program crashes in between. Its derived rows
// move with it. The row keeps the columns that T does not know, and its incarnation. Afterwards e
// is the new row. If the partition stays the same, Move is 1 transaction. Maintainers, and the
// functions of eventual.On, see a delete and an insert; extend.Change.MovedTo and MovedFrom contain
// the keys of the move.
//
// The worker of the store finishes the moves of crashed programs. Other programs do not wait for
// the workers: reading a row by its key finishes the move, or rolls it back. Programs that write
// without this library, or with Options.BlindWrites, must leave rows alone that have the property
// _tx. An entity with a value of package largeentity in a blob, whose name contains the partition,
// needs a copy: largeentity.Values.Copy.
//
// If another program has written the entity first, the error is ErrChanged, whatever refused the
// move; [Table.UpdateAndMove] begins again then.
//
// Errors:
//   - ErrChanged about the old row, which is also ErrNotFound if it is gone
//   - ErrExists if another entity has the new key
//   - ErrUnknownOutcome
//   - *ValueError for a handle without an outbox
//   - ErrOutbox
//   - ErrGivenUp
//   - ErrNotRead
//   - the other errors of a write (see package table)
//   - *LimitError if the rows do not fit into the transactions: about 48 derived rows that exist
//     under the new key before, or 98 that do not
//
// Requests:
//   - 6, and none of a worker: the message, 3 transactions, to prepare, to commit and to finish, 1
//     to mark the commit record as done, and 1 to withdraw the message
//   - 1 more for each shared derived row, such as a list or a summary, that must be read
//   - with effects, the last two are the worker's, and 1 shows it the message
//   - after a refusal that is not about the old row, 1 to read that row
func (t *Table[T]) Move(ctx context.Context, e *Entity[T]) error {
	to, err := t.h.keyByFields("Move", e)
	if err != nil {
		return err
	}
	return t.h.move(ctx, e, t.h, to)
}

// MoveTo is [Table.Move] to another table of the same service. other is a handle of that table. The
// key follows from the fields of e.Value by the schema of that handle. The tables are of one store.
// Until workers or verify.Repair have finished the moves of crashed programs, the old table must
// exist: reading such an entity needs the commit record there, and fails if the table is gone.
func (t *Table[T]) MoveTo(ctx context.Context, other *Table[T], e *Entity[T]) error {
	if err := engine.CheckHandle("other", other.engine()); err != nil {
		return t.h.engine.OpError("MoveTo", keys.Key{}, err)
	}
	to, err := other.h.keyByFields("MoveTo", e)
	if err != nil {
		return err
	}
	return t.h.move(ctx, e, other.h, to)
}

func (h handle) move(ctx context.Context, e entity, other handle, to keys.Key) (err error) {
	p := e.fields()
	if err := either(h.engine.Fault, other.engine.Fault); err != nil {
		return h.engine.OpError("Move", keys.Key{}, err)
	}
	ctx, end := h.engine.Span(ctx, "Move")
	defer func() { end(err) }()
	if p.value != nil && to == *p.key && h.engine.Same(other.engine) {
		return h.replace("Move", e).send(ctx)
	}
	remove, insert, err := h.moving("Move", e, other, to)
	switch {
	case err != nil:
		return h.engine.OpError("Move", remove.op.Key, err)
	case !h.engine.SameService(other.engine):
		return h.engine.OpError("Move", remove.op.Key, &ValueError{Field: "other", Reason: "is a table of another service; give one of the same client"})
	}
	// In one partition, the entity gives up its derived rows first, so that it can take them again
	// under the other key.
	ops := []*engine.Op{&remove.op, &insert.op}
	_, _, err = engine.Commit(ctx, engine.Together{Method: "Move", Key: remove.op.Key, Ops: ops})
	return err
}

// keyByFields returns the key that the schema makes of an entity's fields: the one that it has, if
// that agrees with them.
func (h handle) keyByFields(method string, e entity) (keys.Key, error) {
	p, s := e.fields(), h.schema
	if p.value == nil || h.engine.Fault != nil {
		return keys.Key{}, h.engine.OpError(method, keys.Key{}, either(h.engine.Fault, errNil))
	}
	if s.partition.Set && s.row.Set && s.agrees(p.value, *p.key) == nil {
		return *p.key, nil // also if it is one that the schema would not make
	}
	return s.keyOf(p.value), nil
}

// moving returns the operations that delete an entity and insert it under another key, perhaps by
// the handle of another table.
func (h handle) moving(method string, e entity, other handle, to keys.Key) (remove, insert Op, err error) {
	remove, p := h.beginEntity(method, aztables.TransactionTypeDelete, e, removes, true)
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
	insert.setEntity(e, rekeys)
	insert.target.change = &change{key: to}
	from := *p.key
	remove.op.Counterpart, insert.op.Counterpart = &to, &from
	remove.maintain()
	insert.maintain()
	return remove, insert, remove.op.Err
}
