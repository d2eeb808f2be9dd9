// Package records reads, resolves, completes and sweeps the commit records of a table.
package records

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Records reads and resolves the commit records of a table, for workers that execute effects. It is
// safe for concurrent use.
type Records struct{ engine *engine.Table }

// Of returns the commit records of a table, whatever the type of t. No requests. Of panics if t is
// nil or a zero Table.
func Of(t table.Handle) *Records {
	e := door.Table(t)
	if e == nil {
		panic(fmt.Errorf("records: Of: %w", engine.CheckHandle("t", nil)))
	}
	return &Records{e}
}

// Get reads the commit record of a write. Errors: table.ErrNotFound, which does not mean that the
// write failed: it may still commit, see Resolve; *table.VersionError for a commit record of a
// later version of this library; errors of a read (see package table). 1 request.
func (in *Records) Get(ctx context.Context, partition keys.PartitionKey, operationID string) (*commit.Record, error) {
	return in.read(ctx, "Get", partition, operationID, func(ctx context.Context, pk, id string) (*commit.Record, error) {
		r, err := in.engine.Record(ctx, pk, id)
		if err == nil && r == nil {
			err = table.ErrNotFound
		}
		return r, err
	})
}

// Resolve reads the commit record of a write. If there is none, Resolve stores an abort record in
// its place: the write was not committed, and never will be, and the returned record has the state
// Aborted. Errors: table.ErrExpired if there is no record and the write is older than
// commit.Retention; *table.ValueError for a text that is not an operation ID, or of a time more
// than a day ahead; *table.VersionError. 1 request if there is a record, 2 if there is none, and 3
// if the write commits in between. Idempotent.
func (in *Records) Resolve(ctx context.Context, partition keys.PartitionKey, operationID string) (*commit.Record, error) {
	return in.read(ctx, "Resolve", partition, operationID, func(ctx context.Context, pk, id string) (*commit.Record, error) {
		return in.engine.Resolve(ctx, pk, id)
	})
}

func (in *Records) read(ctx context.Context, method string, partition keys.PartitionKey, id string, f func(ctx context.Context, pk, id string) (*commit.Record, error)) (_ *commit.Record, err error) {
	ctx, end := in.engine.Span(ctx, method)
	defer func() { end(err) }()
	pk, err := partition.Result()
	if err == nil {
		_, err = commit.TimeOf(id)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, in.engine.OpError(method, keys.Key{}, err)
	}
	r, err := f(ctx, pk, id)
	if err != nil {
		return nil, in.engine.OpError(method, engine.RecordKey(pk, id), err)
	}
	return r, nil
}

// MarkDone marks a pending commit record as done: all its effects, as it was read, are executed. If
// another worker has completed some of them meanwhile and other effects came in their place
// ([Completing]), the error is table.ErrChanged: read the record again and execute what it contains
// now. 1 request, 2 if the record has changed. Idempotent; nothing happens if the record is gone or
// done.
func (in *Records) MarkDone(ctx context.Context, r *commit.Record) error {
	if r == nil {
		return in.engine.OpError("MarkDone", keys.Key{}, &table.ValueError{Field: "record", Reason: "is nil"})
	}
	pk, err := r.Partition.Result()
	if err == nil && r.State == commit.Aborted {
		err = &table.ValueError{Field: "record", Reason: "was aborted, so it has no effects to be done"}
	}
	switch {
	case err != nil:
		return in.engine.OpError("MarkDone", keys.Key{}, err)
	case r.State == commit.Done:
		return nil
	case r.Version() == "":
		return in.engine.OpError("MarkDone", engine.RecordKey(pk, r.OperationID), errs.ErrNoETag)
	}
	return in.engine.MarkDone(ctx, r)
}

// List yields the commit and abort records of a partition that are older than a time, in the order
// of their writes. A record that cannot be read yields a *table.VersionError or a
// *table.DecodeError, and the list goes on; any other error ends it. 1 request for each 1,000
// records.
func (in *Records) List(ctx context.Context, partition keys.PartitionKey, before time.Time) iter.Seq2[*commit.Record, error] {
	const method = "ListCommitRecords"
	return func(yield func(*commit.Record, error) bool) {
		var err error
		ctx, end := in.engine.Span(ctx, method)
		defer func() { end(err) }()
		stopped := false
		pk, err := partition.Result()
		if err == nil {
			err = in.engine.Records(ctx, pk, before, func(r *commit.Record, k keys.Key, err error) bool {
				stopped = !yield(r, in.engine.OpError(method, k, err))
				return !stopped
			})
		}
		if err != nil && !stopped {
			err = in.engine.OpError(method, keys.Key{}, err)
			yield(nil, err)
		}
	}
}

// Pending yields the operation IDs of the writes of a partition that began before a time, by their
// writers' clocks, and whose effects are still to be executed, in the order of the IDs; only IDs
// behind the ID after, unless that is "". The effects are not read: see [Records.Get].
//
// Requests: 1 for each page of 1,000 rows or fewer. Errors: *table.ValueError for a text that is no
// operation ID; table.ErrNotCreated; table.ErrRanged if the client's signature is for a range of
// rows; the other errors of a read (see package table).
func (in *Records) Pending(ctx context.Context, partition keys.PartitionKey, after string, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var err error
		ctx, end := in.engine.Span(ctx, "Pending")
		defer func() { end(err) }()
		stopped := false
		pk, err := partition.Result()
		if err == nil {
			err = in.engine.Pending(ctx, pk, after, before, func(id string, _ commit.Wait) bool {
				stopped = !yield(id, nil)
				return !stopped
			})
		}
		if err != nil && !stopped {
			err = in.engine.OpError("Pending", keys.Key{}, err)
			yield("", err)
		}
	}
}

// Completing returns a handle of t for one write that executes effects of a commit record of the
// table, as it was read, by their positions, and completes them in the same transaction: the commit
// record loses these effects and gets the effects of the write instead, for the same worker to
// execute, without another notification. If no effect is left, the record is done. So each effect
// is executed just once, and no effect of the write is lost. The write must be in the record's
// partition. When it succeeds, r is the record as it is stored then.
//
// Errors of the write:
//   - table.ErrChanged also if another worker has completed an effect of the commit record since it
//     was read: read it again
//   - *table.ValueError for a commit record that is not pending, has no such effect, or was
//     completed by this handle before
//   - *table.ValueError
//   - the other errors of the write's method
//
// Requests: the write's own. Completing panics if t is nil or a zero Table.
func Completing[H table.Handle](t H, r *commit.Record, positions ...int) H {
	c := &engine.Completion{Stored: r, Effects: positions}
	if r != nil {
		c.Record = *r
	}
	if door.Table(t) == nil {
		panic(fmt.Errorf("records: Completing: %w", engine.CheckHandle("t", nil)))
	}
	return door.InMode(t, func(m *engine.Mode) { m.Completes = c })
}
