package logtail_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

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

// TestCursorBeforeUse: the token of a cursor at a time is that time, also before it is used.
func TestCursorBeforeUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		claims, _ := newLog(t, nil)
		_, err := claims.Append(context.Background(), &claim{1, 1})
		noError(t, err)
		time.Sleep(time.Second)
		token := logtail.NewCursor("", time.Now()).Token()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		go func() {
			time.Sleep(time.Second)
			if _, err := claims.Append(ctx, &claim{1, 2}); err != nil {
				t.Errorf("Append: got error %v; want none", err)
			}
		}()
		testkit.Expect(t, "records", follow(t, ctx, claims, logtail.NewCursor(token, time.Time{})), []int{2})
	})
}

// TestFollowFromNow: a follower that begins behind the first records of a writer reads one partition once, because no record of it can
// be missing. It reads several partitions twice.
func TestFollowFromNow(t *testing.T) {
	t.Parallel()
	for spread, want := range map[int]int{1: 1, 2: 4} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			claims, s := newLog(t, &logtail.Options{Spread: spread})
			for i := range 3 {
				_, err := claims.Append(ctx, &claim{1, i})
				noError(t, err)
			}
			time.Sleep(10 * time.Second)
			go func() {
				time.Sleep(10500 * time.Millisecond) // between two polls
				if _, err := claims.Append(ctx, &claim{1, 3}); err != nil {
					t.Errorf("Append: got error %v; want none", err)
				}
				s.Count()
			}()
			for r, err := range claims.Follow(ctx, logtail.NewCursor("", time.Now())) {
				noError(t, err)
				testkit.Expect(t, "record", r.Value.Amount, 3)
				break
			}
			testkit.Expect(t, fmt.Sprintf("queries of %d partitions", spread), s.Count()[requests.Query], want)
		})
	}
}

// TestUnreadableRecords: a record that cannot be read ends a list, unless Options.Skip leaves it out.
func TestUnreadableRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		claims, s := newLog(t, nil)
		n := keys.Desc(keys.Time()).RowKey(time.Now())
		row := &table.Row{}
		noError(t, row.Set("Amount", "text"))
		_, err := rawRows(t, s).InsertAt(context.Background(), keys.At(keys.RawPartition("log"), keys.RawRow(n.String())), row)
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
		n := keys.Desc(keys.Time()).RowKey(time.Now())
		insert := func(partition string, amount int) {
			row := &table.Row{}
			testkit.Expect(t, "error of Set", row.Set("Amount", amount), nil)
			_, err := rawRows(t, s).InsertAt(ctx, keys.At(keys.RawPartition(partition), keys.RawRow(n.String())), row)
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
		a, b := claims.In(dept.PartitionKey("A")), claims.In(dept.PartitionKey("B"))
		for i := range 500 {
			for _, l := range []*logtail.Log[claim]{a, b} {
				_, err := l.Append(ctx, &claim{1, i})
				noError(t, err)
			}
		}
		cursor, n := logtail.NewCursor("", time.Time{}), 0
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
		options.SetNow(&o.Common, func() time.Time { return time.Now().Add(time.Hour) })
		ahead, s := newLog(t, o)
		_, err := ahead.AppendAll(context.Background(), claimsFrom(2_000)...)
		noError(t, err)
		s.Count()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		cursor := logtail.NewCursor("", time.Time{})
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
		options.SetNow(&o.Common, func() time.Time {
			if time.Since(began) > 10*time.Minute {
				return time.Now().Add(-time.Hour)
			}
			return time.Now()
		})
		unsteady := openLog(t, s, o)
		cursor, n := logtail.NewCursor("", time.Time{}), 0
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
		testkit.Expect(t, "records after the step", follow(t, again, unsteady, logtail.NewCursor(cursor.Token(), time.Time{})), []int(nil))
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
		testkit.Expect(t, "records after an hour", follow(t, later, openLog(t, s, &logtail.Options{Poll: 10 * time.Second}), logtail.NewCursor("", time.Now().Add(time.Hour))), []int{9})
	})
}
