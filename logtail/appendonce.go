package logtail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// AppendOnce stores a value as the record with an ID and a time, unless the record is stored already. It is for records that several
// attempts may append, such as those of a handler of package eventual:
//
//	id := j.OperationID + "-" + j.Effect.RowKey // a write of several entities has one operation ID
//	_, err := changes.AppendOnce(ctx, id, j.CommitRecord.Time(), &change)
//
// Give each record of a source an ID of its own, and at each attempt the same ID and time. With another time, the record is stored again,
// and [Log.Follow] may not yield it. The ID is the Writer of the record, and its Sequence is 0. Records of one time are in the order of
// their IDs: commit.Record.Time has milliseconds, so two writes of one millisecond may change places. Follow does not yield a record whose
// time is more than Options.Overlap before now; the other reads do. A record that is stored already stays as it is, also if v differs.
//
// Errors: table.ErrUnknownOutcome; table.ErrTableNotFound; *table.ValueError, *table.LimitError, *keys.KeyError and ErrPastRetention
// before any request. 1 request, and 1 more if the record is stored already. Idempotent.
func (l *Log[T]) AppendOnce(ctx context.Context, id string, at time.Time, v *T) (r *Record[T], err error) {
	r, err = l.identified(id, at, v)
	if err != nil {
		return nil, fmt.Errorf("logtail: AppendOnce %s: %w", l.tables.name, err)
	}
	rows, err := l.tables.at(r.Time)
	if err == nil {
		spanned, end := rows.Engine().Span(ctx, "AppendOnce")
		defer func() { end(err) }()
		_, err = rows.InsertAt(spanned, r.Key, v)
	}
	if err != nil && !errors.Is(err, table.ErrExists) { // an earlier attempt has stored it
		return nil, err
	}
	return r, nil
}

// identified returns the record with an ID and a time.
func (l *Log[T]) identified(id string, at time.Time, v *T) (*Record[T], error) {
	switch {
	case l.err != nil:
		return nil, l.err
	case v == nil:
		return nil, &table.ValueError{Field: "value", Reason: "is nil"}
	case id == "":
		return nil, &table.ValueError{Field: "id", Reason: "is empty; give one that each attempt repeats, such as the operation ID and the RowKey of an effect"}
	}
	at = at.UTC().Truncate(tick)
	if _, err := keys.Ticks(at); err != nil {
		return nil, err
	}
	p := position{time: at, writer: id}
	r := newRecord(l.partitions[l.bucket(p)], p, v)
	if err := r.Key.Err(); err != nil {
		return nil, err
	}
	return r, l.tables.keeps(at)
}
