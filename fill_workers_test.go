package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// openClerks opens a release with jobs, and with some of the indexes name and email.
func openClerks(s *storagetest.Service, indexes ...string) *release {
	c := &release{store: aztablekit.Open(s, "company", &aztablekit.Options{Daily: -1})}
	of := []aztablekit.Definition[employee]{jobs.Repair[employee]("check")}
	if slices.Contains(indexes, "name") {
		c.byName = index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, &index.Options{Unique: true})
		of = append(of, c.byName)
	}
	if slices.Contains(indexes, "email") {
		c.byEmail = index.NewUnique("email", keys.Text(), func(e *employee) (string, bool) { return e.Email, true }, nil)
		of = append(of, c.byEmail)
	}
	c.staff = aztablekit.Table(c.store, "staff", dept, empid, of...)
	return c
}

// TestFillByWorkers: workers fill indexes in the partition and elsewhere. A call that was interrupted waits for the same job.
func TestFillByWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		ctx, stop := context.WithCancel(t.Context())
		old := openClerks(service)
		testkit.NoError(t, old.store.Ensure(ctx))
		_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for i := range 2000 {
				e := employee{Department: fmt.Sprintf("D%d", i%20), ID: i, Name: fmt.Sprint("Name", i), Email: fmt.Sprint(i)}
				if !yield(old.staff.InsertOp(&e), nil) {
					return
				}
			}
		}, nil)
		testkit.NoError(t, err)
		c := openClerks(service, "name", "email")
		testkit.NoError(t, c.store.Ensure(ctx))
		ended := make(chan error, 3)
		for range 3 {
			go func() { ended <- openClerks(service, "name", "email").store.Run(ctx) }()
		}
		short, cancel := context.WithTimeout(ctx, 100*time.Second)
		defer cancel()
		if _, err := c.store.Fill(short, &aztablekit.FillOptions{Workers: true}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: got error %v; want DeadlineExceeded", err)
		}
		report, err := openClerks(service, "name", "email").store.Fill(ctx, &aztablekit.FillOptions{Workers: true})
		if err != nil || report.Rows < 2000 || report.Counts["failed"] > 0 {
			t.Errorf("got %+v, error %v; want 2000 entities with two rows each", report, err)
		}
		for i := range 20 {
			if e, err := c.byEmail.Get(ctx, c.staff, fmt.Sprint(i*100)); err != nil || e.Value.ID != i*100 {
				t.Errorf("by email %d: got %v, error %v", i*100, e, err)
			}
		}
		if report, err := c.store.Verify(ctx, nil); err != nil || report.Faults > 0 || report.Rows == 0 {
			t.Errorf("Verify: got %+v, error %v; want all rows", report, err)
		}
		if _, err := c.store.Fill(ctx, &aztablekit.FillOptions{Pass: table.Pass{DryRun: true}, Workers: true}); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("Workers and DryRun: got error %v; want a *table.ValueError", err)
		}
		stop()
		for range 3 {
			testkit.NoError(t, <-ended)
		}
	})
}

// TestFillByWorkersDuplicate: two entities with one unique value leave the definition building, and the next Fill makes it readable when one has another.
func TestFillByWorkersDuplicate(t *testing.T) {
	t.Parallel()
	for _, near := range []bool{false, true} {
		t.Run(fmt.Sprint("in the partition: ", near), func(t *testing.T) { t.Parallel(); fillDuplicate(t, near) })
	}
}

func fillDuplicate(t *testing.T, near bool) {
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		ctx, stop := context.WithCancel(t.Context())
		old := openClerks(service)
		testkit.NoError(t, old.store.Ensure(ctx))
		of := "email"
		if near {
			of = "name"
		}
		var second *table.Entity[employee]
		for i := range 2 {
			var err error
			e := &employee{Department: "D", ID: i, Name: fmt.Sprint(i), Email: "same"}
			if near {
				e.Name, e.Email = "same", fmt.Sprint(i)
			}
			second, err = old.staff.Insert(ctx, e)
			testkit.NoError(t, err)
		}
		c := openClerks(service, of)
		testkit.NoError(t, c.store.Ensure(ctx))
		ended := make(chan error, 1)
		go func() { ended <- c.store.Run(ctx) }()
		if _, err := c.store.Fill(ctx, &aztablekit.FillOptions{Workers: true}); !errors.Is(err, aztablekit.ErrUnfilled) {
			t.Errorf("got error %v; want ErrUnfilled", err)
		}
		_, err := c.staff.Update(ctx, second.Key, func(e *employee) error { e.Name, e.Email = "other", "other"; return nil })
		testkit.NoError(t, err)
		if _, err := c.store.Fill(ctx, &aztablekit.FillOptions{Workers: true}); err != nil {
			t.Errorf("after one has another value: got error %v; want none", err)
		}
		get := func() (*table.Entity[employee], error) { return c.byEmail.Get(ctx, c.staff, "other") }
		if near {
			get = func() (*table.Entity[employee], error) { return c.byName.Get(ctx, c.staff, dept.Of("D"), "other") }
		}
		if e, err := get(); err != nil || e.Value.ID != 1 {
			t.Errorf("got %v, error %v; want employee 1", e, err)
		}
		stop()
		testkit.NoError(t, <-ended)
	})
}
