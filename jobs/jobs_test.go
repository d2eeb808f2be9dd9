package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// run runs the workers of programs until a job is finished, and returns its status.
func run[P any](t *testing.T, ctx context.Context, j *jobs.Job[clerk, P], staff *table.Table[clerk], name string, all ...*office) jobs.Status {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, 3*time.Hour)
	defer stop()
	var g sync.WaitGroup
	for _, o := range all {
		g.Go(func() {
			if err := o.store.Run(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	for {
		status, err := j.Status(ctx, staff, name)
		if err != nil {
			t.Fatalf("status: %v", err)
		}
		if status.State != jobs.Running {
			stop()
			g.Wait()
			return status
		}
		time.Sleep(time.Second)
	}
}

// expectAll fails unless each of n clerks, or partitions, was worked on, and reports how many were worked on more than once.
func (o *office) expectAll(t *testing.T, n int, others ...*office) (again int) {
	t.Helper()
	all := map[string]int{}
	for _, o := range append(others, o) {
		for k, times := range o.seen {
			all[k] += times
		}
	}
	for _, times := range all {
		again += times - 1
	}
	if len(all) != n {
		t.Errorf("got %d worked on; want %d", len(all), n)
	}
	return again
}

// TestThreeWorkers: three programs share a job. Each clerk is worked on once, and counted once.
func TestThreeWorkers(t *testing.T) {
	inOffice(t, 60, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		all := []*office{o, newOffice(s, nil), newOffice(s, nil)}
		for _, o := range all {
			o.took = 200 * time.Millisecond // 60 s in all, a page after the other
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 5, nil))
		began := time.Now()
		status := run(t, ctx, o.raise, o.staff, "2026", all...)
		again := o.expectAll(t, 3000, all[1:]...)
		if status.State != jobs.Finished || status.Rows != 3000 || status.Changed != 15000 || status.Open != 0 || status.Part != 1 || again != 0 {
			t.Errorf("got %+v, and %d worked on again; want 3000 rows, each once", status, again)
		}
		t.Logf("%d ranges, %v", status.Ranges, time.Since(began))
		for i, o := range all {
			if len(o.seen) < 500 {
				t.Errorf("worker %d: got %d clerks; want a share of the 3000", i, len(o.seen))
			}
		}
	})
}

// TestDeleteByQuery and its siblings: what the kinds do, in slices that end inside a partition.
func TestDeleteByQuery(t *testing.T) {
	inOffice(t, 3, 700, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		testkit.NoError(t, o.purge.Start(ctx, o.staff, "1", "Name3", nil))
		status := run(t, ctx, o.purge, o.staff, "1", o)
		left, err := table.Collect(o.staff.List(ctx, table.Query[clerk]{TableScan: true}))
		testkit.NoError(t, err)
		if status.Rows != 300 || status.Changed != 300 || len(left) != 1800 || slices.ContainsFunc(left, func(e *table.Entity[clerk]) bool { return e.Value.Last == "Name3" }) {
			t.Errorf("got %+v and %d clerks; want 300 deleted and 1800 left", status, len(left))
		}
	})
}

func TestArchiveByQuery(t *testing.T) {
	testkit.Long(t)
	inOffice(t, 3, 700, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		testkit.NoError(t, o.moves.Start(ctx, o.staff, "1", "Name3", nil))
		status := run(t, ctx, o.moves, o.staff, "1", o)
		n, err := o.staff.Count(ctx, table.Query[clerk]{TableScan: true})
		testkit.NoError(t, err)
		if status.Rows != 300 || status.Changed != 300 || n != 1800 {
			t.Errorf("got %+v and %d clerks; want 300 archived and 1800 left", status, n)
		}
	})
}

// TestOnePartition: a job on one large partition is divided by its rows.
func TestOnePartition(t *testing.T) {
	testkit.Long(t)
	inOffice(t, 1, 3000, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		all := []*office{o, newOffice(s, nil)}
		for _, o := range all {
			o.took = 200 * time.Millisecond
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 1, nil))
		status := run(t, ctx, o.raise, o.staff, "2026", all...)
		if again := o.expectAll(t, 3000, all[1]); again != 0 || status.Rows != 3000 {
			t.Errorf("got %+v, and %d worked on again; want 3000 rows, each once", status, again)
		}
		if len(o.seen) < 500 || len(all[1].seen) < 500 {
			t.Errorf("got %d and %d clerks; want shares of the 3000", len(o.seen), len(all[1].seen))
		}
	})
}

// TestWholePartitions: work that goes by partitions is divided by partitions, also if a slice does not finish the first.
func TestWholePartitions(t *testing.T) {
	inOffice(t, 100, 1, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.took = 1500 * time.Millisecond
		testkit.NoError(t, o.whole.Start(ctx, o.staff, "1", struct{}{}, nil))
		status := run(t, ctx, o.whole, o.staff, "1", o)
		if again := o.expectAll(t, 100); again != 0 || status.Rows != 100 {
			t.Errorf("got %+v, and %d worked on again; want 100 partitions, each once", status, again)
		}
	})
}

// TestStuck: a partition that takes longer than a slice is left to a slice of its own, which has no end.
func TestStuck(t *testing.T) {
	inOffice(t, 20, 1, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.pieces, o.took = 5, 500*time.Millisecond
		testkit.NoError(t, o.whole.Start(ctx, o.staff, "1", struct{}{}, &jobs.Options{Slice: time.Second}))
		status := run(t, ctx, o.whole, o.staff, "1", o)
		if o.expectAll(t, 20); status.Rows != 20 {
			t.Errorf("got %+v; want 20 partitions", status)
		}
	})
}

// TestStuckHead: a slice that begins with the rest of a partition, and whose time is over before it
// passes a page, leaves that rest to another slice.
func TestStuckHead(t *testing.T) {
	inOffice(t, 2, 25, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.took = 600 * time.Millisecond
		pages := 0
		o.do = func([]*table.Entity[clerk]) error {
			if pages++; pages != 3 { // the first slice has two pages
				return nil
			}
			time.Sleep(5 * time.Minute) // HandlerTimeout
			return errors.New("too slow")
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
		status := run(t, ctx, o.raise, o.staff, "1", o)
		if again := o.expectAll(t, 50); status.Rows != 50 || again != 5 {
			t.Errorf("got %+v, and %d worked on again; want 50 rows, and 5 again", status, again)
		}
	})
}

// TestCancelInSlice: a slice that has no end looks whether its job is canceled.
func TestCancelInSlice(t *testing.T) {
	inOffice(t, 1, 1, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.pieces, o.took = 1000, 500*time.Millisecond
		testkit.NoError(t, o.whole.Start(ctx, o.staff, "1", struct{}{}, nil))
		time.AfterFunc(100*time.Second, func() { _ = o.whole.Cancel(ctx, o.staff, "1") })
		var last time.Duration
		began := time.Now()
		o.piece = func() { last = time.Since(began) }
		runCtx, stop := context.WithTimeout(ctx, 200*time.Second)
		defer stop()
		if testkit.NoError(t, o.store.Run(runCtx)); last < 99*time.Second || last > 111*time.Second {
			t.Errorf("got the last piece after %v; want it within 10 s of 100 s", last)
		}
	})
}

// TestRange: a job on a range leaves the other partitions alone, and one with a query the other rows.
func TestRange(t *testing.T) {
	some := keys.RawPartitions("dept003", "dept006")
	for _, c := range []struct {
		name  string
		in    keys.PartitionRange
		query table.Query[clerk]
		want  int // clerks
	}{
		{"half open", some, table.Query[clerk]{}, 60},
		{"closed", dept.Between("dept003", "dept006"), table.Query[clerk]{}, 80},
		{"a partition", dept.Of("dept003").Point(), table.Query[clerk]{}, 20},
		{"none", keys.RawPartitions("x", "y"), table.Query[clerk]{}, 0},
		{"partitions of the query", keys.PartitionRange{}, table.Query[clerk]{Partitions: some}, 60},
		{"other partitions of the query", dept.Between("dept000", "dept004"), table.Query[clerk]{Partitions: some}, 40},
		// A page has the rows of two partitions.
		{"rows of the query", keys.PartitionRange{}, table.Query[clerk]{Rows: empid.Between(0, 4)}, 50},
		{"rows of a partition", dept.Of("dept003").Point(), table.Query[clerk]{Rows: empid.Between(3, 17)}, 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			inOffice(t, 10, 20, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
				o.query, o.took = c.query, 600*time.Millisecond
				testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, &jobs.Options{Pass: table.Pass{Partitions: c.in}}))
				status := run(t, ctx, o.raise, o.staff, "1", o)
				if again := o.expectAll(t, c.want); status.Rows != c.want || again != 0 {
					t.Errorf("got %+v, and %d worked on again; want %d rows, each once", status, again, c.want)
				}
				n := 0
				for listed, err := range jobs.List(ctx, o.store, "staff") {
					testkit.NoError(t, err)
					testkit.Expect(t, "the job in the list", fmt.Sprintf("%+v", listed), fmt.Sprintf("%+v", status))
					n++
				}
				testkit.Expect(t, "jobs in the list", n, 1)
			})
		})
	}
}

// TestCancel: a canceled job ends within seconds; started again, it goes on with the rest.
func TestCancel(t *testing.T) {
	inOffice(t, 60, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.took = time.Second // 300 s in all
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 1, nil))
		time.AfterFunc(100*time.Second, func() { _ = o.raise.Cancel(ctx, o.staff, "2026") })
		began := time.Now()
		status := run(t, ctx, o.raise, o.staff, "2026", o)
		if took := time.Since(began); status.State != jobs.Canceled || status.Open == 0 || took > 135*time.Second {
			t.Fatalf("got %+v after %v; want a canceled job", status, took)
		}
		if status.Part <= 0 || status.Part >= 1 || status.Left != 0 {
			t.Errorf("got part %.2f done, %v left; want some of it, and no time: it does not go on", status.Part, status.Left)
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 1, nil))
		status = run(t, ctx, o.raise, o.staff, "2026", o)
		if again := o.expectAll(t, 3000); status.State != jobs.Finished || status.Rows != 3000 || again > 20 {
			t.Errorf("got %+v, and %d worked on again; want 3000 rows, and the two pages again that were at work when the program ended", status, again)
		}
		testkit.NoError(t, errors.Join(o.raise.Start(ctx, o.staff, "2026", 1, nil), o.raise.Cancel(ctx, o.staff, "2026")))
		if status, err := o.raise.Status(ctx, o.staff, "2026"); err != nil || status.State != jobs.Finished {
			t.Errorf("started and canceled after its end: got %+v, error %v; want a finished job", status, err)
		}
		testkit.NoError(t, o.raise.Delete(ctx, o.staff, "2026"))
		if _, err := o.raise.Status(ctx, o.staff, "2026"); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("deleted: got error %v; want ErrNotFound", err)
		}
	})
}

// TestCanceledAtTheEnd: a job that was canceled while its last page was worked on has no open range, and is finished when it is started again.
func TestCanceledAtTheEnd(t *testing.T) {
	inOffice(t, 1, 1, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.do = func([]*table.Entity[clerk]) error { return o.raise.Cancel(ctx, o.staff, "1") }
		for _, want := range []string{jobs.Canceled, jobs.Finished} {
			testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
			testkit.NoError(t, o.store.Drain(ctx))
			if status, err := o.raise.Status(ctx, o.staff, "1"); err != nil || status.State != want || status.Open != 0 || status.Rows != 1 {
				t.Errorf("got %+v, error %v; want a job that is %s, and 1 row", status, err, want)
			}
		}
		o.expectAll(t, 1)
	})
}

// TestCanceledStays: workers leave the ranges of a canceled job alone.
func TestCanceledStays(t *testing.T) {
	inOffice(t, 60, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.took = time.Second
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 1, nil))
		testkit.NoError(t, o.raise.Cancel(ctx, o.staff, "2026"))
		status := run(t, ctx, o.raise, o.staff, "2026", o)
		runCtx, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		if testkit.NoError(t, o.store.Run(runCtx)); len(o.seen) > 0 || status.Open != 1 {
			t.Errorf("got %d clerks worked on, and %+v; want none", len(o.seen), status)
		}
	})
}

// TestClearedQueue: messages that are lost are sent again, by the work of a day or by Start, and nothing is counted twice.
func TestClearedQueue(t *testing.T) {
	testkit.Long(t)
	inOffice(t, 20, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.took = time.Second
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 1, nil))
		time.AfterFunc(20*time.Second, func() {
			_, err := s.Queues().NewQueueClient("office-writes").ClearMessages(ctx, nil)
			testkit.NoError(t, err)
		})
		time.AfterFunc(12*time.Minute, func() { testkit.NoError(t, o.store.RunDaily(ctx)) })
		status := run(t, ctx, o.raise, o.staff, "2026", o)
		if o.expectAll(t, 1000); status.Rows != 1000 {
			t.Errorf("got %+v; want 1000 rows", status)
		}
	})
}

// TestFailure: a page that fails does not keep the others from being worked on. The status says why, and the message becomes poison.
func TestFailure(t *testing.T) {
	inOffice(t, 20, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		broken := true
		o.do = func(page []*table.Entity[clerk]) error {
			if broken && page[0].Key == keys.At(dept.Of("dept010"), empid.Of(20)) {
				return errors.New("no such bank account" + strings.Repeat("!", 2000))
			}
			return nil
		}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 1, nil))
		runCtx, stop := context.WithTimeout(ctx, 40*time.Minute)
		defer stop()
		testkit.NoError(t, o.store.Run(runCtx))
		status, err := o.raise.Status(ctx, o.staff, "2026")
		if err != nil || status.Open != 1 || len(status.Failures) != 1 || !strings.Contains(status.Failures[0].Error, "bank account") || status.Failures[0].Attempts != 10 {
			t.Fatalf("got %+v, error %v; want one range that fails", status, err)
		}
		if f := status.Failures[0]; len(f.Error) != 1000 || time.Since(f.Time) > 40*time.Minute {
			t.Errorf("got an error of %d bytes, of %v; want the first 1000, and when it was", len(f.Error), f.Time)
		}
		if all := s.Messages("office-poison"); len(all) != 1 {
			t.Errorf("got %d messages in the poison queue; want 1", len(all))
		}
		broken = false
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 1, nil))
		status = run(t, ctx, o.raise, o.staff, "2026", o)
		if o.expectAll(t, 1000); status.Rows != 1000 || len(status.Failures) != 0 {
			t.Errorf("got %+v; want 1000 rows", status)
		}
	})
}

// TestDeleteInterrupted: a deletion that ends at any of its requests leaves a job that does not exist, and can be started anew.
func TestDeleteInterrupted(t *testing.T) {
	inOffice(t, 10, 20, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		for n := 1; ; n++ {
			o.seen = map[string]int{}
			testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
			if status := run(t, ctx, o.raise, o.staff, "1", o); status.Rows != 200 {
				t.Fatalf("before request %d: got %+v; want 200 rows", n, status)
			}
			o.expectAll(t, 200)
			sent := 0
			s.SetFaults(func(storagetest.Request) storagetest.Fault {
				if sent++; sent >= n {
					return storagetest.Refuse(403, "AuthorizationFailure")
				}
				return storagetest.Fault{}
			})
			err := o.raise.Delete(ctx, o.staff, "1")
			s.SetFaults(nil)
			status, after := o.raise.Status(ctx, o.staff, "1")
			if err == nil {
				if !errors.Is(after, table.ErrNotFound) || n < 5 {
					t.Errorf("deleted by %d requests: got %+v, error %v; want ErrNotFound", n, status, after)
				}
				o.expectNoRows(t, s)
				return
			}
			if n > 2 && !errors.Is(after, table.ErrNotFound) {
				t.Errorf("interrupted at request %d: got %+v, error %v; want ErrNotFound", n, status, after)
			}
			testkit.NoError(t, o.raise.Delete(ctx, o.staff, "1"))
		}
	})
}

// TestStartedAnew: what a deletion has left does not keep a job of the name from beginning at the first row.
func TestStartedAnew(t *testing.T) {
	inOffice(t, 10, 20, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, nil))
		run(t, ctx, o.raise, o.staff, "1", o)
		o.seen = map[string]int{}
		sent := 0
		s.SetFaults(func(storagetest.Request) storagetest.Fault {
			if sent++; sent >= 4 {
				return storagetest.Refuse(403, "AuthorizationFailure")
			}
			return storagetest.Fault{}
		})
		if err := o.raise.Delete(ctx, o.staff, "1"); err == nil {
			t.Error("Delete: got no error, want that of the fourth request")
		}
		s.SetFaults(nil)
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 2, nil)) // with another argument: it is another job
		if status := run(t, ctx, o.raise, o.staff, "1", o); status.Rows != 200 || status.Changed != 400 {
			t.Errorf("got %+v; want 200 rows", status)
		}
		o.expectAll(t, 200)
	})
}

// TestSameName: a job of a name has one argument and one range.
func TestSameName(t *testing.T) {
	inOffice(t, 1, 1, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		in := dept.Before("dept005")
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, &jobs.Options{Pass: table.Pass{Partitions: in}}))
		for what, err := range map[string]error{
			"another argument": o.raise.Start(ctx, o.staff, "1", 2, &jobs.Options{Pass: table.Pass{Partitions: in}}),
			"no range":         o.raise.Start(ctx, o.staff, "1", 1, nil),
			"a negative rate":  o.raise.Start(ctx, o.staff, "2", 1, &jobs.Options{Pass: table.Pass{Rate: -1}}),
			"a negative slice": o.raise.Start(ctx, o.staff, "2", 1, &jobs.Options{Slice: -1}),
			"a negative Open":  o.raise.Start(ctx, o.staff, "2", 1, &jobs.Options{Pass: table.Pass{Concurrency: -1}}),
			"an empty range":   o.raise.Start(ctx, o.staff, "2", 1, &jobs.Options{Pass: table.Pass{Partitions: dept.Before("a").Intersect(dept.AtLeast("b"))}}),
			"a running job":    o.raise.Delete(ctx, o.staff, "1"),
			"a limited query":  o.limited.Start(ctx, o.staff, "1", struct{}{}, nil),
		} {
			if !errors.As(err, new(*table.ValueError)) {
				t.Errorf("%s: got error %v; want a *table.ValueError", what, err)
			}
		}
		if err := o.raise.Start(ctx, o.staff, "2", 1, &jobs.Options{Pass: table.Pass{Partitions: dept.Between("b", "a")}}); !errors.As(err, new(*keys.KeyError)) {
			t.Errorf("swapped ends: got error %v; want a *keys.KeyError", err)
		}
		testkit.NoError(t, o.raise.Cancel(ctx, o.staff, "1"))
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "1", 1, &jobs.Options{Pass: table.Pass{Partitions: in}}))
		if status, err := o.raise.Status(ctx, o.staff, "1"); err != nil || status.State != jobs.Running || !status.Ended.IsZero() {
			t.Errorf("started again: got %+v, error %v; want a running job", status, err)
		}
	})
}

// TestLowRate: a rate below the size of a page holds for deletions, too, and no slice waits until its handler's time is over.
func TestLowRate(t *testing.T) {
	testkit.Long(t)
	inOffice(t, 3, 700, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		testkit.NoError(t, o.purge.Start(ctx, o.staff, "1", "Name3", &jobs.Options{Pass: table.Pass{Rate: 1}}))
		began := time.Now()
		status := run(t, ctx, o.purge, o.staff, "1", o)
		if took := time.Since(began); status.Rows != 300 || len(status.Failures) > 0 || took < 285*time.Second {
			t.Errorf("got %+v after %v; want 300 rows, in 300 s or more", status, took)
		}
	})
}

// TestPassed: a slice passes its own partitions, one after another.
func TestPassed(t *testing.T) {
	inOffice(t, 5, 1, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		var all []error
		o.wrong = func(pass func(keys.PartitionKey) error) {
			all = append(all, pass(dept.Of("dept002")), pass(dept.Of("dept001")), pass(dept.Of("other")), pass(keys.PartitionKey{}))
		}
		testkit.NoError(t, o.whole.Start(ctx, o.staff, "1", struct{}{}, &jobs.Options{Pass: table.Pass{Partitions: dept.Between("dept001", "dept003")}}))
		testkit.NoError(t, o.store.Drain(ctx))
		if len(all) != 4 || all[0] != nil || !errors.As(all[1], new(*table.ValueError)) || !errors.As(all[2], new(*table.ValueError)) || !errors.As(all[3], new(*keys.KeyError)) {
			t.Errorf("a partition, the one before, one of another range, none: got %v", all)
		}
	})
}

// TestRate: workers share the rate of a job.
func TestRate(t *testing.T) {
	testkit.Long(t)
	inOffice(t, 60, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		all := []*office{o, newOffice(s, nil), newOffice(s, nil)}
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 1, &jobs.Options{Pass: table.Pass{Rate: 20}}))
		began := time.Now()
		status := run(t, ctx, o.raise, o.staff, "2026", all...)
		took := time.Since(began)
		t.Logf("%v, %d ranges", took, status.Ranges)
		if o.expectAll(t, 3000, all[1:]...); status.Rows != 3000 || took < 140*time.Second || took > 200*time.Second {
			t.Errorf("got %+v after %v; want 3000 rows in about 150 s, in the time of the bubble", status, took)
		}
	})
}

// TestVerify: a job compares derived rows with their entities, and repairs them.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name    string
		arg     jobs.Verification
		changed int
		faults  int
		queries int
	}{
		{"repair", jobs.Verification{}, 400, 0, 16},
		// The entities say that they have the rows.
		{"repair, records only", jobs.Verification{RecordsOnly: true}, 0, 0, 12},
		{"dry run", jobs.Verification{DryRun: true}, 0, 400, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			inOffice(t, 4, 700, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
				for _, r := range s.Rows("staff") {
					if strings.HasPrefix(r.RowKey, "last_Name3") {
						_, err := s.Tables().NewClient("staff").DeleteEntity(ctx, r.PartitionKey, r.RowKey, nil)
						testkit.NoError(t, err)
					}
				}
				testkit.NoError(t, o.check.Start(ctx, o.staff, "1", c.arg, nil))
				s.Count()
				status := run(t, ctx, o.check, o.staff, "1", o)
				sent := s.Count()
				if sent[requests.Query] > c.queries {
					t.Errorf("got %v; want %d queries: some for each partition, and none for all", sent, c.queries)
				}
				if status.Rows != 2800 || status.Changed != c.changed || status.Faults != c.faults {
					t.Errorf("got %+v; want 2800 rows, %d repaired, %d faults", status, c.changed, c.faults)
				}
			})
		})
	}
}

// TestVerifyRows: a job that compares the entities only with what they record is divided by the rows
// of a large partition.
func TestVerifyRows(t *testing.T) {
	inOffice(t, 1, 700, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		for i := range 35 { // clerks of a program without the index
			row := fmt.Appendf(nil, `{"PartitionKey":"dept000","RowKey":"empid_%06d","Last":"Name%d"}`, i*20, i%7)
			replace := &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace}
			_, err := s.Tables().NewClient("staff").UpdateEntity(ctx, row, replace)
			testkit.NoError(t, err)
		}
		in := &jobs.Options{Pass: table.Pass{Partitions: dept.Of("dept000").Point(), Rate: 50}}
		testkit.NoError(t, o.check.Start(ctx, o.staff, "1", jobs.Verification{RecordsOnly: true}, in))
		status := run(t, ctx, o.check, o.staff, "1", o)
		if status.Rows != 700 || status.Changed != 35 || status.Faults != 0 || status.Ranges < 2 {
			t.Errorf("got %+v; want 700 rows in several ranges, 35 repaired", status)
		}
	})
}

// TestWorkerStops: a program that ends stores what it has finished, and another one goes on.
func TestWorkerStops(t *testing.T) {
	inOffice(t, 60, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		other := newOffice(s, nil)
		o.took, other.took = time.Second, time.Second
		testkit.NoError(t, o.raise.Start(ctx, o.staff, "2026", 1, nil))
		for range 3 {
			ctx, stop := context.WithTimeout(ctx, 50*time.Second)
			testkit.NoError(t, o.store.Run(ctx))
			stop()
			if status, err := o.raise.Status(context.WithoutCancel(ctx), o.staff, "2026"); err != nil || len(status.Failures) > 0 || status.Left <= 0 {
				t.Errorf("stopped: got %+v, error %v; want no failure, and the time that is left", status, err)
			}
		}
		status := run(t, ctx, o.raise, o.staff, "2026", other)
		if again := o.expectAll(t, 3000, other); status.Rows != 3000 || again > 60 {
			t.Errorf("got %+v, and %d worked on again; want 3000 rows, and few again", status, again)
		}
	})
}
