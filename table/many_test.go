package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

func hundred() (ks []keys.Key) {
	for i := range 100 {
		ks = append(ks, at("Sales", i))
	}
	return ks
}

func gotten(path string) string {
	_, id, _ := strings.Cut(path, "RowKey='")
	return fmt.Sprintf(`{"odata.etag":"e","PartitionKey":"Sales","RowKey":"%s","LastName":"x"}`, strings.TrimSuffix(id, "')"))
}

// TestGetManyIsParallel: a hundred reads of 5 ms each, ten at a time, take 50 ms, and come in order.
func TestGetManyIsParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(5 * time.Millisecond)
			return reply(200, gotten(r.URL.Path)), nil
		}}
		staff := newStaff(t, bare(w))
		start, i := time.Now(), 0
		for e, err := range staff.GetMany(context.Background(), hundred()...) {
			if err != nil || e.Value.ID != i {
				t.Errorf("%d: %+v, %v", i, e, err)
			}
			i++
		}
		if took := time.Since(start); i != 100 || took != 50*time.Millisecond || most.Load() != 10 {
			t.Errorf("%d in %v, %d at a time", i, took, most.Load())
		}
	})
}

// TestGetManyEnds: leaving the loop, a failed request, or the context's end leave nothing running. The bubble would not end
// with a goroutine in it.
func TestGetManyEnds(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		answer func(*http.Request, string) (*http.Response, error)
		stop   int
		want   error
	}{
		"left":          {nil, 5, nil},
		"left at once":  {nil, 1, nil},
		"a failed read": {func(*http.Request, string) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, 0, io.ErrUnexpectedEOF},
		"no such table": {func(*http.Request, string) (*http.Response, error) { return failure(404, "TableNotFound"), nil }, 0, table.ErrTableNotFound},
		"a hung service": {func(r *http.Request, _ string) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, 0, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{answer: func(r *http.Request, body string) (*http.Response, error) {
				if c.answer != nil {
					return c.answer(r, body)
				}
				time.Sleep(time.Millisecond)
				return reply(200, gotten(r.URL.Path)), nil
			}}
			staff := newStaff(t, bare(w))
			n := 0
			var last error
			for _, err := range staff.GetMany(context.Background(), hundred()...) {
				last = err
				if n++; n == c.stop {
					break
				}
			}
			if !errors.Is(last, c.want) || c.want != nil && n != 1 || len(w.sent) > 100 || c.stop > 0 && len(w.sent) > 60 {
				t.Errorf("%s: %v after %d, %d requests", what, last, n, len(w.sent))
			}
		})
	}
}

// TestGetManyReadsAhead no more than it says, however slow the loop is.
func TestGetManyReadsAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) { return reply(200, gotten(r.URL.Path)), nil }}
		staff := newStaff(t, bare(w))
		i := 0
		for _, err := range staff.GetMany(context.Background(), hundred()...) {
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if i++; len(w.sent) > i+40 {
				t.Fatalf("%d requests when %d were handed out", len(w.sent), i)
			}
		}
		if len(w.sent) != 100 {
			t.Errorf("%d requests", len(w.sent))
		}
	})
}

// TestGetManyCancelled: the caller's end is an error of the list, and ends it.
func TestGetManyCancelled(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return reply(200, gotten(r.URL.Path)), nil
	}}
	staff := newStaff(t, bare(w))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n, failed := 0, 0
	for _, err := range staff.GetMany(ctx, hundred()...) {
		switch {
		case err == nil:
			n++
		case errors.Is(err, context.Canceled):
			failed++
		default:
			t.Error(err)
		}
		cancel()
	}
	if n == 0 || n > 50 || failed != 1 {
		t.Errorf("%d read, %d errors", n, failed)
	}
}

// TestEachPartitionWidth: as many calls at a time as it says, and none after the first error.
func TestEachPartitionWidth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := &wire{answer: func(*http.Request, string) (*http.Response, error) {
			if n++; n%21 == 0 {
				return reply(200, `{"value":[]}`), nil
			}
			return reply(200, fmt.Sprintf(`{"value":[{"PartitionKey":"p%02d","RowKey":"r"}]}`, n%21)), nil
		}}
		staff := newStaff(t, bare(w))
		for width, want := range map[int]int64{0: 10, 1: 1, 3: 3} {
			var now, most, all atomic.Int64
			err := staff.EachPartition(context.Background(), width, func(context.Context, keys.Enc) error {
				all.Add(1)
				c := now.Add(1)
				defer now.Add(-1)
				for m := most.Load(); c > m && !most.CompareAndSwap(m, c); m = most.Load() {
				}
				time.Sleep(time.Second)
				return nil
			})
			if err != nil || most.Load() != want || all.Load() != 20 {
				t.Errorf("width %d: %d at a time, %d in all, %v", width, most.Load(), all.Load(), err)
			}
		}
		n = 0
		no, calls := errors.New("no"), 0
		err := staff.EachPartition(context.Background(), 1, func(context.Context, keys.Enc) error { calls++; return no })
		if err != no || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

// TestPartitionsWithEmptyKey: the empty PartitionKey is a partition like any other.
func TestPartitionsWithEmptyKey(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		switch f := r.URL.Query().Get("$filter"); {
		case strings.Contains(f, "gt 'a'"):
			return reply(200, `{"value":[]}`), nil
		case strings.Contains(f, "gt ''"):
			return reply(200, `{"value":[{"PartitionKey":"a","RowKey":"r"}]}`), nil
		}
		return reply(200, `{"value":[{"PartitionKey":"","RowKey":"r"}]}`), nil
	}}
	tab, err := table.New(bare(w), "ttt", table.Schema[table.Row]{}, once())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for pk, err := range tab.Partitions(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, pk.String())
	}
	if fmt.Sprintf("%q", got) != `["" "a"]` || w.requests() != "GET GET GET" {
		t.Errorf("%q by %s", got, w.requests())
	}
}

// TestGetOrInsertRounds: a row that comes and goes does not keep it busy for ever.
func TestGetOrInsertRounds(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return failure(404, "ResourceNotFound"), nil
		}
		return failure(409, "EntityAlreadyExists"), nil
	}}
	o := once()
	o.Retry.ConflictAttempts = 3
	staff, err := table.New(bare(w), "staff", staffSchema, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := staff.GetOrInsert(context.Background(), &employee{"Sales", 1, "x", 1}); !errors.Is(err, table.ErrExists) || w.requests() != "GET POST GET POST GET POST" {
		t.Errorf("%v, %s", err, w.requests())
	}
	if _, _, err := staff.GetOrInsert(context.Background(), nil); err == nil {
		t.Error("nil")
	}
}

// TestPartitionsFollowEmptyPages, which the service may send at any time.
func TestPartitionsFollowEmptyPages(t *testing.T) {
	t.Parallel()
	n := 0
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		n++
		q := r.URL.Query()
		switch {
		case n%2 == 1:
			return reply(200, `{"value":[]}`, "x-ms-continuation-NextPartitionKey", fmt.Sprint("p", n)), nil
		case q.Get("NextPartitionKey") == "":
			t.Error("an empty page was the end")
		case strings.Contains(q.Get("$filter"), "gt 'b'"):
			return reply(200, `{"value":[]}`), nil
		case strings.Contains(q.Get("$filter"), "gt 'a'"):
			return reply(200, `{"value":[{"PartitionKey":"b","RowKey":"r"}]}`), nil
		}
		return reply(200, `{"value":[{"PartitionKey":"a","RowKey":"r"}]}`), nil
	}}
	var got []string
	for pk, err := range newStaff(t, bare(w)).Partitions(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, pk.String())
	}
	if fmt.Sprint(got) != "[a b]" || n != 6 {
		t.Errorf("%v by %d requests", got, n)
	}
}
