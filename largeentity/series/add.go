package series

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Add adds to the value of the slot of a time, and returns the sum. An absent slot counts as 0. Add reads the entity and writes it by
// its ETag. After a conflict with a concurrent writer of any slot of the entity, Add reads and writes again, until
// Common.WriteTimeout is over, and at most Retry.ConflictAttempts times.
//
// An increment is applied once, or not at all, also if a response is lost. Not idempotent: call Add again only after an error that is
// not table.ErrUnknownOutcome. After that error, the increment may have been applied. [Series.Exact] resolves such outcomes.
// Errors: those of [Series.Set]; table.ErrChanged or table.ErrExists if each attempt met a conflict; *table.ValueError if the sum
// exceeds V; *table.DecodeError if the stored value is no V. 2 requests: 1 read and 1 write; 3 more after each conflict.
func (s *Series[V]) Add(ctx context.Context, at time.Time, v V) (V, error) {
	sums, err := s.add(ctx, "Add", func(yield func(time.Time, V) bool) { yield(at, v) })
	if err != nil {
		return 0, err
	}
	return sums[0], nil
}

// AddAll adds to many slots, as [Series.Add] does, all or nothing: a program that counts in memory calls it now and then, in place
// of one Add for each event. Values of one slot are added up. Errors: those of Add; *table.LimitError for values of more than 100
// entities, or 99 with [Series.Exact]. Requests: those of Add; if the values are of several entities, 1 read for each 1,000 entities
// from the first one to the last.
func (s *Series[V]) AddAll(ctx context.Context, values iter.Seq2[time.Time, V]) error {
	_, err := s.add(ctx, "AddAll", values)
	return err
}

// add adds values, and returns the sums of the slots in their order.
func (s *Series[V]) add(ctx context.Context, method string, values iter.Seq2[time.Time, V]) (sums []V, err error) {
	entities, err := group(s, values, func(slot Slot, a, b V) (V, error) { return sum(slot.Name, a, b) })
	if err != nil {
		return nil, s.wrap(method, err)
	}
	if len(entities) == 0 {
		return nil, nil
	}
	_, err = table.InPartition(ctx, s.partition, func(tx *table.Tx) error {
		stored, err := s.readIn(tx, entities)
		if err != nil {
			return err
		}
		sums = sums[:0]
		for _, e := range entities {
			op, more, err := e.increment(s.rows, stored[e.key.RowKey()])
			if err != nil {
				return s.wrap(method, err)
			}
			sums = append(sums, more...)
			tx.Do(op)
		}
		return nil
	})
	return sums, err
}

// readIn reads the stored rows of entities, by their RowKeys.
func (s *Series[V]) readIn(tx *table.Tx, entities []entity[V]) (map[string]*table.Entity[table.Row], error) {
	first, last := entities[0].key, entities[len(entities)-1].key
	if len(entities) == 1 {
		e, err := table.GetIn(tx, s.rows, first.Row())
		if errors.Is(err, table.ErrNotFound) {
			return nil, nil
		}
		return map[string]*table.Entity[table.Row]{first.RowKey(): e}, err
	}
	stored := map[string]*table.Entity[table.Row]{}
	for e, err := range table.ListIn(tx, s.rows, table.Query[table.Row]{Rows: keys.RawBetween(first.RowKey(), last.RowKey()+"~")}) {
		if err != nil {
			return nil, err
		}
		stored[e.Key.RowKey()] = e
	}
	return stored, nil
}

// increment returns the operation that adds the values to a stored row, nil for none, and the sums.
func (e entity[V]) increment(rows *table.Table[table.Row], stored *table.Entity[table.Row]) (op table.Op, sums []V, err error) {
	if stored == nil {
		for _, name := range e.names() {
			sums = append(sums, e.values[name])
		}
		row, err := e.row()
		if err != nil {
			return op, nil, err
		}
		return rows.InsertAtOp(e.key, row), sums, nil
	}
	var changes []table.Set[table.Row]
	for _, name := range e.names() {
		v := e.values[name]
		if x, present := stored.Value.Get(name); present {
			before, err := number[V](name, x)
			if err != nil {
				return op, nil, &table.OpError{Op: "Add", Table: rows.Name(), Key: e.key, Err: err}
			}
			if v, err = sum(name, before, v); err != nil {
				return op, nil, err
			}
		}
		x, err := property(name, v)
		if err != nil {
			return op, nil, err
		}
		changes, sums = append(changes, change(name, x)), append(sums, v)
	}
	return rows.MergeOp(stored, changes...), sums, nil
}
