package pace_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/pace"
)

// TestLimit: what the methods take, and how long they wait.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		began := time.Now()
		expect := func(what string, want time.Duration) {
			t.Helper()
			if got := time.Since(began); got != want {
				t.Errorf("%s: got %v; want %v", what, got, want)
			}
		}
		l := pace.New(100)
		if err := l.Spend(ctx, 50); err != nil {
			t.Fatal(err)
		}
		expect("50 rows at 100 a second", 500*time.Millisecond)
		l.Charge(100)
		expect("a charge", 500*time.Millisecond)
		if l.Paid() {
			t.Error("got a paid charge; want a second until then")
		}
		if err := l.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		expect("after the charge", 1500*time.Millisecond)
		time.Sleep(time.Minute) // a pause gives no credit
		if err := l.Spend(ctx, 100); err != nil {
			t.Fatal(err)
		}
		expect("after a pause", 62500*time.Millisecond)

		none := new(pace.Limit)
		if err := none.Spend(ctx, 1_000_000); err != nil || none.PageSize() != 0 {
			t.Errorf("got %v, pages of %d; want no limit", err, none.PageSize())
		}
		expect("without a limit", 62500*time.Millisecond)
		none.AtMost(2000)
		none.AtMost(1) // there is one
		if err := none.Spend(ctx, 2000); err != nil || none.PageSize() != 1000 {
			t.Errorf("got %v, pages of %d; want pages of 1000", err, none.PageSize())
		}
		expect("with a limit that was set later", 63500*time.Millisecond)
	})
}

// TestWaitEnds: the end of the context ends the wait.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := pace.New(1).Spend(ctx, 100); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; want DeadlineExceeded", err)
		}
	})
}
