package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// CommitRecords reads and resolves the commit records of a table, for workers that execute effects.
type CommitRecords struct{ core *core }

// Same reports whether both are of the same table: of the same name and the same client.
func (in *CommitRecords) Same(other *CommitRecords) bool { return in.core.same(other.core) }

// CommitRecords returns the commit records of the table.
func (t *Table[T]) CommitRecords() *CommitRecords { return &CommitRecords{&t.core} }

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
func (in *CommitRecords) Get(ctx context.Context, partition keys.Enc, op string) (_ *CommitRecord, err error) {
	return in.read(ctx, "Get", partition, op, func(ctx context.Context, pk string) (*CommitRecord, error) {
		i, err := in.core.commitRecord(ctx, pk, op)
		if err == nil && i == nil {
			err = ErrNotFound
		}
		return i, err
	})
}

// Resolve reads the commit record of a write. If there is none, Resolve stores an abort record in its place: the write was not committed, and
// never will be, and the returned record has the state CommitAborted. Errors: ErrExpired if there is no record and the write is older
// than CommitRecordRetention; *ValueError for an op that is not an operation ID, or is of a time to come; *VersionError. 1 request if there is a
// record, 2 if there is none, and 3 if the write commits in between. Idempotent.
func (in *CommitRecords) Resolve(ctx context.Context, partition keys.Enc, op string) (_ *CommitRecord, err error) {
	return in.read(ctx, "Resolve", partition, op, func(ctx context.Context, pk string) (*CommitRecord, error) {
		i, err := in.core.commitRecord(ctx, pk, op)
		if err != nil || i != nil {
			return i, err
		}
		if err := in.core.fresh(op); err != nil {
			return nil, err
		}
		ctx, cancel := bound(ctx, in.core.opt.WriteTimeout)
		defer cancel()
		switch state, err := in.core.abort(ctx, pk, op); {
		case err != nil:
			return nil, err
		case state != CommitAborted:
			if i, err = in.core.commitRecord(ctx, pk, op); err == nil && i == nil {
				err = errVanished
			}
			return i, err
		}
		return &CommitRecord{Partition: partition, OperationID: op, State: CommitAborted}, nil
	})
}

func (in *CommitRecords) read(ctx context.Context, verb string, partition keys.Enc, op string, f func(context.Context, string) (*CommitRecord, error)) (i *CommitRecord, err error) {
	ctx, end := in.core.span(ctx, verb)
	defer func() { end(err) }()
	pk, err := partition.Result()
	if err == nil {
		_, err = opTimeOf(op)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, in.core.opError(verb, keys.Key{}, err)
	}
	if i, err = f(ctx, pk); err != nil {
		return nil, in.core.opError(verb, recordKey(pk, op), err)
	}
	return i, nil
}

// Close marks a live commit record as done: all its effects, as it was read, are executed. If another worker has completed some of them
// meanwhile and other effects came in their place ([Table.Completing]), the error is ErrChanged: read the record again and execute what it
// contains now. 1 request, 2 if the record has changed. Idempotent; nothing happens if the record is gone or done.
func (in *CommitRecords) MarkDone(ctx context.Context, i *CommitRecord) error {
	if i == nil {
		return in.core.opError("Close", keys.Key{}, errNil)
	}
	pk, err := i.Partition.Result()
	if err == nil && i.State == CommitAborted {
		err = &ValueError{Field: "CommitRecord", Reason: "was aborted, so it has no effects to be done"}
	}
	if err != nil {
		return in.core.opError("Close", keys.Key{}, err)
	}
	switch {
	case i.State == CommitDone:
		return nil
	case i.etag == "":
		return in.core.opError("Close", recordKey(pk, i.OperationID), ErrNoETag)
	}
	k := recordKey(pk, i.OperationID)
	w := edm.NewWriter(nil, pk, k.RowKey())
	w.Put(stateProperty, edm.Value{Kind: edm.String, S: CommitDone.String()})
	reserve(w)
	op := Op{core: in.core.plain(), method: "Close", kind: aztables.TransactionTypeUpdateMerge, key: k, match: i.etag, room: true}
	op.body, op.err = w.Finish()
	if err := op.send(ctx); errors.Is(err, ErrChanged) {
		if now, gerr := in.core.commitRecord(ctx, pk, i.OperationID); gerr != nil || now != nil && now.State == CommitPending {
			return err
		}
	} else if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	i.State = CommitDone
	return nil
}

// List yields the commit and abort records of a partition that are older than a time, in the order of their writes. A record that cannot be
// read yields a *VersionError or a *DecodeError, and the list goes on; any other error ends it. 1 request for each 1,000 records.
func (in *CommitRecords) List(ctx context.Context, partition keys.Enc, before time.Time) iter.Seq2[*CommitRecord, error] {
	return func(yield func(*CommitRecord, error) bool) {
		var err error
		ctx, end := in.core.span(ctx, "ListIntents")
		defer func() { end(err) }()
		fail := func(cause error) {
			err = in.core.opError("ListIntents", keys.Key{}, cause)
			yield(nil, err)
		}
		pk, err := partition.Result()
		if err != nil {
			fail(err)
			return
		}
		filter := fmt.Sprintf("%s eq %s and %s ge '%s' and %s lt '%s'", edm.PartitionKey, edm.Quote(pk), edm.RowKey, reserved.CommitRecord, edm.RowKey, reserved.CommitRecord+opTimeText(before))
		stopped := false
		broken := in.core.each(ctx, filter, "", func(r *Row) bool {
			i, err := recordOf(r)
			stopped = !yield(i, in.core.opError("ListIntents", r.Key, err))
			return !stopped
		})
		if broken != nil && !stopped {
			fail(broken)
		}
	}
}
