package baretest

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// SweepRecords deletes the old commit records of a partition, as the work of a day does, and what
// their writes have prepared in other partitions.
func SweepRecords(ctx context.Context, t table.Handle, partition keys.PartitionKey) (deleted int, err error) {
	deleted, _, err = door.Table(t).Sweep(ctx, partition.String(), time.Time{})
	return deleted, err
}

// SweepAll is SweepRecords for all partitions.
func SweepAll(ctx context.Context, t table.Handle) (deleted int, err error) {
	for partition, err := range tabledoor.Partitions(ctx, t, keys.PartitionRange{}) {
		if err != nil {
			return deleted, err
		}
		n, err := SweepRecords(ctx, t, partition)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// FinishPrepared ends the writes over several partitions that have prepared rows in a partition
// and began before a time, as Repair of package verify does. The error is about the first orphan.
func FinishPrepared(ctx context.Context, t table.Handle, partition keys.PartitionKey, before time.Time, orphans commit.Orphans) (finished int, err error) {
	finished, left, err := door.Table(t).FinishPrepared(ctx, partition.Point(), before, orphans)
	if err == nil && len(left) > 0 {
		err = left[0]
	}
	return finished, err
}
