package table

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Sweep deletes the commit and abort records of a partition that are older than CommitRecordRetention and an hour (for clocks that differ), except
// records whose effects are not executed yet, or that cannot be read. It also deletes what PlanSweep has noted of those times. 1 request
// for each 1,000 records, and 1 for each 100 that are deleted. Idempotent.
func (in *CommitRecords) Sweep(ctx context.Context, partition keys.Enc) (deleted int, err error) {
	ctx, end := in.core.span(ctx, "SweepCommitRecords")
	defer func() { end(err) }()
	core := in.core.plain()
	before := in.core.opt.Now().Add(-CommitRecordRetention - time.Hour)
	pk, err := partition.Result()
	if err != nil {
		return 0, in.core.opError("SweepCommitRecords", keys.Key{}, err)
	}
	filter := fmt.Sprintf("%s eq %s and %s ge '%s' and %s lt '%s'", edm.PartitionKey, edm.Quote(pk), edm.RowKey, reserved.PlannedSweep, edm.RowKey, reserved.CommitRecord+opTimeText(before))
	r, err := Bulk(ctx, func(yield func(Op, error) bool) {
		err := core.each(ctx, filter, "", func(r *Row) bool {
			if !swept(r, before) {
				return true
			}
			op := Op{core: core, method: "SweepCommitRecords", kind: aztables.TransactionTypeDelete, key: r.Key, match: r.ETag}
			if op.match == "" {
				op.match = azcore.ETagAny
			}
			return yield(op, nil)
		})
		if err != nil {
			yield(Op{}, core.opError("SweepCommitRecords", keys.Key{}, err))
		}
	}, nil)
	return r.Done, err
}

// swept tells whether a row is to be deleted: an intent of which nothing is left to be done, or a note that is over.
func swept(r *Row, before time.Time) bool {
	if hour, is := strings.CutPrefix(r.Key.RowKey(), reserved.PlannedSweep); is {
		return hour < hourText(before)
	}
	i, err := recordOf(r)
	return err == nil && i.State != CommitPending
}

func hourText(t time.Time) string { return t.UTC().Format("2006010215") }

// PlanSweep notes in a partition that somebody has arranged for its intents of the hour of a time to be swept. 1 request;
// idempotent.
func (in *CommitRecords) PlanSweep(ctx context.Context, partition keys.Enc, hour time.Time) error {
	pk, err := partition.Result()
	if err != nil {
		return in.core.opError("PlanSweep", keys.Key{}, err)
	}
	op := Op{core: in.core.plain(), method: "PlanSweep", kind: aztables.TransactionTypeAdd, key: keys.Stored(pk, reserved.PlannedSweep+hourText(hour)), room: true}
	w := edm.NewWriter(nil, pk, op.key.RowKey())
	reserve(w)
	op.body, op.err = w.Finish()
	if err := op.send(ctx); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	return nil
}

// SweepPlanned tells whether PlanSweep has noted the hour of a time. 1 request.
func (in *CommitRecords) SweepPlanned(ctx context.Context, partition keys.Enc, hour time.Time) (bool, error) {
	pk, err := partition.Result()
	if err != nil {
		return false, in.core.opError("SweepPlanned", keys.Key{}, err)
	}
	k := keys.Stored(pk, reserved.PlannedSweep+hourText(hour))
	f, err := in.core.find(ctx, k)
	return f.row != nil, in.core.opError("SweepPlanned", k, err)
}

// SweepCommitRecords deletes the commit and abort records of the whole table that are older than 25 hours, except records whose effects are
// not executed yet, and returns how many. Call it about once a day for tables with exact writes; the clean-up of an outbox does the
// same. Idempotent. 1 request for each partition to find it and 1 to look there, 10 at a time, and 1 for each 100 that are deleted.
func (t *Table[T]) SweepCommitRecords(ctx context.Context) (deleted int, err error) {
	var n atomic.Int64
	err = t.EachPartition(ctx, 0, func(ctx context.Context, partition keys.Enc) error {
		d, err := t.CommitRecords().Sweep(ctx, partition)
		n.Add(int64(d))
		return err
	})
	return int(n.Load()), err
}
