package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ErrOver: the time of a slice is over, or its job is canceled. The work of the slice returns it, and another slice goes on.
var ErrOver = errors.New("jobs: the slice is over")

// Slice is a part of a table that a worker works on for a while.
type Slice[T any] struct {
	// Table is the handle of the table.
	Table *table.Table[T]

	// Partitions is what to work on. Job is the name of the job.
	Partitions keys.PartitionRange
	Job        string

	rows    keys.RowRange // of the only partition; unset for all
	rate    int
	ends    time.Time // zero for a slice without an end
	looks   time.Time // when to look next whether the job is canceled
	ledger  *ledger
	passed  place
	at      keys.Key // of the row or partition that was passed last
	over    bool
	part    *part  // as it was read, with what is counted of what was passed
	counted counts // of what is not passed yet
	owed    int    // rows of the rate that were counted and are not paid for
	byRows  bool   // the work is not that of a program's own on partitions
}

// place is up to where a slice is finished.
type place int

const (
	nowhere place = iota
	atRow
	atPartition
)

type counts struct{ rows, changed, faults int }

// Passed notes that the slice is finished up to a partition, which is one of it and behind the last one that was passed, and returns ErrOver if there is no
// more time: return it. With a rate, it waits until the rows that were counted are free. Errors: ErrOver; *table.ValueError for another partition, and in
// the work of [Rows], which passes the rows itself; those of ctx, of a read and of a write (see package table). Requests: none; once in 10 s 1, to see
// whether the job is canceled; with a rate 2 for up to 1,000 rows.
func (s *Slice[T]) Passed(ctx context.Context, pk keys.PartitionKey) error {
	text, err := pk.Result()
	switch {
	case err != nil:
		return err
	case s.ledger == nil:
		return errZeroSlice
	case s.byRows || !s.Partitions.Contains(text) || s.passed != nowhere && keys.Compare(text, s.at.PartitionKey()) < 0:
		return &table.ValueError{Field: "pk", Reason: fmt.Sprintf("%.80q is not the next partition of the slice, %v", text, s.Partitions)}
	}
	return s.passPartition(ctx, pk)
}

func (s *Slice[T]) passPartition(ctx context.Context, pk keys.PartitionKey) error {
	s.pass(atPartition, keys.Stored(pk.String(), ""))
	return cmp.Or(s.pay(ctx), s.Check(ctx))
}

// passRow notes that the slice is finished up to a row.
func (s *Slice[T]) passRow(ctx context.Context, k keys.Key) error {
	s.pass(atRow, k)
	return cmp.Or(s.pay(ctx), s.Check(ctx))
}

func (s *Slice[T]) pass(p place, k keys.Key) {
	s.passed, s.at = p, k
	s.addCounts()
}

func (s *Slice[T]) addCounts() {
	s.part.Rows += s.counted.rows
	s.part.Changed += s.counted.changed
	s.part.Faults += s.counted.faults
	s.counted = counts{}
}

// Check is Passed for work that has finished nothing more, such as pages in which it finds nothing.
func (s *Slice[T]) Check(ctx context.Context) error {
	now := time.Now()
	switch {
	case s.ledger == nil:
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
	h, err := found(s.ledger.head(ctx, s.Job))
	if err == nil && (h == nil || h.Value.State != Running) {
		s.over = true
		return ErrOver
	}
	return err
}

var errZeroSlice = &table.ValueError{Field: "s", Reason: "is a zero Slice; a worker gives one to the work of a job"}

// lookEvery is how often a slice looks whether its job is canceled.
const lookEvery = 10 * time.Second

// Count adds to what [Status] shows: rows that were read, for which the rate is paid, that were changed, and that the work could not do. They count when
// the slice passes them.
func (s *Slice[T]) Count(rows, changed, faults int) {
	s.counted.rows += rows
	s.owed += rows
	s.counted.changed += changed
	s.counted.faults += faults
}

// pay waits until the rows that were counted are free. What a second or a page has is paid for together.
func (s *Slice[T]) pay(ctx context.Context) error {
	if s.rate == 0 || s.owed < s.atMost(1000) {
		return nil
	}
	from, err := s.ledger.reserve(ctx, s.Job, s.rate, s.owed)
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
func (s *Slice[T]) payRest(ctx context.Context) {
	if s.rate > 0 && s.owed > 0 {
		_, _ = s.ledger.reserve(ctx, s.Job, s.rate, s.owed)
	}
}

// atMost returns how many rows to work on together: n, or fewer if the rate is lower.
func (s *Slice[T]) atMost(n int) int {
	if s.rate == 0 {
		return n
	}
	return min(n, s.rate)
}

// pageSize returns how many rows to read with a request.
func (s *Slice[T]) pageSize() int {
	if s.rate == 0 {
		return 0
	}
	return min(s.rate, 1000)
}

// restrict returns a query for the rows of the slice.
func (s *Slice[T]) restrict(q table.Query[T]) (table.Query[T], error) {
	if q.Partition.IsSet() || q.Limit != 0 || q.Cursor != nil || q.Stats != nil || q.Budget != (table.Budget{}) {
		return q, &table.ValueError{Field: "query", Reason: "has a Partition, a Limit, a Cursor, Stats or a Budget: a job goes through partitions; give Options.Partitions to Start"}
	}
	in := s.Partitions
	if q.Partitions.IsSet() {
		in = in.Intersect(q.Partitions)
	}
	if in.IsEmpty() {
		return q, errEmpty
	}
	q.Partitions, q.TableScan = in, false
	q.PageSize = cmp.Or(q.PageSize, s.pageSize())
	if s.rows.IsSet() {
		rows := s.rows
		if q.Rows.IsSet() {
			rows = rows.Intersect(q.Rows)
		}
		if rows.IsEmpty() {
			return q, errEmpty
		}
		q.Rows = rows
		if in.IsPoint() {
			q.Partition, q.Partitions = in.Key(), keys.PartitionRange{}
		}
	}
	return q, nil
}

// execute works on a range for a slice of time, and stores what is left of it.
func (j *Job[T, P]) execute(ctx context.Context, of extend.Job, d due) error {
	for {
		if d.Range == "" {
			return j.ledger.startAgain(ctx, of.Partition, d.Version)
		}
		h, r, err := j.ledger.read(ctx, of.Partition, d.Range)
		switch {
		case err != nil:
			return err
		case h == nil || h.Value.State != Running || r == nil || r.Value.Version != d.Version:
			return nil
		case r.Value.Done:
			return j.ledger.finish(ctx, h.Value.Name)
		case r.Value.Start != h.Value.Starts: // the start stores another version
			return nil
		}
		if err := j.ledger.publish(ctx, r); err != nil {
			return err
		}
		stored, err := j.slice(ctx, &h.Value, r)
		if stored || err != nil {
			return err
		}
	}
}

// slice works on a range, and reports whether the end of the slice is stored, or its error noted. Otherwise another worker has stored one.
func (j *Job[T, P]) slice(ctx context.Context, h *head, r *table.Entity[part]) (stored bool, err error) {
	var arg P
	if err := json.Unmarshal([]byte(h.Arg), &arg); err != nil {
		return false, eventual.Poison(fmt.Errorf("the argument of the job %q is no %T: %w", h.Name, arg, err))
	}
	if err := j.waitsForRate(ctx, h); err != nil {
		return false, err
	}
	s, err := newSlice(ctx, j.table, j.ledger, h, &r.Value)
	if err != nil {
		return false, eventual.Poison(err)
	}
	s.byRows = j.byRows
	err = s.work(ctx, func() error { return j.work(ctx, s, arg) })
	// What is finished is stored also if the worker stops, or has lost the message.
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	s.payRest(ended)
	timedOut := errors.Is(ctx.Err(), context.DeadlineExceeded) && !r.Value.Whole // HandlerTimeout
	switch {
	case err == nil:
		s.addCounts()
		return j.ledger.storeDone(ended, s.part, r)
	case s.over, timedOut:
		return storeLeft(ended, s, h.Open, r, j.rows(arg))
	case s.passed == nowhere && (ctx.Err() != nil || errors.Is(err, errUnknown)): // which is no attempt
		return true, err
	case s.passed == nowhere:
		j.ledger.noteFailure(ended, r, err)
		return true, err
	}
	// The next slice begins with the piece that has failed.
	if stored, failed := s.store(ended, r, []span{s.left()}, false); failed != nil {
		return stored, errors.Join(err, failed)
	}
	return true, nil
}

// work calls the work of a slice: for the rest of a first partition, and then for the partitions behind.
func (s *Slice[T]) work(ctx context.Context, f func() error) error {
	of := s.part.span()
	if of.Head == nil {
		return s.unlessEmpty(f)
	}
	behind := s.Partitions
	s.Partitions, s.rows = keys.Stored(*of.Head, "").Partition().Point(), s.entities(of.HeadFrom, "")
	if err := s.unlessEmpty(f); err != nil {
		return err
	}
	if err := s.passPartition(ctx, s.Partitions.Key()); err != nil {
		return err
	}
	s.Partitions, s.rows = behind, keys.RowRange{}
	return s.unlessEmpty(f)
}

// unlessEmpty calls f if the slice has keys that an entity may have.
func (s *Slice[T]) unlessEmpty(f func() error) error {
	if s.Partitions.IsEmpty() || s.rows.IsEmpty() {
		return nil
	}
	if err := f(); err != errEmpty {
		return err
	}
	return nil
}

// errEmpty: the query of a job finds nothing in the slice.
var errEmpty = errors.New("empty")

// entities returns a range of the RowKeys of entities.
func (s *Slice[T]) entities(from, to string) keys.RowRange {
	return door.Table(s.Table).Mode.Schema.Rows().Intersect(keys.RawRows(from, to))
}

// endTimeout bounds the requests at the end of a slice.
const endTimeout = 30 * time.Second

// waitsForRate returns an error that defers the message if the rate of the job is used up for longer than a moment.
func (j *Job[T, P]) waitsForRate(ctx context.Context, h *head) error {
	if h.Rate == 0 {
		return nil
	}
	until, err := j.ledger.usedUntil(ctx, h.Name)
	if pause := time.Until(until); err == nil && pause > time.Second {
		return eventual.RetryAfter(min(pause, time.Minute).Round(time.Second), errRate)
	}
	return err
}

var errRate = errors.New("the rate of the job is used up")

// shortSlices is how many slices after one another last a second, so that there is soon work for all workers.
const shortSlices = 5

func newSlice[T any](ctx context.Context, t *table.Table[T], l *ledger, h *head, r *part) (*Slice[T], error) {
	counted := *r
	s := &Slice[T]{Table: t, Job: h.Name, rate: h.Rate, ledger: l, part: &counted, looks: time.Now().Add(lookEvery)}
	of := r.span()
	if of.Within == nil {
		s.Partitions = keys.RawPartitions(of.From, of.To)
	} else {
		s.Partitions = keys.Stored(*of.Within, "").Partition().Point()
		s.rows = s.entities(of.From, of.To)
	}
	if err := cmp.Or(s.Partitions.Err(), s.rows.Err()); err != nil {
		return nil, err
	}
	length := min(h.Slice, time.Second<<min(max(r.Depth-shortSlices, 0), 20))
	if r.Whole {
		return s, nil
	}
	s.ends = time.Now().Add(length)
	if end, is := ctx.Deadline(); is { // some time is left to store the end
		if half := time.Now().Add(time.Until(end) / 2); half.Before(s.ends) {
			s.ends = half
		}
	}
	return s, nil
}

// storeDone stores that a range is done, and that the job is finished if it was the last one.
func (l *ledger) storeDone(ctx context.Context, counted *part, r *table.Entity[part]) (bool, error) {
	done := *counted
	done.Done, done.Attempts, done.Error = true, 0, ""
	done.Passed, done.Weight = done.Passed+done.Weight, 0
	if stored, err := l.replace(ctx, r, done); !stored || err != nil {
		return stored, err
	}
	return true, l.finish(ctx, done.Name)
}

// replace stores a range, and perhaps another one besides, unless another worker has stored a version.
func (l *ledger) replace(ctx context.Context, r *table.Entity[part], next part, more ...part) (stored bool, err error) {
	version := r.Value.Version
	r.Value = next
	ops := []table.Op{l.parts.ReplaceOp(r)}
	for _, p := range more {
		ops = append(ops, l.parts.InsertOp(&p))
	}
	_, err = table.Transact(ctx, ops...)
	if !errors.Is(err, table.ErrChanged) && !errors.Is(err, table.ErrNotFound) {
		return err == nil, err
	}
	now, err := found(l.parts.Get(ctx, r.Key))
	if err != nil || now == nil || now.Value.Version != version || now.Value.Done {
		return false, err
	}
	return l.replace(ctx, now, next, more...)
}

// noteFailure notes why a slice has failed, for Status. It does not matter if that fails.
func (l *ledger) noteFailure(ctx context.Context, r *table.Entity[part], err error) {
	r.Value.Attempts++
	r.Value.Error, r.Value.Failed = fmt.Sprintf("%.1000s", err), time.Now().UTC()
	_ = l.parts.Replace(ctx, r)
}

// next returns a new version of a range, for what is left of it.
func (s *Slice[T]) next(left span, weight float64) part {
	p := *s.part
	p.setSpan(left)
	p.Version++
	p.Depth++
	p.Next, p.Attempts, p.Error, p.Whole = "", 0, "", false
	p.Passed, p.Weight = p.Passed+p.Weight-weight, weight
	return p
}

// left returns what is behind the last piece that was passed.
func (s *Slice[T]) left() span {
	of := s.part.span()
	switch pk := s.at.PartitionKey(); {
	case s.passed == nowhere:
		return of
	case of.Within != nil:
		of.From = behind(s.at.RowKey())
		return of
	case s.passed == atRow:
		return span{Head: &pk, HeadFrom: behind(s.at.RowKey()), From: behind(pk), To: of.To}
	}
	return span{From: behind(s.at.PartitionKey()), To: of.To}
}

// storeLeft stores what is left as two ranges, if it can be halved and not too many are open.
func storeLeft[T any](ctx context.Context, s *Slice[T], most int, r *table.Entity[part], rows bool) (bool, error) {
	of, some, err := s.trim(ctx, s.left())
	if err != nil {
		return false, err
	}
	if !some {
		return s.ledger.storeDone(ctx, s.part, r)
	}
	stuck := s.passed == nowhere
	n, err := s.ledger.countOpen(ctx, s.Job)
	if err != nil {
		return false, err
	}
	left, whole := []span{of}, false
	if n < most || stuck {
		left, whole, err = s.halve(ctx, of, stuck && rows)
	}
	if err != nil {
		return false, err
	}
	return s.store(ctx, r, left, stuck && whole)
}

// store stores what is left of a range, one or two spans. whole says that no slice of it can end before it does.
func (s *Slice[T]) store(ctx context.Context, r *table.Entity[part], left []span, whole bool) (bool, error) {
	weight := s.part.Weight
	if s.passed != nowhere {
		weight *= 1 - s.passedShare()
	}
	next := s.next(left[0], weight)
	next.Whole = whole
	if len(left) == 1 {
		return s.ledger.replace(ctx, r, next)
	}
	second := part{Kind: next.Kind, Name: next.Name, ID: s.ledger.newID(next.Depth), Start: next.Start, Depth: next.Depth, Weight: weight / 2}
	second.setSpan(left[1])
	next.Next, next.Weight = second.ID, second.Weight
	return s.ledger.replace(ctx, r, next, second)
}

// passedShare returns which part of the range is finished, by the keys.
func (s *Slice[T]) passedShare() float64 {
	if of := s.part.span(); of.Within == nil {
		return share(of.From, s.at.PartitionKey(), of.To)
	}
	return share(s.part.From, s.at.RowKey(), s.part.To)
}

// trim lets a span begin with its first key, and reports whether there is one. 1 request, or 2.
func (s *Slice[T]) trim(ctx context.Context, of span) (_ span, some bool, err error) {
	k, some, err := s.first(ctx, of)
	switch {
	case err != nil:
	case some:
		of.From = k
	case of.Head != nil: // its rows are all that is left
		return s.trim(ctx, span{Within: of.Head, From: of.HeadFrom})
	}
	return of, some, err
}

// halve returns the halves of a span that begins with a key, or says that it cannot be divided. If it is a single partition, and rows is set, that is halved by
// its rows.
func (s *Slice[T]) halve(ctx context.Context, of span, rows bool) (left []span, whole bool, err error) {
	if rows && of.Head != nil {
		return []span{{Within: of.Head, From: of.HeadFrom}, {From: of.From, To: of.To}}, false, nil
	}
	if rows && of.Within == nil {
		_, more, err := s.first(ctx, span{From: behind(of.From), To: of.To})
		if err != nil {
			return nil, false, err
		}
		if !more {
			return s.halveRows(ctx, of.From)
		}
	}
	return halves(ctx, of, s.first)
}

// halveRows returns the halves of a partition.
func (s *Slice[T]) halveRows(ctx context.Context, pk string) (left []span, whole bool, err error) {
	of, some, err := s.trim(ctx, span{Within: &pk})
	if err != nil || !some {
		return []span{of}, true, err
	}
	return halves(ctx, of, s.first)
}

// first returns the first PartitionKey of a span, or the first RowKey of an entity in a span of rows, and whether there is one. 1 request.
func (s *Slice[T]) first(ctx context.Context, of span) (string, bool, error) {
	if of.Within == nil {
		for pk, err := range s.Table.PartitionsIn(ctx, keys.RawPartitions(of.From, of.To)) {
			return pk.String(), err == nil, err
		}
		return "", false, nil
	}
	q := table.Query[T]{Partition: keys.Stored(*of.Within, "").Partition(), Rows: s.entities(of.From, of.To), Limit: 1}
	if q.Rows.IsEmpty() {
		return "", false, nil
	}
	for row, err := range s.Table.Rows(ctx, q) {
		if err != nil {
			return "", false, err
		}
		return row.Key.RowKey(), true, nil
	}
	return "", false, nil
}
