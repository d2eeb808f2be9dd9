package verify_test

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
)

type comer struct {
	Team string
	ID   int
	City string
}

// TestBesideComers: beside a program that inserts an entity and deletes it again, between any of
// its requests, verify reports no fault.
func TestBesideComers(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	synctest.Test(t, besideComers) // verify waits before it looks again
}

func besideComers(t *testing.T) {
	team := keys.Partition(keys.Text(), func(c *comer) *string { return &c.Team })
	id := keys.Row(keys.Digits[int](6), func(c *comer) *int { return &c.ID })
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := storagetest.New(nil)
		open := func(acc aztablekit.Account) (*aztablekit.Store, func(insert bool)) {
			store := aztablekit.Open(acc, "comers", &aztablekit.Options{Daily: -1})
			city := func(c *comer) (string, bool) { return c.City, true }
			all := aztablekit.Table(store, "comers", team, id, index.New("city", keys.Text(), city, nil), index.New("one", keys.Text(), city, &index.Options{Unique: true}))
			return store, func(insert bool) {
				var err error
				if insert {
					_, err = all.Insert(t.Context(), &comer{"a", 1, "Oslo"})
				} else {
					err = all.DeleteAny(t.Context(), all.Key(comer{Team: "a", ID: 1}))
				}
				testkit.NoError(t, err)
			}
		}
		store, writes := open(s)
		testkit.NoError(t, store.Ensure(t.Context()))
		writes(true)
		writes(false)
		var mu sync.Mutex
		is := false
		acc, err := account.FromTransport(&testkit.Hooked{Service: s, BeforeRequest: func(*http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if random.IntN(2) == 0 {
				is = !is
				writes(is)
			}
		}}, nil)
		testkit.NoError(t, err)
		verifier, _ := open(acc)
		report, err := verifier.Verify(t.Context(), nil)
		testkit.NoError(t, err)
		if len(derived.Kinds(report)) > 0 {
			t.Errorf("seed %d: got the faults %v; want none", seed, derived.Kinds(report))
		}
	}
}
