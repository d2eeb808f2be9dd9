package logtail_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// rawRows returns the table as rows of any type.
func rawRows(t testing.TB, s account.Transport) *table.Table[table.Row] {
	t.Helper()
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	rows, err := bare.NewTable(acc.Tables(), "claims", table.Schema[table.Row]{}, nil)
	noError(t, err)
	return rows
}

// TestSources: a source cannot be a partition of another one, and the names of all partitions of a source are checked before a
// request.
func TestSources(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claims, s := newLog(t, &logtail.Options{Spread: 4})
	for name, source := range map[string]keys.PartitionKey{"a partition": keys.RawPartition("log~001"), "too long for the others": keys.RawPartition(strings.Repeat("x", 510)), "no key": keys.RawPartition("a/b")} {
		in := claims.In(source)
		_, appended := in.Append(ctx, &claim{1, 1})
		_, several := in.AppendAll(ctx, &claim{1, 1})
		_, read := table.Collect(in.Tail(ctx, 1))
		_, followed := table.Collect(in.Follow(ctx, nil))
		_, empty := table.Collect(in.Between(ctx, time.Now(), time.Now().Add(-1)))
		for method, err := range map[string]error{"Append": appended, "AppendAll": several, "Tail": read, "Follow": followed, "Between": empty} {
			var ke *keys.KeyError
			if !errors.As(err, &ke) {
				t.Errorf("%s, %s: got error %v; want a *keys.KeyError", name, method, err)
			}
		}
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
	_, err := claims.In(dept.PartitionKey("../größe ~001")).Append(ctx, &claim{1, 1})
	noError(t, err)
}

// TestBounds: bounds inside a tick, at the beginning of time, and none.
func TestBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := &logtail.Options{}
	options.SetNow(&o.Common, func() time.Time { return at })
	claims, _ := newLog(t, o)
	_, err := claims.Append(ctx, &claim{1, 1})
	noError(t, err)
	for _, c := range []struct {
		name     string
		from, to time.Time
		want     int
	}{
		{"an end inside the tick of the record", at.Add(-time.Second), at.Add(50), 1},
		{"an end at the record", at.Add(-time.Second), at, 0},
		{"a beginning inside the tick of the record", at.Add(50), at.Add(time.Second), 0},
		{"a beginning at the record", at, at.Add(1), 1},
		{"the first tick of all", time.Time{}, time.Time{}.Add(50), 0},
		{"no bounds", time.Time{}, time.Time{}, 1},
		{"an end before the beginning", at.Add(time.Second), at, 0},
	} {
		if got := amounts(t, claims.Between(ctx, c.from, c.to)); len(got) != c.want {
			t.Errorf("%s: got %d records; want %d", c.name, len(got), c.want)
		}
	}
	var ke *keys.KeyError
	if _, err := table.Collect(claims.Since(ctx, at.AddDate(9000, 0, 0))); !errors.As(err, &ke) {
		t.Errorf("the year 11026: got error %v; want a *keys.KeyError", err)
	}
}

// TestRequestsOfTail: rows of other types do not cost a request each, and many partitions are not all read at the same time.
func TestRequestsOfTail(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claims, s := newLog(t, nil)
	rows := rawRows(t, s)
	for i := range 500 {
		_, err := rows.InsertAt(ctx, keys.At(keys.RawPartition("log"), keys.RawRow(fmt.Sprintf("%06d", i))), &table.Row{})
		noError(t, err)
	}
	_, err := claims.Append(ctx, &claim{1, 1})
	noError(t, err)
	s.Count()
	testkit.Expect(t, "the tail", amounts(t, claims.Tail(ctx, 1)), []int{1})
	if n := s.Count()[requests.Query]; n > 10 {
		t.Errorf("requests: got %d queries; want 10 at most", n)
	}
	for _, n := range []int{math.MaxInt, math.MaxInt/2 + 1} {
		for _, spread := range []int{1, 2} {
			testkit.Expect(t, fmt.Sprintf("the tail of %d, spread over %d", n, spread), amounts(t, openLog(t, s, &logtail.Options{Spread: spread}).Tail(ctx, n)), []int{1})
		}
	}
}

// busyService counts the requests that are made at the same time.
type busyService struct {
	*storagetest.Service
	mu         sync.Mutex
	live, most int
}

func (s *busyService) Do(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.live++
	s.most = max(s.most, s.live)
	s.mu.Unlock()
	time.Sleep(10 * time.Millisecond)
	s.mu.Lock()
	s.live--
	s.mu.Unlock()
	return s.Service.Do(r)
}

// TestConcurrentReads: at most 32 partitions are read at the same time.
func TestConcurrentReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &busyService{Service: storagetest.New(nil)}
		claims := openLog(t, s, &logtail.Options{Spread: 1000})
		amounts(t, claims.Tail(context.Background(), 1))
		testkit.Expect(t, "requests at the same time", s.most, 32)
	})
}
