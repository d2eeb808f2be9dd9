package table

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// CommitState is the state of a commit record.
type CommitState int

// The states of a commit record. A write is committed if its record is pending or done; an aborted one is an abort record.
const (
	CommitPending = CommitState(engine.RecordPending) // effects are still to be executed
	CommitDone    = CommitState(engine.RecordDone)    // there are no effects, or all were executed
	CommitAborted = CommitState(engine.RecordAborted) // the write was not committed and never will be
)

// String returns the state as it is stored.
func (s CommitState) String() string {
	if text := engine.RecordState(s).String(); text != "" {
		return text
	}
	return fmt.Sprintf("CommitState(%d)", int(s))
}

// CommitRecordRetention is how long commit records are kept at least. The record of an older write may be deleted, so a missing record
// does not prove that the write was not applied. Pending records are never deleted.
const CommitRecordRetention = engine.Retention

// CommitRecord is the commit record of an exact write or of a write with effects: a row in its partition, stored in the write's own
// transaction. With the state CommitAborted it is the abort record, which stands in the place of a commit record.
type CommitRecord struct {
	Partition   keys.Enc
	OperationID string
	State       CommitState
	Effects     []Effect

	etag azcore.ETag // of its row
}

// Version changes with each change of the record.
func (i *CommitRecord) Version() string { return string(i.etag) }

// Time returns when the write began, by the writer's clock.
func (i *CommitRecord) Time() time.Time { t, _ := engine.TimeOf(i.OperationID); return t }

// set makes the record one of the engine's.
func (i *CommitRecord) set(r *engine.Record) {
	*i = CommitRecord{keys.Stored(r.Partition, "").Partition(), r.ID, CommitState(r.State), effectsOf(r.Effects), r.ETag}
}

// engine returns the record as the engine takes it.
func (i *CommitRecord) engine() (*engine.Record, error) {
	pk, err := i.Partition.Result()
	r := &engine.Record{Partition: pk, ID: i.OperationID, State: engine.RecordState(i.State), ETag: i.etag}
	for _, e := range i.Effects {
		r.Effects = append(r.Effects, engine.Effect(e))
	}
	return r, err
}

// recordOf returns a record of the engine, nil for nil.
func recordOf(r *engine.Record) *CommitRecord {
	if r == nil {
		return nil
	}
	i := new(CommitRecord)
	i.set(r)
	return i
}

// CommitRecords reads and resolves the commit records of a table, for workers that execute effects.
type CommitRecords struct{ engine *engine.Table }

// CommitRecords returns the commit records of the table.
func (t *Table[T]) CommitRecords() *CommitRecords { return &CommitRecords{t.h.engine} }

// NewCommitRecords returns the commit records of a table of any types. It sends nothing. Errors are those of New.
func NewCommitRecords(service Service, tableName string, o *Options) (*CommitRecords, error) {
	t, err := New(service, tableName, Schema[Row]{}, o)
	if err != nil {
		return nil, err
	}
	return t.CommitRecords(), nil
}

// Get reads the commit record of a write. Errors: ErrNotFound, which does not mean that the write failed: it may still commit, see Resolve;
// *VersionError for a record of a later version of this library. 1 request.
func (in *CommitRecords) Get(ctx context.Context, partition keys.Enc, op string) (*CommitRecord, error) {
	return in.read(ctx, "Get", partition, op, func(ctx context.Context, pk, id string) (*engine.Record, error) {
		r, err := in.engine.Record(ctx, pk, id)
		if err == nil && r == nil {
			err = ErrNotFound
		}
		return r, err
	})
}

// Resolve reads the commit record of a write. If there is none, Resolve stores an abort record in its place: the write was not committed, and
// never will be, and the returned record has the state CommitAborted. Errors: ErrExpired if there is no record and the write is older
// than CommitRecordRetention; *ValueError for an op that is not an operation ID, or whose time lies in the future; *VersionError. 1 request if there
// is a record, 2 if there is none, and 3 if the write commits in between. Idempotent.
func (in *CommitRecords) Resolve(ctx context.Context, partition keys.Enc, op string) (*CommitRecord, error) {
	return in.read(ctx, "Resolve", partition, op, in.engine.Resolve)
}

func (in *CommitRecords) read(ctx context.Context, method string, partition keys.Enc, id string, f func(ctx context.Context, pk, id string) (*engine.Record, error)) (_ *CommitRecord, err error) {
	ctx, end := in.engine.Span(ctx, method)
	defer func() { end(err) }()
	pk, err := partition.Result()
	if err == nil {
		_, err = engine.TimeOf(id)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, in.opError(method, keys.Key{}, err)
	}
	r, err := f(ctx, pk, id)
	if err != nil {
		return nil, in.opError(method, engine.RecordKey(pk, id), err)
	}
	return recordOf(r), nil
}

func (in *CommitRecords) opError(method string, k keys.Key, err error) error {
	return public(in.engine.OpError(method, k, err))
}

// MarkDone marks a pending commit record as done: all its effects, as it was read, are executed. If another worker has completed some of
// them meanwhile and other effects came in their place ([Table.Completing]), the error is ErrChanged: read the record again and execute
// what it contains now. 1 request, 2 if the record has changed. Idempotent; nothing happens if the record is gone or done.
func (in *CommitRecords) MarkDone(ctx context.Context, i *CommitRecord) error {
	if i == nil {
		return in.opError("MarkDone", keys.Key{}, errNil)
	}
	r, err := i.engine()
	if err == nil && i.State == CommitAborted {
		err = &ValueError{Field: "CommitRecord", Reason: "was aborted, so it has no effects to be done"}
	}
	switch {
	case err != nil:
		return in.opError("MarkDone", keys.Key{}, err)
	case i.State == CommitDone:
		return nil
	case i.etag == "":
		return in.opError("MarkDone", engine.RecordKey(r.Partition, r.ID), ErrNoETag)
	}
	if err := in.engine.MarkDone(ctx, r); err != nil {
		return public(err)
	}
	i.State = CommitDone
	return nil
}

// List yields the commit and abort records of a partition that are older than a time, in the order of their writes. A record that cannot be
// read yields a *VersionError or a *DecodeError, and the list goes on; any other error ends it. 1 request for each 1,000 records.
func (in *CommitRecords) List(ctx context.Context, partition keys.Enc, before time.Time) iter.Seq2[*CommitRecord, error] {
	const method = "ListCommitRecords"
	return func(yield func(*CommitRecord, error) bool) {
		var err error
		ctx, end := in.engine.Span(ctx, method)
		defer func() { end(err) }()
		stopped := false
		pk, err := partition.Result()
		if err == nil {
			err = in.engine.Records(ctx, pk, before, func(r *engine.Record, k keys.Key, err error) bool {
				stopped = !yield(recordOf(r), in.opError(method, k, err))
				return !stopped
			})
		}
		if err != nil && !stopped {
			err = in.opError(method, keys.Key{}, err)
			yield(nil, err)
		}
	}
}

// Pending yields the operation IDs of the writes of a partition that began before a time, by their writers' clocks, and whose
// effects are still to be executed, in the order of the IDs; only those behind the ID after, unless that is "". The effects are not read:
// see [CommitRecords.Get].
//
// Requests: 1 for each page of 1,000 rows or fewer. Errors: *ValueError for a text that is no operation ID; ErrTableNotFound; ErrRanged if
// the client's signature is for a range of rows; those of any read.
func (in *CommitRecords) Pending(ctx context.Context, partition keys.Enc, after string, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var err error
		ctx, end := in.engine.Span(ctx, "Pending")
		defer func() { end(err) }()
		stopped := false
		pk, err := partition.Result()
		if err == nil {
			err = in.engine.Pending(ctx, pk, after, before, func(id string) bool {
				stopped = !yield(id, nil)
				return !stopped
			})
		}
		if err != nil && !stopped {
			err = in.opError("Pending", keys.Key{}, err)
			yield("", err)
		}
	}
}

// Sweep deletes the commit and abort records of a partition that are older than CommitRecordRetention and an hour (for clocks that differ),
// except records whose effects are not executed yet, or that cannot be read. It also deletes the notes of package eventual about those times. 1
// request for each 1,000 records, and 1 for each 100 that are deleted. Idempotent.
func (in *CommitRecords) Sweep(ctx context.Context, partition keys.Enc) (deleted int, err error) {
	ctx, end := in.engine.Span(ctx, "SweepCommitRecords")
	defer func() { end(err) }()
	pk, err := partition.Result()
	if err != nil {
		return 0, in.opError("SweepCommitRecords", keys.Key{}, err)
	}
	deleted, err = in.engine.Sweep(ctx, pk)
	return deleted, public(err)
}

// SweepCommitRecords deletes the commit and abort records of the whole table that are older than 25 hours, except records whose effects are
// not executed yet, and returns how many. Call it about once a day for tables with exact writes; the clean-up of an outbox does the
// same. Idempotent. 1 request for each partition to find it and 1 to look there, 10 at a time, and 1 for each 100 that are deleted.
func (t *Table[T]) SweepCommitRecords(ctx context.Context) (deleted int, err error) {
	return t.h.sweepCommitRecords(ctx)
}

func (h handle) sweepCommitRecords(ctx context.Context) (deleted int, err error) {
	var n atomic.Int64
	err = h.eachPartition(ctx, 0, func(ctx context.Context, partition keys.Enc) error {
		d, err := (&CommitRecords{h.engine}).Sweep(ctx, partition)
		n.Add(int64(d))
		return err
	})
	return int(n.Load()), err
}
