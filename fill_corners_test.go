package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestCallersOfOneRequest: a caller whose context ends leaves the request for the catalogue to the
// others that wait for it, and one that has little time does not wait for one that hangs.
func TestCallersOfOneRequest(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]storagetest.Fault{"slow": storagetest.Slow(time.Second), "hangs": storagetest.Hang()} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBusy(t)
				time.Sleep(2 * time.Minute)
				var once sync.Once
				b.service.SetFaults(func(r storagetest.Request) (f storagetest.Fault) {
					if r.Kind == requests.Get && r.PartitionKey == "~c" {
						once.Do(func() { f = fault })
					}
					return f
				})
				var wg sync.WaitGroup
				wg.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(100*time.Millisecond, cancel)
					if _, err := b.staff.Insert(ctx, numbered(100)); err == nil {
						t.Error("a caller whose context ends: got no error")
					}
				})
				time.Sleep(10 * time.Millisecond)
				for id, most := range []time.Duration{2 * time.Second, time.Hour} {
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), most)
						defer cancel()
						_, err := b.staff.Insert(ctx, numbered(101+id))
						b.must(err)
					})
				}
				wg.Wait()
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestConfirmedAgain: the rows of a new table need no confirmation, and those of a definition that was
// retired and filled again do, a day after that.
func TestConfirmedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		r := newer(t, service)
		r.ensure()
		r.expect("a write", r.insert(1), nil)
		confirmed := func(when string, want int) {
			t.Helper()
			r.expect("RunDaily", r.store.RunDaily(t.Context()), nil)
			testkit.Expect(t, when, strings.Count(rawCatalogue(t, service), `"confirmed":true`), want)
		}
		confirmed("confirmed in a new table", 2)
		time.Sleep(48 * time.Hour)
		r.retire("name")
		r.fill()
		confirmed("confirmed behind Fill", 1)
		time.Sleep(23 * time.Hour)
		confirmed("confirmed 23 h later", 1)
		time.Sleep(2 * time.Hour)
		confirmed("confirmed 25 h later", 2)
	})
}

// TestRefusedLookUpEnds: a program whose look-up was refused finds out within a second that it may look
// up, and asks once a second at most.
func TestRefusedLookUpEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		r := newer(t, service)
		r.ensure()
		r.expect("a write", r.insert(1), nil)
		restate(t, service, "readable", "building")
		time.Sleep(2 * time.Minute)
		reads := readsOfCatalogue(service)
		lookUp := func() error {
			_, err := r.byEmail.Get(t.Context(), r.staff, numbered(1).Email)
			return err
		}
		for range 20 {
			r.expect("a look-up", lookUp(), table.ErrNotReadable)
			time.Sleep(time.Second / 10)
		}
		if *reads > 3 {
			t.Errorf("got %d reads in 2 s; want 3 at most", *reads)
		}
		restate(t, service, "building", "readable")
		time.Sleep(time.Second + time.Millisecond)
		r.expect("a look-up a second after the change", lookUp(), nil)
	})
}

// TestFillCanceledJob: a job that is canceled while Fill waits for it leaves its definitions building.
func TestFillCanceledJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		ctx := t.Context()
		old := openClerks(service)
		testkit.NoError(t, old.store.Ensure(ctx))
		_, err := old.staff.Insert(ctx, numbered(7))
		testkit.NoError(t, err)
		c := openClerks(service, "name")
		testkit.NoError(t, c.store.Ensure(ctx))
		filled := make(chan error)
		go func() {
			_, err := c.store.Fill(ctx, &aztablekit.FillOptions{Workers: true}) // no worker runs
			filled <- err
		}()
		time.Sleep(2 * time.Minute)
		for job, err := range jobs.List(ctx, c.store, "staff") {
			testkit.NoError(t, err)
			testkit.NoError(t, jobs.Cancel(ctx, c.store, "staff", job.Kind, job.Name))
		}
		if err := <-filled; !errors.Is(err, aztablekit.ErrUnfilled) || !strings.Contains(err.Error(), "canceled") {
			t.Errorf("Fill: got error %v; want ErrUnfilled, since its job was canceled", err)
		}
		_, err = c.byName.Get(ctx, c.staff, dept.Of("Sales"), "Name7")
		if !errors.Is(err, table.ErrNotReadable) {
			t.Errorf("a look-up: got error %v; want ErrNotReadable", err)
		}
	})
}

// TestFillPoisonJob: Fill ends when all that is left of its job is poison, by the attempts of the
// workers' options, and leaves the definitions building.
func TestFillPoisonJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		ctx, stop := context.WithCancel(t.Context())
		old := openClerks(service)
		testkit.NoError(t, old.store.Ensure(ctx))
		_, err := old.staff.Insert(ctx, numbered(7))
		testkit.NoError(t, err)
		o := &aztablekit.Options{Daily: -1, Worker: eventual.WorkerOptions{Attempts: 2}}
		store := aztablekit.Open(service, "company", o)
		byName := index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, nil)
		staff := aztablekit.Table(store, "staff", dept, empid, byName, jobs.Repair[employee]("check"))
		testkit.NoError(t, store.Ensure(ctx))
		service.SetFaults(storagetest.When(func(r storagetest.Request) bool {
			return r.Kind == requests.Query && r.Table == "staff" && r.PartitionKey == "Sales"
		}, storagetest.Refuse(400, "InvalidInput")))
		ended := make(chan error)
		go func() { ended <- store.Run(ctx) }()
		_, err = store.Fill(ctx, &aztablekit.FillOptions{Workers: true})
		if !errors.Is(err, aztablekit.ErrUnfilled) {
			t.Errorf("Fill: got error %v; want ErrUnfilled", err)
		}
		service.SetFaults(nil)
		_, err = byName.Get(ctx, staff, dept.Of("Sales"), "Name7")
		if !errors.Is(err, table.ErrNotReadable) {
			t.Errorf("a look-up: got error %v; want ErrNotReadable", err)
		}
		stop()
		testkit.NoError(t, <-ended)
	})
}

// TestFillNames: Fill and Retire take the name of a table in any spelling; Fill refuses a wrong range,
// and Workers without a job.
func TestFillNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		r := newer(t, service)
		r.ensure()
		ctx := t.Context()
		testkit.NoError(t, r.store.Retire(ctx, "STAFF", "name", nil))
		wrong := keys.RawPartition("a/b").Point()
		_, err := r.store.Fill(ctx, &aztablekit.FillOptions{Pass: table.Pass{Partitions: wrong}, Table: "staff"})
		if !errors.As(err, new(*keys.KeyError)) {
			t.Errorf("a wrong range: got error %v; want a *keys.KeyError", err)
		}
		var ve *table.ValueError
		_, err = r.store.Fill(ctx, &aztablekit.FillOptions{Workers: true})
		if !errors.As(err, &ve) || ve.Field != "FillOptions.Workers" {
			t.Errorf("workers without a job: got error %v; want a *table.ValueError of FillOptions.Workers", err)
		}
		_, err = r.store.Fill(ctx, &aztablekit.FillOptions{Table: "STAFF"})
		testkit.NoError(t, err)
		r.expect("a look-up", r.find(1), table.ErrNotFound)
	})
}

// TestRetireBesideWriter: Retire reads the entities once more if a writer has changed one that it
// wanted to write, also when it is interrupted behind that and goes on by its token. Afterwards
// none records the definition: a release without it writes all.
func TestRetireBesideWriter(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		t.Run(fmt.Sprint("interrupted ", interrupted), func(t *testing.T) {
			t.Parallel()
			testRetireBesideWriter(t, interrupted)
		})
	}
}

func testRetireBesideWriter(t *testing.T, interrupted bool) {
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		batches := 0
		acc, err := account.FromTransport(&testkit.Hooked{Service: service, Serial: true, BeforeRequest: func(q *http.Request) {
			if !strings.HasSuffix(q.URL.Path, "$batch") {
				return
			}
			if batches++; batches == 1 {
				changed := []byte(`{"PartitionKey":"Sales","RowKey":"empid_000001","Salary":2}`)
				_, err := service.Tables().NewClient("staff").UpdateEntity(t.Context(), changed, nil)
				testkit.NoError(t, err)
			}
		}}, nil)
		testkit.NoError(t, err)
		named := func(acc aztablekit.Account) *release {
			r := &release{t: t, store: aztablekit.Open(acc, "company", nil)}
			r.byName = index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, nil)
			r.staff = aztablekit.Table(r.store, "staff", dept, empid, r.byName)
			return r
		}
		old, r := older(t, service), named(service)
		r.ensure()
		for id := range 150 {
			r.expect("a write", r.insert(id), nil)
		}
		token := ""
		if interrupted {
			ctx, stop := context.WithCancel(t.Context())
			o := &table.Pass{Progress: func(p table.Progress) {
				if p.Token != "" && token == "" {
					token = p.Token
					stop()
				}
			}}
			r.expect("Retire", named(acc).store.Retire(ctx, "staff", "name", o), context.Canceled)
		}
		r.expect("Retire", named(acc).store.Retire(t.Context(), "staff", "name", &table.Pass{Token: token}), nil)
		for id := range 150 {
			k := keys.At(dept.Of("Sales"), empid.Of(id))
			r.expect("a write of a release without the definition", old.staff.MergeAny(t.Context(), k, salaryField.Set(1)), nil)
		}
	})
}

// TestFormChangesBesideFill: the Ensure of a release that spells the form of a definition in another way
// is not in the way of a Fill that has begun before.
func TestFormChangesBesideFill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		inUse(t, service)
		r := newer(t, service)
		r.ensure()
		const form = "unique index by text named name"
		restate(t, service, form, "unique index, string name_a2")
		changed := false
		_, err := r.store.Fill(t.Context(), &aztablekit.FillOptions{Pass: table.Pass{Progress: func(table.Progress) {
			if !changed {
				changed = true
				newer(t, service).ensure()
			}
		}}})
		r.expect("Fill", err, nil)
		testkit.Expect(t, "definitions with the form of the release", strings.Count(rawCatalogue(t, service), form), 1)
		r.expect("a look-up", r.find(1), nil)
	})
}
