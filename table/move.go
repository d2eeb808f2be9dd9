package table

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Move moves an entity to the key that the schema makes of e.Value, whose key fields were changed, in any partition:
//
//	e.Value.Department = "Marketing"
//	err := staff.Move(ctx, e)
//
// The entity is under the old key or under the new one, never under both and never under none, for every reader and writer of this
// library, also if the program crashes in between. Its derived rows move with it. The row keeps the columns that T does not know,
// and its incarnation. Afterwards e is the new row. If the partition stays the same, Move is [Table.Rekey]. Maintainers, and the
// functions of eventual.OnChange, see a delete and an insert; maintain.Change.MovedTo and MovedFrom tell that they are a move.
//
// The handle needs an outbox (maintain.WithOutbox), and a worker of package eventual finishes the moves of crashed programs. Other
// programs that meet such an entity do not wait for it: reading a row by its key finishes the move, or rolls it back. Programs
// that write without this library, or with Options.BlindWrites, must leave rows alone that have the property _tx. An entity with
// a value of package largeentity in a blob, whose name contains the partition, needs a copy: largeentity.Store.Copy.
//
// Another program that has written the entity first makes the error ErrChanged, whatever refused the move; [Table.UpdateAndMove]
// begins again then. ErrExists means that another entity has the new key.
//
// Errors: those of Rekey without ErrOtherPartition; *ValueError for a handle without an outbox; ErrOutbox; ErrGivenUp;
// *LimitError if the rows do not fit into the transactions: about 48 derived rows that exist under the new key before, or 98 that do
// not. Requests: 3 transactions, to prepare, to commit and to finish, and 2 for the message; 1 more for each shared derived row,
// such as a list or a summary, that must be read. After a refusal that is not about the old row, 1 to read that row.
func (t *Table[T]) Move(ctx context.Context, e *Entity[T]) error {
	to, err := t.h.keyByFields("Move", e)
	if err != nil {
		return err
	}
	return t.h.move(ctx, e, t.h, to)
}

// MoveTo is [Table.Move] to another table of the same service, by a handle of it. The key follows from the fields of e.Value by the
// schema of that handle. Both handles have the same outbox. Each handle of the new table names the old one in Options.MovedFrom, also
// in programs that do not move. Until workers have finished the moves of crashed programs, or commit.Records.FinishPrepared has, the
// old table must exist: reading such an entity needs its commit record there, and fails with a *HomeError if it is gone.
func (t *Table[T]) MoveTo(ctx context.Context, other *Table[T], e *Entity[T]) error {
	if err := engine.CheckHandle("other", other.Engine()); err != nil {
		return t.h.opError("MoveTo", keys.Key{}, err)
	}
	to, err := other.h.keyByFields("MoveTo", e)
	if err != nil {
		return err
	}
	return t.h.move(ctx, e, other.h, to)
}

func (h handle) move(ctx context.Context, e entity, other handle, to keys.Key) (err error) {
	p := e.parts()
	same := h.engine.Same(other.engine)
	if same && p.value != nil && (to.Err() != nil || to.PartitionKey() == p.key.PartitionKey()) {
		return h.rekey(ctx, e, to)
	}
	ctx, end := h.engine.Span(ctx, "Move")
	defer func() { end(err) }()
	remove, insert, err := h.moving("Move", e, other, to)
	switch a, b := h.engine.Mode.Outbox, other.engine.Mode.Outbox; {
	case err != nil:
	case p.key.Err() != nil: // the marks of a write over several partitions name the rows
		err = p.key.Err()
	case !h.engine.SameService(other.engine):
		err = &ValueError{Field: "other", Reason: "is a table of another service; give one of the same client"}
	case !other.engine.Knows(h.engine.Name):
		err = &ValueError{Field: "other", Reason: fmt.Sprintf("does not name table %q in Options.MovedFrom; make all handles of table %q with it", h.engine.Name, other.engine.Name)}
	case wire.IsNil(a):
		err = &ValueError{Field: "outbox", Reason: "is missing: make the handle by maintain.WithOutbox, so that workers finish the moves of crashed programs"}
	case wire.IsNil(b) || !engine.SameOutbox(a, b):
		err = &ValueError{Field: "outbox", Reason: "is not that of the other handle: give both the same"}
	}
	if err != nil {
		return h.opError("Move", remove.op.Key, err)
	}
	return public(engine.MoveAcross(ctx, "Move", &remove.op, &insert.op))
}
