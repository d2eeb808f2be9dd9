package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// lingering is a service that answers each query but the first after a time, and whose connections need a second to end.
type lingering struct {
	*testkit.Hooked
	after   time.Duration
	queries atomic.Int32
	open    atomic.Int32 // requests under way
}

func (l *lingering) Do(r *http.Request) (*http.Response, error) {
	if l.queries.Add(1) == 1 {
		return l.Hooked.Do(r)
	}
	l.open.Add(1)
	defer l.open.Add(-1)
	select {
	case <-r.Context().Done():
		time.Sleep(time.Second)
		return nil, r.Context().Err()
	case <-time.After(l.after):
		return l.Hooked.Do(r)
	}
}

// TestReadAheadEnds: the request of a page ahead ends with the loop, however the loop ends.
func TestReadAheadEnds(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		budget time.Duration
		body   func(cancel func()) (goOn bool)
		n      int
		want   error
		took   time.Duration
	}{
		"break":            {0, func(func()) bool { return false }, 1, nil, time.Second},
		"panic":            {0, func(func()) bool { panic("in the loop") }, 1, nil, time.Second},
		"context":          {0, func(cancel func()) bool { cancel(); return true }, 10, context.Canceled, time.Second},
		"time, in loop":    {time.Minute, func(func()) bool { time.Sleep(7 * time.Second); return true }, 10, table.ErrBudget, 70 * time.Second},
		"time, in request": {5 * time.Second, func(func()) bool { return true }, 10, table.ErrBudget, 6 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, s := mailTown(t, 1, 30, 1)
			l := &lingering{Hooked: s, after: 24 * time.Hour}
			if what == "time, in loop" {
				l.after = time.Second
			}
			o := noWaitOptions()
			o.ReadTimeout = 48 * time.Hour
			people := peopleOf(t, l, o)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			q := table.Query[resident]{Partition: dept.PartitionKey("S"), PageSize: 10, ReadAhead: true, Budget: table.Budget{Time: c.budget}, Cursor: new(table.Cursor)}
			start, n := time.Now(), 0
			var got error
			func() {
				defer func() { _ = recover() }()
				for _, err := range people.List(ctx, q) {
					if got = err; err != nil {
						return
					}
					synctest.Wait() // the page ahead is requested
					if open := l.open.Load(); open != 1 && (what != "time, in loop" || n == 0) && ctx.Err() == nil {
						t.Errorf("%s: got %d requests under way in the loop; want 1", what, open)
					}
					if n++; !c.body(cancel) {
						return
					}
				}
			}()
			took, queries, open := time.Since(start), l.queries.Load(), l.open.Load()
			if n != c.n || !errors.Is(got, c.want) || took != c.took || open != 0 || queries != 2 {
				t.Errorf("%s: got %d residents, error %v in %v, %d requests, %d under way; want %d, %v in %v, 2, 0", what, n, got, took, queries, open, c.n, c.want, c.took)
			}
			// The position is behind the last resident that was yielded.
			q.Budget, l.after = table.Budget{}, 0
			for e, err := range people.List(context.Background(), q) {
				noError(t, err)
				if n++; e.Value.ID != n {
					t.Fatalf("%s, resumed: got resident %d; want %d", what, e.Value.ID, n)
				}
			}
			testkit.Expect(t, what+", resumed: residents", n, 30)
		})
	}
}

// TestReadAheadError: the error of a page is reported behind the rows before it, once.
func TestReadAheadError(t *testing.T) {
	t.Parallel()
	people, s := mailTown(t, 1, 30, 1)
	s.SetFaults(storagetest.AtRequest(s.Requests()[len(s.Requests())-1].Number+2, storagetest.Refuse(403, "AuthorizationFailure")))
	q := table.Query[resident]{Partition: dept.PartitionKey("S"), PageSize: 10, ReadAhead: true, Cursor: new(table.Cursor)}
	var ids, errs int
	for range 2 {
		for e, err := range people.List(context.Background(), q) {
			if err != nil {
				if errs++; ids != 10 || !strings.Contains(err.Error(), "AuthorizationFailure") {
					t.Errorf("got error %v after %d residents; want AuthorizationFailure after 10", err, ids)
				}
			} else if ids++; e.Value.ID != ids {
				t.Errorf("got resident %d; want %d", e.Value.ID, ids)
			}
		}
	}
	if ids != 30 || errs != 1 {
		t.Errorf("got %d residents, %d errors; want 30, 1", ids, errs)
	}
	testkit.Expect(t, "requests", s.Count().String(), "4 query")
}
