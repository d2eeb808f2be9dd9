package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestParticipantGlobalLeftOver: nothing of refused writes is left once the clean-up has run.
func TestParticipantGlobalLeftOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, elsewhere{}, newLogin())
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
	for i := range 3 {
		if _, err := s.staff.Insert(ctx, &worker{"M", 2 + i, "Smith", "a", 44, nil}); !errors.Is(err, table.ErrTaken) {
			t.Fatalf("got %v; want ErrTaken", err)
		}
	}
	check(t, s.worker.Drain(ctx))
	for range 3 {
		s.Advance(30 * time.Hour)
		check(t, s.worker.Drain(ctx))
		_, err := baretest.SweepAll(ctx, s.staff)
		check(t, err)
	}
	for _, name := range []string{"staff", "stafflogin"} {
		for _, r := range s.Rows(name) {
			if strings.HasPrefix(r.RowKey, "~") {
				t.Errorf("got %s/%s/%s; want no row of the library", name, r.PartitionKey, r.RowKey)
			}
		}
	}
}

// TestParticipantGlobalBulkMessage: bulk work goes on although the values of a transaction are too many for one message.
func TestParticipantGlobalBulkMessage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, elsewhere{}, newLogin())
	long := strings.Repeat("x", 480)
	ops := func(yield func(table.Op, error) bool) {
		for i := range 98 {
			if !yield(s.staff.UpsertOp(&worker{"S", i, "B", fmt.Sprint("m", i, long), 44, nil}, table.ReplaceExisting), nil) {
				return
			}
		}
	}
	done, err := door.Bulk(ctx, ops, nil)
	if err != nil || done.Applied != 98 {
		t.Fatalf("got %+v, %v; want 98 inserts", done, err)
	}
	long += "y"
	done, err = door.Bulk(ctx, ops, nil)
	if err != nil || done.Applied != 98 {
		t.Errorf("got %+v, %v; want 98 changes", done, err)
	}
}

// TestParticipantScopeBulkCost: bulk work whose rows do not fit into the transaction of a scope finds quickly how many do.
func TestParticipantScopeBulkCost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byLogin := index.NewUnique("login", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, nil).In(func(w *worker) keys.PartitionKey { return keys.RawPartition("all") })
	s := newElsewhereScene(t, elsewhere{}, byLogin)
	done, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 98 {
			if !yield(s.staff.InsertOp(&worker{"S", i, "B", fmt.Sprint("m", i), 44, nil}), nil) {
				return
			}
		}
	}, nil)
	check(t, err)
	testkit.Expect(t, "inserts", done.Applied, 98)
	var all []*table.Entity[worker]
	for e, err := range s.staff.List(ctx, table.Query[worker]{Partition: dept.PartitionKey("S")}) {
		check(t, err)
		all = append(all, e)
	}
	s.Count()
	done, err = door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for _, e := range all {
			e.Value.Email += "x"
			if !yield(s.staff.ReplaceOp(e), nil) {
				return
			}
		}
	}, nil)
	check(t, err)
	testkit.Expect(t, "replacements", done.Applied, 98)
	c := s.Count()
	if n := c.Total(); n > 400 {
		t.Errorf("got %d requests (%s); want about 150", n, c.String())
	}
}

// TestParticipantGlobalStale: a value that an entity gives up, takes again, and gives up, while a write by key is planned again.
func TestParticipantGlobalStale(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, elsewhere{}, newLogin())
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
	own := &testkit.Hooked{Service: s.Service, Serial: true}
	acc, err := account.FromTransport(own, nil)
	check(t, err)
	o := quick()
	options.SetNow(&o.Common, s.Now)
	staff, _, _, err := openElsewhere(acc, o, newLogin())
	check(t, err)
	set := func(mail string) {
		if err := s.staff.MergeAny(ctx, workerIn("S", 1), email.Set(mail)); err != nil {
			t.Errorf("set %s: %v", mail, err)
		}
	}
	step := 0
	own.BeforeRequest = func(r *http.Request) {
		switch {
		case step == 0 && strings.Contains(r.URL.Path, "$batch"): // the plan is made: a is given up
			step = 1
			set("y")
		case step == 1 && r.Method == "GET" && strings.Contains(r.URL.Path, "stafflogin") && strings.Contains(r.URL.Path, "RowKey='login_a"):
			step = 2 // it reads that the row of a is gone
		case step == 2 && r.Method == "GET" && strings.Contains(r.URL.Path, "/staff(") && strings.Contains(r.URL.Path, "w_"):
			step = 3
			set("a")
		}
	}
	check(t, staff.MergeAny(ctx, workerIn("S", 1), email.Set("z")))
	own.BeforeRequest = nil
	if step != 3 {
		t.Errorf("got to step %d; want 3", step)
	}
	check(t, checkLogins(s.Service))
	if _, err := s.staff.Insert(ctx, &worker{"M", 2, "Smith", "a", 44, nil}); err != nil {
		t.Errorf("a free value: got %v; want no error", err)
	}
}
