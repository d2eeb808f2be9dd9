package logtail_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
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
				got := follow(t, ctx, follower, logtail.NewCursor("", time.Now()))
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
	other, err := claims.In(dept.PartitionKey("Sales")).Append(ctx, &claim{1, 1})
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
	var be *table.BatchError
	if !errors.As(err, &be) || be.Index < 200 || be.Index >= 300 || be.Key != rs[be.Index].Key {
		t.Errorf("AppendAll: got error %v; want a *table.BatchError that names one of the records 200 to 299 by its index", err)
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
