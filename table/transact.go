package table

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Receipt is the result of a transaction.
type Receipt struct {
	ETags []azcore.ETag // of the rows, in the order of the operations; "" for those that were deleted

	stored []entity
}

// String returns the ETags, for programs that print a receipt.
func (r Receipt) String() string { return fmt.Sprintf("%q", r.ETags) }

// Stored returns the entity that operation i of a transaction has stored or changed. It is nil for a delete, a
// merge by key, or an operation of another type.
func Stored[T any](r *Receipt, i int) *Entity[T] {
	if r == nil || i < 0 || i >= len(r.stored) {
		return nil
	}
	e, _ := r.stored[i].(*Entity[T])
	return e
}

// Transact applies all operations or none: an entity group transaction. The operations may be of several types, in one partition of
// one table, each row once, at most 100 operations and 4 MiB. Their entities are renewed if the transaction succeeds, and unchanged
// if it fails.
//
//	table.Transact(ctx, staff.ReplaceOp(e), reviews.InsertOp(&r))
//
// Errors: *BatchError for a refused operation, whether a check or the service refused it, around ErrExists, ErrChanged,
// ErrNotFound, ErrDuplicateRow, ErrOtherPartition, *ValueError for another table or outbox, or the error that the operation's own
// method would return; *LimitError for a transaction that is empty or too large; the other errors of a write (see package table),
// such as ErrUnknownOutcome, after which the entities cannot be used until they are read again. The size is that of the request
// body. Clients made with [ClientOptions] count it to the byte before it is sent; with other clients, the service refuses the few
// transactions that are too large although their entities are not. 1 request. If a row exists or has changed, 1 more: Transact
// reads the row, because the network may have delivered the request twice.
func Transact(ctx context.Context, ops ...Op) (*Receipt, error) {
	sent := make([]*engine.Op, len(ops))
	r := &Receipt{stored: make([]entity, len(ops))}
	for i := range ops {
		sent[i], r.stored[i] = ops[i].engine(), ops[i].stored()
	}
	var err error
	if r.ETags, err = engine.Transact(ctx, sent); err != nil {
		return nil, err
	}
	return r, nil
}

// Tx is one attempt of [InPartition]: the rows that were read, and the operations that are written together. It is not for
// concurrent use, and not for use after the attempt.
type Tx struct {
	ctx       context.Context
	partition keys.PartitionKey
	table     *engine.Table // the first that was used
	end       func(error)   // ends the span of InPartition, which begins with the first use of a table
	ops       []Op
	read      []keys.RowRange // of rows, in this attempt
}

// Context returns the context of the call of InPartition.
func (tx *Tx) Context() context.Context { return tx.ctx }

// Do adds operations, which are sent when the function of InPartition returns.
func (tx *Tx) Do(ops ...Op) {
	for _, op := range ops {
		tx.use(op.engine().Table)
	}
	tx.ops = append(tx.ops, ops...)
}

func (tx *Tx) use(t *engine.Table) {
	if tx.table == nil {
		tx.table = t
	}
	if tx.end == nil {
		tx.ctx, tx.end = t.Span(tx.ctx, "InPartition")
	}
}

// insideOf notes a table that a transaction uses.
func insideOf(tx *Tx, t *engine.Table) error {
	if tx == nil || tx.ctx == nil {
		return &ValueError{Field: "tx", Reason: "is nil or zero; use the one that the function of InPartition gets"}
	}
	tx.use(t)
	return engine.CheckHandle("t", t)
}

// GetIn is [Table.Get] in the partition of a transaction. 1 request.
func GetIn[T any](tx *Tx, t *Table[T], row keys.RowKey) (*Entity[T], error) {
	if err := insideOf(tx, t.engine()); err != nil {
		return nil, err
	}
	tx.read = append(tx.read, row.Point())
	return t.Get(tx.ctx, keys.At(tx.partition, row))
}

// ListIn is [Table.List] in the partition of a transaction, which the query need not name. ErrOtherPartition if it names
// another.
func ListIn[T any](tx *Tx, t *Table[T], q Query[T]) iter.Seq2[*Entity[T], error] {
	if err := insideOf(tx, t.engine()); err != nil {
		return func(yield func(*Entity[T], error) bool) { yield(nil, err) }
	}
	if q.Partitions.IsSet() {
		err := &ValueError{Field: "Query.Partitions", Reason: "is set, but a transaction reads its own partition alone"}
		return func(yield func(*Entity[T], error) bool) { yield(nil, t.h.engine.OpError("List", keys.Key{}, err)) }
	}
	// The same key may come from a layout or from a row.
	if q.Partition.IsSet() {
		named, err1 := q.Partition.Result()
		own, err2 := tx.partition.Result()
		err := either(err1, err2)
		if err == nil && named != own {
			err = ErrOtherPartition
		}
		if err != nil {
			return func(yield func(*Entity[T], error) bool) { yield(nil, t.h.engine.OpError("List", keys.Key{}, err)) }
		}
	}
	q.Partition = tx.partition
	completed := t.h.schema.query(q.engine(), true)
	if _, err := completed.Complete(); err == nil {
		tx.read = append(tx.read, completed.Rows)
	}
	return t.List(tx.ctx, q)
}

// InPartition reads several rows of a partition, of any types, and writes what follows from them, all or nothing. f reads with
// [GetIn] and [ListIn], changes entities, and adds operations to tx. They are sent as one transaction when f returns. If a
// concurrent writer has changed, inserted or deleted a row that f read, f is called again with a new tx, at most
// Retry.ConflictAttempts times (of the options of the first table that f used), so f must be repeatable. An error of f ends
// InPartition and is returned as it is; nothing is written.
//
// Rows that f reads and does not write are not protected: a concurrent writer may change them before the transaction is applied.
// Add a PinOp for a row on which the outcome depends. To protect the absence of a row, insert it.
//
// Errors: the error of f; *BatchError around ErrChanged, ErrNotFound or ErrExists if each attempt met a conflict, or around
// another error of an operation, as in [Transact]; ErrUnknownOutcome, which is not repeated; *LimitError for a transaction that
// is too large; errors of a write (see package table). Requests: those of f and 1 for each attempt, 2 after a conflict, none if f
// adds no operation.
func InPartition(ctx context.Context, partition keys.PartitionKey, f func(*Tx) error) (r *Receipt, err error) {
	if f == nil {
		return nil, nilArgument("f")
	}
	tx := &Tx{ctx: ctx, partition: partition}
	defer func() {
		if tx.end != nil {
			tx.end(err)
		}
	}()
	var conflicts *engine.Conflicts
	for {
		if err := f(tx); err != nil {
			return nil, err
		}
		if len(tx.ops) == 0 {
			return &Receipt{}, nil
		}
		if err := tx.inside(); err != nil {
			return nil, err
		}
		r, err := Transact(tx.ctx, tx.ops...)
		if err == nil || tx.table == nil || !tx.lost(err) {
			return r, err
		}
		if conflicts == nil {
			begun := tx.table.Options.NewConflicts()
			conflicts = &begun
		}
		if again, ended := conflicts.Wait(tx.ctx, tx.log(), err); !again {
			return nil, either(tx.table.OpError("InPartition", keys.Key{}, ended), err)
		}
		tx = &Tx{ctx: tx.ctx, partition: partition, end: tx.end}
	}
}

// log returns the log of the attempt.
func (tx *Tx) log() engine.Log {
	l := tx.table.Log("InPartition", keys.Key{})
	l.Partition = tx.partition.String()
	return l
}

// inside returns an error for an operation on another partition.
func (tx *Tx) inside() error {
	want, err := tx.partition.Result()
	for i, op := range tx.ops {
		o := op.engine()
		if o.Err != nil || o.Table == nil || err == nil && o.Key.PartitionKey() == want {
			continue
		}
		k := o.Key
		if k.Err() != nil {
			k = keys.Key{} // the cause says what is wrong with it
		}
		return o.Table.OpError("InPartition", keys.Key{}, &BatchError{Index: i, Key: k, Err: errors.Join(ErrOtherPartition, err)})
	}
	return nil
}

// lost reports whether a transaction failed because a concurrent writer has changed what f read.
func (tx *Tx) lost(err error) bool {
	var be *BatchError
	switch {
	case unknown(err) || derived(err):
		return false
	case errors.Is(err, ErrChanged):
		return true
	case !errors.As(err, &be) || be.Index < 0 || !errors.Is(err, ErrExists) && !errors.Is(err, ErrNotFound):
		return false
	}
	for _, r := range tx.read {
		if r.Contains(tx.ops[be.Index].op.Key.RowKey()) {
			return true
		}
	}
	return false
}
