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
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// claimsFrom returns claims with the amounts 0 to n-1.
func claimsFrom(n int) (all []*claim) {
	for i := range n {
		all = append(all, &claim{1, i})
	}
	return all
}

// rawRows returns the table as rows of any type.
func rawRows(t testing.TB, s account.Transport) *table.Table[table.Row] {
	t.Helper()
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	rows, err := table.New(acc.Tables(), "claims", table.Schema[table.Row]{}, nil)
	noError(t, err)
	return rows
}

// follow returns the amounts of the records that a follower yields until the context ends.
func follow(t testing.TB, ctx context.Context, l *logtail.Log[claim], c *logtail.Cursor) (all []int) {
	t.Helper()
	for r, err := range l.Follow(ctx, c) {
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Follow: got error %v; want none until the context ends", err)
			}
			return all
		}
		all = append(all, r.Value.Amount)
	}
	return all
}

// TestSlowAppends: a follower yields all records of an AppendAll that takes longer than Overlap, in their order, also if the first
// transaction of several partitions is the slowest.
func TestSlowAppends(t *testing.T) {
	t.Parallel()
	for _, spread := range []int{1, 8} {
		t.Run(fmt.Sprintf("spread over %d", spread), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				defer cancel()
				s := &testkit.Hooked{Service: storagetest.New(nil)}
				slow := openLog(t, s, &logtail.Options{Spread: spread})
				follower := openLog(t, s.Service, &logtail.Options{Spread: spread, Poll: 10 * time.Second})
				n := 0
				s.BeforeRequest = func(r *http.Request) {
					if time.Sleep(4 * time.Second); n == 0 {
						time.Sleep(5 * time.Second)
					}
					n++
				}
				go func() {
					if _, err := slow.AppendAll(ctx, claimsFrom(4_000)...); err != nil {
						t.Errorf("AppendAll: got error %v; want none", err)
					}
				}()
				got := follow(t, ctx, follower, logtail.NewCursorAt(time.Now()))
				if len(got) != 4_000 {
					t.Fatalf("got %d records; want 4000", len(got))
				}
				for i, amount := range got {
					if amount != i {
						t.Fatalf("got record %d at %d; want the order of the writer", amount, i)
					}
				}
			})
		})
	}
}

// TestLateResend: a record that is not stored is not stored later than followers wait for it.
func TestLateResend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o := &logtail.Options{}
		o.Retry.Attempts = 1
		claims, s := newLog(t, o)
		s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostRequest())))
		lost, err := claims.Append(ctx, &claim{1, 1})
		if !errors.Is(err, table.ErrUnknownOutcome) || lost == nil {
			t.Fatalf("Append: got %v, error %v; want the record and ErrUnknownOutcome", lost, err)
		}
		s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostResponse())))
		o.OmitOperationID = true
		stored, err := openLog(t, s, o).Append(ctx, &claim{1, 2})
		if !errors.Is(err, table.ErrUnknownOutcome) || stored == nil {
			t.Fatalf("Append: got %v, error %v; want the record and ErrUnknownOutcome", stored, err)
		}
		time.Sleep(100 * time.Second)
		if err := claims.Resend(ctx, lost); !errors.Is(err, logtail.ErrTooLate) {
			t.Errorf("Resend of a lost record: got error %v; want ErrTooLate", err)
		}
		if err := claims.Resend(ctx, stored); err != nil {
			t.Errorf("Resend of a stored record: got error %v; want none", err)
		}
		testkit.Expect(t, "records", amounts(t, claims.Tail(ctx, 10)), []int{2})
	})
}

// TestWrongRecords: Resend refuses what it has not made.
func TestWrongRecords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claims, s := newLog(t, nil)
	other, err := claims.In(dept.Of("Sales")).Append(ctx, &claim{1, 1})
	noError(t, err)
	s.Count()
	for name, r := range map[string]*logtail.Record[claim]{"nil": nil, "an empty record": {}, "of another source": other} {
		var ve *table.ValueError
		if err := claims.Resend(ctx, r); !errors.As(err, &ve) || ve.Field != "record" {
			t.Errorf("%s: got error %v; want a *table.ValueError of the record", name, err)
		}
	}
	rs, err := claims.AppendAll(ctx)
	if len(rs) != 0 || err != nil {
		t.Errorf("AppendAll of nothing: got %v, error %v; want neither", rs, err)
	}
	noError(t, claims.Resend(ctx))
	testkit.Expect(t, "requests", s.Count().String(), "none")
}

// TestAppendAllFails: AppendAll returns the records before a failure, and those of the failed transaction; Resend stores them.
func TestAppendAllFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := &logtail.Options{Spread: 8}
	o.Retry.Attempts = 1
	claims, s := newLog(t, o)
	n := 0
	s.SetFaults(storagetest.When(func(q storagetest.Request) bool {
		if q.Kind == requests.Transaction {
			n++
		}
		return q.Kind == requests.Transaction && n == 3
	}, storagetest.LostRequest()))
	values := claimsFrom(1_000)
	rs, err := claims.AppendAll(ctx, values...)
	if len(rs) != 300 || !errors.Is(err, table.ErrUnknownOutcome) {
		t.Fatalf("AppendAll: got %d records, error %v; want 300 and ErrUnknownOutcome", len(rs), err)
	}
	testkit.Expect(t, "stored rows", len(s.Rows("claims")), 200)
	noError(t, claims.Resend(ctx, rs...))
	_, err = claims.AppendAll(ctx, values[len(rs):]...)
	noError(t, err)
	got := amounts(t, claims.Tail(ctx, 2_000))
	if len(got) != 1_000 || got[0] != 999 || got[999] != 0 {
		t.Errorf("got %d records; want 1000, from 999 to 0", len(got))
	}
}

// TestCursorBeforeUse: the token of a cursor at a time is that time, also before it is used.
func TestCursorBeforeUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		claims, _ := newLog(t, nil)
		_, err := claims.Append(context.Background(), &claim{1, 1})
		noError(t, err)
		time.Sleep(time.Second)
		token := logtail.NewCursorAt(time.Now()).Token()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		go func() {
			time.Sleep(time.Second)
			if _, err := claims.Append(ctx, &claim{1, 2}); err != nil {
				t.Errorf("Append: got error %v; want none", err)
			}
		}()
		testkit.Expect(t, "records", follow(t, ctx, claims, logtail.NewCursor(token)), []int{2})
	})
}

// TestSources: a source cannot be a partition of another one, and the names of all partitions of a source are checked before a
// request.
func TestSources(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claims, s := newLog(t, &logtail.Options{Spread: 4})
	for name, source := range map[string]keys.Enc{"a partition": keys.Raw("log~001"), "too long for the others": keys.Raw(strings.Repeat("x", 510)), "no key": keys.Raw("a/b")} {
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
	_, err := claims.In(dept.Of("../größe ~001")).Append(ctx, &claim{1, 1})
	noError(t, err)
}

// TestBounds: bounds inside a tick, at the beginning of time, and none.
func TestBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := &logtail.Options{}
	o.Now = func() time.Time { return at }
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
		_, err := rows.InsertAt(ctx, keys.At(keys.Raw("log"), keys.Raw(fmt.Sprintf("%06d", i))), &table.Row{})
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

// TestUnreadableRecords: a record that cannot be read ends a list, unless Options.Skip leaves it out.
func TestUnreadableRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		claims, s := newLog(t, nil)
		n, err := keys.InvertedTicks(time.Now())
		noError(t, err)
		row := &table.Row{}
		noError(t, row.Set("Amount", "text"))
		_, err = rawRows(t, s).InsertAt(context.Background(), keys.At(keys.Raw("log"), keys.Raw(fmt.Sprintf("%019d", n))), row)
		noError(t, err)
		time.Sleep(time.Second)
		_, err = claims.Append(context.Background(), &claim{1, 1})
		noError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var de *table.DecodeError
		if _, err := table.Collect(claims.Follow(ctx, nil)); !errors.As(err, &de) {
			t.Errorf("Follow: got error %v; want a *table.DecodeError", err)
		}
		var skipped []string
		patient := openLog(t, s, &logtail.Options{Skip: func(k keys.Key, err error) bool {
			skipped = append(skipped, k.RowKey())
			return true
		}})
		testkit.Expect(t, "the tail", amounts(t, patient.Tail(ctx, 10)), []int{1})
		testkit.Expect(t, "skipped rows", len(skipped), 1)
		testkit.Expect(t, "followed records", follow(t, ctx, patient, nil), []int{1})
	})
}

// TestPlainTwice: two records of other programs with one time, in two partitions, are two.
func TestPlainTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		claims, s := newLog(t, &logtail.Options{Spread: 2})
		n, err := keys.InvertedTicks(time.Now())
		noError(t, err)
		insert := func(partition string, amount int) {
			row := &table.Row{}
			testkit.Expect(t, "error of Set", row.Set("Amount", amount), nil)
			_, err := rawRows(t, s).InsertAt(ctx, keys.At(keys.Raw(partition), keys.Raw(fmt.Sprintf("%019d", n))), row)
			testkit.Expect(t, "error of InsertAt", err, nil)
		}
		insert("log", 1)
		go func() {
			time.Sleep(5 * time.Second)
			insert("log~001", 2)
		}()
		testkit.Expect(t, "followed records", follow(t, ctx, claims, nil), []int{1, 2})
	})
}

// TestTokenSize: a token stays small, however many records a writer has, and in however many sources.
func TestTokenSize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		claims, _ := newLog(t, nil)
		a, b := claims.In(dept.Of("A")), claims.In(dept.Of("B"))
		for i := range 500 {
			for _, l := range []*logtail.Log[claim]{a, b} {
				_, err := l.Append(ctx, &claim{1, i})
				noError(t, err)
			}
		}
		cursor, n := logtail.NewCursor(""), 0
		for _, err := range a.Follow(ctx, cursor) {
			noError(t, err)
			if n++; n == 500 {
				break
			}
		}
		if got := len(cursor.Token()); got > 200 {
			t.Errorf("token after 500 records of 1 writer: got %d bytes; want 200 at most", got)
		}
	})
}

// TestFuture: records of a clock that is far ahead do not cost requests until their time is near, and are yielded then.
func TestFuture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &logtail.Options{}
		o.Now = func() time.Time { return time.Now().Add(time.Hour) }
		ahead, s := newLog(t, o)
		_, err := ahead.AppendAll(context.Background(), claimsFrom(2_000)...)
		noError(t, err)
		s.Count()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		cursor := logtail.NewCursor("")
		claims := openLog(t, s, &logtail.Options{Poll: 10 * time.Second})
		testkit.Expect(t, "records after 10 minutes", len(follow(t, ctx, claims, cursor)), 0)
		if n := s.Count()[requests.Query]; n > 80 {
			t.Errorf("requests in 10 minutes: got %d queries; want 80 at most", n)
		}
		ctx, cancel = context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		testkit.Expect(t, "records after an hour", len(follow(t, ctx, claims, cursor)), 2_000)
	})
}

// TestFollowersClock: a follower whose clock steps back, and one that begins in the future, yield each record once, with few requests.
func TestFollowersClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		claims, s := newLog(t, nil)
		_, err := claims.AppendAll(context.Background(), claimsFrom(5)...)
		noError(t, err)
		began := time.Now()
		o := &logtail.Options{Poll: 10 * time.Second}
		o.Now = func() time.Time {
			if time.Since(began) > 10*time.Minute {
				return time.Now().Add(-time.Hour)
			}
			return time.Now()
		}
		unsteady := openLog(t, s, o)
		cursor, n := logtail.NewCursor(""), 0
		for r, err := range unsteady.Follow(context.Background(), cursor) {
			if noError(t, err); r.Value.Amount != n {
				t.Fatalf("got record %d; want %d", r.Value.Amount, n)
			}
			if n++; n == 4 {
				break
			}
		}
		s.Count()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
		defer cancel()
		testkit.Expect(t, "records before and after the step", follow(t, ctx, unsteady, cursor), []int{4})
		again, cancelAgain := context.WithTimeout(context.Background(), 10*time.Minute) // a follower that begins after the step
		defer cancelAgain()
		testkit.Expect(t, "records after the step", follow(t, again, unsteady, logtail.NewCursor(cursor.Token())), []int(nil))
		if n := s.Count()[requests.Query]; n > 200 {
			t.Errorf("requests in 30 minutes: got %d queries; want 200 at most", n)
		}
		later, cancelLater := context.WithTimeout(context.Background(), 2*time.Hour)
		defer cancelLater()
		go func() {
			time.Sleep(time.Hour + time.Second)
			_, err := claims.Append(later, &claim{1, 9})
			testkit.Expect(t, "error of Append", err, nil)
		}()
		testkit.Expect(t, "records after an hour", follow(t, later, openLog(t, s, &logtail.Options{Poll: 10 * time.Second}), logtail.NewCursorAt(time.Now().Add(time.Hour))), []int{9})
	})
}
