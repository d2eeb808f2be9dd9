package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
			r, err := jobs.OpenRange(ctx, o.raise, o.staff, "1")
			testkit.NoError(t, err)
			if r.Version() < 2 { // the first version comes with the start, the second is what the first slice has left
				return nil
			}
			late++
			testkit.NoError(t, jobs.Late(ctx, other.raise, other.staff, r, 1))
			return nil
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
		testkit.NoError(t, o.store.Drain(ctx))
		if late == 0 {
			t.Fatal("got no second version of a range; want one")
		}
		testkit.Expect(t, "clerks that late messages worked on", len(other.seen), 0)
		status, err := o.raise.Status(ctx, o.staff, "1")
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
			r, err := jobs.OpenRange(ctx, o.raise, o.staff, "1")
			testkit.NoError(t, err)
			testkit.NoError(t, jobs.Late(ctx, other.raise, other.staff, r, 0)) // a second worker has the same message, and is faster
			return nil
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
		testkit.NoError(t, o.store.Drain(ctx))
		testkit.Expect(t, "clerks of the second worker", len(other.seen), 50)
		r, err := jobs.OpenRange(ctx, o.raise, o.staff, "1")
		testkit.NoError(t, err)
		if r.Version() != 0 {
			t.Errorf("got the open range %+v; want none", r)
		}
		status, err := o.raise.Status(ctx, o.staff, "1")
		if err != nil || status.State != jobs.Finished || status.Open != 0 || status.Rows != 50 {
			t.Errorf("got %+v, %v; want a finished job of 50 rows, each counted once", status, err)
		}
	})
}

// TestFailsBeside: a worker that fails with a range that another one works on keeps that one from nothing: each row is worked on once more at most, and counted once.
func TestFailsBeside(t *testing.T) {
	inOffice(t, 4, 25, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		other := newOffice(s, nil)
		other.do = func([]*table.Entity[clerk]) error { return errors.New("not here") }
		o.page, o.took = 10, 600*time.Millisecond
		first := true
		o.do = func([]*table.Entity[clerk]) error {
			if !first {
				return nil
			}
			first = false
			r, err := jobs.OpenRange(ctx, o.raise, o.staff, "1")
			testkit.NoError(t, err)
			if err := jobs.Late(ctx, other.raise, other.staff, r, 0); err == nil {
				t.Error("the other worker: got no error")
			}
			return nil
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
		testkit.NoError(t, o.store.Drain(ctx))
		status, err := o.raise.Status(ctx, o.staff, "1")
		if again := o.expectAll(t, 100); err != nil || status.State != jobs.Finished || status.Rows != 100 || again > 0 {
			t.Errorf("got %+v, %v, and %d worked on again; want a finished job of 100 rows, each once", status, err, again)
		}
	})
}

// TestSpoiledRows: an argument that is none any more, as after a change of its type, and a range that
// is none make the message poison at once.
func TestSpoiledRows(t *testing.T) {
	for _, c := range []struct{ row, spoiled, want string }{
		{"job", `"Arg":"{"`, "is no int"},
		{"range", `"From":"b","To":"a"`, "swapped"},
	} {
		t.Run(c.row, func(t *testing.T) {
			inOffice(t, 1, 1, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
				testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
				for _, r := range s.Rows("staffjobs") {
					if strings.HasPrefix(r.RowKey, c.row) {
						row := fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q,%s}`, r.PartitionKey, r.RowKey, c.spoiled)
						_, err := s.Tables().NewClient("staffjobs").UpdateEntity(ctx, row, nil)
						testkit.NoError(t, err)
					}
				}
				if err := o.store.Drain(ctx); err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got error %v; want one that has %q, or none", err, c.want)
				}
				testkit.Expect(t, "messages in the poison queue", len(s.Messages("office-poison")), 1)
				testkit.Expect(t, "clerks worked on", len(o.seen), 0)
			})
		})
	}
}

// TestFailurePassed: the status shows the failure of a page until a slice has passed the page.
func TestFailurePassed(t *testing.T) {
	inOffice(t, 1, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.took = 600 * time.Millisecond
		pages, shown, behind := 0, 0, 0
		o.do = func([]*table.Entity[clerk]) error {
			status, err := o.raise.Status(ctx, o.staff, "1")
			testkit.NoError(t, err)
			if pages++; pages <= 2 {
				return errors.New("not yet")
			}
			shown = max(shown, len(status.Failures))
			if pages > 4 { // each slice has two pages
				behind = max(behind, len(status.Failures))
			}
			return nil
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
		status := run(t, ctx, o.raise, o.staff, "1", o)
		o.expectAll(t, 50)
		if status.Rows != 50 || shown != 1 || behind != 0 {
			t.Errorf("got %+v, %d failures shown, %d behind the page; want 50 rows, 1 and none", status, shown, behind)
		}
	})
}

// TestDeletedInSlice: a job that is canceled and deleted while a slice of it is at work leaves no
// row, and no attempt of the worker fails.
func TestDeletedInSlice(t *testing.T) {
	inOffice(t, 1, 1, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.do = func([]*table.Entity[clerk]) error {
			return errors.Join(o.raise.Cancel(ctx, o.staff, "1"), o.raise.Delete(ctx, o.staff, "1"))
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
		testkit.NoError(t, o.store.Drain(ctx))
		o.expectAll(t, 1)
		o.expectNoRows(t, s)
	})
}

// TestOpen: no more ranges are open than the options say, and one for each worker that halves its own meanwhile. A job that is deleted leaves no row.
func TestOpen(t *testing.T) {
	inOffice(t, 20, 20, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		most := 0
		o.page, o.took = 10, time.Second
		o.do = func([]*table.Entity[clerk]) error {
			status, err := o.raise.Status(ctx, o.staff, "1")
			most = max(most, status.Open)
			return err
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, &jobs.Options{Pass: table.Pass{Concurrency: 3, Rate: 1000}}))
		status := run(t, ctx, o.raise, o.staff, "1", o)
		if o.expectAll(t, 400); status.Rows != 400 || most < 2 || most > 4 {
			t.Errorf("got %+v, and %d open ranges; want 400 rows, and 2 to 4 ranges", status, most)
		}
		testkit.NoError(t, o.raise.Delete(ctx, o.staff, "1"))
		o.expectNoRows(t, s)
	})
}

// TestStartedFaster: a job that was canceled goes on with the options of its next start, and says when it has ended.
func TestStartedFaster(t *testing.T) {
	inOffice(t, 1, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, &jobs.Options{Pass: table.Pass{Rate: 1}}))
		time.AfterFunc(10*time.Second, func() { testkit.NoError(t, o.raise.Cancel(ctx, o.staff, "1")) })
		if status := run(t, ctx, o.raise, o.staff, "1", o); status.Rows > 40 || status.Ended.IsZero() {
			t.Errorf("canceled: got %+v; want fewer than 40 rows, and when it was", status)
		}
		began := time.Now()
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
		status := run(t, ctx, o.raise, o.staff, "1", o)
		if took := time.Since(began); status.Rows != 50 || took > 20*time.Second || status.Ended.Before(began) {
			t.Errorf("got %+v after %v; want 50 rows within 20 s, and when it has ended", status, took)
		}
	})
}

// expectNoRows fails if a job has left rows.
func (o *office) expectNoRows(t *testing.T, s *storagetest.Service) {
	t.Helper()
	for _, r := range s.Rows("staffjobs") {
		if !strings.HasPrefix(r.RowKey, "~") {
			t.Errorf("got the row %s, %s; want none", r.PartitionKey, r.RowKey)
		}
	}
}
