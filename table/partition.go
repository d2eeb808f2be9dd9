package table

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/keys"
)

// Tx is one round of [InPartition]: what is read in it, and what is to be written together. It is not for concurrent use and
// not for use after the round.
type Tx struct {
	ctx       context.Context
	partition keys.Enc
	core      *core // of the first table that was used
	ops       []Op
	read      []keys.Range // of rows, in this round
}

// Context is the context of InPartition's caller.
func (tx *Tx) Context() context.Context { return tx.ctx }

// Do adds operations, to be sent when the function of InPartition returns.
func (tx *Tx) Do(ops ...Op) {
	for _, op := range ops {
		tx.use(op.core)
	}
	tx.ops = append(tx.ops, ops...)
}

func (tx *Tx) use(c *core) {
	if tx.core == nil {
		tx.core = c
	}
}

// GetIn is [Table.Get] in the partition of a transaction. 1 request.
func GetIn[T any](tx *Tx, t *Table[T], row keys.Enc) (*Entity[T], error) {
	tx.use(&t.core)
	tx.read = append(tx.read, keys.Point(row))
	return t.Get(tx.ctx, keys.At(tx.partition, row))
}

// ListIn is [Table.List] in the partition of a transaction, which the query need not name. ErrOtherPartition if it names
// another.
func ListIn[T any](tx *Tx, t *Table[T], q Query[T]) iter.Seq2[*Entity[T], error] {
	tx.use(&t.core)
	// The same key may come from a layout or from a row.
	if q.Partition.IsSet() {
		named, err1 := q.Partition.Result()
		own, err2 := tx.partition.Result()
		err := either(err1, err2)
		if err == nil && named != own {
			err = ErrOtherPartition
		}
		if err != nil {
			return func(yield func(*Entity[T], error) bool) { yield(nil, t.opError("List", keys.Key{}, err)) }
		}
	}
	q.Partition = tx.partition
	if completed, _, err := t.completed(q, true); err == nil {
		tx.read = append(tx.read, completed.Rows)
	}
	return t.List(tx.ctx, q)
}

// InPartition reads several rows of a partition, of any types, and writes what follows from them, all or nothing: f reads
// with [GetIn] and [ListIn], changes what it has read, and adds operations to tx; they are sent as one transaction when it
// returns. Where a row that f has read was meanwhile changed, inserted or deleted by others, f is called again with a new
// tx, at most Retry.ConflictAttempts times (of the options of the first table that f used); everything it does must bear repetition.
// An error of f ends InPartition and comes back as it is, and nothing is written.
//
// Rows that f reads and does not write are not protected: others may change them before the transaction is done. Add a
// PinOp for a row on which the outcome depends. A row whose absence matters is protected by inserting it.
//
// Requests: those of f and 1 for each round, 2 where it has met a concurrent writer, none where f adds no operation. Errors are those of
// [Transact]; ErrUnknownOutcome is not repeated.
func InPartition(ctx context.Context, partition keys.Enc, f func(*Tx) error) (*Receipt, error) {
	var rounds *contention
	for {
		tx := &Tx{ctx: ctx, partition: partition}
		if err := f(tx); err != nil {
			return nil, err
		}
		if len(tx.ops) == 0 {
			return &Receipt{}, nil
		}
		if err := tx.inside(); err != nil {
			return nil, err
		}
		r, err := Transact(ctx, tx.ops...)
		if err == nil || tx.core == nil || !tx.lost(err) {
			return r, err
		}
		if rounds == nil {
			rounds = tx.core.opt.contention()
		}
		if again, ended := rounds.again(ctx); !again {
			return nil, either(tx.core.opError("InPartition", keys.Key{}, ended), err)
		}
	}
}

// inside tells whether the operations are of the partition that f was given.
func (tx *Tx) inside() error {
	want, err := tx.partition.Result()
	for i, op := range tx.ops {
		if op.err == nil && op.core != nil && (err != nil || op.key.PartitionKey() != want) {
			return op.core.opError("InPartition", keys.Key{}, &BatchError{Index: i, Key: readable(op.key), Err: errors.Join(ErrOtherPartition, err)})
		}
	}
	return nil
}

// lost tells whether a transaction failed for what others have done since f has read.
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
		if r.Contains(tx.ops[be.Index].key.RowKey()) {
			return true
		}
	}
	return false
}
