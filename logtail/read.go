package logtail

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/ticks"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Tail yields the n newest records, the newest first.
//
//	for r, err := range claims.Tail(ctx, 10) { … }
//
// Rows of other types are left out, although rows whose RowKeys begin with a digit are read.
// Errors: *table.ValueError for an n below 1; *table.DecodeError for a record that does not fit T,
// unless Options.Skip leaves it out; *keys.KeyError for a wrong source; table.ErrNotCreated and the
// other errors of a read (see package table).
//
// Requests: ⌈n / 1000⌉. If the source has several partitions, 1 for each of them, 32 at the same
// time, and more for a partition that has many of the n records.
func (l *Log[T]) Tail(ctx context.Context, n int) iter.Seq2[*Record[T], error] {
	return typedList[T](l.c.tail(ctx, n))
}

// Between yields the records with from ≤ time < to, the newest first. A zero to is no bound:
// records with a time in the future are yielded, too. Errors: *keys.KeyError for a time outside the
// years 1 to 9999, or a wrong source; *table.DecodeError for a record that does not fit T, unless
// Options.Skip leaves it out; table.ErrNotCreated and the other errors of a read (see package
// table). Requests: 1 for each 1,000 records of a partition, and at least 1 for each partition.
func (l *Log[T]) Between(ctx context.Context, from, to time.Time) iter.Seq2[*Record[T], error] {
	return typedList[T](l.c.readBetween(ctx, from, to))
}

// Since yields the records with from ≤ time, the newest first: [Log.Between] without a bound.
func (l *Log[T]) Since(ctx context.Context, from time.Time) iter.Seq2[*Record[T], error] {
	return l.Between(ctx, from, time.Time{})
}

func (l *core) tail(ctx context.Context, n int) iter.Seq2[record, error] {
	if n < 1 {
		return failed(&table.ValueError{Field: "n", Reason: "is not positive"})
	}
	return l.read(ctx, time.Time{}, time.Time{}, n)
}

func (l *core) readBetween(ctx context.Context, from, to time.Time) iter.Seq2[record, error] {
	if l.err == nil && !to.IsZero() && !nextTick(from).Before(nextTick(to)) {
		return func(func(record, error) bool) {}
	}
	return l.read(ctx, from, to, 0)
}

func failed(err error) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) { yield(nil, err) }
}

// read yields the records with from ≤ time < to, the newest first, at most limit unless that is 0.
// A zero to is no bound.
func (l *core) read(ctx context.Context, from, to time.Time, limit int) iter.Seq2[record, error] {
	fail := func(err error) iter.Seq2[record, error] {
		return failed(fmt.Errorf("logtail: %s: %w", l.tables.name, err))
	}
	if l.err != nil {
		return fail(l.err)
	}
	rows := between(from, to)
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	return func(yield func(record, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		now := l.writer.now().UTC()
		n := 0
		for group, err := range l.tables.groups(ctx, from, to, now, now.Add(l.opt.Overlap), max(maxConcurrent/len(l.partitions), 1)) {
			if err != nil {
				fail(err)(yield)
				return
			}
			left, share := 0, page
			if limit > 0 {
				left, share = limit-n, fairShare(limit-n, len(l.partitions))
			}
			for r, err := range merge(l.lists(ctx, group, rows, share, left)) {
				if n++; !yield(r, err) || err != nil || n == limit {
					return
				}
			}
		}
	}
}

// lists returns the list of each partition of each table.
func (l *core) lists(
	ctx context.Context, in []tabledoor.Untyped, rows keys.RowRange, share, limit int,
) (all []iter.Seq2[record, error]) {
	for _, t := range in {
		for _, p := range l.partitions {
			all = append(all, l.list(ctx, t, p, rows, share, limit))
		}
	}
	return all
}

// list yields the records of a range of one partition, at most limit unless that is 0. The first
// request is for share records, each further request for all that are left.
func (l *core) list(
	ctx context.Context, in tabledoor.Untyped, partition keys.PartitionKey, rows keys.RowRange, share, limit int,
) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		left := limit
		q := table.Query[table.Row]{Partition: partition, Rows: rows, PageSize: min(share, page), Cursor: table.NewCursor(""), Skip: l.skips}
		for q.Limit = q.PageSize; !q.Cursor.Done(); q.Limit = q.PageSize {
			for e, err := range in.List(ctx, q) {
				if l.tables.isEmpty(err) {
					return
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if r := l.recordOf(e); r != nil {
					if left--; !yield(r, nil) || left == 0 {
						return
					}
				}
			}
			q.PageSize = nextPage(left, q.Limit)
		}
	}
}

// nextPage returns the size of a page behind one of a size, if so many records are left; none or
// less: all. Rows of other types may be between the records, so that the pages must not stay small.
func nextPage(left, size int) int {
	if left <= 0 {
		return page
	}
	return min(max(left, 2*size), page)
}

// skips decides about a row that cannot be read: of another type, or by Options.Skip.
func (l *core) skips(k keys.Key, err error) bool {
	_, is := positionOf(k.RowKey())
	return !is || l.opt.Skip != nil && l.opt.Skip(k, err)
}

// page is the most rows of a request.
const page = 1000

// fairShare returns how many of the n newest records a partition hardly ever exceeds if records are
// spread evenly.
func fairShare(n, partitions int) int {
	n = min(n, page*partitions)
	even := n / partitions
	return min(n, even+3*int(math.Sqrt(float64(even)))+2)
}

// Cursor is the position of [Log.Follow]. It moves with each record that is yielded. Its token can
// be stored, and another process continues there:
//
//	cursor := logtail.NewCursor(saved, time.Time{}) // "" is the beginning of the log
//	for r, err := range claims.Follow(ctx, cursor) {
//		…
//		save(cursor.Token()) // after each record, or from time to time
//	}
//
// A Cursor is not for concurrent use. The zero Cursor is at the beginning.
type Cursor struct {
	token  string
	from   time.Time // all records before it are yielded
	seen   seen      // the records from then on that are yielded
	opened bool
	log    string // the table and the source
}

// NewCursor returns a cursor at the position of a token, which a program has stored. For the token
// "" it begins with the records of a time: of time.Now() for those that are appended from now on,
// and of the zero time for all. If the token cannot be used, Follow fails with a *table.ValueError.
func NewCursor(token string, from time.Time) *Cursor {
	if token != "" {
		return &Cursor{token: token}
	}
	return &Cursor{from: from.UTC().Truncate(tick)}
}

// token is the text of a cursor.
type token struct {
	Version int    `json:"v"`
	Log     string `json:"g"`
	From    int64  `json:"f"` // ticks
	seen
}

const tokenVersion = 1

// Token returns the position as a text to be stored. It names the log, and another log refuses it.
// It has some 50 bytes for each writer, and for each record of AppendOnce or without a writer,
// whose records are read again: the records of up to twice Options.Overlap.
func (c *Cursor) Token() string {
	if !c.opened && c.from.IsZero() {
		return c.token
	}
	b, err := json.Marshal(token{tokenVersion, c.log, ticksOf(c.from), c.seen})
	if err != nil {
		panic(err) // strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// open reads the token, for a log of this name.
func (c *Cursor) open(log string) error {
	fail := func(reason string) error { return &table.ValueError{Field: "token", Reason: reason} }
	switch {
	case c.opened && c.log != log:
		return fail("is of another log")
	case c.opened:
		return nil
	case c.token == "": // also of a cursor at a time
		c.opened, c.log = true, log
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(c.token)
	var t token
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	switch {
	case err != nil || !ticks.IsValid(t.From):
		return fail("is corrupt")
	case t.Version != tokenVersion:
		return fail("is of another version of this library")
	case t.Log != log && t.Log != "": // "" of a cursor that was not used
		return fail("is of another log")
	}
	for _, spans := range t.Writers {
		for i, s := range spans {
			if s.First < 0 || s.Last < s.First || i > 0 && s.First <= spans[i-1].Last+1 {
				return fail("is corrupt")
			}
		}
	}
	c.opened, c.log, c.from, c.seen = true, log, ticks.Time(t.From), t.seen
	return nil
}

// moveTo moves the cursor to a time before which all records are yielded.
func (c *Cursor) moveTo(from time.Time) {
	c.from = from
	c.seen.dropBefore(from)
}
