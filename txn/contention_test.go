package txn_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/txn"
)

// TestContention: 20 writers who move money between 5 accounts all make progress, over a service that answers after 5 to 10 ms.
func TestContention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const writers, accounts, each = 20, 5, 10
		s := storagetest.New(nil)
		p := &testkit.Hooked{Service: s, BeforeRequest: func(*http.Request) { time.Sleep(5*time.Millisecond + rand.N(5*time.Millisecond)) }}
		acc, err := account.FromTransport(p, nil)
		testkit.NoError(t, err)
		b := openBank(acc, &aztablekit.Options{Daily: -1})
		ctx := t.Context()
		testkit.NoError(t, b.Ensure(ctx))
		for i := range accounts {
			_, err := b.accounts.Insert(ctx, &bankAccount{fmt.Sprint("city", i), i, 100})
			testkit.NoError(t, err)
		}
		var mu sync.Mutex
		var took []time.Duration
		var calls []int
		var running sync.WaitGroup
		began := time.Now()
		for w := range writers {
			running.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 1))
				for range each {
					i := r.IntN(accounts)
					j := (i + 1 + r.IntN(accounts-1)) % accounts
					from, to := accountKey(fmt.Sprint("city", i), i), accountKey(fmt.Sprint("city", j), j)
					at, n := time.Now(), 0
					err := txn.Run(context.WithoutCancel(ctx), b, func(tx *txn.Tx) error {
						n++
						a, err := txn.Get(tx, b.accounts, from)
						if err != nil {
							return err
						}
						z, err := txn.Get(tx, b.accounts, to)
						if err != nil {
							return err
						}
						a.Value.Cents--
						z.Value.Cents++
						tx.Do(b.accounts.ReplaceOp(a), b.accounts.ReplaceOp(z))
						return nil
					})
					mu.Lock()
					if err != nil {
						t.Errorf("after %d calls: got %v", n, err)
					}
					took, calls = append(took, time.Since(at)), append(calls, n)
					mu.Unlock()
				}
			})
		}
		running.Wait()
		slices.Sort(took)
		slices.Sort(calls)
		last := len(took) - 1
		t.Logf("%d transactions in %v; calls: median %d, p99 %d, most %d; time: median %v, p99 %v, most %v", len(took), time.Since(began).Round(time.Millisecond),
			calls[last/2], calls[last*99/100], calls[last], took[last/2].Round(time.Millisecond), took[last*99/100].Round(time.Millisecond), took[last].Round(time.Millisecond))
		sum := 0
		for i := range accounts {
			e, err := b.accounts.Get(ctx, accountKey(fmt.Sprint("city", i), i))
			testkit.NoError(t, err)
			sum += e.Value.Cents
		}
		testkit.Expect(t, "the sum", sum, accounts*100)
	})
}
