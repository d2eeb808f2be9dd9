package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ErrOver: the time of a slice is over, or its job is canceled. The work of the slice returns it,
// and another slice goes on.
var ErrOver = errors.New("jobs: the slice is over")

// Slice is a part of a table that a worker works on for a while.
type Slice[T any] struct {
	// Table is the handle of the table.
	Table *table.Table[T]

	// Partitions is what to work on, to be read only. Job is the name of the job.
	Partitions keys.PartitionRange
	Job        string

	s *slice
}

// slice is a Slice without its type parameter.
type slice struct {
	table      tabledoor.Untyped
	typed      table.Handle // the same, a *table.Table
	partitions keys.PartitionRange
	job        string
	rows       keys.RowRange // of the only partition; unset for all
	began      time.Time     // of the job
	rate       int
	ends       time.Time // zero for a slice without an end
	looks      time.Time // when to look next whether the job is canceled
	ledger     *ledger
	passed     place
	at         keys.Key // of the row or partition that was passed last
	over       bool
	part       *part  // as it was read, with what is counted of what was passed
	counted    counts // of what is not passed yet
	owed       int    // rows of the rate that were counted and are not paid for
	byRows     bool   // the work is not that of a program's own on partitions
}

// typed returns a slice with its type.
//
//go:noinline
func typed[T any](s *slice) *Slice[T] {
	return &Slice[T]{Table: s.typed.(*table.Table[T]), Partitions: s.partitions, Job: s.job, s: s}
}

// place is up to where a slice is finished.
type place int

const (
	nowhere place = iota
	atRow
	atPartition
)

type counts struct{ rows, changed, faults int }

// Passed notes that the slice is finished up to a partition, which is one of it and behind the last
// one that was passed, and returns ErrOver if there is no more time: return it. With a rate, it
// waits until the rows that were counted are free. Errors: ErrOver; *table.ValueError for another
// partition, and in the work of [Rows], which passes the rows itself; those of ctx, of a read and
// of a write (see package table). Requests: none; once in 10 s 1, to see whether the job is
// canceled, and 1 to see whether the range should be halved for workers without one; with a rate 2
// for up to 1,000 rows.
func (s *Slice[T]) Passed(ctx context.Context, pk keys.PartitionKey) error {
	return s.s.Passed(ctx, pk)
}

func (s *slice) Passed(ctx context.Context, pk keys.PartitionKey) error {
	text, err := pk.Result()
	switch {
	case err != nil:
		return err
	case s == nil:
		return errZeroSlice
	case s.byRows || !s.partitions.Contains(text) || s.passed != nowhere && keys.Compare(text, s.at.PartitionKey()) < 0:
		return &table.ValueError{Field: "pk", Reason: fmt.Sprintf("%.80q is not the next partition of the slice, %v", text, s.partitions)}
	}
	return s.passPartition(ctx, pk)
}

func (s *slice) passPartition(ctx context.Context, pk keys.PartitionKey) error {
	s.pass(atPartition, keys.Raw(pk.String(), ""))
	return cmp.Or(s.pay(ctx), s.Check(ctx))
}

// passRow notes that the slice is finished up to a row.
func (s *slice) passRow(ctx context.Context, k keys.Key) error {
	s.pass(atRow, k)
	return cmp.Or(s.pay(ctx), s.Check(ctx))
}

func (s *slice) pass(p place, k keys.Key) {
	s.passed, s.at = p, k
	s.addCounts()
}

func (s *slice) addCounts() {
	s.part.Rows += s.counted.rows
	s.part.Changed += s.counted.changed
	s.part.Faults += s.counted.faults
	s.counted = counts{}
}

// Check is Passed for work that has finished nothing more, such as pages in which it finds nothing.
func (s *Slice[T]) Check(ctx context.Context) error { return s.s.Check(ctx) }

func (s *slice) Check(ctx context.Context) error {
	now := time.Now()
	switch {
	case s == nil:
		return errZeroSlice
	case s.over || !s.ends.IsZero() && now.After(s.ends):
		s.over = true
		return ErrOver
	case ctx.Err() != nil:
		return ctx.Err()
	case now.Before(s.looks):
		return nil
	}
	s.looks = now.Add(lookEvery)
	h, err := get(ctx, s.ledger.heads, keys.At(s.ledger.job(s.job), keys.RawRow(headRow)))
	if err == nil && (h == nil || h.Value.State != Running) {
		s.over = true
		return ErrOver
	}
	if err != nil || s.passed == nowhere {
		return err
	}
	n, err := s.ledger.countOpen(ctx, s.job)
	if err == nil && n < h.Value.Open/2 { // there may be workers without a range: towards the end of a job
		s.over = true
		return ErrOver
	}
	return err
}

var errZeroSlice = &table.ValueError{Field: "s", Reason: "is a zero Slice; a worker gives one to the work of a job"}

// lookEvery is how often a slice looks whether its job is canceled.
const lookEvery = 10 * time.Second

// Count adds to what [Status] shows: rows that were read, for which the rate is paid, that were
// changed, and that the work could not do. They count when the slice passes them.
func (s *Slice[T]) Count(rows, changed, faults int) {
	if s.s != nil {
		s.s.Count(rows, changed, faults)
	}
}

func (s *slice) Count(rows, changed, faults int) {
	s.counted.rows += rows
	s.owed += rows
	s.counted.changed += changed
	s.counted.faults += faults
}

// pay waits until the rows that were counted are free. What a second or a page has is paid for
// together.
func (s *slice) pay(ctx context.Context) error {
	if s.rate == 0 || s.owed < s.atMost(1000) {
		return nil
	}
	from, err := s.ledger.reserve(ctx, s.job, s.rate, s.owed)
	if err != nil {
		return err
	}
	s.owed = 0
	if !s.ends.IsZero() && from.After(s.ends) {
		s.over = true
		return ErrOver
	}
	return pace.Sleep(ctx, time.Until(from))
}

// payRest pays for the last rows of a slice. If that fails, the job is a little faster.
func (s *slice) payRest(ctx context.Context) {
	if s.rate > 0 && s.owed > 0 {
		_, _ = s.ledger.reserve(ctx, s.job, s.rate, s.owed)
	}
}

// atMost returns how many rows to work on together: n, or fewer if the rate is lower.
func (s *slice) atMost(n int) int {
	if s.rate == 0 {
		return n
	}
	return min(n, s.rate)
}

// pageSize returns how many rows to read with a request.
func (s *slice) pageSize() int {
	if s.rate == 0 {
		return 0
	}
	return min(s.rate, 1000)
}

// queried is what a slice restricts of a query.
type queried struct {
	partition  keys.PartitionKey
	partitions keys.PartitionRange
	rows       keys.RowRange
	pageSize   int
	refused    bool // it has what a job cannot divide
}

//go:noinline
func queriedOf[T any](q *table.Query[T]) *queried {
	refused := q.Limit != 0 || q.Cursor != nil || q.Stats != nil || q.Budget != (table.Budget{})
	return &queried{q.Partition, q.Partitions, q.Rows, q.PageSize, refused}
}

// check fails for a query that a job cannot divide.
func (q *queried) check() error {
	if q.partition.IsSet() || q.refused {
		return &table.ValueError{Field: "query", Reason: "has a Partition, a Limit, a Cursor, Stats or a Budget: a job goes through partitions; give Pass.Partitions to Start"}
	}
	return cmp.Or(q.partitions.Err(), q.rows.Err())
}

// restricted returns a query for the rows of the slice.
//
//go:noinline
func restricted[T any](s *slice, q table.Query[T]) (table.Query[T], error) {
	of := queriedOf(&q)
	if err := s.restrict(of); err != nil {
		return q, err
	}
	q.Partition, q.Partitions, q.Rows, q.PageSize, q.TableScan = of.partition, of.partitions, of.rows, of.pageSize, false
	return q, nil
}

func (s *slice) restrict(q *queried) error {
	if err := q.check(); err != nil {
		return err
	}
	in := s.partitions
	if q.partitions.IsSet() {
		in = in.Intersect(q.partitions)
	}
	if in.IsEmpty() {
		return errEmpty
	}
	q.partitions = in
	q.pageSize = cmp.Or(q.pageSize, s.pageSize())
	if s.rows.IsSet() {
		rows := s.rows
		if q.rows.IsSet() {
			rows = rows.Intersect(q.rows)
		}
		if rows.IsEmpty() {
			return errEmpty
		}
		q.rows = rows
		if in.IsPoint() {
			q.partition, q.partitions = keyrange.Partition(in), keys.PartitionRange{}
		}
	}
	return nil
}
