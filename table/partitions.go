package table

import (
	"cmp"
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Partitions yields the distinct PartitionKeys of the table in the range of the schema's layout, in their order, whatever types of
// rows they contain. It jumps from one partition to the next without reading the rows between. Errors: ErrTableNotFound; those of
// any read. 1 request for each partition, and 1 to find that there are no more.
func (t *Table[T]) Partitions(ctx context.Context) iter.Seq2[keys.Enc, error] {
	return t.h.partitionsAfter(ctx, keys.Enc{})
}

// PartitionsAfter is Partitions for the PartitionKeys behind one, to continue work on a table. An unset key is before all others.
func (t *Table[T]) PartitionsAfter(ctx context.Context, after keys.Enc) iter.Seq2[keys.Enc, error] {
	return t.h.partitionsAfter(ctx, after)
}

//go:noinline
func (h handle) partitionsAfter(ctx context.Context, after keys.Enc) iter.Seq2[keys.Enc, error] {
	return func(yield func(keys.Enc, error) bool) {
		all := h.shape.partition.all
		if !all.IsSet() {
			all = engine.EveryKey
		}
		var last *string
		if after.IsSet() {
			s, err := after.Result()
			if err != nil {
				yield(keys.Enc{}, h.opError("Partitions", keys.Key{}, err))
				return
			}
			last = &s
		}
		err := h.engine.Partitions(ctx, all, last, func(pk string) bool {
			return yield(keys.Stored(pk, "").Partition(), nil)
		})
		if err != nil {
			yield(keys.Enc{}, public(err))
		}
	}
}

// EachPartition calls f for each partition of the table, several at a time: each partition has its own share of the servers, so
// work on a whole table gets faster with the number of partitions. At most width calls run at the same time, 10 if width is 0. The
// first error cancels the contexts of the other calls, and is returned when they have ended.
//
// Requests: those of [Table.Partitions], and of f.
func (t *Table[T]) EachPartition(ctx context.Context, width int, f func(context.Context, keys.Enc) error) error {
	return t.h.eachPartition(ctx, width, f)
}

func (h handle) eachPartition(ctx context.Context, width int, f func(context.Context, keys.Enc) error) error {
	if f == nil {
		return h.opError("EachPartition", keys.Key{}, nilArgument("f"))
	}
	if width <= 0 {
		width = engine.FanOut
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(width)
	for pk, err := range h.partitionsAfter(ctx, keys.Enc{}) {
		g.Go(func() error {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			return f(ctx, pk)
		})
	}
	return g.Wait()
}
