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

// TestGetOrInsertRounds: a row that comes and goes does not keep it busy for ever.
func TestGetOrInsertRounds(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return failure(404, "ResourceNotFound"), nil
		}
		return failure(409, "EntityAlreadyExists"), nil
	}}
	o := &table.Options{}
	o.Retry.Rounds = 3
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
			return reply(200, `{"value":[{"PartitionKey":"b"}]}`), nil
		}
		return reply(200, `{"value":[{"PartitionKey":"a"}]}`), nil
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
