package table

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// PartitionsAfter yields the distinct PartitionKeys of the table behind a PartitionKey, of rows of any type; an unset one is before
// all. Requests and errors are those of [Table.PartitionsAfter]; ErrRanged if the client's signature is for a range of partitions, so that
// others would be left out.
func (in *CommitRecords) PartitionsAfter(ctx context.Context, after keys.Enc) iter.Seq2[keys.Enc, error] {
	return func(yield func(keys.Enc, error) bool) {
		ranged := func() bool {
			if !in.core.shared.ranged.Load() {
				return false
			}
			yield(keys.Enc{}, in.core.opError("Partitions", keys.Key{}, ErrRanged))
			return true
		}
		for partition, err := range (&Table[Row]{core: *in.core.plain()}).PartitionsAfter(ctx, after) {
			if err == nil && ranged() || !yield(partition, err) {
				return
			}
		}
		ranged()
	}
}

// Pending yields the operation IDs of the writes of a partition that were begun before a time, by their writers' clocks, and whose
// effects are still to be done, in the order of the IDs; only those behind the ID after, unless that is "". The effects are not read:
// see [CommitRecords.Get].
//
// Requests: 1 for each page of 1,000 rows or fewer. Errors: *ValueError for an ID that is none; ErrTableNotFound; ErrRanged if
// the client's signature is for a range of rows; those of any read.
func (in *CommitRecords) Pending(ctx context.Context, partition keys.Enc, after string, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var err error
		ctx, end := in.core.span(ctx, "Pending")
		defer func() { end(err) }()
		fail := func(cause error) {
			err = in.core.opError("Pending", keys.Key{}, cause)
			yield("", err)
		}
		pk, err := partition.Result()
		from := "ge '" + reserved.CommitRecord + "'"
		if after != "" && err == nil {
			_, err = opTimeOf(after)
			from = "gt '" + reserved.CommitRecord + after + "'"
		}
		if err != nil {
			fail(err)
			return
		}
		filter := fmt.Sprintf("%s eq %s and %s %s and %s lt '%s' and %s eq '%s'", edm.PartitionKey, edm.Quote(pk),
			edm.RowKey, from, edm.RowKey, reserved.CommitRecord+opTimeText(before), stateProperty, CommitPending)
		stopped := false
		broken := in.core.each(ctx, filter, edm.PartitionKey+","+edm.RowKey, func(r *Row) bool {
			op := strings.TrimPrefix(r.Key.RowKey(), reserved.CommitRecord)
			if _, err := opTimeOf(op); err != nil {
				return true // no write has made it
			}
			stopped = !yield(op, nil)
			return !stopped
		})
		if broken == nil && in.core.shared.rowsOnly.Load() {
			broken = ErrRanged
		}
		if broken != nil && !stopped {
			fail(broken)
		}
	}
}
