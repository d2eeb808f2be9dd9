package logtail

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/ticks"
	"github.com/aztablekit/aztablekit/keys"
)

// Follow yields all records after a cursor, the oldest first, and then waits for new ones, until
// ctx ends or the loop is left. A nil cursor is at the beginning.
//
//	cursor := logtail.NewCursor("", time.Now())
//	for r, err := range claims.Follow(ctx, cursor) { … }
//
// Each record is yielded once. The records of a writer are in their order, if each append has ended
// before the next began. Records of several writers are in the order of their times, except that a
// record that becomes visible late comes late. A record with a time more than Options.Overlap in
// the future comes when its time is near.
//
// A record that becomes visible more than Options.Overlap after its time may be missed. Appends of
// this library end before that, unless the clocks of writer and follower differ too much.
//
// Errors:
//   - *table.ValueError
//   - ErrPastRetention if tables after the cursor may be dropped: begin again with a nil cursor,
//     which is at the oldest table
//   - *table.DecodeError for a record that does not fit T, unless Options.Skip leaves it out
//   - *keys.KeyError for a wrong source
//   - table.ErrNotCreated and the other errors of a read (see package table)
//   - the error of ctx at its end
//
// After an error, the cursor can be used again. Requests: to catch up, about 2 for each 1,000
// records of a partition, and some more where the records become much denser or rarer. Then, after
// each pause of Options.Poll, 1 for each partition and each 1,000 records of Options.Overlap; for a
// source with several partitions twice as many if a record is missing between other records.
// Memory: the new records of one pause, and at first the records of Overlap.
func (l *Log[T]) Follow(ctx context.Context, c *Cursor) iter.Seq2[*Record[T], error] {
	return typedList[T](l.c.following(ctx, c))
}

func (l *core) following(ctx context.Context, c *Cursor) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		if err := l.follow(ctx, c, func(r record) bool { return yield(r, nil) }); err != nil {
			yield(nil, fmt.Errorf("logtail: Follow %s: %w", l.tables.name, err))
		}
	}
}

// follow yields records until an error or until yield returns false.
func (l *core) follow(ctx context.Context, c *Cursor, yield func(record) bool) error {
	if l.err != nil {
		return l.err
	}
	if c == nil {
		c = &Cursor{}
	}
	if err := c.open(l.tables.name + "/" + l.source); err != nil {
		return err
	}
	w, known := window{ticks: ticks.Max}, calendar{}
	caughtUp := false
	for {
		now := l.writer.now().UTC().Truncate(tick)
		final := now.Add(-l.opt.Overlap) // no more records become visible before it
		if err := ticksLayout.RowKey(now.Add(l.opt.Overlap)).Err(); err != nil {
			return err
		}
		// A clock that steps back, and a cursor in the future, are not behind.
		if behind := final.Sub(c.from); behind > 0 && (!caughtUp || behind > l.opt.Overlap) {
			end, err := l.nextPeriod(ctx, c, &known, final)
			if err != nil {
				return err
			}
			more, err := l.catchUp(ctx, c, end, &w, yield)
			if !more || err != nil {
				return err
			}
			caughtUp = !c.from.Before(final)
			continue
		}
		caughtUp = true
		more, err := l.poll(ctx, c, final, now.Add(l.opt.Overlap), yield)
		if !more || err != nil {
			return err
		}
		if err := pace.Sleep(ctx, l.opt.Poll); err != nil {
			return err
		}
	}
}

// window chooses how much time is read at once to catch up, so that it has about as many records as
// a request returns.
type window struct {
	ticks   int64
	dense   int64 // a time before which there are too many records for a window from the cursor on; 0 if none is known
	shrinks int   // in a row
}

// tooMany notes that the n ticks from a time have too many records.
func (w *window) tooMany(from, n int64) {
	by := int64(2)
	if w.shrinks++; w.shrinks > 1 {
		by = 8
	}
	w.dense = from + n
	w.ticks = max(n/by, smallestWindow)
}

// fit notes that the n ticks before a time have so many records.
func (w *window) fit(to, n int64, records int) {
	w.shrinks = 0
	by := int64(1)
	switch {
	case records >= page/2:
	case records >= page/4:
		by = 2
	case w.dense > to: // most records are behind
		w.ticks = max((w.dense-to)/2, smallestWindow)
		return
	case records == 0:
		by = 8
	default:
		by = 2
	}
	w.dense = 0
	w.ticks = min(n, ticks.Max/by) * by
}

// smallestWindow is the least time, in ticks, that is read at once, whatever the number of its
// records.
const smallestWindow = 10_000

// catchUp yields the records of the next window of time before end, and chooses the next window so
// that it takes about 1 request for each partition.
func (l *core) catchUp(
	ctx context.Context, c *Cursor, end time.Time, w *window, yield func(record) bool,
) (more bool, err error) {
	if !c.from.Before(end) {
		return true, nil
	}
	from := ticksOf(c.from)
	n := min(w.ticks, ticksOf(end)-from)
	to := ticks.Time(from + n)
	limit := page
	if w.ticks <= smallestWindow {
		limit = 0
	}
	in, err := l.tables.all(c.from, to)
	if err != nil {
		return false, err
	}
	all, most, err := l.collect(ctx, c, in, between(c.from, to), limit)
	if err == nil {
		err = l.tables.keeps(c.from) // the table may have been dropped meanwhile
	}
	switch {
	case err != nil:
		return false, err
	case limit > 0 && most == limit: // perhaps there are more
		w.tooMany(from, n)
		return true, nil
	}
	w.fit(from+n, n, most)
	if !yieldAll(c, all, yield) {
		return false, nil
	}
	c.moveTo(to)
	return true, nil
}

// poll yields the new records from the cursor on, up to a time.
func (l *core) poll(
	ctx context.Context, c *Cursor, final, to time.Time, yield func(record) bool,
) (more bool, err error) {
	if !c.from.Before(to) {
		return true, nil
	}
	rows := between(c.from, to)
	in, err := l.tables.all(c.from, to)
	if err != nil {
		return false, err
	}
	all, _, err := l.collect(ctx, c, in, rows, 0)
	if err != nil {
		return false, err
	}
	if len(in)*len(l.partitions) > 1 && gaps(&c.seen, all) {
		if all, err = l.complete(ctx, c, in, rows, all); err != nil {
			return false, err
		}
	}
	if !yieldAll(c, all, yield) {
		return false, nil
	}
	if c.from.Before(final) {
		c.moveTo(final)
	}
	return true, nil
}

// collect returns the records of a range that the cursor has not yielded, and the number of records
// that the partition with the most has in the range. With a limit, it reads no more of a partition.
func (l *core) collect(
	ctx context.Context, c *Cursor, in []tabledoor.Untyped, rows keys.RowRange, limit int,
) (all []record, most int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	lists := l.lists(ctx, in, rows, page, limit)
	found, counts := make([][]record, len(lists)), make([]int, len(lists))
	for i, list := range lists {
		group.Go(func() error {
			for r, err := range list {
				if err != nil {
					return err
				}
				counts[i]++
				if !c.seen.has(r.key(), r.place()) {
					found[i] = append(found[i], r)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	return slices.Concat(found...), slices.Max(counts), nil
}

// gaps reports whether a record of a writer is missing, with a lower number than a new record. One
// partition is read in the order of the records, so that a record is not read without the records
// before it. Several partitions are read at different instants.
func gaps(s *seen, all []record) bool {
	newest, count := map[string]int64{}, map[string]int64{}
	for _, r := range all {
		if was := s.newest(r.place().writer); r.place().sequence > was {
			newest[r.place().writer] = max(newest[r.place().writer], r.place().sequence-was)
			count[r.place().writer]++
		}
	}
	for w, n := range newest {
		if count[w] < n {
			return true
		}
	}
	return false
}

// complete reads the range again, and adds the records that are older than the same writer's
// records in all. They were stored before the first read.
func (l *core) complete(
	ctx context.Context, c *Cursor, in []tabledoor.Untyped, rows keys.RowRange, all []record,
) ([]record, error) {
	again, _, err := l.collect(ctx, c, in, rows, 0)
	if err != nil {
		return nil, err
	}
	newest, have := map[string]int64{}, map[string]bool{}
	for _, r := range all {
		// It stays 0 for records without a writer.
		newest[r.place().writer] = max(newest[r.place().writer], r.place().sequence)
		have[r.key().RowKey()] = true
	}
	for _, r := range again {
		if r.place().sequence < newest[r.place().writer] && !have[r.key().RowKey()] {
			all = append(all, r)
		}
	}
	return all, nil
}

// yieldAll yields records, the oldest first. A record counts as yielded before the loop gets it.
func yieldAll(c *Cursor, all []record, yield func(record) bool) bool {
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(b.key().RowKey(), a.key().RowKey()) })
	for _, r := range all {
		c.seen.add(r.key(), r.place())
		if !yield(r) {
			return false
		}
	}
	return true
}

// seen is the set of the records that a cursor has yielded and that are read again. A writer's
// records have ascending numbers and times, so that the set of a writer is a few spans of numbers,
// however many records there are.
type seen struct {
	Writers map[string][]span `json:"w,omitempty"` // ascending, with gaps between them
	Rows    map[string]bool   `json:"p,omitempty"` // the RowKeys of records without a writer, / and their PartitionKeys
}

// span is the numbers from First to Last.
type span struct {
	First int64 `json:"f"`
	Last  int64 `json:"l"`
	Ticks int64 `json:"t"` // the time of Last
}

// has reports whether a record is in the set.
func (s *seen) has(k keys.Key, p position) bool {
	if p.writer == "" {
		return s.Rows[rowName(k)]
	}
	_, is := slices.BinarySearchFunc(s.Writers[p.writer], p.sequence, compareSpan)
	return is
}

// add adds a record.
func (s *seen) add(k keys.Key, p position) {
	if p.writer == "" {
		if s.Rows == nil {
			s.Rows = map[string]bool{}
		}
		s.Rows[rowName(k)] = true
		return
	}
	if s.Writers == nil {
		s.Writers = map[string][]span{}
	}
	s.Writers[p.writer] = insert(s.Writers[p.writer], p)
}

// newest returns the greatest number of a writer in the set, -1 for none.
func (s *seen) newest(writer string) int64 {
	if spans := s.Writers[writer]; len(spans) > 0 {
		return spans[len(spans)-1].Last
	}
	return -1
}

// dropBefore shrinks the set: records before a time are not read again.
func (s *seen) dropBefore(before time.Time) {
	for id, spans := range s.Writers {
		n, _ := slices.BinarySearchFunc(spans, ticksOf(before), func(s span, t int64) int { return int(min(max(s.Ticks-t, -1), 1)) })
		switch {
		case n == len(spans):
			delete(s.Writers, id)
		case n > 1: // the numbers between older records are of older records, or of none
			s.Writers[id] = append([]span{{spans[0].First, spans[n-1].Last, spans[n-1].Ticks}}, spans[n:]...)
		}
	}
	for k := range s.Rows {
		rowKey, _, _ := strings.Cut(k, "/")
		if p, _ := positionOf(rowKey); p.time.Before(before) {
			delete(s.Rows, k)
		}
	}
}

// rowName returns what names a record without a writer: neither key contains a /.
func rowName(k keys.Key) string { return k.RowKey() + "/" + k.PartitionKey() }

// insert adds a record to the spans of its writer.
func insert(spans []span, p position) []span {
	n, t := p.sequence, ticksOf(p.time)
	at, is := slices.BinarySearchFunc(spans, n, compareSpan)
	if is {
		return spans
	}
	joinsBefore := at > 0 && spans[at-1].Last == n-1
	joinsAfter := at < len(spans) && spans[at].First == n+1
	switch {
	case joinsBefore && joinsAfter:
		spans[at].First = spans[at-1].First
		return slices.Delete(spans, at-1, at)
	case joinsBefore:
		spans[at-1].Last, spans[at-1].Ticks = n, t
		return spans
	case joinsAfter:
		spans[at].First = n
		return spans
	}
	return slices.Insert(spans, at, span{n, n, t})
}

func compareSpan(s span, n int64) int {
	switch {
	case s.Last < n:
		return -1
	case s.First > n:
		return 1
	}
	return 0
}

// ticksOf returns the ticks of a time that a key contains.
func ticksOf(t time.Time) int64 {
	n, _ := ticks.Of(t)
	return n
}
