package eventual_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestCleanUp: the clean-up deletes commit records of more than a day ago, after the rows of the handlers. Pending and younger commit
// records stay, and count as left.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := newOffice(t, noPauses())
		var swept time.Time
		h := o.handler()
		h.Sweep = func(_ context.Context, partition keys.PartitionKey, before time.Time) error {
			testkit.Expect(t, "partition that the handler sweeps", partition.String(), "S")
			testkit.Expect(t, "records before the handler's sweep", strings.Count(recordStates(s), "done"), 11)
			swept = before
			return nil
		}
		w := o.worker(t, fastPolling(), h)
		write := func(n int) {
			for i := range n {
				_, err := o.staff.Upsert(ctx, &clerk{"S", 1, fmt.Sprint(time.Now(), i)}, table.ReplaceExisting)
				noError(t, err)
			}
		}
		write(10)
		drain(t, w)
		o.insert(t, clerk{"S", 2, "Smith"})
		pending := s.Messages("notifications")
		o.clear(t, "notifications")
		time.Sleep(20 * time.Hour)
		write(1)
		drain(t, w)
		day := time.Now()
		time.Sleep(6 * time.Hour)
		left, err := bareworker.Clean(ctx, w, o.staff, "S", day.Add(time.Hour))
		noError(t, err)
		testkit.Expect(t, "records left", left, 1) // the younger one is of a later time than the sweep looks at
		testkit.Expect(t, "states after the clean-up", recordStates(s), "done pending")
		atLeast(t, "age of the rows to sweep", s.Now().Sub(swept), 25*time.Hour)
		atMost(t, "age of the rows to sweep", s.Now().Sub(swept), 26*time.Hour)
		left, err = bareworker.Clean(ctx, o.worker(t, fastPolling()), o.staff, "S", day.Add(-48*time.Hour))
		noError(t, err)
		testkit.Expect(t, "records left of a time before the first", left, 0)
		o.put(t, "notifications", pending[0].Text)
		drain(t, w)
		if got := recordStates(s); strings.Contains(got, "pending") { // a committed write is executed, however old
			t.Errorf("states after the notification: got %q, want none pending", got)
		}
	})
}

// TestCleanUpOfOlderRelease: a message by which workers of an older release scheduled a clean-up is deleted, and deletes nothing else.
func TestCleanUpOfOlderRelease(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	w := o.worker(t, fastPolling())
	drain(t, w)
	before := len(s.Rows("staff"))
	o.put(t, "notifications", `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`)
	drain(t, w)
	testkit.Expect(t, "rows", len(s.Rows("staff")), before)
	testkit.Expect(t, "messages", len(s.Messages("notifications"))+len(s.Messages("poison")), 0)
}

// TestSweepPanics: a clean-up fails if the Sweep function of a handler panics.
func TestSweepPanics(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	h := o.handler()
	h.Sweep = func(context.Context, keys.PartitionKey, time.Time) error { panic("oh") }
	o.insert(t, clerk{"S", 1, "Jones"})
	before := recordStates(s)
	if _, err := bareworker.Clean(context.Background(), o.worker(t, fastPolling(), h), o.staff, "S", time.Time{}); err == nil || !strings.Contains(err.Error(), "panicked: oh") {
		t.Errorf("got error %v, want that of the panic", err)
	}
	testkit.Expect(t, "records", recordStates(s), before)
}
