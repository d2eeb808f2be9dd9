package logtail

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/table"
)

// tables are the tables of a log: one, or one for each period.
type tables[T any] struct {
	name    string   // of the table; by period, the prefix
	periods *Periods // nil for one table
	open    func(name string) (*table.Table[T], error)

	mu     sync.Mutex
	opened map[string]*table.Table[T]
}

// maxOpened is the most handles that are kept.
const maxOpened = 100

// at returns the table of the records of a time.
func (s *tables[T]) at(t time.Time) (*table.Table[T], error) {
	name := s.name
	if s.periods != nil {
		name = s.periods.tableName(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.opened[name]; h != nil {
		return h, nil
	}
	h, err := s.open(name)
	if err != nil {
		return nil, err
	}
	if s.opened == nil || len(s.opened) == maxOpened {
		s.opened = map[string]*table.Table[T]{}
	}
	s.opened[name] = h
	return h, nil
}

// ensure makes the tables.
func (s *tables[T]) ensure(ctx context.Context) error {
	if s.periods != nil {
		_, err := s.periods.Create(ctx)
		return err
	}
	t, err := s.at(time.Time{})
	if err != nil {
		return err
	}
	return t.Ensure(ctx)
}

// keeps returns ErrPastRetention for a time whose table is dropped, or may be.
func (s *tables[T]) keeps(t time.Time) error {
	if s.periods == nil {
		return nil
	}
	if h := s.periods.Horizon(); t.Before(h) {
		return fmt.Errorf("%w: %s is before %s", ErrPastRetention, t.Format(time.RFC3339), h.Format(time.RFC3339))
	}
	return nil
}

// isEmpty reports whether an error of a read says that a period has no records.
func (s *tables[T]) isEmpty(err error) bool {
	return s.periods != nil && errors.Is(err, table.ErrTableNotFound)
}

// all returns the tables of a range of times, the newest first. They may not exist.
func (s *tables[T]) all(from, to time.Time) (all []*table.Table[T], err error) {
	if s.periods == nil {
		t, err := s.at(time.Time{})
		return []*table.Table[T]{t}, err
	}
	u := s.periods.opt.Unit
	for p := u.start(to.Add(-tick)); err == nil && u.add(p, 1).After(from); p = u.add(p, -1) {
		all, err = s.add(all, p)
	}
	return all, err
}

func (s *tables[T]) add(all []*table.Table[T], period time.Time) ([]*table.Table[T], error) {
	t, err := s.at(period)
	return append(all, t), err
}

// groups yields the tables with the records of a range, the newest first. The tables of a group are to be read at the same time. A
// log of one table has one group. By period, the first group has the newest tables: the present one, and those that begin before
// soon. Older tables are looked up when they are needed, and then more of them come with each group, at most so many.
func (s *tables[T]) groups(ctx context.Context, from, to, now, soon time.Time, most int) iter.Seq2[[]*table.Table[T], error] {
	return func(yield func([]*table.Table[T], error) bool) {
		if s.periods == nil {
			yield(s.all(from, to))
			return
		}
		from = nextTick(from)
		if h := s.periods.Horizon(); from.Before(h) {
			from = h
		}
		if !to.IsZero() {
			to = nextTick(to)
		}
		if to.IsZero() || soon.Before(to) {
			to = soon
		}
		if !from.Before(to) {
			return
		}
		newest := s.periods.opt.Unit.start(earlier(now, to.Add(-tick))) // the oldest of the first group
		if newest.Before(from) {
			newest = from
		}
		if !yield(s.all(newest, to)) || !from.Before(newest) {
			return
		}
		older, _, err := s.periods.open(ctx, from, newest)
		if err != nil {
			yield(nil, err)
			return
		}
		for n := 1; len(older) > 0; n = min(2*n, most) {
			n = min(n, len(older))
			var group []*table.Table[T]
			for i := len(older) - 1; i >= len(older)-n && err == nil; i-- {
				group, err = s.add(group, older[i])
			}
			if !yield(group, err) || err != nil {
				return
			}
			older = older[:len(older)-n]
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
