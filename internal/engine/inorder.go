package engine

import (
	"cmp"
	"context"
	"sync"
)

// FanOut is how many requests travel at a time: as many idle connections as the SDK's transport
// keeps for one host.
const FanOut = 10

// Finished follows work on items that are begun in one order and finished in any. It is safe for
// concurrent use.
type Finished[X comparable] struct {
	mu      sync.Mutex
	begun   []X // from the first that is not finished
	between map[X]bool
	through X
	any     bool
}

// Begin notes that an item is begun.
func (f *Finished[X]) Begin(x X) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = append(f.begun, x)
}

// Finish notes that an item is finished.
func (f *Finished[X]) Finish(x X) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.between == nil {
		f.between = map[X]bool{}
	}
	f.between[x] = true
	for len(f.begun) > 0 && f.between[f.begun[0]] {
		f.through, f.any = f.begun[0], true
		delete(f.between, f.through)
		f.begun = f.begun[1:]
	}
}

// Through returns the last item that is finished with all before it, if there is one.
func (f *Finished[X]) Through() (x X, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.through, f.any
}

// InOrder works on each item, FanOut at a time, and hands out the results in the order of the
// items, until yield returns false. When it returns, no work goes on.
func InOrder[X, R any](ctx context.Context, items []X, work func(context.Context, X) (R, error), yield func(R, error) bool) {
	if len(items) == 0 {
		return
	}
	type result struct {
		r   R
		err error
	}
	const ahead = 4 * FanOut
	var (
		wg      sync.WaitGroup
		next    = make(chan int, ahead) // begun and not yet handed out, so it never blocks
		results = make([]chan result, len(items))
	)
	ctx, cancel := context.WithCancel(ctx)
	defer wg.Wait()
	defer close(next)
	defer cancel()
	for range min(FanOut, len(items)) {
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

// All works on each item, FanOut at a time, and returns the first error in the order of the items,
// when no work goes on.
func All[X any](ctx context.Context, items []X, work func(context.Context, X) error) error {
	switch len(items) {
	case 0:
		return nil
	case 1:
		return work(ctx, items[0])
	}
	var first error
	InOrder(ctx, items, func(ctx context.Context, x X) (struct{}, error) {
		return struct{}{}, work(ctx, x)
	}, func(_ struct{}, err error) bool {
		first = cmp.Or(first, err)
		return true
	})
	return first
}
