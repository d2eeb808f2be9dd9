package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// TestLeaseOfTheRow: a program whose own Options.CatalogueAge is longer or shorter than that of the
// catalogue goes by the catalogue's: its writes are refused as soon as Fill has waited, and no
// later.
func TestLeaseOfTheRow(t *testing.T) {
	t.Parallel()
	for _, own := range []time.Duration{10 * time.Second, 10 * time.Minute} {
		t.Run(own.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := storagetest.New(nil)
				older(t, service).ensure() // with a lease of 66 s
				old := &release{t: t, store: aztablekit.Open(service, "company", &aztablekit.Options{CatalogueAge: own})}
				old.staff = aztablekit.Table(old.store, "staff", dept, empid)
				old.expect("a write", old.insert(1), nil)
				newer(t, service).ensure()
				restate(t, service, "unfilled", "building")
				reads := readsOfCatalogue(service)
				time.Sleep(50 * time.Second)
				old.expect("a write under the lease", old.insert(2), nil)
				if n := *reads; n > 0 {
					t.Errorf("got %d reads of the catalogue in 50 s; want none", n)
				}
				time.Sleep(16 * time.Second)
				old.expect("a write behind the lease", old.insert(3), table.ErrNotDeclared)
			})
		})
	}
}

// readsOfCatalogue counts the requests for the catalogue from now on.
func readsOfCatalogue(s *storagetest.Service) *int {
	n := 0
	s.SetFaults(func(r storagetest.Request) storagetest.Fault {
		if r.Kind == requests.Get && r.PartitionKey == "~c" {
			n++
		}
		return storagetest.Fault{}
	})
	return &n
}

// TestRightLost: a program that could read the catalogue and may not any more gets an error: it
// does not go on as one that never could.
func TestRightLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		r := newer(t, service)
		r.ensure()
		r.expect("a write", r.insert(1), nil)
		service.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.PartitionKey == "~c" }, storagetest.Refuse(403, "AuthorizationPermissionMismatch")))
		time.Sleep(2 * time.Minute)
		r.expect("a write without the right", r.insert(2), table.ErrUnreachable)
		r.expect("a look-up without the right", r.find(1), table.ErrUnreachable)
		never := newer(t, service)
		never.expect("a write of a program that never had it", never.insert(2), nil)
		time.Sleep(minute)
	})
}

// TestRefusalEnds: a refusal lasts for a second after its cause is gone, and while it lasts it
// costs at most one request a second.
func TestRefusalEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		older(t, service).ensure()
		r := newer(t, service)
		r.expect("a write", r.insert(1), table.ErrNotRecorded)
		reads := readsOfCatalogue(service)
		for range 20 {
			r.expect("a write", r.insert(1), table.ErrNotRecorded)
			time.Sleep(time.Second / 10)
		}
		if *reads > 2 {
			t.Errorf("got %d reads in 2 s; want 2 at most", *reads)
		}
		newer(t, service).ensure()
		time.Sleep(time.Second + time.Millisecond)
		r.expect("a write a second after Ensure", r.insert(1), nil)
		r.expect("a look-up", r.find(1), table.ErrNotReadable)
		newer(t, service).fill()
		r.expect("a look-up after Fill", r.find(1), nil)
	})
}

// TestTokenFromBeforeRetire: a token of a Fill does not pass over partitions whose rows a Retire
// has deleted since.
func TestTokenFromBeforeRetire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old := older(t, service)
		old.ensure()
		old.insertDepartments(20)
		r := openClerks(service, "name")
		testkit.NoError(t, r.store.Ensure(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		token, tokens := "", 0
		_, err := r.store.Fill(ctx, &aztablekit.FillOptions{Pass: table.Pass{Rate: 10000, Progress: func(p table.Progress) {
			if p.Token == "" {
				return
			}
			token = p.Token
			if tokens++; tokens == 20 {
				cancel()
			}
		}}})
		cancel()
		old.expect("Fill", err, context.Canceled)
		testkit.NoError(t, r.store.Retire(t.Context(), "staff", "name", nil))
		_, err = r.store.Fill(t.Context(), &aztablekit.FillOptions{Pass: table.Pass{Token: token}})
		testkit.NoError(t, err)
		if report, err := r.store.Verify(t.Context(), nil); err != nil || report.Faults > 0 {
			t.Errorf("got %+v, error %v; want all rows", report, err)
		}
	})
}

// TestLongestLease: Fill of several tables waits for the longest lease of their catalogues.
func TestLongestLease(t *testing.T) {
	t.Parallel()
	for _, first := range []time.Duration{10 * time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			service := storagetest.New(nil)
			other := 610*time.Second - first
			for name, lease := range map[string]time.Duration{"first": first, "second": other} {
				s := aztablekit.Open(service, "company", &aztablekit.Options{CatalogueAge: lease})
				aztablekit.Table(s, name, dept, empid)
				testkit.NoError(t, s.Ensure(t.Context()))
			}
			s := aztablekit.Open(service, "company", nil)
			aztablekit.Table(s, "first", dept, empid, newUnique())
			aztablekit.Table(s, "second", badgeDept, badgeNo, transfer.Snapshots[badge]("snapshots"))
			testkit.NoError(t, s.Ensure(t.Context()))
			began := time.Now()
			_, err := s.Fill(t.Context(), nil)
			if took := time.Since(began); err != nil || took < 15*time.Minute || took > 16*time.Minute {
				t.Errorf("leases of %v and %v: got error %v after %v; want none after 15 min", first, other, err, took)
			}
		})
	}
}

// TestRetireBesideDelete: a row that a writer deletes while Retire is about to delete it is no
// error.
func TestRetireBesideDelete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		between := &interrupt{}
		r := newerOf(t, interrupted(t, service, between))
		r.ensure()
		raw := service.Tables().NewClient("staff")
		for id := range 3 {
			r.expect("a write", r.insert(id), nil)
			_, err := raw.DeleteEntity(t.Context(), "Sales", fmt.Sprintf("empid_%06d", id), nil) // so that nothing records the index row
			testkit.NoError(t, err)
		}
		between.once(func(q *http.Request) bool {
			return q.Method == http.MethodDelete && strings.Contains(q.URL.Path, "name_Name1")
		}, func() {
			for _, row := range service.Rows("staff") {
				if strings.HasPrefix(row.RowKey, "name_Name1") {
					_, err := raw.DeleteEntity(t.Context(), row.PartitionKey, row.RowKey, nil)
					testkit.NoError(t, err)
				}
			}
		})
		r.expect("Retire", r.store.Retire(t.Context(), "staff", "name", nil), nil)
		if between.before.Load() != nil {
			t.Error("got no row that is deleted just before Retire; want one")
		}
	})
}

// TestFillByWorkersAfterCancel: Fill begins the job of an earlier call again that was canceled.
func TestFillByWorkersAfterCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		ctx, stop := context.WithCancel(t.Context())
		old := openClerks(service)
		testkit.NoError(t, old.store.Ensure(ctx))
		for id := range 20 {
			_, err := old.staff.Insert(ctx, numbered(id))
			testkit.NoError(t, err)
		}
		c := openClerks(service, "name")
		testkit.NoError(t, c.store.Ensure(ctx))
		short, cancel := context.WithTimeout(ctx, 100*time.Second) // no worker runs
		defer cancel()
		if _, err := c.store.Fill(short, &aztablekit.FillOptions{Workers: true}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a worker: got error %v; want DeadlineExceeded", err)
		}
		canceled := 0
		for job, err := range jobs.List(ctx, c.store, "staff") {
			testkit.NoError(t, err)
			testkit.NoError(t, jobs.Cancel(ctx, c.store, "staff", job.Kind, job.Name))
			canceled++
		}
		ended := make(chan error)
		go func() { ended <- openClerks(service, "name").store.Run(ctx) }()
		report, err := c.store.Fill(ctx, &aztablekit.FillOptions{Workers: true})
		if err != nil || canceled != 1 {
			t.Errorf("after %d jobs were canceled: got %+v, error %v; want none after 1", canceled, report, err)
		}
		if e, err := c.byName.Get(ctx, c.staff, dept.Of("Sales"), "Name7"); err != nil || e.Value.ID != 7 {
			t.Errorf("got %v, error %v; want employee 7", e, err)
		}
		stop()
		testkit.NoError(t, <-ended)
	})
}

// TestNamesOfPeriods: what has tables of periods owns their names and no others: the beginning of
// the names without digits is free.
func TestNamesOfPeriods(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"visits": false, "visits2026": true, "Visits202601": true, "visits1x": false, "visitsx": false, "visit": false} {
		s := aztablekit.Open(storagetest.New(nil), "company", nil)
		testkit.NoError(t, host.Of(s).Declare("visits of each day", host.Parts{Periods: []string{"visits"}}, nil))
		aztablekit.Table(s, name, dept, empid)
		if err := s.Err(); (err != nil) != taken || taken && !errors.As(err, new(*table.ValueError)) {
			t.Errorf("table %s: got error %v; want one: %v", name, err, taken)
		}
	}
}

// TestDailyGoesOn: a task of a day that fails does not stop the others, and its error is returned
// with theirs.
func TestDailyGoesOn(t *testing.T) {
	t.Parallel()
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	aztablekit.Table(s, "staff", dept, empid)
	var done []string
	for _, name := range []string{"one", "two", "three"} {
		task := host.Task{Name: name, Do: func(context.Context) error {
			done = append(done, name)
			return errors.New("no " + name)
		}}
		testkit.NoError(t, host.Of(s).Declare(name, host.Parts{Daily: []host.Task{task}}, nil))
	}
	testkit.NoError(t, s.Ensure(t.Context()))
	err := s.RunDaily(t.Context())
	if len(done) != 3 || err == nil || strings.Count(err.Error(), "no ") != 3 {
		t.Errorf("got tasks %v and error %v; want three of each", done, err)
	}
}

// TestNoSnapshotsWhileChanging: an export while Snapshots are filled or retired does not claim
// them: not all writers store stamps then.
func TestNoSnapshotsWhileChanging(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		inUse(t, service)
		s := aztablekit.Open(service, "company", nil)
		staff := aztablekit.Table(s, "staff", dept, empid, transfer.Snapshots[employee]("snapshots"))
		testkit.NoError(t, s.Ensure(t.Context()))
		claims := map[string]bool{}
		export := func(state string) {
			time.Sleep(2 * minute) // by what the catalogue says now
			report, err := transfer.Export(t.Context(), staff, transfer.Folder(t.TempDir()), nil)
			testkit.NoError(t, err)
			claims[state] = report.Counts["snapshots"] == 1
		}
		for _, state := range []string{"unfilled", "building", "readable", "retiring", "retired"} {
			restate(t, service, "unfilled", state)
			export(state)
			restate(t, service, state, "unfilled")
		}
		for state, claimed := range claims {
			if claimed != (state == "readable") {
				t.Errorf("%s: got Snapshots %v; want them for readable alone", state, claimed)
			}
		}
	})
}
