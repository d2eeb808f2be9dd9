package storagetest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestAdverse: a client of the SDK that repeats what is refused, and reads all pages, reads all entities in order. Each adversity
// occurs.
func TestAdverse(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			s := storagetest.New(&storagetest.Options{Faults: storagetest.Adverse(storagetest.Adversity{Seed: seed})})
			staff := s.Tables().NewClient("staff")
			if _, err := staff.CreateTable(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range 60 {
				key := fmt.Sprintf("%02d", i)
				want = append(want, key)
				body := fmt.Sprintf(`{"PartitionKey":"p%d","RowKey":"%s"}`, i/9, key)
				if _, err := staff.UpsertEntity(t.Context(), []byte(body), nil); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for pages := staff.NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: to.Ptr(int32(7))}); pages.More(); {
				page, err := pages.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Entities {
					var keys struct{ RowKey string }
					if err := json.Unmarshal(e, &keys); err != nil {
						t.Fatal(err)
					}
					got = append(got, keys.RowKey)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: got %v; want %v", seed, got, want)
			}
			for _, r := range s.Requests() {
				seen[r.Fault.String()]++
			}
		})
	}
	for _, name := range []string{"none", "short page of 0", "short page of 3", "page of a partition", "refused 500 OperationTimedOut"} {
		if seen[name] == 0 {
			t.Errorf("got %v; want %q among them", seen, name)
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(s string) bool { return strings.HasPrefix(s, "slow ") }) {
		t.Errorf("got %v; want slow responses among them", seen)
	}
}

// TestAdverseRates: requests beyond the rate of a partition or of the account are refused until the clock goes on.
func TestAdverseRates(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	get := func(faults storagetest.FaultFunc, number int, partition string, operations int, at time.Time) string {
		r := storagetest.Request{Number: number, Kind: requests.Get, Table: "t", PartitionKey: partition, Time: at}
		if operations > 0 {
			r.Kind = requests.Transaction
			for range operations {
				r.Operations = append(r.Operations, storagetest.Request{Kind: requests.Insert, Table: "t", PartitionKey: partition})
			}
		}
		f := faults(r).String()
		if f == "Timestamps spread" {
			return "none"
		}
		return f
	}
	const busy = "refused 503 ServerBusy"
	faults := storagetest.Adverse(storagetest.Adversity{PartitionRate: 10, AccountRate: 15, Move: -1, Delay: -1})
	for i, c := range []struct {
		partition  string
		operations int
		after      time.Duration
		want       string
	}{
		{"a", 9, 0, "none"}, {"a", 0, 0, "none"}, {"a", 0, 0, busy}, {"b", 4, 0, "none"}, {"b", 2, 0, busy},
		{"a", 0, 100 * time.Millisecond, "none"}, {"a", 0, 100 * time.Millisecond, busy}, {"a", 10, 2 * time.Second, "none"}, {"a", 0, 2 * time.Second, busy},
	} {
		if got := get(faults, i+1, c.partition, c.operations, at.Add(c.after)); got != c.want {
			t.Errorf("request %d: got %s; want %s", i+1, got, c.want)
		}
	}
	small := storagetest.Adverse(storagetest.Adversity{PartitionRate: 5, Move: -1, Delay: -1})
	for i, want := range []string{"none", busy} {
		if got := get(small, i+1, "a", 100, at); got != want {
			t.Errorf("transaction %d of more than the rate: got %s; want %s", i+1, got, want)
		}
	}
	moving := storagetest.Adverse(storagetest.Adversity{PartitionRate: -1, AccountRate: -1, Move: time.Second, Delay: -1})
	number := 1
	for get(moving, number, "a", 0, at) == "none" {
		number++
	}
	for after, want := range map[time.Duration]string{999 * time.Millisecond: "refused 500 OperationTimedOut", time.Second: "none"} {
		if got := get(moving, 1, "a", 0, at.Add(after)); got != want {
			t.Errorf("%v after the move began: got %s; want %s", after, got, want)
		}
	}
	if got := get(moving, 1, "b", 0, at); got != "none" {
		t.Errorf("another partition: got %s; want none", got)
	}
}
