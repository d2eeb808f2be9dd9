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

// hundredKeys returns the keys of a hundred employees.
func hundredKeys() (ks []keys.Key) {
	for i := range 100 {
		ks = append(ks, employeeKey("Sales", i))
	}
	return ks
}

// entityJSON returns the employee whose URL path is given, as the service sends it.
func entityJSON(path string) string {
	_, id, _ := strings.Cut(path, "RowKey='")
	return fmt.Sprintf(`{"odata.etag":"e","PartitionKey":"Sales","RowKey":"%s","LastName":"x"}`, strings.TrimSuffix(id, "')"))
}

// TestGetManyConcurrent: a hundred reads of 5 ms, ten at a time, take 50 ms, and are yielded in order.
func TestGetManyConcurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(5 * time.Millisecond)
			return jsonResponse(200, entityJSON(r.URL.Path)), nil
		}}
		staff := newStaff(t, sdkClient(t, w))
		start, i := time.Now(), 0
		for e, err := range staff.GetMany(context.Background(), hundredKeys()...) {
			if err != nil || e.Value.ID != i {
				t.Errorf("%d: got %+v, %v; want no error and e.Value.ID == %v", i, e, err, i)
			}
			i++
		}
		if took := time.Since(start); i != 100 || took != 50*time.Millisecond || most.Load() != 10 {
			t.Errorf("got %d entities in %v, %d at a time; want 100 in 50ms, 10 at a time", i, took, most.Load())
		}
	})
}

// TestGetManyEnds: leaving the loop, a failed request and the end of the context leave no goroutine running. The synctest
// bubble would not end with one.
func TestGetManyEnds(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		answer func(*http.Request, string) (*http.Response, error)
		stop   int
		want   error
	}{
		"break":         {nil, 5, nil},
		"break at once": {nil, 1, nil},
		"a failed read": {func(*http.Request, string) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, 0, io.ErrUnexpectedEOF},
		"no such table": {func(*http.Request, string) (*http.Response, error) { return errorResponse(404, "TableNotFound"), nil }, 0, table.ErrNotCreated},
		"a hung service": {func(r *http.Request, _ string) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, 0, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &fakeTransport{respond: func(r *http.Request, body string) (*http.Response, error) {
				if c.answer != nil {
					return c.answer(r, body)
				}
				time.Sleep(time.Millisecond)
				return jsonResponse(200, entityJSON(r.URL.Path)), nil
			}}
			staff := newStaff(t, sdkClient(t, w))
			n := 0
			var last error
			for _, err := range staff.GetMany(context.Background(), hundredKeys()...) {
				last = err
				if n++; n == c.stop {
					break
				}
			}
			if !errors.Is(last, c.want) || c.want != nil && n != 1 || len(w.sent) > 100 || c.stop > 0 && len(w.sent) > 60 {
				t.Errorf("%s: got %v after %d entities and %d requests; want %v", what, last, n, len(w.sent), c.want)
			}
		})
	}
}

// TestGetManyReadsAhead: GetMany reads a bounded number of rows ahead of the loop.
func TestGetManyReadsAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
			return jsonResponse(200, entityJSON(r.URL.Path)), nil
		}}
		staff := newStaff(t, sdkClient(t, w))
		i := 0
		for _, err := range staff.GetMany(context.Background(), hundredKeys()...) {
			noError(t, err)
			synctest.Wait()
			if i++; len(w.sent) > i+40 {
				t.Fatalf("got %d requests after %d entities; want at most 40 more", len(w.sent), i)
			}
		}
		if len(w.sent) != 100 {
			t.Errorf("got %d requests; want 100", len(w.sent))
		}
	})
}

// TestGetManyCancelled: the end of the context is an error of the list, and ends it.
func TestGetManyCancelled(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return jsonResponse(200, entityJSON(r.URL.Path)), nil
	}}
	staff := newStaff(t, sdkClient(t, w))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n, failed := 0, 0
	for _, err := range staff.GetMany(ctx, hundredKeys()...) {
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
		t.Errorf("got %d entities, %d errors; want 1 to 50, and 1", n, failed)
	}
}
