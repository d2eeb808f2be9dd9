package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestLateMessage: a message of an earlier version of a range, which comes while a worker is at
// work on the next one, does nothing.
func TestLateMessage(t *testing.T) {
	inOffice(t, 1, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		other := newOffice(s, nil)
		o.took = 600 * time.Millisecond
		late := 0
		o.do = func([]*table.Entity[clerk]) error {
			r, err := jobs.OpenRange(ctx, o.raise, "1")
			testkit.NoError(t, err)
			if r.Version() < 2 { // the first version comes with the start, the second is what the first slice has left
				return nil
			}
			late++
			testkit.NoError(t, jobs.Late(ctx, other.raise, r, 1))
			return nil
		}
		testkit.NoError(t, o.raise.Start(ctx, "1", 1, nil))
		testkit.NoError(t, o.store.Drain(ctx))
		if late == 0 {
			t.Fatal("got no second version of a range; want one")
		}
		testkit.Expect(t, "clerks that late messages worked on", len(other.seen), 0)
		status, err := o.raise.Status(ctx, "1")
		if err != nil || status.State != jobs.Finished || status.Rows != 50 {
			t.Errorf("got %+v, %v; want a finished job of 50 rows", status, err)
		}
	})
}

// TestLateEnd: the end of a slice that comes when another worker has ended the range does not open it again.
func TestLateEnd(t *testing.T) {
	inOffice(t, 1, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		other := newOffice(s, nil)
		o.took = 600 * time.Millisecond
		first := true
		o.do = func([]*table.Entity[clerk]) error {
			if !first {
				return nil
			}
			first = false
			r, err := jobs.OpenRange(ctx, o.raise, "1")
			testkit.NoError(t, err)
			testkit.NoError(t, jobs.Late(ctx, other.raise, r, 0)) // a second worker has the same message, and is faster
			return nil
		}
		testkit.NoError(t, o.raise.Start(ctx, "1", 1, nil))
		testkit.NoError(t, o.store.Drain(ctx))
		testkit.Expect(t, "clerks of the second worker", len(other.seen), 50)
		r, err := jobs.OpenRange(ctx, o.raise, "1")
		testkit.NoError(t, err)
		if r.Version() != 0 {
			t.Errorf("got the open range %+v; want none", r)
		}
		status, err := o.raise.Status(ctx, "1")
		if err != nil || status.State != jobs.Finished || status.Open != 0 || status.Rows != 50 {
			t.Errorf("got %+v, %v; want a finished job of 50 rows, each counted once", status, err)
		}
	})
}
