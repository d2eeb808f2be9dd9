package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/split"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// execute works on a range for a slice of time, and stores what is left of it.
func (j *bound) execute(ctx context.Context, of extend.Job, d due) error {
	for {
		if d.Range == "" {
			return j.ledger.startAgain(ctx, of.Key.Partition(), d.Version)
		}
		h, r, err := j.ledger.read(ctx, of.Key.Partition(), d.Range)
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

// slice works on a range, and reports whether the end of the slice is stored, or its error noted.
// Otherwise another worker has stored one.
func (j *bound) slice(ctx context.Context, h *head, r *table.Entity[part]) (stored bool, err error) {
	arg, err := j.decode(h.Arg)
	if err != nil {
		return false, eventual.Poison(fmt.Errorf("the argument of the job %q is no %T: %w", h.Name, arg, err))
	}
	if err := j.waitsForRate(ctx, h); err != nil {
		return false, err
	}
	ctx = engine.Impatient(ctx) // another worker goes on
	s, err := newSlice(ctx, j, h, &r.Value)
	if err != nil {
		return false, eventual.Poison(err)
	}
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
		return s.storeLeft(ended, h.Open, r, j.isByRows(arg))
	case s.passed == nowhere && (ctx.Err() != nil || errors.Is(err, errUnknown)): // which is no attempt
		return true, err
	case s.passed == nowhere:
		j.ledger.noteFailure(ended, r, err)
		return true, err
	}
	// The next slice begins with the piece that has failed.
	stored, failed := s.store(ended, r, []split.Span{s.left()}, false)
	if failed != nil {
		failed = errors.Join(err, failed)
	}
	return stored, failed
}

// work calls the work of a slice: for the rest of a first partition, and then for the partitions
// behind.
func (s *slice) work(ctx context.Context, f func() error) error {
	of := s.part.span()
	if of.Head == nil {
		return s.unlessEmpty(f)
	}
	behind := s.partitions
	s.partitions, s.rows = keys.Raw(*of.Head, "").Partition().Point(), s.entities(of.HeadFrom, "")
	if err := s.unlessEmpty(f); err != nil {
		return err
	}
	if err := s.passPartition(ctx, keyrange.Partition(s.partitions)); err != nil {
		return err
	}
	s.partitions, s.rows = behind, keys.RowRange{}
	return s.unlessEmpty(f)
}

// unlessEmpty calls f if the slice has keys that an entity may have.
func (s *slice) unlessEmpty(f func() error) error {
	if s.partitions.IsEmpty() || s.rows.IsEmpty() {
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
func (s *slice) entities(from, to string) keys.RowRange {
	return door.Table(s.table).Mode.Schema.Rows().Intersect(keys.RawRows(from, to))
}

// endTimeout bounds the requests at the end of a slice.
const endTimeout = 30 * time.Second

// waitsForRate returns an error that defers the message if the rate of the job is used up for
// longer than a moment.
func (j *bound) waitsForRate(ctx context.Context, h *head) error {
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

// shortSlices is how many slices after one another last a second, so that there is soon work for
// all workers.
const shortSlices = 5

func newSlice(ctx context.Context, j *bound, h *head, r *part) (*slice, error) {
	counted := *r
	s := &slice{
		table: j.table, typed: j.typed, byRows: j.byRows, ledger: j.ledger,
		job: h.Name, began: h.Began, rate: h.Rate, part: &counted, looks: time.Now().Add(lookEvery),
	}
	of := r.span()
	if of.Within == nil {
		s.partitions = keys.RawPartitions(of.From, of.To)
	} else {
		s.partitions = keys.Raw(*of.Within, "").Partition().Point()
		s.rows = s.entities(of.From, of.To)
	}
	if err := cmp.Or(s.partitions.Err(), s.rows.Err()); err != nil {
		return nil, err
	}
	length := min(h.Slice, time.Second<<min(max(r.Depth-shortSlices, 0), 20))
	if r.Whole && j.ledger.last == nil { // else what is done of a partition is not done again
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

// replace stores a range, and perhaps another one besides, unless another worker has stored a
// version.
func (l *ledger) replace(ctx context.Context, r *table.Entity[part], next part, more ...part) (stored bool, err error) {
	ctx, end := l.span(ctx, "Replace")
	defer func() { end(err) }()
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
	now, err := get(ctx, l.parts, r.Key)
	if err != nil || now == nil || now.Value.Version != version || now.Value.Done {
		return false, err
	}
	return l.replace(ctx, now, next, more...)
}

// noteFailure notes why a slice has failed, for Status. It does not matter if that fails.
func (l *ledger) noteFailure(ctx context.Context, r *table.Entity[part], err error) {
	r.Value.Attempts++
	r.Value.Error, r.Value.Failed = fmt.Sprintf("%.1000s", err), l.now()
	_ = l.parts.Replace(ctx, r)
}

// next returns a new version of a range, for what is left of it.
func (s *slice) next(left split.Span, weight float64) part {
	p := *s.part
	p.setSpan(left)
	p.Version++
	p.Depth++
	p.Next, p.Attempts, p.Error, p.Whole = "", 0, "", false
	p.Passed, p.Weight = p.Passed+p.Weight-weight, weight
	return p
}

// left returns what is behind the last piece that was passed.
func (s *slice) left() split.Span {
	of, pk := s.part.span(), s.at.PartitionKey()
	switch {
	case s.passed == nowhere:
		return of
	case of.Within != nil:
		of.From = split.Behind(s.at.RowKey())
		return of
	case s.passed == atRow:
		return split.Span{Head: &pk, HeadFrom: split.Behind(s.at.RowKey()), From: split.Behind(pk), To: of.To}
	}
	return split.Span{From: split.Behind(pk), To: of.To}
}

// storeLeft stores what is left as two ranges, if it can be halved and not too many are open.
func (s *slice) storeLeft(ctx context.Context, most int, r *table.Entity[part], rows bool) (bool, error) {
	of, some, err := s.trim(ctx, s.left())
	if err != nil {
		return false, err
	}
	if !some {
		return s.ledger.storeDone(ctx, s.part, r)
	}
	stuck := s.passed == nowhere
	n, err := s.ledger.countOpen(ctx, s.job)
	if err != nil {
		return false, err
	}
	left, whole := []split.Span{of}, false
	if n < most || stuck {
		left, whole, err = s.halve(ctx, of, stuck && rows)
	}
	if err != nil {
		return false, err
	}
	return s.store(ctx, r, left, stuck && whole)
}

// store stores what is left of a range, one or two spans. whole says that no slice of it can end
// before it does.
func (s *slice) store(ctx context.Context, r *table.Entity[part], left []split.Span, whole bool) (bool, error) {
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
func (s *slice) passedShare() float64 {
	if of := s.part.span(); of.Within == nil {
		return split.Share(of.From, s.at.PartitionKey(), of.To)
	}
	return split.Share(s.part.From, s.at.RowKey(), s.part.To)
}

// trim lets a span begin with its first key, and reports whether there is one. 1 request, or 2.
func (s *slice) trim(ctx context.Context, of split.Span) (_ split.Span, some bool, err error) {
	k, some, err := s.first(ctx, of)
	switch {
	case err != nil:
	case some:
		of.From = k
	case of.Head != nil: // its rows are all that is left
		return s.trim(ctx, split.Span{Within: of.Head, From: of.HeadFrom})
	}
	return of, some, err
}

// halve returns the halves of a span that begins with a key, or says that it cannot be divided. If
// it is a single partition, and rows is set, that is halved by its rows.
func (s *slice) halve(ctx context.Context, of split.Span, rows bool) (left []split.Span, whole bool, err error) {
	if rows && of.Head != nil {
		return []split.Span{{Within: of.Head, From: of.HeadFrom}, {From: of.From, To: of.To}}, false, nil
	}
	if rows && of.Within == nil {
		_, more, err := s.first(ctx, split.Span{From: split.Behind(of.From), To: of.To})
		if err != nil {
			return nil, false, err
		}
		if !more {
			return s.halveRows(ctx, of.From)
		}
	}
	return split.Halves(ctx, of, s.first)
}

// halveRows returns the halves of a partition.
func (s *slice) halveRows(ctx context.Context, pk string) (left []split.Span, whole bool, err error) {
	of, some, err := s.trim(ctx, split.Span{Within: &pk})
	if err != nil || !some {
		return []split.Span{of}, true, err
	}
	return split.Halves(ctx, of, s.first)
}

// first returns the first PartitionKey of a span, or the first RowKey of an entity in a span of
// rows, and whether there is one. 1 request.
func (s *slice) first(ctx context.Context, of split.Span) (string, bool, error) {
	if of.Within == nil {
		list := s.table.Partitions(ctx, keys.RawPartitions(of.From, of.To))
		if s.ledger.last != nil { // work on rows of all types
			list = door.Rows[table.Table[table.Row]](door.Table(s.table), false).Partitions(ctx, keys.RawPartitions(of.From, of.To))
		}
		for pk, err := range list {
			return pk.String(), err == nil, err
		}
		return "", false, nil
	}
	q := table.Query[table.Row]{Partition: keys.Raw(*of.Within, "").Partition(), Rows: s.entities(of.From, of.To), Limit: 1}
	if q.Rows.IsEmpty() {
		return "", false, nil
	}
	for row, err := range s.table.Rows(ctx, q) {
		if err != nil {
			return "", false, err
		}
		return row.Key.RowKey(), true, nil
	}
	return "", false, nil
}
