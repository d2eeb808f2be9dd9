package logtail

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ErrTooLate: Resend was called so long after the time of a record that followers might miss it,
// and the record is not stored. Append the value again.
var ErrTooLate = errors.New("the record is too old to be stored: followers might miss it")

// Append stores a value as the newest record of the writer. If a response is lost, the library
// sends the record again under the same key, so that it is stored once.
//
//	r, err := claims.Append(ctx, &Claim{Employee: 223, Amount: 17})
//
// Errors: table.ErrUnknownOutcome with the record, for [Log.Resend]; table.ErrNotCreated;
// ErrPastRetention if the record's period is not kept; table.ErrExists if the service reports a row
// that does not exist; the other errors of a write (see package table). 1 request.
func (l *Log[T]) Append(ctx context.Context, v *T) (*Record[T], error) {
	r, err := l.c.append(ctx, valueOf(v))
	return typed[T](r), err
}

func (l *core) append(ctx context.Context, v any) (record, error) {
	rs, err := l.newRecords([]any{v})
	if err != nil {
		return nil, fmt.Errorf("logtail: Append %s: %w", l.tables.name, err)
	}
	if err = l.store(ctx, rs[0]); err != nil && !errors.Is(err, table.ErrUnknownOutcome) {
		return nil, err
	}
	return rs[0], err
}

// AppendAll stores values as the newest records of the writer, in their order, in transactions of
// 100, or as many as have 4 MiB, one after another. Each transaction is all or nothing.
//
// AppendAll returns the records that are stored. With an error, it also returns the records of the
// last transactions, at most 100, which may be stored: [Log.Resend] stores them after
// table.ErrUnknownOutcome. The values after the returned records were not sent.
//
// Errors: *table.BatchError with the index of a value, around table.ErrUnknownOutcome,
// table.ErrNotCreated or another error of a write (see package table); ErrPastRetention;
// *table.ValueError for a nil value; *keys.KeyError for a wrong source. Requests: 1 for each
// transaction.
func (l *Log[T]) AppendAll(ctx context.Context, values ...*T) (all []*Record[T], err error) {
	for chunk := range slices.Chunk(values, maxBatch) {
		of := make([]any, len(chunk))
		for i, v := range chunk {
			of[i] = valueOf(v)
		}
		rs, err := l.c.appendChunk(ctx, of, len(all))
		all = slices.Grow(all, len(rs))
		for _, r := range rs {
			all = append(all, typed[T](r))
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// appendChunk stores the values of one transaction, or of a few. before is the number of values
// before them. It returns the records that may be stored.
func (l *core) appendChunk(ctx context.Context, chunk []any, before int) ([]record, error) {
	// Now, because followers wait for a record only for some time after its own.
	rs, err := l.newRecords(chunk)
	if err != nil {
		return nil, fmt.Errorf("logtail: AppendAll %s: %w", l.tables.name, err)
	}
	err = l.storeAll(ctx, rs)
	var be *table.BatchError
	if errors.As(err, &be) {
		be.Index += before
	}
	return rs, err
}

// Resend stores records that Append or AppendAll has returned with an error, under their keys. A
// record that is stored already stays as it is, also if its Value has changed since.
//
// Errors: table.ErrUnknownOutcome; ErrTooLate after Options.Overlap; ErrPastRetention;
// table.ErrNotCreated and the other errors of a write (see package table), of several records in a
// *bulk.Error; *table.ValueError for a nil record, or a record of another source. Requests: those
// of AppendAll; for records that are stored, up to 5 more for each transaction and 1 for each
// record. Idempotent.
func (l *Log[T]) Resend(ctx context.Context, records ...*Record[T]) error {
	all := make([]record, len(records))
	for i, r := range records {
		if r != nil {
			all[i] = r
		}
	}
	return l.c.resend(ctx, all)
}

func (l *core) resend(ctx context.Context, records []record) error {
	fail := func(err error) error { return fmt.Errorf("logtail: Resend %s: %w", l.tables.name, err) }
	if l.err != nil {
		return fail(l.err)
	}
	late := l.writer.now().Add(-l.opt.Overlap + l.writeTimeout)
	var rs []record
	for _, r := range records {
		switch {
		case r == nil:
			return fail(&table.ValueError{Field: "record", Reason: "is nil"})
		case !l.has(r):
			return fail(&table.ValueError{Field: "record", Reason: "is not of this source, or was not appended by this library"})
		}
		if err := l.tables.keeps(r.place().time); err != nil {
			return fail(err)
		}
		if !r.place().time.Before(late) {
			rs = append(rs, r)
		} else if err := l.confirm(ctx, r, ErrTooLate); err != nil {
			return fail(err)
		}
	}
	if len(rs) == 1 {
		return l.store(ctx, rs[0])
	}
	return l.storeAll(ctx, rs)
}

// has reports whether a record can be one of the source that the library has appended.
func (l *core) has(r record) bool {
	p, is := positionOf(r.key().RowKey())
	return is && p == r.place() && p.writer != "" && slices.ContainsFunc(l.partitions, func(of keys.PartitionKey) bool {
		return of.String() == r.key().PartitionKey()
	})
}

// maxBatch is the most records of a transaction.
const maxBatch = 100

// newRecords returns records of one partition with the next keys of the writer.
func (l *core) newRecords(values []any) ([]record, error) {
	if slices.Contains(values, nil) {
		return nil, &table.ValueError{Field: "value", Reason: "is nil"}
	}
	if l.err != nil {
		return nil, l.err
	}
	p, err := l.writer.positions(l.source, len(values))
	if err != nil {
		return nil, err
	}
	if err := l.tables.keeps(p.time); err != nil {
		return nil, err
	}
	partition := l.partitions[l.bucket(p)]
	rs := make([]record, len(values))
	for i, v := range values {
		at := p.later(i)
		rs[i] = l.record(v, keys.At(partition, at.rowKey()), at)
	}
	return rs, nil
}

// bucket returns the number of the partition in which a record is stored, together with the other
// records of its transaction.
func (l *core) bucket(p position) int {
	if len(l.partitions) == 1 {
		return 0
	}
	h := fnv.New32a()
	fmt.Fprint(h, p.writer, p.sequence)
	return int(h.Sum32() % uint32(len(l.partitions)))
}

// store stores a record. No other record has its key, so a row with the key is the record itself.
func (l *core) store(ctx context.Context, r record) error {
	rows, err := l.tables.periodAt(r.place().time)
	if err != nil {
		return err
	}
	ctx, end := door.Table(rows).Span(ctx, "Append")
	err = rows.InsertAt(ctx, r.key(), r.entity())
	if errors.Is(err, table.ErrExists) {
		err = l.confirm(ctx, r, err)
	}
	end(err)
	return err
}

// storeAll stores records in transactions.
func (l *core) storeAll(ctx context.Context, rs []record) error {
	refused := map[int]error{}
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for _, r := range rs {
			rows, err := l.tables.periodAt(r.place().time)
			if err != nil {
				yield(table.Op{}, err)
				return
			}
			if !yield(rows.InsertAtOp(r.key(), r.entity()), nil) {
				return
			}
		}
	}, &table.Pass{Skip: func(_ keys.Key, err error) bool {
		var of *table.BatchError
		if !errors.Is(err, table.ErrExists) || !errors.As(err, &of) {
			return false
		}
		refused[of.Index] = err
		return true
	}})
	if err != nil {
		return err
	}
	for i, r := range rs { // there are few: a transaction whose response was lost is recognized by itself
		if refusal := refused[i]; refusal != nil {
			if err := l.confirm(ctx, r, refusal); err != nil {
				return &table.BatchError{Index: i, Key: r.key(), Err: err}
			}
		}
	}
	return nil
}

// confirm returns nil if a record is stored, and otherwise refusal.
func (l *core) confirm(ctx context.Context, r record, refusal error) error {
	rows, err := l.tables.periodAt(r.place().time)
	if err != nil {
		return err
	}
	is, err := rows.Exists(ctx, r.key())
	if err == nil && !is {
		return refusal
	}
	if err != nil {
		return fmt.Errorf("%w: %w", table.ErrUnknownOutcome, err)
	}
	return nil
}

// AppendOnce stores a value as the record with an ID and a time, unless the record is stored
// already. It is for records that several attempts may append, such as the attempts of a handler of
// package eventual:
//
//	id := j.OperationID + "-" + j.Key.RowKey() // a write of several values has one operation ID
//	_, err := changes.AppendOnce(ctx, id, j.Time, &change)
//
// Give each record of a source an ID of its own, and at each attempt the same ID and time. With
// another time, the record is stored again, and [Log.Follow] may not yield it. The ID is the Writer
// of the record, and its Sequence is 0. Records of one time are in the order of their IDs: the Time
// of a job has milliseconds, so two writes of one millisecond may change places. Follow does not
// yield a record whose time is more than Options.Overlap before now; the other reads do. A record
// that is stored already stays as it is, also if v differs.
//
// The records of AppendOnce are in the first partition of the source, whatever Options.Spread is,
// so that another attempt finds them there also after Spread has grown. It takes 2,000 records a
// second; give more records to several sources, by [Log.In].
//
// Errors: table.ErrUnknownOutcome; table.ErrNotCreated; ErrPastRetention; *table.ValueError for an
// ID that no key can contain; the other errors of a write (see package table). 1 request, and 1
// more if the record is stored already. Idempotent.
func (l *Log[T]) AppendOnce(ctx context.Context, id string, at time.Time, v *T) (r *Record[T], err error) {
	of, err := l.c.appendOnce(ctx, id, at, valueOf(v))
	return typed[T](of), err
}

func (l *core) appendOnce(ctx context.Context, id string, at time.Time, v any) (r record, err error) {
	r, err = l.identified(id, at, v)
	if err != nil {
		return nil, fmt.Errorf("logtail: AppendOnce %s: %w", l.tables.name, err)
	}
	rows, err := l.tables.periodAt(r.place().time)
	if err == nil {
		spanned, end := door.Table(rows).Span(ctx, "AppendOnce")
		defer func() { end(err) }()
		err = rows.InsertAt(spanned, r.key(), r.entity())
	}
	if err != nil && !errors.Is(err, table.ErrExists) { // an earlier attempt has stored it
		return nil, err
	}
	return r, nil
}

// identified returns the record with an ID and a time.
func (l *core) identified(id string, at time.Time, v any) (record, error) {
	switch {
	case l.err != nil:
		return nil, l.err
	case v == nil:
		return nil, &table.ValueError{Field: "value", Reason: "is nil"}
	case id == "":
		return nil, &table.ValueError{Field: "id", Reason: "is empty; give one that each attempt repeats, such as the operation ID and the RowKey of an effect"}
	}
	at = at.UTC().Truncate(tick)
	if err := ticksLayout.RowKey(at).Err(); err != nil {
		return nil, err
	}
	p := position{time: at, writer: id}
	// The first partition does not depend on Options.Spread, which may grow between two attempts.
	r := l.record(v, keys.At(l.partitions[0], p.rowKey()), p)
	if err := r.key().Err(); err != nil {
		return nil, err
	}
	return r, l.tables.keeps(at)
}

// writer dates and numbers the records of a Log, so that the keys of a writer differ, and each
// record is newer than the one before, also if the clock steps back a little. If the clock steps
// back by more than overlap, another writer begins, whose records have the new time. The records of
// each source are numbered from 0.
type writer struct {
	now     func() time.Time
	newID   func() string
	overlap time.Duration
	unit    *unit // of the tables; nil for one table

	mu   sync.Mutex
	id   string
	last time.Time        // of the newest record
	next map[string]int64 // for each source, the number of its next record
}

// maxSources is the most sources of a writer. Then another writer begins, so that memory has a
// bound.
const maxSources = 100_000

// positions returns the position of the first of n records of a source. The other records follow, a
// tick later each, in one period. Errors: *keys.KeyError for a time that no key can contain;
// *table.ValueError for an ID that no key can contain.
func (w *writer) positions(source string, n int) (position, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.now().UTC().Truncate(tick)
	if err := ticksLayout.RowKey(at.Add(time.Duration(n) * tick)).Err(); err != nil {
		return position{}, err
	}
	switch behind := w.last.Sub(at); {
	case w.id == "" || behind > w.overlap || len(w.next) > maxSources:
		id := w.newID()
		if id == "" || (position{at, id, 0}).rowKey().Err() != nil {
			return position{}, &table.ValueError{Field: "Options.NewID", Reason: "returned an ID that no key can contain"}
		}
		w.id, w.next = id, map[string]int64{}
	case behind >= 0:
		at = w.last.Add(tick)
	}
	if end := at.Add(time.Duration(n-1) * tick); w.unit != nil && w.unit.start(at) != w.unit.start(end) {
		at = w.unit.start(end) // one table takes them all
	}
	p := position{at, w.id, w.next[source]}
	w.last = at.Add(time.Duration(n-1) * tick)
	w.next[source] += int64(n)
	return p, nil
}
