package table

import (
	"cmp"
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Partitions yields the distinct PartitionKeys of the table, in their order, that lie in the range of the schema's layout;
// which types of rows they hold is not looked at. It jumps from one partition to the next without reading what lies
// between: 1 request for each partition, and 1 to find that there are no more.
//
// Errors: ErrTableNotFound, and those of any read.
func (t *Table[T]) Partitions(ctx context.Context) iter.Seq2[keys.Enc, error] {
	return t.PartitionsAfter(ctx, keys.Enc{})
}

// PartitionsAfter is Partitions from behind a PartitionKey on, where work on a table is taken up again; an unset one is before all.
func (t *Table[T]) PartitionsAfter(ctx context.Context, after keys.Enc) iter.Seq2[keys.Enc, error] {
	return func(yield func(keys.Enc, error) bool) {
		var err error
		ctx, end := t.span(ctx, "Partitions")
		defer func() { end(err) }()
		all := t.schema.Partition.Range()
		if !all.IsSet() {
			all = everyRow
		}
		var last *string
		if after.IsSet() {
			s, rerr := after.Result()
			if err = rerr; err != nil {
				err = t.opError("Partitions", keys.Key{}, err)
				yield(keys.Enc{}, err)
				return
			}
			last = &s
		}
		for {
			var f filter[T]
			f.partitions(all, last)
			p := &pager[T]{t: t, filter: f.b.String(), choice: edm.PartitionKey + "," + edm.RowKey, stats: new(Stats), at: new(position)}
			before := last
			if last, err = p.first(ctx); err == nil && last != nil && before != nil && keys.Compare(*last, *before) <= 0 {
				err = errBackwards
			}
			if err != nil {
				err = t.readError(ctx, "Partitions", keys.Key{}, err)
				yield(keys.Enc{}, err)
				return
			}
			if last == nil || !yield(keys.Stored(*last, "").Partition(), nil) {
				return
			}
		}
	}
}

// partitions is the range of PartitionKeys behind the last one.
func (f *filter[T]) partitions(all keys.Range, last *string) {
	from, to, closed := all.Bounds()
	switch {
	case last != nil && keys.Compare(*last, from) >= 0:
		f.key(edm.PartitionKey, "gt", *last)
	case from != "":
		f.key(edm.PartitionKey, "ge", from)
	}
	f.below(edm.PartitionKey, all, to, closed)
}

var errBackwards = &DecodeError{Field: edm.PartitionKey, Reason: "is not behind the one that the request begins behind, so the list would never end"}

// first returns the PartitionKey of the first row that comes, nil if none does. Empty pages are followed by the next.
func (p *pager[T]) first(ctx context.Context) (pk *string, err error) {
	for !p.at.done {
		body, err := p.page(ctx, 1)
		if err != nil {
			return nil, err
		}
		r := edm.NewReader(body)
		if err := r.Page(func(in edm.Entity) bool { pk = &in.PartitionKey; return false }); err != nil || pk != nil {
			return pk, err
		}
		p.turn()
	}
	return nil, nil
}

// EachPartition calls f for each partition of the table, several at a time: each partition has its own share of the servers, so work
// on a whole table gets faster with the number of partitions. At most width calls run at the same time, 10 if width is 0. The first
// error cancels the contexts of the other calls, and is returned when they have ended.
//
// Requests: those of [Table.Partitions], and of f.
func (t *Table[T]) EachPartition(ctx context.Context, width int, f func(context.Context, keys.Enc) error) error {
	if width <= 0 {
		width = fanOut
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(width)
	for pk, err := range t.Partitions(ctx) {
		g.Go(func() error {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			return f(ctx, pk)
		})
	}
	return g.Wait()
}
