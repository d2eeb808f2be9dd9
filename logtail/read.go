package logtail

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Tail yields the n newest records, the newest first.
//
//	for r, err := range claims.Tail(ctx, 10) { … }
//
// Rows of other types are left out; those whose RowKeys begin with a digit are read. Errors: *table.ValueError for an n below 1;
// *table.DecodeError for a record that does not fit T, unless Options.Skip leaves it out; those of [table.Table.List].
//
// Requests: ⌈n / 1000⌉. If the source has several partitions, 1 for each of them, 32 at the same time, and more for a partition
// that has many of the n records.
func (l *Log[T]) Tail(ctx context.Context, n int) iter.Seq2[*Record[T], error] {
	if n < 1 {
		return failed[T](&table.ValueError{Field: "n", Reason: "is not positive"})
	}
	return l.read(ctx, time.Time{}, time.Time{}, n)
}

// Between yields the records with from ≤ time < to, the newest first. A zero to is no bound: records with a time in the future are
// yielded, too. Errors are those of [Log.Tail], and *keys.KeyError for a time outside the years 1 to 9999. Requests: 1 for each
// 1,000 records of a partition, and at least 1 for each partition.
func (l *Log[T]) Between(ctx context.Context, from, to time.Time) iter.Seq2[*Record[T], error] {
	if l.err == nil && !to.IsZero() && !nextTick(from).Before(nextTick(to)) {
		return func(func(*Record[T], error) bool) {}
	}
	return l.read(ctx, from, to, 0)
}

// Since yields the records with from ≤ time, the newest first: [Log.Between] without a bound.
func (l *Log[T]) Since(ctx context.Context, from time.Time) iter.Seq2[*Record[T], error] {
	return l.Between(ctx, from, time.Time{})
}

func failed[T any](err error) iter.Seq2[*Record[T], error] {
	return func(yield func(*Record[T], error) bool) { yield(nil, err) }
}

// read yields the records with from ≤ time < to, the newest first, at most limit unless that is 0. A zero to is no bound.
func (l *Log[T]) read(ctx context.Context, from, to time.Time, limit int) iter.Seq2[*Record[T], error] {
	fail := func(err error) iter.Seq2[*Record[T], error] {
		return failed[T](fmt.Errorf("logtail: %s: %w", l.tables.name, err))
	}
	if l.err != nil {
		return fail(l.err)
	}
	rows := between(from, to)
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	return func(yield func(*Record[T], error) bool) {
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
func (l *Log[T]) lists(ctx context.Context, in []*table.Table[T], rows keys.Range, share, limit int) (all []iter.Seq2[*Record[T], error]) {
	for _, t := range in {
		for _, p := range l.partitions {
			all = append(all, l.list(ctx, t, p, rows, share, limit))
		}
	}
	return all
}

// list yields the records of a range of one partition, at most limit unless that is 0. The first request is for share records, the
// others for all that are left.
func (l *Log[T]) list(ctx context.Context, in *table.Table[T], partition keys.Enc, rows keys.Range, share, limit int) iter.Seq2[*Record[T], error] {
	return func(yield func(*Record[T], error) bool) {
		left := limit
		q := table.Query[T]{Partition: partition, Rows: rows, PageSize: min(share, page), Cursor: table.NewCursor(""), Skip: func(k keys.Key, err error) bool {
			_, is := positionOf(k.RowKey())
			return !is || l.opt.Skip != nil && l.opt.Skip(k, err)
		}}
		for q.Limit = q.PageSize; !q.Cursor.Done(); q.Limit = q.PageSize {
			for e, err := range in.List(ctx, q) {
				if l.tables.isEmpty(err) {
					return
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if r := recordOf(e); r != nil {
					if left--; !yield(r, nil) || left == 0 {
						return
					}
				}
			}
			// Rows of other types may be between the records, so that the pages must not stay small.
			q.PageSize = page
			if limit > 0 {
				q.PageSize = min(max(left, 2*q.Limit), page)
			}
		}
	}
}

// page is the most rows of a request.
const page = 1000

// fairShare returns how many of the n newest records a partition hardly ever exceeds if records are spread evenly.
func fairShare(n, partitions int) int {
	n = min(n, page*partitions)
	even := n / partitions
	return min(n, even+3*int(math.Sqrt(float64(even)))+2)
}
