package series

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Set stores the value of the slot of a time, whether the entity exists or not, and leaves all
// other slots alone. Concurrent writers of other slots do not conflict. Of two writers of one slot,
// the last one wins.
//
// Errors: *keys.KeyError for a time outside the years 1 to 9999, or a wrong key; *table.ValueError
// for NaN and infinity; table.ErrUnknownOutcome, after which Set can be called again;
// table.ErrNotCreated and the other errors of a write (see package table). 1 request. Idempotent.
func (s *Series[V]) Set(ctx context.Context, at time.Time, v V) error {
	entities, err := group(s, func(yield func(time.Time, V) bool) { yield(at, v) }, nil)
	if err != nil {
		return s.wrap("Set", err)
	}
	row, err := entities[0].row()
	if err != nil {
		return s.wrap("Set", err)
	}
	_, err = s.rows.Upsert(ctx, row, table.MergeExisting)
	return err
}

// SetAll stores many values, each as [Series.Set] does:
//
//	err := visits.SetAll(ctx, maps.All(map[time.Time]int64{monday: 17, tuesday: 9}))
//
// The values of one period are one entity, or a few ([Every]). Up to 100 entities are stored
// together, or none of them; with [Series.Exact], 99. Errors: *keys.KeyError for a time outside the
// years 1 to 9999, or a wrong key; *table.ValueError for NaN, for infinity and for two values of
// one slot; *table.BatchError around table.ErrUnknownOutcome, table.ErrNotCreated or another error
// of a write (see package table). Requests: 1 for each 100 entities. Idempotent: after an error,
// call SetAll again.
func (s *Series[V]) SetAll(ctx context.Context, values iter.Seq2[time.Time, V]) error {
	entities, err := group(s, values, func(slot Slot, _, _ V) (V, error) {
		return 0, &table.ValueError{Property: true, Field: slot.Name, Reason: "has two values for " + slot.From.Format(time.RFC3339)}
	})
	if err != nil {
		return s.wrap("SetAll", err)
	}
	_, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for _, e := range entities {
			row, err := e.row()
			if err != nil {
				yield(table.Op{}, s.wrap("SetAll", err))
				return
			}
			if !yield(s.rows.UpsertOp(row, table.MergeExisting), nil) {
				return
			}
		}
	}, nil)
	return err
}

// Add adds to the value of the slot of a time, and returns the sum. An absent slot counts as 0. Add
// reads the entity and writes it by its ETag. After a conflict with a concurrent writer of any slot
// of the entity, Add reads and writes again, until Common.WriteTimeout is over, and at most
// Retry.ConflictAttempts times.
//
// An increment is applied once, or not at all, also if a response is lost. Not idempotent: call Add
// again only after an error that is not table.ErrUnknownOutcome. After that error, the increment
// may have been applied. [Series.Exact] resolves such outcomes.
//
// Errors:
//   - table.ErrUnknownOutcome
//   - table.ErrChanged or table.ErrExists if each attempt met a conflict
//   - *table.ValueError for NaN and infinity, and if the sum exceeds V
//   - *table.DecodeError if the stored value is no V
//   - *keys.KeyError for a time outside the years 1 to 9999, or a wrong key
//   - errors of a read and of a write (see package table)
//
// 2 requests: 1 read and 1 write; 3 more after each conflict.
func (s *Series[V]) Add(ctx context.Context, at time.Time, v V) (V, error) {
	slot, err := s.slots.At(at)
	if err != nil {
		return 0, s.wrap("Add", err)
	}
	sums, err := s.add(ctx, "Add", func(yield func(time.Time, V) bool) { yield(at, v) })
	if err != nil {
		return 0, err
	}
	return sums[0].values[slot.Name], nil
}

// AddAll adds to many slots, as [Series.Add] does, all or nothing: a program that counts in memory
// calls it now and then, in place of one Add for each event. Values of one slot are added up.
//
// Errors:
//   - table.ErrUnknownOutcome
//   - *table.LimitError for values of more than 100 entities, or 99 with [Series.Exact]
//   - table.ErrChanged or table.ErrExists if each attempt met a conflict
//   - *table.ValueError for NaN and infinity, and if a sum exceeds V
//   - *table.DecodeError if a stored value is no V
//   - *keys.KeyError for a time outside the years 1 to 9999, or a wrong key
//   - errors of a read and of a write (see package table)
//
// Requests: those of Add; if the values are of several entities, 1 read for each 1,000 entities
// from the first one to the last.
func (s *Series[V]) AddAll(ctx context.Context, values iter.Seq2[time.Time, V]) error {
	_, err := s.add(ctx, "AddAll", values)
	return err
}

// add adds values, and returns what is stored then.
func (s *Series[V]) add(ctx context.Context, method string, values iter.Seq2[time.Time, V]) (sums []entity[V], err error) {
	entities, err := group(s, values, func(slot Slot, a, b V) (V, error) { return sum(slot.Name, a, b) })
	if err != nil {
		return nil, s.wrap(method, err)
	}
	switch n := len(entities); {
	case n == 0:
		return nil, nil
	case n > s.most:
		return nil, s.wrap(method, &table.LimitError{Field: "values", Limit: "entities", Got: n, Max: s.most})
	}
	ctx, end := door.Table(s.rows).Span(ctx, method)
	defer func() { end(err) }()
	err = door.Table(s.rows).RepeatLost(ctx, method, s.partition, func(ctx context.Context) error {
		rows, err := s.read(ctx, entities)
		if err != nil {
			return err
		}
		sums = sums[:0]
		var ops []table.Op
		for _, e := range entities {
			stored := rows[e.key.RowKey()]
			after, err := e.plus(stored)
			var op table.Op
			if err == nil {
				op, err = after.write(s.rows, stored)
			}
			if err != nil {
				return &table.OpError{Op: method, Table: s.rows.Name(), Key: e.key, Err: err}
			}
			ops = append(ops, op)
			sums = append(sums, after)
		}
		_, err = table.Transact(ctx, ops...)
		return err
	})
	return sums, err
}

// read reads the stored rows of entities, by their RowKeys.
func (s *Series[V]) read(ctx context.Context, entities []entity[V]) (map[string]*table.Entity[table.Row], error) {
	first, last := entities[0].key, entities[len(entities)-1].key
	if len(entities) == 1 {
		e, err := s.rows.Get(ctx, first)
		if errors.Is(err, table.ErrNotFound) {
			return nil, nil
		}
		return map[string]*table.Entity[table.Row]{first.RowKey(): e}, err
	}
	stored := map[string]*table.Entity[table.Row]{}
	q := table.Query[table.Row]{Partition: s.partition, Rows: keys.RawRows(first.RowKey(), last.RowKey()+"~")}
	for e, err := range s.rows.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		stored[e.Key.RowKey()] = e
	}
	return stored, nil
}

// plus returns the entity with the values added to the values of a stored row, nil for none.
func (e entity[V]) plus(stored *table.Entity[table.Row]) (entity[V], error) {
	sums := entity[V]{e.key, map[string]V{}}
	for name, v := range e.values {
		if stored != nil {
			if x, present := stored.Value.Get(name); present {
				before, err := number[V](name, x)
				if err != nil {
					return sums, err
				}
				if v, err = sum(name, before, v); err != nil {
					return sums, err
				}
			}
		}
		sums.values[name] = v
	}
	return sums, nil
}

// write returns the operation that stores the values, by the ETag of the stored row, nil for none.
func (e entity[V]) write(rows *table.Table[table.Row], stored *table.Entity[table.Row]) (table.Op, error) {
	if stored == nil {
		row, err := e.row()
		return rows.InsertOp(row), err
	}
	var changes []table.Set[table.Row]
	for _, name := range e.names() {
		x, err := property(name, e.values[name])
		if err != nil {
			return table.Op{}, err
		}
		changes = append(changes, change(name, x))
	}
	return rows.MergeOp(stored, changes...), nil
}

// Delete deletes the entities of the periods that lie between from and to as a whole, with all of
// their slots and other properties; see [table.Bulk]. A zero from is no bound.
//
//	done, err := visits.Delete(ctx, time.Time{}, time.Now().AddDate(-1, 0, 0), nil)
//
// It uses Concurrency, Rate, Skip and Progress of the pass, which may be nil, as [table.Bulk] does.
// A value that is stored later makes a new entity.
//
// Errors:
//   - *table.ValueError for a zero to, or a field of the pass that is wrong or not used
//   - *keys.KeyError for a time outside the years 1 to 9999, or a wrong key
//   - *table.BatchError around table.ErrUnknownOutcome, table.ErrChanged or another error of a
//     write (see package table)
//   - errors of a read
//
// Requests: 1 for each 1,000 entities to read their keys, and 1 for each 100. Idempotent: after an
// error, call Delete again.
func (s *Series[V]) Delete(ctx context.Context, from, to time.Time, pass *table.Pass) (table.Progress, error) {
	if from.IsZero() {
		from = startOf(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), s.slots.zone)
	}
	if to.IsZero() {
		return table.Progress{}, s.wrap("Delete", noBound("to"))
	}
	if !from.Before(to) {
		return table.Progress{}, nil
	}
	q, _, _, err := s.query(from, to)
	if err != nil {
		return table.Progress{}, s.wrap("Delete", err)
	}
	return s.deleteAll(ctx, q, from, to, pass)
}

// Prune is Delete for the entities before a time in a range of partitions, or in all if it is
// unset:
//
//	done, err := visits.Prune(ctx, keys.PartitionRange{}, time.Now().AddDate(-1, 0, 0), nil)
//
// It is about the series that [Series.Of] names, or the one without a key, in each partition.
// Errors: those of Delete; *keys.KeyError for an invalid range. Requests: 1 for each 1,000 entities
// that are found, more if the partitions have many other rows, which the service scans; and 1 for
// each 100 of a partition. Idempotent: after an error, call Prune again.
func (s *Series[V]) Prune(ctx context.Context, in keys.PartitionRange, before time.Time, pass *table.Pass) (table.Progress, error) {
	if before.IsZero() {
		return table.Progress{}, s.wrap("Prune", noBound("before"))
	}
	from := startOf(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), s.slots.zone)
	if !from.Before(before) {
		return table.Progress{}, nil
	}
	q, _, _, err := s.In(keys.RawPartition("any")).query(from, before)
	if err == nil && in.IsSet() {
		err = in.Err()
	}
	if err != nil {
		return table.Progress{}, s.wrap("Prune", err)
	}
	q.Partition, q.Partitions, q.TableScan = keys.PartitionKey{}, in, !in.IsSet()
	return s.deleteAll(ctx, q, from, before, pass)
}

// deleteAll deletes the entities that a query finds and that are of periods which lie in a range as
// a whole.
func (s *Series[V]) deleteAll(ctx context.Context, q table.Query[table.Row], from, to time.Time, pass *table.Pass) (table.Progress, error) {
	ctx = engine.Enduring(ctx)
	return tabledoor.DeleteAll(ctx, func(yield func(table.Op, error) bool) {
		for op, err := range tabledoor.DeleteOps(ctx, s.rows, q) {
			if err == nil && !s.isWithin(door.Op(op).Key.RowKey(), from, to) {
				continue
			}
			if !yield(op, err) || err != nil {
				return
			}
		}
	}, pass)
}

// isWithin reports whether an entity is one of the series, and of a period that lies in a range as
// a whole.
func (s *Series[V]) isWithin(rowKey string, from, to time.Time) bool {
	p, _, is := s.parse(rowKey)
	if !is {
		return false
	}
	begins, ends := s.slots.bounds(p)
	return !begins.Before(from) && !ends.After(to)
}
