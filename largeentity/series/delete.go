package series

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/table"
)

// Delete deletes the entities of the periods that lie between from and to as a whole, with all of their slots and other properties;
// see [bulk.Run]. A zero from is no bound.
//
//	result, err := visits.Delete(ctx, time.Time{}, time.Now().AddDate(-1, 0, 0), nil)
//
// A value that is stored later makes a new entity. Errors: those of [bulk.Run]; those of [Series.Between] about the times and keys.
// Requests: 1 for each 1,000 entities to read their keys, and 1 for each 100. Idempotent: after an error, call Delete again.
func (s *Series[V]) Delete(ctx context.Context, from, to time.Time, o *bulk.Options) (bulk.Result, error) {
	if from.IsZero() {
		from = startOf(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), s.slots.zone)
	}
	if to.IsZero() {
		return bulk.Result{}, s.wrap("Delete", noBound("to"))
	}
	if !from.Before(to) {
		return bulk.Result{}, nil
	}
	q, _, _, err := s.query(from, to)
	if err != nil {
		return bulk.Result{}, s.wrap("Delete", err)
	}
	return bulk.Run(ctx, func(yield func(table.Op, error) bool) {
		for op, err := range s.rows.DeleteOps(ctx, q) {
			if err == nil && !s.isWithin(op.Engine().Key.RowKey(), from, to) {
				continue
			}
			if !yield(op, err) || err != nil {
				return
			}
		}
	}, o)
}

// isWithin reports whether an entity is one of the series, and of a period that lies in a range as a whole.
func (s *Series[V]) isWithin(rowKey string, from, to time.Time) bool {
	p, _, is := s.parse(rowKey)
	if !is {
		return false
	}
	begins, ends := s.slots.bounds(p)
	return !begins.Before(from) && !ends.After(to)
}
