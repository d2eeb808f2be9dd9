package series_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestAdd: an increment is 1 read and 1 write, also of an absent slot and of an entity that does not exist.
func TestAdd(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(time.Hour, nil))
	for i, want := range []int64{2, 4, 6} {
		got, err := visits.Add(ctx, july.Add(time.Duration(i)*time.Minute), 2)
		noError(t, err)
		testkit.Expect(t, "sum", got, want)
		testkit.Expect(t, "requests", s.Count().String(), "1 get, 1 transaction")
	}
	got, err := visits.Add(ctx, july.Add(time.Hour), -1)
	noError(t, err)
	testkit.Expect(t, "sum of an absent slot", got, -1)
	testkit.Expect(t, "rows", stored(s), "2014-07-31: H00=6 H01=-1")
	noError(t, visits.Exact().Set(ctx, july, 1))
	s.Count()
	_, err = visits.Exact().Add(ctx, july, 1)
	noError(t, err)
	testkit.Expect(t, "requests with Exact", s.Count().String(), "1 get, 1 transaction")
	testkit.Expect(t, "rows", strings.HasPrefix(stored(s), "2014-07-31: H00=2 H01=-1; ~i|"), true)
}

// TestAddConflict: Add reads and writes again after a write of another slot, and ends after Retry.ConflictAttempts.
func TestAddConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, interfere := range map[string]func(context.Context, *series.Series[int64]) error{
		"set": func(ctx context.Context, s *series.Series[int64]) error { return s.Set(ctx, july.Add(time.Hour), 7) },
		"delete": func(ctx context.Context, s *series.Series[int64]) error {
			_, err := s.Delete(ctx, july, july.AddDate(0, 0, 1), nil)
			return err
		},
	} {
		for _, exists := range []bool{false, true} {
			for _, times := range []int{1, 100} {
				t.Run(fmt.Sprint(name, exists, times), func(t *testing.T) {
					t.Parallel()
					h := &testkit.Hooked{Service: storagetest.New(nil)}
					o := &series.Options{}
					o.Retry.ConflictWait, o.Retry.ConflictAttempts = -1, 3
					visits := open[int64](t, h, series.Every(time.Hour, nil), o)
					plain := open[int64](t, h.Service, series.Every(time.Hour, nil), nil)
					if exists {
						noError(t, plain.Set(ctx, july, 5))
					}
					h.Count()
					left := times
					h.BeforeRequest = beforeTransactions(func() {
						if left--; left >= 0 {
							noError(t, interfere(ctx, plain))
						}
					})
					got, err := visits.Add(ctx, july, 1)
					refused := times > 3 && name == "set"
					if refused {
						if !errors.Is(err, table.ErrChanged) && !errors.Is(err, table.ErrExists) && !errors.Is(err, table.ErrNotFound) {
							t.Errorf("got error %v; want a conflict", err)
						}
						return
					}
					noError(t, err)
					want := int64(1)
					if exists && name == "set" {
						want = 6
					}
					testkit.Expect(t, "sum", got, want)
					if exists && name == "set" {
						testkit.Expect(t, "requests after 1 conflict", h.Count().String(), "3 get, 1 insert-or-merge, 2 transaction")
					}
					day, err := plain.Read(ctx, july)
					noError(t, err)
					testkit.Expect(t, "stored", day[0].Value, want)
				})
			}
		}
	}
}

// TestAddAll: increments of several entities are 1 read and 1 transaction, all or nothing.
func TestAddAll(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(time.Hour, nil))
	noError(t, visits.Set(ctx, july, 5))
	s.Count()
	increments := func(days int) iter.Seq2[time.Time, int64] {
		return func(yield func(time.Time, int64) bool) {
			for i := range 2 * days {
				if !yield(july.Add(time.Duration(i)*12*time.Hour), 1) || !yield(july.Add(time.Duration(i)*12*time.Hour+time.Minute), 2) {
					return
				}
			}
		}
	}
	noError(t, visits.AddAll(ctx, increments(0)))
	testkit.Expect(t, "requests of no values", s.Count().String(), "none")
	noError(t, visits.AddAll(ctx, increments(1)))
	testkit.Expect(t, "requests of 1 day", s.Count().String(), "1 get, 1 transaction")
	noError(t, visits.AddAll(ctx, increments(3)))
	testkit.Expect(t, "requests of 3 days", s.Count().String(), "1 query, 1 transaction")
	testkit.Expect(t, "rows", stored(s), "2014-07-31: H00=11 H12=6; 2014-08-01: H00=3 H12=3; 2014-08-02: H00=3 H12=3")
	noError(t, visits.AddAll(ctx, increments(3)))
	testkit.Expect(t, "requests of 3 days that exist", s.Count().String(), "1 query, 1 transaction")
	testkit.Expect(t, "rows", stored(s), "2014-07-31: H00=14 H12=9; 2014-08-01: H00=6 H12=6; 2014-08-02: H00=6 H12=6")
	var le *table.LimitError
	if err := visits.AddAll(ctx, increments(101)); !errors.As(err, &le) || le.Max != 100 {
		t.Errorf("101 entities: got error %v; want a LimitError with the limit of 100", err)
	}
	if err := visits.Exact().AddAll(ctx, increments(100)); !errors.As(err, &le) {
		t.Errorf("100 entities with Exact: got error %v; want a LimitError", err)
	}
	s.Count()
	noError(t, visits.Exact().AddAll(ctx, increments(99)))
	testkit.Expect(t, "requests of 99 days with Exact", s.Count().String(), "1 query, 1 transaction")
}

// beforeTransactions calls f before each transaction of the table.
func beforeTransactions(f func()) func(*http.Request) {
	return func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "$batch") {
			f()
		}
	}
}
