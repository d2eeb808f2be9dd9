package aztablekit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// rawCatalogue returns the content of the catalogue.
func rawCatalogue(t *testing.T, s *storagetest.Service) string {
	t.Helper()
	for _, row := range s.Rows("staff") {
		if row.PartitionKey == "~c" {
			text, _ := row.Get("Definitions").(string)
			return text
		}
	}
	t.Fatal("there is no catalogue")
	return ""
}

// setCatalogue stores a row in the place of the catalogue, as another program might: json are its properties.
func setCatalogue(t *testing.T, s *storagetest.Service, json string) {
	t.Helper()
	row := `{"PartitionKey":"~c","RowKey":"~c"` + json + `}`
	if _, err := s.Tables().NewClient("staff").UpsertEntity(t.Context(), []byte(row), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace}); err != nil {
		t.Fatal(err)
	}
}

// restate gives all definitions that are in one state another, as another program would.
func restate(t *testing.T, s *storagetest.Service, from, to string) {
	t.Helper()
	setCatalogue(t, s, fmt.Sprintf(`,"Definitions":%q`, strings.ReplaceAll(rawCatalogue(t, s), from, to)))
}

func deleteCatalogue(t *testing.T, s *storagetest.Service) {
	t.Helper()
	if _, err := s.Tables().NewClient("staff").DeleteEntity(t.Context(), "~c", "~c", nil); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedCatalogue: a catalogue that is damaged, forged, or of a later version stops writes, look-ups, Ensure, Fill and Retire, with an
// error that says so. It is left as it is.
func TestDamagedCatalogue(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) string{
		"no text":           func(string) string { return `,"Other":1` },
		"a number":          func(string) string { return `,"Definitions":1` },
		"an empty text":     func(string) string { return "" },
		"cut":               func(s string) string { return s[:len(s)-2] },
		"no object":         func(string) string { return "[]" },
		"null":              func(string) string { return "null" },
		"a later version":   func(s string) string { return strings.Replace(s, `"version":1`, `"version":2,"what":"else"`, 1) },
		"version 0":         func(s string) string { return strings.Replace(s, `"version":1`, `"version":0`, 1) },
		"two objects":       func(s string) string { return s + s },
		"an unknown field":  func(s string) string { return strings.Replace(s, `"version":1`, `"version":1,"what":"else"`, 1) },
		"an unknown state":  func(s string) string { return strings.Replace(s, `readable`, `legible`, 1) },
		"no lease":          func(s string) string { return strings.Replace(s, `"lease":66000000000`, `"lease":0`, 1) },
		"a lease of a year": func(s string) string { return strings.Replace(s, `"lease":66`, `"lease":31536000`, 1) },
		"no name":           func(s string) string { return strings.Replace(s, `"name":"email"`, `"name":""`, 1) },
		"no ID":             func(s string) string { return strings.Replace(s, `"id":"`, `"id":"","form":"`, 1) },
		"an unnamed type":   func(s string) string { return strings.Replace(s, `"types":[{"scope":"`, `"types":[{"scope":"other`, 1) },
		"a name twice":      func(s string) string { return strings.Replace(s, `"name":"email"`, `"name":"name"`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := storagetest.New(nil)
			r := newer(t, service)
			r.ensure()
			json := change(rawCatalogue(t, service))
			if !strings.HasPrefix(json, ",") {
				json = fmt.Sprintf(`,"Definitions":%q`, json)
			}
			setCatalogue(t, service, json)
			later := newer(t, service) // has read nothing yet
			var wrong *errs.CatalogueError
			_, fill := later.store.Fill(t.Context(), nil)
			for what, err := range map[string]error{
				"a write": later.insert(1), "a look-up": later.find(1), "Ensure": later.store.Ensure(t.Context()), "Fill": fill,
				"Retire": later.store.Retire(t.Context(), "staff", "name", nil),
			} {
				if !errors.As(err, &wrong) || wrong.Table != "staff" || wrong.Err == nil || !strings.Contains(err.Error(), "~c") {
					t.Errorf("%s: got error %v; want a *CatalogueError about the row", what, err)
				}
			}
			if n := len(service.Rows("staff")); n != 1 {
				t.Errorf("got %d rows; want the catalogue alone", n)
			}
			if says := strings.Contains(fill.Error(), "later release"); says != (name == "a later version") {
				t.Errorf("Fill: got error %v; want it to name a later release if there is one", fill)
			}
			// The way out.
			deleteCatalogue(t, service)
			later.ensure()
			later.expect("a write after Ensure", later.insert(1), nil)
			later.expect("a look-up", later.find(1), nil)
		})
	}
}

// TestMissingCatalogue: a table that was restored without its catalogue refuses writes until Ensure, and look-ups until Fill.
func TestMissingCatalogue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		r := newer(t, service)
		r.ensure()
		r.expect("a write", r.insert(1), nil)
		deleteCatalogue(t, service)
		time.Sleep(minute)
		r.expect("a write", r.insert(2), table.ErrNotRecorded)
		r.expect("a look-up", r.find(1), table.ErrNotRecorded)
		_, err := r.store.Fill(t.Context(), nil)
		r.expect("Fill", err, table.ErrNotRecorded)
		r.ensure()
		r.expect("a write", r.insert(2), nil)
		r.expect("a look-up", r.find(1), table.ErrNotReadable)
		r.fill()
		for id := 1; id <= 2; id++ {
			r.expect("a look-up after Fill", r.find(id), nil)
		}
	})
}

// TestFullCatalogue: a definition that the catalogue has no room for is refused, and the catalogue stays.
func TestFullCatalogue(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	older(t, service).ensure()
	was := strings.Replace(rawCatalogue(t, service), `"definitions":null`, `"definitions":[{"scope":"empid_","name":"x","form":"`+strings.Repeat("x", 32250)+`","state":"readable","id":"x","since":"2026-01-01T00:00:00Z"}]`, 1)
	setCatalogue(t, service, fmt.Sprintf(`,"Definitions":%q`, was))
	err := newer(t, service).store.Ensure(t.Context())
	var full *table.LimitError
	if !errors.As(err, &full) || full.Max != 32<<10 {
		t.Errorf("got error %v; want a *LimitError of 32 Ki units", err)
	}
	if got := rawCatalogue(t, service); got != was {
		t.Error("the catalogue was changed")
	}
}

// TestOtherForm: a definition of another form under the same name is refused, and nothing is changed.
func TestOtherForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		r := newer(t, service)
		r.ensure()
		r.expect("a write", r.insert(1), nil)
		other := &release{t: t, store: aztablekit.Open(service, "company", nil)}
		byNumber := index.New("name", keys.Digits[int](3), func(e *employee) (int, bool) { return e.ID, true }, nil)
		other.staff = aztablekit.Table(other.store, "staff", dept, empid, byNumber)
		was := rawCatalogue(t, service)
		other.expect("Ensure", other.store.Ensure(t.Context()), table.ErrNotDeclared)
		other.expect("a write", other.insert(2), table.ErrNotDeclared)
		_, err := byNumber.Get(t.Context(), other.staff, dept.Of("Sales"), 1)
		other.expect("a look-up", err, table.ErrNotDeclared)
		other.expect("Retire", other.store.Retire(t.Context(), "staff", "name", nil), table.ErrNotRecorded)
		if got := rawCatalogue(t, service); got != was {
			t.Errorf("got catalogue %s; want %s", got, was)
		}
		r.retire("name")
		r.retire("email")
		other.ensure()
		other.fill()
		other.expect("a write of the other form", other.insert(2), nil)
		e, err := byNumber.Get(t.Context(), other.staff, dept.Of("Sales"), 1)
		if err != nil || e.Value.ID != 1 {
			t.Errorf("got %v, %v; want employee 1", e, err)
		}
		r.expect("a write of the former form", r.insert(3), table.ErrNotDeclared)
	})
}

// TestCatalogueOnceAMinute: the handles of a table in a store share 1 read of the catalogue a minute, which no write waits for but the
// first.
func TestCatalogueOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		service := storagetest.New(&storagetest.Options{Faults: func(r storagetest.Request) storagetest.Fault {
			if r.Kind == requests.Get && r.PartitionKey == "~c" {
				reads.Add(1)
				return storagetest.Slow(2 * time.Second)
			}
			return storagetest.Fault{}
		}})
		r := newer(t, service)
		badges := aztablekit.Table(r.store, "staff", badgeDept, badgeNo)
		r.ensure()
		r.expect("the first write", r.insert(1), nil)
		reads.Store(0)
		began := time.Now()
		for i := range 600 {
			start := time.Now()
			if _, err := badges.Insert(t.Context(), &badge{"Sales", i}); err != nil {
				t.Fatal(err)
			}
			r.expect("a look-up", r.find(1), nil)
			if took := time.Since(start); took > 0 {
				t.Errorf("after %v: got a write and a look-up that took %v; want none to wait", time.Since(began), took)
			}
			time.Sleep(time.Second)
		}
		if n := reads.Load(); n < 10 || n > 11 {
			t.Errorf("got %d reads of the catalogue in 10 minutes; want 10 or 11", n)
		}
	})
}

// TestClocks: a lease is over by the clock that has gone further, so that neither a clock that is set back nor a machine that was suspended
// makes it longer.
func TestClocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ wall, monotonic time.Duration }{
		"a machine that was suspended":   {2 * time.Minute, 0},
		"a clock that was set back":      {-time.Hour, 2 * time.Minute},
		"a clock that was set forward":   {time.Hour, time.Second},
		"a clock that was put to 1970":   {-56 * 365 * 24 * time.Hour, 2 * time.Minute},
		"a machine without a wall clock": {0, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := storagetest.New(nil)
				old := older(t, service)
				old.ensure()
				began := time.Now()
				var set time.Duration
				o := &aztablekit.Options{}
				o.Now = func() time.Time { return began.Add(set).Round(0) }
				r := &release{t: t, store: aztablekit.Open(service, "company", o)}
				r.staff = aztablekit.Table(r.store, "staff", dept, empid)
				r.expect("a write", r.insert(1), nil)
				new := newer(t, service)
				new.ensure()
				restate(t, service, "unfilled", "building")
				time.Sleep(c.monotonic)
				set = c.wall
				r.expect("a write", r.insert(2), table.ErrNotDeclared)
			})
		})
	}
}

// interrupt is a policy behind the credential that calls a function before a request is sent.
type interrupt struct {
	before atomic.Pointer[func(*http.Request)]
}

func (i *interrupt) Do(r *policy.Request) (*http.Response, error) {
	if f := i.before.Load(); f != nil {
		(*f)(r.Raw())
	}
	return r.Next()
}

// once calls f before the next request that is of a kind.
func (i *interrupt) once(is func(*http.Request) bool, f func()) {
	before := func(r *http.Request) {
		if is(r) && i.before.Swap(nil) != nil {
			f()
		}
	}
	i.before.Store(&before)
}

// interrupted opens an account with the policy.
func interrupted(t *testing.T, service *storagetest.Service, between *interrupt) *account.Account {
	t.Helper()
	acc, err := account.FromConnectionString(service.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: service, PerRetryPolicies: []policy.Policy{between}}})
	if err != nil {
		t.Fatal(err)
	}
	return acc
}

// TestSuspendedWriter: a machine that is suspended while a write is planned, or when its request is signed, does not send it when it
// continues: by then the catalogue may say something else.
func TestSuspendedWriter(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{"after it has read the row": http.MethodGet, "after it has signed the request": http.MethodPost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := storagetest.New(nil)
			older(t, service).ensure()
			var suspended atomic.Int64
			between := &interrupt{}
			acc := interrupted(t, service, between)
			o := &aztablekit.Options{}
			o.Now = func() time.Time { return time.Now().Add(time.Duration(suspended.Load())) }
			r := &release{t: t, store: aztablekit.Open(acc, "company", o)}
			r.staff = aztablekit.Table(r.store, "staff", dept, empid)
			r.expect("a write", r.insert(1), nil)
			between.once(func(req *http.Request) bool { return req.Method == method && strings.Contains(req.URL.Path, "staff") }, func() {
				newer(t, service).ensure()
				restate(t, service, "unfilled", "building")
				suspended.Store(int64(2 * time.Hour))
			})
			_, err := r.staff.Upsert(t.Context(), numbered(2), table.ReplaceExisting)
			r.expect("the write", err, table.ErrNotDeclared)
			if between.before.Load() != nil {
				t.Error("the machine was not suspended")
			}
			for _, row := range service.Rows("staff") {
				if row.RowKey == "empid_000002" {
					t.Error("the write was applied")
				}
			}
		})
	}
}

// TestLateAnswer: an answer that comes when the lease is over is thrown away, and the catalogue is read again.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	for name, lookUp := range map[string]func(context.Context, *release) error{
		"Get": func(ctx context.Context, r *release) error {
			_, err := r.byName.Get(ctx, r.staff, dept.Of("Sales"), "Name1")
			return err
		},
		"List": func(ctx context.Context, r *release) error {
			_, err := table.Collect(r.byName.List(ctx, r.staff, dept.Of("Sales"), "Name1"))
			return err
		},
		"Global": func(ctx context.Context, r *release) error {
			_, err := r.byEmail.Get(ctx, r.staff, "1@contoso.com")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := storagetest.New(nil)
				between := &interrupt{}
				r := newerOf(t, interrupted(t, service, between))
				r.ensure()
				r.expect("a write", r.insert(1), nil)
				// late makes the next answer late.
				late := func() {
					service.SetFaults(nil)
					time.Sleep(2 * minute)
					r.expect("a look-up, which reads the catalogue", r.find(1), nil)
					time.Sleep(59 * time.Second)
					between.once(func(req *http.Request) bool { return !strings.Contains(req.URL.String(), "~c") }, func() {
						slow := true
						service.SetFaults(func(q storagetest.Request) storagetest.Fault {
							if !slow || q.PartitionKey == "~c" {
								return storagetest.Fault{}
							}
							slow = false
							return storagetest.Slow(9 * time.Second)
						})
					})
				}
				late()
				service.Count()
				r.expect("a look-up", lookUp(t.Context(), r), nil)
				counts := service.Count().Total()
				again := lookUp(t.Context(), r)
				if fewer := service.Count().Total(); again != nil || counts != fewer+2 {
					t.Errorf("got %d requests, with a late answer; want the catalogue and the row once more than %d", counts, fewer)
				}
				late()
				restate(t, service, "readable", "retiring")
				r.expect("a look-up by an index that is retired", lookUp(t.Context(), r), table.ErrNotReadable)
			})
		})
	}
}

// TestHiddenCatalogue: a program whose signature is for a range of keys goes by the rows alone, and says so once.
func TestHiddenCatalogue(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	r := newer(t, service)
	r.ensure()
	r.expect("a write", r.insert(1), nil)
	var log bytes.Buffer
	o := &aztablekit.Options{}
	o.Common.Logger = slog.New(slog.NewTextHandler(&log, nil))
	ranged := &release{t: t, store: rangedStore(t, service, o)}
	ranged.staff = aztablekit.Table(ranged.store, "staff", dept, empid)
	ranged.expect("an insert", ranged.insert(2), nil)
	ranged.expect("another", ranged.insert(3), nil)
	ranged.expect("a write of an entity with index rows", ranged.staff.MergeAny(t.Context(), keys.At(dept.Of("Sales"), empid.Of(1)), nameField.Set("x")), table.ErrNotDeclared)
	if n := strings.Count(log.String(), "catalogue"); n != 1 {
		t.Errorf("got %d lines in the log, %s; want 1", n, &log)
	}
}
