package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
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

// TestVerifyDefinitions: a job of jobs.Repair repairs the rows of the definitions that it names, those
// of all if it names none.
func TestVerifyDefinitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   []string
		want map[string]int
	}{
		{nil, map[string]int{"first": 10, "second": 10}},
		{[]string{"second"}, map[string]int{"second": 10}},
		{[]string{"first", "second"}, map[string]int{"first": 10, "second": 10}},
		{[]string{"third"}, map[string]int{}}, // waits for a program that has it
	} {
		state := jobs.Finished
		if len(c.want) == 0 {
			state = jobs.Running
		}
		synctest.Test(t, func(t *testing.T) {
			s := storagetest.New(nil)
			ctx, stop := context.WithCancel(t.Context())
			store := aztablekit.Open(s, "office", &aztablekit.Options{Daily: -1})
			byLast := func(name string) *index.Index[clerk, string] {
				of := func(c *clerk) (string, bool) { return c.Last, true }
				return index.New(name, keys.Text(), of, nil).Only() // no write refreshes its rows
			}
			check := jobs.Repair[clerk]("check")
			staff := aztablekit.Table(store, "staff", dept, empid, byLast("first"), byLast("second"), check)
			testkit.NoError(t, store.Ensure(ctx))
			for i := range 10 {
				_, err := staff.Insert(ctx, &clerk{Dept: "Sales", ID: i, Last: "Jones"})
				testkit.NoError(t, err)
			}
			count := func(drop bool) map[string]int {
				all := map[string]int{}
				for _, r := range s.Rows("staff") {
					name, _, _ := strings.Cut(r.RowKey, "_")
					if name != "first" && name != "second" {
						continue
					}
					all[name]++
					if drop {
						_, err := s.Tables().NewClient("staff").DeleteEntity(ctx, r.PartitionKey, r.RowKey, nil)
						testkit.NoError(t, err)
					}
				}
				return all
			}
			testkit.Expect(t, "rows before", len(count(true)), 2)
			testkit.NoError(t, check.Start(ctx, staff, "1", jobs.Verification{Definitions: c.of}, nil))
			ended := make(chan error)
			go func() { ended <- store.Run(ctx) }()
			time.Sleep(time.Minute)
			status, err := check.Status(ctx, staff, "1")
			testkit.NoError(t, err)
			stop()
			testkit.NoError(t, <-ended)
			got := count(false)
			if status.State != state || got["first"] != c.want["first"] || got["second"] != c.want["second"] {
				t.Errorf("definitions %q: got %v rows, %+v; want %v", c.of, got, status, c.want)
			}
		})
	}
}

// TestUpgradePass: options of an upgrade that a job has of its own are errors of the
// declaration.
func TestUpgradePass(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]*table.Pass{
		"Pass.Token": {Token: "x"}, "Pass.Rate": {Rate: 1}, "Pass.Progress": {Progress: func(table.Progress) {}},
	} {
		store := aztablekit.Open(storagetest.New(nil), "office", &aztablekit.Options{Daily: -1})
		aztablekit.Table(store, "staff", dept, empid, jobs.Upgrade[clerk]("up", o))
		if err := store.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v; want one with %q", err, want)
		}
	}
}

// TestMistakes: a declaration of a job that cannot be one says so.
func TestMistakes(t *testing.T) {
	t.Parallel()
	work := func(context.Context, *jobs.Slice[clerk], int) error { return nil }
	for name, c := range map[string]struct {
		job  *jobs.Job[clerk, int]
		want string
	}{
		"no kind":     {jobs.New("", work), "kind is empty"},
		"a long kind": {jobs.New(strings.Repeat("k", 1100), work), "too many"},
		"no work":     {jobs.New[clerk, int]("raise", nil), "work is nil"},
		"no pages":    {jobs.Rows[clerk, int]("raise", nil, nil), "work is nil"},
	} {
		store := aztablekit.Open(storagetest.New(nil), "office", &aztablekit.Options{Daily: -1})
		staff := aztablekit.Table(store, "others", dept, empid, c.job)
		err := store.Err()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v; want one with %q", name, err, c.want)
		}
		for what, err := range map[string]error{
			"Start":  c.job.Start(t.Context(), staff, "1", 1, nil),
			"Cancel": c.job.Cancel(t.Context(), staff, "1"),
			"Delete": c.job.Delete(t.Context(), staff, "1"),
		} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: got error %v; want one with %q", name, what, err, c.want)
			}
		}
	}
}

// count is a package's variable, as programs have one.
var count = jobs.Rows("count", nil, func(_ context.Context, s *jobs.Slice[clerk], page []*table.Entity[clerk], by int) error {
	s.Count(0, by*len(page), 0)
	return nil
})

// TestJobInTwoStores: a job that is a package's variable works in two stores. A handle without the job is refused.
func TestJobInTwoStores(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for by := 1; by <= 2; by++ {
		store := aztablekit.Open(storagetest.New(nil), "office", &aztablekit.Options{Daily: -1})
		staff := aztablekit.Table(store, "staff", dept, empid, count)
		without := aztablekit.Table(store, "others", dept, empid)
		testkit.NoError(t, store.Ensure(ctx))
		_, err := staff.Insert(ctx, &clerk{Dept: "Sales", ID: 1, Last: "Jones"})
		testkit.NoError(t, err)
		testkit.NoError(t, errors.Join(count.Start(ctx, staff, "1", by, nil), store.Drain(ctx)))
		if status, err := count.Status(ctx, staff, "1"); err != nil || status.State != jobs.Finished || status.Changed != by {
			t.Errorf("got %+v, %v; want a finished job that has counted %d", status, err, by)
		}
		_, looked := count.Status(ctx, without, "1")
		for i, err := range []error{looked, count.Start(ctx, without, "1", by, nil), count.Cancel(ctx, without, "1"), count.Delete(ctx, without, "1")} {
			var de *table.DefinitionError
			if !errors.As(err, &de) || de.Definition != "count" {
				t.Errorf("method %d by a handle without the job: got %v; want a *table.DefinitionError of count", i, err)
			}
		}
	}
}

// TestNoJSON: a job is not started with an argument that JSON does not have.
func TestNoJSON(t *testing.T) {
	t.Parallel()
	share := jobs.New("share", func(context.Context, *jobs.Slice[clerk], float64) error { return nil })
	store := aztablekit.Open(storagetest.New(nil), "office", &aztablekit.Options{Daily: -1})
	staff := aztablekit.Table(store, "staff", dept, empid, share)
	testkit.NoError(t, store.Ensure(t.Context()))
	if err := share.Start(t.Context(), staff, "1", math.NaN(), nil); !errors.As(err, new(*table.ValueError)) {
		t.Errorf("got error %v; want a *table.ValueError", err)
	}
	if _, err := share.Status(t.Context(), staff, "1"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got error %v; want ErrNotFound", err)
	}
	if err := share.Cancel(t.Context(), staff, "1"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Cancel: got error %v; want ErrNotFound", err)
	}
}

// TestVerifyDuplicates: a job of jobs.Repair counts each value that two entities of a partition
// have as a fault, once, and repairs what it can.
func TestVerifyDuplicates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(nil)
		ctx, stop := context.WithCancel(t.Context())
		store := aztablekit.Open(s, "office", &aztablekit.Options{Daily: -1})
		byLast := func(c *clerk) (string, bool) { return c.Last, true }
		unique := index.New("last", keys.Text(), byLast, &index.Options{Unique: true})
		check := jobs.Repair[clerk]("check")
		staff := aztablekit.Table(store, "staff", dept, empid, unique, check)
		testkit.NoError(t, store.Ensure(ctx))
		for d := range 3 {
			for id := range 4 {
				row := fmt.Appendf(nil, `{"PartitionKey":"dept%d","RowKey":"empid_%06d","Last":"Name%d"}`, d, id, id/2)
				_, err := s.Tables().NewClient("staff").AddEntity(ctx, row, nil)
				testkit.NoError(t, err)
			}
		}
		testkit.NoError(t, check.Start(ctx, staff, "1", jobs.Verification{}, nil))
		ended := make(chan error)
		go func() { ended <- store.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		status, err := check.Status(ctx, staff, "1")
		testkit.NoError(t, err)
		stop()
		testkit.NoError(t, <-ended)
		if status.State != jobs.Finished || status.Rows != 12 || status.Changed != 6 || status.Faults != 6 {
			t.Errorf("got %+v; want 12 rows, 6 repaired, and 6 values that another entity has", status)
		}
	})
}
