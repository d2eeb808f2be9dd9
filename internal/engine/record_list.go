package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// recordFilter finds the library's rows of a partition from one RowKey on, and below the commit records of a time.
func recordFilter(partition, from string, before time.Time) string {
	return fmt.Sprintf("%s eq %s and %s %s and %s lt '%s'", edm.PartitionKey, edm.Quote(partition), edm.RowKey, from, edm.RowKey, reserved.CommitRecord+IDTime(before))
}

// Records calls f for the commit and abort records of a partition that are older than a time, until f returns false; see
// commit.Records.List. A record that cannot be read comes as an error, with its key.
func (t *Table) Records(ctx context.Context, partition string, before time.Time, f func(*Record, keys.Key, error) bool) error {
	return t.each(ctx, recordFilter(partition, "ge '"+reserved.CommitRecord+"'", before), "", func(r *Row) bool {
		rec, err := recordOf(r)
		return f(rec, r.Key, err)
	})
}

// Pending calls f for the operation IDs of the pending commit records of a partition, until f returns false; see
// commit.Records.Pending.
func (t *Table) Pending(ctx context.Context, partition, after string, before time.Time, f func(id string) bool) error {
	from := "ge '" + reserved.CommitRecord + "'"
	if after != "" {
		if _, err := TimeOf(after); err != nil {
			return err
		}
		from = "gt '" + reserved.CommitRecord + after + "'"
	}
	filter := recordFilter(partition, from, before) + fmt.Sprintf(" and %s eq '%s'", stateProperty, RecordPending)
	err := t.each(ctx, filter, edm.PartitionKey+","+edm.RowKey, func(r *Row) bool {
		id := strings.TrimPrefix(r.Key.RowKey(), reserved.CommitRecord)
		if _, err := TimeOf(id); err != nil {
			return true // no write has made it
		}
		return f(id)
	})
	if err == nil && t.RangedRows() {
		err = ErrRanged
	}
	return err
}

// Sweep deletes old commit records of a partition; see commit.Records.Sweep.
func (t *Table) Sweep(ctx context.Context, partition string) (deleted int, err error) {
	const method = "SweepCommitRecords"
	plain := t.Plain()
	before := t.Options.Now().Add(-Retention - time.Hour)
	filters := []string{recordFilter(partition, "ge '"+reserved.PlannedSweep+"'", before)}
	if t.Mode.Outbox != nil { // else no write prepares anything in the table
		filters = append(filters, preparationFilter(partition, before))
	}
	r, err := Bulk(ctx, func(yield func(*Op, error) bool) {
		for _, filter := range filters {
			stopped := false
			var unswept error
			err := plain.each(ctx, filter, "", func(r *Row) bool {
				if !swept(r, before) {
					return true
				}
				if unswept = plain.sweepRemotes(ctx, r); unswept != nil {
					return false
				}
				op := &Op{Table: plain, Method: method, Kind: aztables.TransactionTypeDelete, Key: r.Key, Match: r.ETag}
				if op.Match == "" {
					op.Match = azcore.ETagAny
				}
				stopped = !yield(op, nil)
				return !stopped
			})
			if err = firstError(err, unswept); err != nil {
				yield(nil, t.OpError(method, keys.Key{}, err))
				return
			}
			if stopped {
				return
			}
		}
	}, BulkOptions{})
	if be, is := err.(*BulkError); is {
		cause := be.Err
		if oe, is := cause.(*OpError); is {
			cause = oe.Err
		}
		err = t.OpError(method, be.Key, cause)
	}
	return r.Applied, err
}

// swept reports whether a row is to be deleted: a commit record of which nothing is left to be done, what was prepared by a write that
// is over, or a note whose hour is over.
func swept(r *Row, before time.Time) bool {
	if hour, is := strings.CutPrefix(r.Key.RowKey(), reserved.PlannedSweep); is {
		return hour < hourText(before)
	}
	if strings.HasPrefix(r.Key.RowKey(), reserved.Prepared) {
		p, err := preparationOf(r)
		return err == nil && p.over
	}
	// A record whose effects were executed late is left to a later sweep: it names rows that were written then, and that must be swept
	// with it.
	rec, err := recordOf(r)
	return err == nil && rec.State != RecordPending && (len(rec.Effects) == 0 || r.Timestamp.Before(before))
}

func hourText(t time.Time) string { return t.UTC().Format("2006010215") }

func sweepKey(partition string, hour time.Time) keys.Key {
	return keys.Stored(partition, reserved.PlannedSweep+hourText(hour))
}

// PlanSweep notes in a partition that the commit records of an hour will be swept. 1 request; idempotent.
func (t *Table) PlanSweep(ctx context.Context, partition string, hour time.Time) (err error) {
	ctx, end := t.Span(ctx, "PlanSweep")
	defer func() { end(err) }()
	op := Op{Table: t.Plain(), Method: "PlanSweep", Kind: aztables.TransactionTypeAdd, Key: sweepKey(partition, hour), StoresID: true}
	w := edm.NewWriter(partition, op.Key.RowKey(), 0)
	w.Reserve(UnassignedID)
	op.Body, op.Err = w.Finish()
	if err := op.Send(ctx); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	return nil
}

// SweepPlanned reports whether PlanSweep has noted an hour. 1 request.
func (t *Table) SweepPlanned(ctx context.Context, partition string, hour time.Time) (bool, error) {
	k := sweepKey(partition, hour)
	f, err := t.readRow(ctx, k)
	return f.row != nil, t.OpError("SweepPlanned", k, err)
}

// MarkDone marks a pending commit record as done; see commit.Records.MarkDone.
func (t *Table) MarkDone(ctx context.Context, rec *Record) (err error) {
	ctx, end := t.Span(ctx, "MarkDone")
	defer func() { end(err) }()
	k := RecordKey(rec.Partition, rec.OperationID)
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), 1)
	w.Put(stateProperty, edm.Value{Kind: edm.String, S: RecordDone.String()})
	w.Reserve(UnassignedID)
	op := Op{Table: t.Plain(), Method: "MarkDone", Kind: aztables.TransactionTypeUpdateMerge, Key: k, Match: rec.ETag, StoresID: true}
	op.Body, op.Err = w.Finish()
	if err := op.Send(ctx); errors.Is(err, ErrChanged) {
		if now, gerr := t.Record(ctx, rec.Partition, rec.OperationID); gerr != nil || now != nil && now.State == RecordPending {
			return err
		}
	} else if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	rec.State = RecordDone
	return nil
}
