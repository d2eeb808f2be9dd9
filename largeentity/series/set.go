package series

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/table"
)

// Set stores the value of the slot of a time, whether the entity exists or not, and leaves all other slots alone. Concurrent
// writers of other slots do not conflict. Of two writers of one slot, the last one wins.
//
// Errors: *keys.KeyError for a time outside the years 1 to 9999, or a wrong key; *table.ValueError for NaN and infinity;
// table.ErrTableNotFound; table.ErrUnknownOutcome, after which Set can be called again. 1 request. Idempotent.
func (s *Series[V]) Set(ctx context.Context, at time.Time, v V) error {
	entities, err := group(s, func(yield func(time.Time, V) bool) { yield(at, v) }, nil)
	if err != nil {
		return s.wrap("Set", err)
	}
	row, err := entities[0].row()
	if err != nil {
		return s.wrap("Set", err)
	}
	_, err = s.rows.UpsertAt(ctx, entities[0].key, row, table.MergeExisting)
	return err
}

// SetAll stores many values, each as [Series.Set] does:
//
//	err := visits.SetAll(ctx, maps.All(map[time.Time]int64{monday: 17, tuesday: 9}))
//
// The values of one period are one entity, or a few ([Every]). Up to 100 entities are stored together, or none of them; with
// [Series.Exact], 99. Errors: those of Set and of [bulk.Run]; *table.ValueError for two values of one slot. Requests: 1 for each
// 100 entities. Idempotent: after an error, call SetAll again.
func (s *Series[V]) SetAll(ctx context.Context, values iter.Seq2[time.Time, V]) error {
	entities, err := group(s, values, func(slot Slot, _, _ V) (V, error) {
		return 0, &table.ValueError{Property: true, Field: slot.Name, Reason: "has two values for " + slot.From.Format(time.RFC3339)}
	})
	if err != nil {
		return s.wrap("SetAll", err)
	}
	_, err = bulk.Run(ctx, func(yield func(table.Op, error) bool) {
		for _, e := range entities {
			row, err := e.row()
			if err != nil {
				yield(table.Op{}, s.wrap("SetAll", err))
				return
			}
			if !yield(s.rows.UpsertAtOp(e.key, row, table.MergeExisting), nil) {
				return
			}
		}
	}, nil)
	return err
}
