package table

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// EachPartition calls f for each partition of a table, several at a time: each partition has its
// own share of the servers, so work on a whole table gets faster with the number of partitions.
//
//	_, err := table.EachPartition(ctx, staff, nil, func(ctx context.Context, p keys.PartitionKey) error { … })
//
// The first error cancels the contexts of the other calls, and is returned when they have ended.
// Progress.Changed is the number of calls that succeeded, and Through the last partition whose
// call, and all calls for partitions before it, succeeded. The range Behind it is left to do after
// an error, also in another process.
//
// EachPartition uses Partitions, Concurrency (10 by default) and Progress of the pass, which may be
// nil. Errors: the first error of f; *ValueError if f is nil, or for another field of the pass;
// *keys.KeyError for an invalid range; errors of a read (see package table). Requests: 1 for each
// partition, 1 to find that there are no more, and the requests of f.
func EachPartition(
	ctx context.Context, t Handle, pass *Pass, f func(context.Context, keys.PartitionKey) error,
) (Progress, error) {
	if t == nil {
		return Progress{}, fmt.Errorf("table: EachPartition: %w", nilArgument("t"))
	}
	if err := engine.CheckHandle("t", t.engine()); err != nil {
		return Progress{}, fmt.Errorf("table: EachPartition: %w", err)
	}
	if pass == nil {
		pass = &Pass{}
	}
	err := checkPass(pass, "Partitions", "Concurrency")
	if err == nil && f == nil {
		err = nilArgument("f")
	}
	if err != nil {
		return Progress{}, t.engine().OpError("EachPartition", keys.Key{}, err)
	}
	return t.inner().h.eachPartition(engine.Enduring(ctx), pass, f)
}

func (h handle) eachPartition(
	ctx context.Context, pass *Pass, f func(context.Context, keys.PartitionKey) error,
) (Progress, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(pass.Concurrency, engine.FanOut))
	w := partitionWork{pass: pass}
	for pk, err := range h.partitionsIn(ctx, pass.Partitions) {
		w.done.Begin(pk)
		g.Go(func() error {
			err := cmp.Or(err, ctx.Err())
			if err == nil {
				err = f(ctx, pk)
			}
			if err == nil {
				w.finish(pk)
			}
			return err
		})
	}
	err := g.Wait()
	return w.progress, err
}

// partitionWork is a call of EachPartition.
type partitionWork struct {
	pass     *Pass
	done     engine.Finished[keys.PartitionKey]
	mu       sync.Mutex
	progress Progress
}

// finish notes that the call for a partition has succeeded.
func (w *partitionWork) finish(pk keys.PartitionKey) {
	w.done.Finish(pk)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.Changed++
	if through, some := w.done.Through(); some {
		w.progress.Through = keys.Raw(through.String(), "")
	}
	if w.pass.Progress != nil {
		w.pass.Progress(w.progress)
	}
}
