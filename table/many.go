package table

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/aztablekit/aztablekit/keys"
)

// fanOut is how many requests go out at a time: as many idle connections as the SDK's transport keeps for one host.
const fanOut = 10

// GetMany reads entities by their keys, 10 at a time, and yields them in the order of the keys. A row that does not exist is
// (nil, ErrNotFound), one that is not T's is (nil, ErrOtherType) or a *keys.KeyError, and the list goes on; any other error ends it. 1 request for each key. Not more than 40 entities are
// read ahead of the loop, and breaking out of it cancels what is under way.
//
// Errors: ErrNotFound; ErrOtherType; ErrTableNotFound; *DecodeError; *keys.KeyError for any key before the first request, and for rows
// whose keys do not agree with their fields.
func (t *Table[T]) GetMany(ctx context.Context, ks ...keys.Key) iter.Seq2[*Entity[T], error] {
	return func(yield func(*Entity[T], error) bool) {
		ctx, end := t.span(ctx, "GetMany")
		var err error
		defer func() { end(err) }()
		for _, k := range ks {
			if err = k.Err(); err != nil {
				err = t.opError("GetMany", k, err)
				yield(nil, err)
				return
			}
		}
		inOrder(ctx, ks, func(ctx context.Context, k keys.Key) (*Entity[T], error) {
			return t.get(ctx, "GetMany", k)
		}, func(e *Entity[T], gerr error) bool {
			if gerr != nil && !errors.Is(gerr, ErrNotFound) && !notMine(gerr) {
				err = gerr
				yield(nil, err)
				return false
			}
			return yield(e, gerr)
		})
	}
}

// notMine tells that a row is somebody else's.
func notMine(err error) bool {
	var ke *keys.KeyError
	return errors.Is(err, ErrOtherType) || errors.As(err, &ke)
}

// inOrder does work for each item, fanOut at a time, and hands out the results in the order of the items, until yield
// returns false. When it returns, nothing is under way any more.
func inOrder[X, R any](ctx context.Context, items []X, work func(context.Context, X) (R, error), yield func(R, error) bool) {
	type result struct {
		r   R
		err error
	}
	const ahead = 4 * fanOut
	var (
		wg      sync.WaitGroup
		next    = make(chan int, ahead) // begun and not yet handed out, so it never blocks
		results = make([]chan result, len(items))
	)
	ctx, cancel := context.WithCancel(ctx)
	defer wg.Wait()
	defer close(next)
	defer cancel()
	for range min(fanOut, len(items)) {
		wg.Go(func() {
			for i := range next {
				r, err := work(ctx, items[i])
				results[i] <- result{r, err}
			}
		})
	}
	begun := 0
	for i := range items {
		for ; begun < min(len(items), i+ahead); begun++ {
			results[begun] = make(chan result, 1)
			next <- begun
		}
		got := <-results[i]
		results[i] = nil
		if !yield(got.r, got.err) {
			return
		}
	}
}
