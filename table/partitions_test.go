package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/keys"
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
		for pk, err := range people.PartitionsIn(ctx, keys.RawPartitions("", "").Behind(keys.RawPartition(after))) {
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
			err := staff.EachPartition(context.Background(), keys.PartitionRange{}, width, func(context.Context, keys.PartitionKey) error {
				all.Add(1)
				c := now.Add(1)
				defer now.Add(-1)
				for m := most.Load(); c > m && !most.CompareAndSwap(m, c); m = most.Load() {
				}
				time.Sleep(time.Second)
				return nil
			})
			if err != nil || most.Load() != want || all.Load() != 20 {
				t.Errorf("width %d: got %d calls at a time, %d in all, %v; want %d and 20", width, most.Load(), all.Load(), err, want)
			}
		}
		n = 0
		no, calls := errors.New("no"), 0
		err := staff.EachPartition(context.Background(), keys.PartitionRange{}, 1, func(context.Context, keys.PartitionKey) error { calls++; return no })
		if err != no || calls != 1 {
			t.Errorf("got %d calls, %v; want err == %v and calls == 1", calls, err, no)
		}
	})
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
	for pk, err := range tab.Partitions(context.Background()) {
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
	for pk, err := range newStaff(t, sdkClient(t, w)).Partitions(context.Background()) {
		noError(t, err)
		got = append(got, pk.String())
	}
	if fmt.Sprint(got) != "[a b]" || n != 6 {
		t.Errorf("got %v by %d requests; want [a b] by 6", got, n)
	}
}
