package series

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Value is a slot with its value.
type Value[V Number] struct {
	Slot
	Value   V    // 0 if the slot is absent
	Present bool // whether the slot has a value
}

// Read returns all slots of the period of a time, in order: of a day, or of a year ([Days]).
// Errors: *table.DecodeError for a stored value that is no V; *keys.KeyError for a time outside the
// years 1 to 9999, or a wrong key; *table.ValueError or *table.LimitError for invalid Slots; errors
// of a read (see package table). 1 request.
func (s *Series[V]) Read(ctx context.Context, at time.Time) ([]Value[V], error) {
	p, err := s.slots.periodOf(at)
	if err != nil {
		return nil, s.wrap("Read", err)
	}
	from, to := s.slots.bounds(p)
	return table.Collect(s.list(ctx, "Read", from, to))
}

// Between yields the slots that begin at from or later and before to, in order. A slot that has no
// value is yielded as absent.
//
//	for v, err := range visits.Between(ctx, monday, sunday) { … }
//
// Other properties and other rows are left out. Errors: *table.DecodeError for a stored value that
// is no V; *table.ValueError for a zero time; *keys.KeyError for a time outside the years 1 to
// 9999, or a wrong key; errors of a read (see package table). Requests: 1 for each 1,000 entities,
// and other rows between them; none if from is not before to.
func (s *Series[V]) Between(ctx context.Context, from, to time.Time) iter.Seq2[Value[V], error] {
	var err error
	switch {
	case from.IsZero():
		err = noBound("from")
	case to.IsZero():
		err = noBound("to")
	case from.Before(to):
		return s.list(ctx, "Between", from, to)
	}
	return func(yield func(Value[V], error) bool) {
		if err != nil {
			yield(Value[V]{}, s.wrap("Between", err))
		}
	}
}

// list yields the slots that begin in a range that is not empty.
func (s *Series[V]) list(ctx context.Context, method string, from, to time.Time) iter.Seq2[Value[V], error] {
	return func(yield func(Value[V], error) bool) {
		q, first, last, err := s.query(from, to)
		if err != nil {
			yield(Value[V]{}, s.wrap(method, err))
			return
		}
		l := lister[V]{series: s, method: method, from: from, to: to, next: first, yield: yield}
		for e, err := range s.rows.List(ctx, q) {
			if err != nil {
				yield(Value[V]{}, err)
				return
			}
			p, number, is := s.parse(e.Key.RowKey())
			if !is {
				continue
			}
			if !l.yieldBefore(p) { // the entities of a period follow each other
				return
			}
			l.stored.add(p, number, &e.Value)
		}
		l.yieldBefore(s.slots.next(last))
	}
}

// lister yields the slots of a range, period by period.
type lister[V Number] struct {
	series   *Series[V]
	method   string // for errors
	from, to time.Time
	next     time.Time    // the period to yield next
	stored   storedPeriod // of the last entities that were read
	yield    func(Value[V], error) bool
}

// yieldBefore yields the slots of the periods before a time. It reports whether to go on.
func (l *lister[V]) yieldBefore(end time.Time) bool {
	for l.next.Before(end) {
		if !l.yieldPeriod() {
			return false
		}
		l.next = l.series.slots.next(l.next)
	}
	return true
}

// yieldPeriod yields the slots of the next period. It reports whether to go on: an error ends the
// list.
func (l *lister[V]) yieldPeriod() bool {
	for _, c := range l.series.slots.cells(l.next) {
		if c.From.Before(l.from) || !c.From.Before(l.to) {
			continue
		}
		v, err := valueOf[V](c, l.stored)
		if err != nil {
			l.yield(v, &table.OpError{Op: l.method, Table: l.series.rows.Name(), Key: l.series.keyOf(c), Err: err})
			return false
		}
		if !l.yield(v, nil) {
			return false
		}
	}
	return true
}

// storedPeriod is the properties of a period.
type storedPeriod struct {
	date       time.Time // the first
	properties map[place]any
}

// place is where a property is stored.
type place struct {
	entity int
	name   string
}

// add adds the properties of an entity, and removes properties of other periods.
func (p *storedPeriod) add(date time.Time, entity int, row *table.Row) {
	if !p.date.Equal(date) || p.properties == nil {
		*p = storedPeriod{date, map[place]any{}}
	}
	for name, x := range row.All() {
		p.properties[place{entity, name}] = x
	}
}

// valueOf returns the value of a cell.
func valueOf[V Number](c cell, stored storedPeriod) (Value[V], error) {
	x, present := stored.properties[place{c.entity, c.Name}]
	if !present || !stored.date.Equal(c.date) {
		return Value[V]{Slot: c.Slot}, nil
	}
	v, err := number[V](c.Name, x)
	return Value[V]{c.Slot, v, err == nil}, err
}

// query returns the query of the entities of a range that is not empty, and its first and last
// period.
func (s *Series[V]) query(from, to time.Time) (q table.Query[table.Row], first, last time.Time, err error) {
	if first, err = s.slots.periodOf(from); err != nil {
		return q, first, last, err
	}
	if last, err = s.slots.periodOf(to.Add(-1)); err != nil {
		return q, first, last, err
	}
	q.Partition = s.partition
	start, end := s.key(s.slots.rowKey(first, 0)), s.key(s.slots.rowKey(last, 0))
	q.Rows = keys.RawRows(start.RowKey(), end.RowKey()+"~")
	return q, first, last, cmp.Or(start.Err(), end.Err())
}

func noBound(name string) error {
	return &table.ValueError{Field: name, Reason: "is the zero time, which is no bound of a range of slots"}
}
