package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// errNotFound is the error of a look-up that finds no entity. It also says why a program that has just attached the index finds
// none.
var errNotFound = fmt.Errorf("%w with this value in the index (an entity that was stored before the index was attached is found after verify.Run with Repair)", table.ErrNotFound)

// Get returns the entity that has the value k in a partition. A full copy has the entity's key, fields and other columns as they
// were last written; Replace, Merge and Delete of it read the row first, and fail with table.ErrChanged if the row is not as it was
// copied. An entity of a projected copy has only the copied fields: it is Partial, and cannot be written. With
// Pointer or ReadEntities, Get reads the entity itself.
//
// Entities that were stored before the index was attached, or by handles without it, are not found until they are written again or
// verify.Run with Repair has added them. Errors: table.ErrNotFound; ErrSeveral if several entities have the value of an index that
// is not unique; table.ErrChanged if a unique value went from one entity to another at each of Retry.ConflictAttempts attempts;
// ErrWriteOnly; *keys.KeyError; *DefinitionError, also for a handle that the index is not attached to; those of table.Table.Get.
//
// Requests: 1; 2 with Pointer or ReadEntities. If the row's entity no longer has the value, 1 more: Get reads the row again. If
// several entities have the value of an index that is not unique, up to 2 of them are read.
func (ix *Index[T, K]) Get(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) (*table.Entity[T], error) {
	ctx, end := t.Engine().Span(ctx, "Get")
	e, err := ix.get(ctx, t, partition, k)
	end(err)
	if err != nil {
		return nil, withDefinition(ix.name, err)
	}
	return e, nil
}

func (ix *Index[T, K]) get(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) (*table.Entity[T], error) {
	if ix.opt.Unique == NotUnique {
		var first *table.Entity[T]
		partition, err := ix.partitionForValue(partition, k)
		if err != nil {
			return nil, err
		}
		for e, err := range ix.query(ctx, t, table.Query[T]{Partition: partition, Rows: ix.Value(k), Limit: 2}) {
			switch {
			case err != nil:
				return nil, err
			case first != nil:
				return nil, ErrSeveral
			}
			first = e
		}
		if first == nil {
			return nil, errNotFound
		}
		return first, nil
	}
	rows, err := ix.readable(t, ix)
	if err != nil {
		return nil, err
	}
	at, err := ix.uniqueKey(t, partition, k)
	if err != nil {
		return nil, err
	}
	// Between the two reads, another entity may get the value: no entity has it only if the row has not changed.
	var before *engine.Row
	o := &t.Engine().Options
	conflicts, attempts := o.Conflicts(), 0
	for ; attempts < o.Retry.ConflictAttempts; attempts++ {
		if attempts > 1 { // the second read shows whether there was a conflict
			if again, err := conflicts.Wait(ctx, t.Engine().Log("Get", at), table.ErrChanged); err != nil {
				return nil, err
			} else if !again {
				break
			}
		}
		row, copied, err := rows.GetCopy(ctx, at)
		if errors.Is(err, table.ErrNotFound) {
			return nil, &engine.Condition{Is: errNotFound, Cause: err}
		} else if err != nil {
			return nil, err
		}
		if before != nil && before.ETag == row.ETag {
			return nil, errNotFound // the row is wrong, and no entity has the value
		}
		e, err := ix.entityOfCopy(ctx, t, row, copied, ix.hasRow)
		if err != nil || e != nil {
			return e, err
		}
		before = row
	}
	return nil, fmt.Errorf("%w: gave up after %d attempts: concurrent writers gave the value to another entity each time", table.ErrChanged, attempts)
}

// uniqueKey returns the key of the only row under a value. A table with one partition needs no partition.
func (ix *Index[T, K]) uniqueKey(t *table.Table[T], partition keys.Enc, k K) (keys.Key, error) {
	if only := t.Engine().Mode.Schema.Partitions(); ix.opt.Elsewhere == nil && !partition.IsSet() && only.IsPoint() {
		partition = only.Point()
	}
	partition, err := ix.partitionForValue(partition, k)
	if err != nil {
		return keys.Key{}, err
	}
	pk, err1 := partition.Result()
	rk, err2 := ix.rowKey(k, keys.Key{})
	return keys.Stored(pk, rk), errors.Join(err1, err2)
}
