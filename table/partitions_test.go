package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestPartitionsInOutside: PartitionsIn accepts ranges that begin before or behind all partitions of the table.
func TestPartitionsInOutside(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newTown(t, nil)
	named := peopleSchema
	named.Partition = keys.Partition(keys.Text().Named("m"), func(p *resident) *string { return &p.Dept })
	people, err := bare.NewTable(serviceOf(t, s), "people", named, nil)
	noError(t, err)
	_, err = people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	noError(t, err)
	_, err = peopleOf(t, s, nil).Insert(ctx, &resident{"b", 1, "Jones", "a"})
	noError(t, err)
	for after, want := range map[string]int{"a": 1, "m_R": 1, "m_S": 0, "z": 0} {
		n := 0
		for pk, err := range people.Partitions(ctx, keys.RawPartitions("", "").Behind(keys.RawPartition(after))) {
			noError(t, err)
			if n++; !door.Table(people).Mode.Schema.Partitions().Contains(pk.String()) {
				t.Errorf("%v: got %+v; want door.Table(people).Mode.Schema.Partitions().Contains(pk.String())", after, pk)
			}
		}
		if n != want {
			t.Errorf("%v: got %v; want %v", after, n, want)
		}
	}
}

// TestEachPartitionWidth: EachPartition makes width calls at a time, and none after the first error.
func TestEachPartitionWidth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) {
			if n++; n%21 == 0 {
				return jsonResponse(200, `{"value":[]}`), nil
			}
			return jsonResponse(200, fmt.Sprintf(`{"value":[{"PartitionKey":"p%02d","RowKey":"r"}]}`, n%21)), nil
		}}
		staff := newStaff(t, sdkClient(t, w))
		for width, want := range map[int]int64{0: 10, 1: 1, 3: 3} {
			var now, most, all atomic.Int64
			done, err := table.EachPartition(context.Background(), staff, &table.Pass{Concurrency: width}, func(context.Context, keys.PartitionKey) error {
				all.Add(1)
				c := now.Add(1)
				defer now.Add(-1)
				for m := most.Load(); c > m && !most.CompareAndSwap(m, c); m = most.Load() {
				}
				time.Sleep(time.Second)
				return nil
			})
			if err != nil || most.Load() != want || all.Load() != 20 || done.Changed != 20 || done.Through.PartitionKey() != "p20" {
				t.Errorf("width %d: got %d calls at a time, %d in all, %+v, %v; want %d, 20 and p20", width, most.Load(), all.Load(), done, err, want)
			}
		}
		n = 0
		no, calls := errors.New("no"), 0
		done, err := table.EachPartition(context.Background(), staff, &table.Pass{Concurrency: 1}, func(context.Context, keys.PartitionKey) error {
			calls++
			return no
		})
		if err != no || calls != 1 || done.Through != (keys.Key{}) {
			t.Errorf("got %d calls, %+v, %v; want err == %v, calls == 1 and an unset key", calls, done, err, no)
		}
	})
}

// TestEachPartitionThrough: after an error, the range behind Progress.Through is what is left to do, and nothing of it is left out.
func TestEachPartitionThrough(t *testing.T) {
	t.Parallel()
	staff := newStaff(t, storagetest.New(nil).Tables())
	noError(t, tabledoor.Ensure(t.Context(), staff))
	for n := range 30 {
		_, err := staff.Insert(t.Context(), &employee{Department: fmt.Sprintf("p%02d", n), ID: 1, Last: "Jones"})
		noError(t, err)
	}
	for _, width := range []int{1, 3, 10} {
		for fails := range 30 {
			var mu sync.Mutex
			done := map[string]int{}
			no := errors.New("no")
			work := func(fails int) func(context.Context, keys.PartitionKey) error {
				return func(ctx context.Context, pk keys.PartitionKey) error {
					if pk.String() == fmt.Sprintf("p%02d", fails) {
						return no
					}
					mu.Lock()
					defer mu.Unlock()
					done[pk.String()]++
					return ctx.Err()
				}
			}
			through, err := eachThrough(t.Context(), staff, &table.Pass{Concurrency: width}, work(fails))
			if err != no || through.IsSet() && through.String() >= fmt.Sprintf("p%02d", fails) || fails == 0 && through.IsSet() {
				t.Fatalf("width %d, fails at %d: got through %v, %v; want a key before, and %v", width, fails, through, err, no)
			}
			if width == 1 && fails > 0 && through.String() != fmt.Sprintf("p%02d", fails-1) {
				t.Fatalf("fails at %d: got through %v; want the key before", fails, through)
			}
			left := keys.PartitionRange{}
			if through.IsSet() {
				left = left.Behind(through)
			}
			through, err = eachThrough(t.Context(), staff, &table.Pass{Partitions: left, Concurrency: width}, work(-1))
			if err != nil || through.String() != "p29" || len(done) != 30 {
				t.Fatalf("width %d, fails at %d: got %d partitions, through %v, %v; want 30 and p29", width, fails, len(done), through, err)
			}
			for pk, n := range done {
				if width == 1 && n != 1 {
					t.Errorf("fails at %d: got %d calls for %s; want 1", fails, n, pk)
				}
			}
		}
	}
}

// eachThrough is EachPartition with the partition that is done.
func eachThrough(
	ctx context.Context, t table.Handle, p *table.Pass, f func(context.Context, keys.PartitionKey) error,
) (keys.PartitionKey, error) {
	done, err := table.EachPartition(ctx, t, p, f)
	if done.Through == (keys.Key{}) {
		return keys.PartitionKey{}, err
	}
	return done.Through.Partition(), err
}

// TestPartitionsWithEmptyKey: Partitions yields the empty PartitionKey.
func TestPartitionsWithEmptyKey(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		switch f := r.URL.Query().Get("$filter"); {
		case strings.Contains(f, "gt 'a'"):
			return jsonResponse(200, `{"value":[]}`), nil
		case strings.Contains(f, "gt ''"):
			return jsonResponse(200, `{"value":[{"PartitionKey":"a","RowKey":"r"}]}`), nil
		}
		return jsonResponse(200, `{"value":[{"PartitionKey":"","RowKey":"r"}]}`), nil
	}}
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[table.Row]{}, singleAttempt())
	noError(t, err)
	var got []string
	for pk, err := range tab.Partitions(context.Background(), keys.PartitionRange{}) {
		noError(t, err)
		got = append(got, pk.String())
	}
	if fmt.Sprintf("%q", got) != `["" "a"]` || w.requests() != "GET GET GET" {
		t.Errorf("got %q by %s; want fmt.Sprintf(\"%%q\", got) == `[\"\" \"a\"]` and w.requests() == \"GET GET GET\"", got, w.requests())
	}
}

// TestPartitionsFollowEmptyPages: Partitions follows empty pages, which the service may send at any time.
func TestPartitionsFollowEmptyPages(t *testing.T) {
	t.Parallel()
	n := 0
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		n++
		q := r.URL.Query()
		switch {
		case n%2 == 1:
			return jsonResponse(200, `{"value":[]}`, "x-ms-continuation-NextPartitionKey", fmt.Sprint("p", n)), nil
		case q.Get("NextPartitionKey") == "":
			t.Error("got no token after an empty page; want one")
		case strings.Contains(q.Get("$filter"), "gt 'b'"):
			return jsonResponse(200, `{"value":[]}`), nil
		case strings.Contains(q.Get("$filter"), "gt 'a'"):
			return jsonResponse(200, `{"value":[{"PartitionKey":"b","RowKey":"r"}]}`), nil
		}
		return jsonResponse(200, `{"value":[{"PartitionKey":"a","RowKey":"r"}]}`), nil
	}}
	var got []string
	for pk, err := range newStaff(t, sdkClient(t, w)).Partitions(context.Background(), keys.PartitionRange{}) {
		noError(t, err)
		got = append(got, pk.String())
	}
	if fmt.Sprint(got) != "[a b]" || n != 6 {
		t.Errorf("got %v by %d requests; want [a b] by 6", got, n)
	}
}
