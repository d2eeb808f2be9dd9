package verify_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/verify"
)

type comer struct {
	Team string
	ID   int
	City string
}

// TestBesideComers: beside a program that inserts an entity and deletes it again, between any of
// its requests, verify reports no fault.
func TestBesideComers(t *testing.T) {
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
		if len(report.Faults) > 0 {
			t.Errorf("seed %d: got the faults %v; want none", seed, report.Faults)
		}
	}
}

// TestReportString: a report says in one sentence what was found.
func TestReportString(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]verify.Report{
		"sound; 0 entities and 0 rows in 0 partitions":                                                                {},
		"sound; 12 entities and 34 rows in 2 partitions; 3 pending":                                                   {Entities: 12, Rows: 34, Partitions: 2, Pending: 3},
		"not sound: 3 faults (2 missing, 1 stale), 1 repaired; 12 entities and 34 rows in 2 partitions; 1 failed":     {Entities: 12, Rows: 34, Partitions: 2, Faults: map[verify.FaultKind]int{verify.Stale: 1, verify.Missing: 2, verify.Dangling: 0}, Repaired: 1, Failed: 1},
		"sound: 1 fault (1 duplicate value), 1 repaired; 0 entities and 0 rows in 0 partitions; 1 tombstones deleted": {Faults: map[verify.FaultKind]int{verify.DuplicateValue: 1}, Repaired: 1, Tombstones: 1},
		"not sound; 0 entities and 0 rows in 0 partitions; 2 unconfirmed; 1 notified; 4 writes finished; 5 unowned":   {Unconfirmed: 2, Notified: 1, Finished: 4, Unowned: 5},
	} {
		testkit.Expect(t, "report", r.String(), want)
		testkit.Expect(t, "printed", fmt.Sprint(&r), want)
	}
}
