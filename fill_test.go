package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestNotNamed: a program whose definition the catalogue does not name must call Ensure before it writes.
func TestNotNamed(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	older(t, service).ensure()
	r := newer(t, service)
	r.expect("a write", r.insert(1), table.ErrNotRecorded)
	r.expect("a look-up", r.find(1), table.ErrNotRecorded)
	var wrong *errs.CatalogueError
	if err := r.insert(1); !errors.As(err, &wrong) || wrong.Definition != "email" || !strings.Contains(err.Error(), "Store.Ensure") {
		t.Errorf("got %v; want the definition and the way out", err)
	}
	r.ensure()
	r.expect("a write after Ensure", r.insert(1), nil)
}

// TestInterruptedFill: a Fill that was interrupted leaves the definition building: writers keep it, look-ups are refused, and the next Fill
// goes on, and waits again.
func TestInterruptedFill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old, r := inUse(t, service), newer(t, service)
		r.ensure()
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		_, err := r.store.Fill(ctx, nil)
		r.expect("the first Fill", err, context.DeadlineExceeded)
		r.expect("a write", r.insert(2), nil)
		r.expect("a look-up", r.find(2), table.ErrNotReadable)
		old.expect("a write of the older release", old.insert(3), table.ErrNotDeclared)
		began := time.Now()
		r.fill()
		if waited := time.Since(began); waited != 99*time.Second {
			t.Errorf("the second Fill waited %v; want 99 s", waited)
		}
		for id := 1; id <= 2; id++ {
			r.expect("a look-up", r.find(id), nil)
		}
	})
}

// TestOvertaken: a Fill or a Retire whose definition gets another state meanwhile gives up, and leaves the state as it is.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Fill waits", "Fill writes", "Retire waits", "Retire sweeps"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := storagetest.New(nil)
				inUse(t, service)
				r := newer(t, service)
				r.ensure()
				var overtaken string
				o := &aztablekit.FillOptions{Pass: table.Pass{Progress: func(p table.Progress) {
					if (p.Wait > 0) == strings.HasSuffix(call, "waits") && overtaken == "" {
						overtaken = rawCatalogue(t, service)
						for _, state := range []string{"building", "readable", "retiring", "retired"} {
							overtaken = strings.ReplaceAll(overtaken, `"state":"`+state+`","id":"`, `"state":"retiring","id":"0`)
						}
						setCatalogue(t, service, fmt.Sprintf(`,"Definitions":%q`, overtaken))
					}
				}}}
				_, err := r.store.Fill(t.Context(), nil)
				if strings.HasPrefix(call, "Fill") {
					deleteCatalogue(t, service)
					r.ensure()
					_, err = r.store.Fill(t.Context(), o)
				} else {
					r.expect("Fill", err, nil)
					err = r.store.Retire(t.Context(), "staff", "name", &o.Pass)
				}
				var wrong *errs.CatalogueError
				if !errors.As(err, &wrong) || overtaken == "" || !strings.Contains(err.Error(), "begin again") {
					t.Errorf("got %v; want a *CatalogueError", err)
				}
				if got := rawCatalogue(t, service); got != overtaken {
					t.Errorf("got catalogue %s; want %s", got, overtaken)
				}
			})
		})
	}
}

// TestTableBeforeCatalogue: a table with index rows from before its catalogue: writers drop the rows of what they write, and Fill makes all
// right.
func TestTableBeforeCatalogue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		r := newer(t, service)
		r.ensure()
		for id := 1; id <= 2; id++ {
			r.expect("a write", r.insert(id), nil)
		}
		deleteCatalogue(t, service)
		r = newer(t, service)
		r.ensure()
		r.expect("a change", r.staff.MergeAny(t.Context(), keys.At(dept.Of("Sales"), empid.Of(1)), salaryField.Set(1)), nil)
		if got := rowOf(service, "name_"); got != "name_Name2" {
			t.Errorf("got index row %s; want that of the other entity", got)
		}
		r.fill()
		for id := 1; id <= 2; id++ {
			r.expect("a look-up", r.find(id), nil)
		}
		if report, err := r.store.Verify(t.Context(), nil); err != nil || report.Faults > 0 {
			t.Errorf("got %+v, %v; want a sound table", report, err)
		}
	})
}

// TestFillDuplicates: Fill fails as long as two entities have one unique value, and a dry run finds them before anything changes.
func TestFillDuplicates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old, r := older(t, service), newer(t, service)
		old.ensure()
		for id := 1; id <= 2; id++ {
			_, err := old.staff.Insert(t.Context(), &employee{Department: "Sales", ID: id, Name: "Jones", Email: "same@contoso.com"})
			old.expect("a write", err, nil)
		}
		r.ensure()
		was := fmt.Sprint(service.Rows("staff"))
		began := time.Now()
		var faults []string
		report, err := r.store.Fill(t.Context(), &aztablekit.FillOptions{Pass: table.Pass{DryRun: true}, Table: "staff", Fault: func(f verify.Fault) { faults = append(faults, f.Definition+" "+f.Kind) }})
		if err != nil || report.Counts[verify.DuplicateValue] != 2 || report.Counts[verify.Missing] != 2 || len(faults) != 4 || time.Since(began) > 0 {
			t.Errorf("a dry run: got %+v, %q, %v after %v; want 2 duplicate values, 2 missing rows, and no wait", derived.Kinds(report), faults, err, time.Since(began))
		}
		if got := fmt.Sprint(service.Rows("staff")); got != was {
			t.Errorf("a dry run changed %s to %s", was, got)
		}
		for range 2 {
			report, err = r.store.Fill(t.Context(), nil)
			r.expect("Fill", err, aztablekit.ErrUnfilled)
			if report.Counts[verify.DuplicateValue] == 0 {
				t.Errorf("got report %+v; want duplicate values", report)
			}
			_, err = r.byEmail.Get(t.Context(), r.staff, "same@contoso.com")
			r.expect("a look-up", err, table.ErrNotReadable)
		}
		err = r.staff.MergeAny(t.Context(), keys.At(dept.Of("Sales"), empid.Of(2)), nameField.Set("Name2"), table.FieldOf(func(e *employee) *string { return &e.Email }).Set("2@contoso.com"))
		r.expect("a change of the second", err, nil)
		r.fill()
		r.expect("a look-up", r.find(2), nil)
	})
}

// insertDepartments inserts n employees, each in a department of her own, D10 and so on.
func (r *release) insertDepartments(n int) {
	r.t.Helper()
	for i := range n {
		_, err := r.staff.Insert(r.t.Context(), &employee{Department: fmt.Sprint("D", i+10), ID: i, Name: "Jones", Email: fmt.Sprint(i)})
		r.expect("a write", err, nil)
	}
}

// TestFillToken: a Fill that is interrupted goes on behind the partitions that were finished, while it fills what is elsewhere, and while it
// compares all.
func TestFillToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old, r := older(t, service), newer(t, service)
		old.ensure()
		const n = 20
		old.insertDepartments(n)
		r.ensure()
		// interrupted calls f until the given progress with a token, and returns the token.
		interrupted := func(f func(context.Context, *aztablekit.FillOptions) error, from string, at int) (token string) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tokens := 0
			err := f(ctx, &aztablekit.FillOptions{Pass: table.Pass{Rate: 10000, Token: from, Progress: func(p table.Progress) {
				if p.Token == "" || p.Token == token {
					return
				}
				token = p.Token
				if tokens++; tokens == at {
					cancel()
				}
			}}})
			r.expect("the first call", err, context.Canceled)
			return token
		}
		var all table.Progress
		fill := func(ctx context.Context, o *aztablekit.FillOptions) (err error) {
			all, err = r.store.Fill(ctx, o)
			return err
		}
		token := interrupted(fill, "", 10)
		token = interrupted(fill, token, n)
		if all.Counts["partitions"] < n-1 || all.Counts["partitions"] > n+1 {
			t.Errorf("with the first token: got %d partitions; want about 10 of %d, and 10 again", all.Counts["partitions"], n)
		}
		r.expect("Fill with the token", fill(t.Context(), &aztablekit.FillOptions{Pass: table.Pass{Token: token}}), nil)
		if all.Counts["partitions"] < n-11 || all.Counts["partitions"] > n-9 {
			t.Errorf("with the second token: got %d partitions; want about 10 of %d", all.Counts["partitions"], n)
		}
		if report, err := r.store.Verify(t.Context(), nil); err != nil || report.Faults > 0 || report.Counts["partitions"] != n {
			t.Errorf("got %+v, %v; want all rows", report, err)
		}
	})
}

// TestFillRanges: two programs fill a range each, look-ups wait, and a last Fill finds nothing to write.
func TestFillRanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old, r := older(t, service), newer(t, service)
		old.ensure()
		const n = 20
		old.insertDepartments(n)
		r.ensure()
		if _, err := r.store.Fill(t.Context(), &aztablekit.FillOptions{Pass: table.Pass{Partitions: dept.All()}}); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("a range without its table: got error %v; want a *table.ValueError", err)
		}
		middle := dept.Of("D17")
		for what, c := range map[string]struct {
			in   keys.PartitionRange
			want int
		}{"up to the middle": {dept.Before("D18"), 8}, "behind it": {dept.All().Behind(middle), n - 8}, "behind it, again": {dept.All().Behind(middle), n - 8}} {
			all, err := newer(t, service).store.Fill(t.Context(), &aztablekit.FillOptions{Pass: table.Pass{Partitions: c.in}, Table: "staff"})
			// Each definition reads the entities.
			if err != nil || all.Counts["partitions"] != 2*c.want {
				t.Errorf("%s: got %+v, %v; want the partitions of the range twice", what, all, err)
			}
			_, err = r.byEmail.Get(t.Context(), r.staff, "3")
			r.expect("a look-up while the definition is building", err, table.ErrNotReadable)
		}
		all, err := r.store.Fill(t.Context(), nil)
		if err != nil || all.Changed > 0 {
			t.Errorf("the last Fill: got %+v, %v; want nothing to repair", all, err)
		}
		_, err = r.byEmail.Get(t.Context(), r.staff, "3")
		r.expect("a look-up", err, nil)
		if report, err := r.store.Verify(t.Context(), nil); err != nil || report.Faults > 0 || report.Counts["partitions"] != n {
			t.Errorf("got %+v, %v; want all rows", report, err)
		}
	})
}

// TestConfirmed: a day after Fill, the work of a day finds the entity of a request that was later than Fill has waited, once.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		inUse(t, service)
		r := newer(t, service)
		r.ensure()
		r.fill()
		late := `{"PartitionKey":"Sales","RowKey":"empid_000002","Name":"Name2","Email":"2@contoso.com","Salary":0}`
		if _, err := service.Tables().NewClient("staff").AddEntity(t.Context(), []byte(late), nil); err != nil {
			t.Fatal(err)
		}
		daily := func() {
			t.Helper()
			r.expect("RunDaily", r.store.RunDaily(t.Context()), nil)
		}
		time.Sleep(23 * time.Hour)
		daily()
		r.expect("a look-up before it is confirmed", r.find(2), table.ErrNotFound)
		time.Sleep(2 * time.Hour)
		daily()
		r.expect("a look-up", r.find(2), nil)
		if n := strings.Count(rawCatalogue(t, service), `"confirmed":true`); n != 2 {
			t.Errorf("got %d definitions that are confirmed; want 2", n)
		}
		service.Count()
		daily()
		if got := service.Count().String(); !strings.HasPrefix(got, "2 get") || strings.Contains(got, "transaction") {
			t.Errorf("the next day: got requests %q; want those of the catalogue and the day, and for pending effects", got)
		}
	})
}

// TestRetireToken: a Retire that is interrupted goes on behind the entities that were swept, by its
// token. With the token of another table it begins at the first entity. Both leave no rows.
func TestRetireToken(t *testing.T) {
	t.Parallel()
	t.Run("its own", func(t *testing.T) { testRetireToken(t, func(own string) string { return own }) })
	t.Run("of another table", func(t *testing.T) {
		testRetireToken(t, func(own string) string { return strings.Replace(own, "staff", "other", 1) })
	})
}

func testRetireToken(t *testing.T, given func(own string) string) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		byName := index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, nil).Only()
		r := &release{t: t, store: aztablekit.Open(service, "company", nil)}
		r.staff = aztablekit.Table(r.store, "staff", dept, empid, byName)
		r.ensure()
		const n = 250
		for id := range n {
			r.expect("a write", r.insert(id), nil)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var token string
		err := r.store.Retire(ctx, "staff", "name", &table.Pass{Progress: func(p table.Progress) {
			if p.Token != "" {
				token = p.Token
				cancel()
			}
		}})
		r.expect("the first call", err, context.Canceled)
		swept := 0
		err = r.store.Retire(t.Context(), "staff", "name", &table.Pass{Token: given(token), Progress: func(p table.Progress) { swept = p.Changed }})
		if err != nil || swept != n-100 {
			t.Errorf("with the token: got %d swept, %v; want %d", swept, err, n-100)
		}
		if left := derivedRows(service); len(left) > 0 {
			t.Errorf("got %d rows; want none", len(left))
		}
	})
}

// retirable are definitions of each kind, with a look-up of employee 1 in Sales, who is Jones.
func retirable(directory *table.Table[employee]) map[string]struct {
	definition aztablekit.Definition[employee]
	lookUp     func(context.Context, *table.Table[employee]) (int, error)
} {
	type kind = struct {
		definition aztablekit.Definition[employee]
		lookUp     func(context.Context, *table.Table[employee]) (int, error)
	}
	byID := func(e *table.Entity[employee], err error) (int, error) {
		if err != nil {
			return 0, err
		}
		return e.Value.ID, nil
	}
	byKey := func(all []keys.Key, err error) (int, error) {
		if err == nil && len(all) == 1 && all[0].RowKey() == "empid_000001" {
			return 1, nil
		}
		return 0, errors.Join(err, fmt.Errorf("got %v", all))
	}
	name := func(e *employee) (string, bool) { return e.Name, true }
	names := func(e *employee) []string { return []string{e.Name, e.Name + "2"} }
	all := map[string]kind{}
	for what, o := range map[string]*index.Options{"copy": nil, "pointer": nil, "unique": {Unique: true}, "reserved": {Reserved: true}} {
		ix := index.New("name", keys.Text(), name, o)
		if what == "pointer" {
			ix = ix.Only()
		}
		all[what] = kind{ix, func(ctx context.Context, t *table.Table[employee]) (int, error) {
			return byID(ix.Get(ctx, t, dept.Of("Sales"), "Jones"))
		}}
	}
	multi := index.NewMulti("name", keys.Text(), 2, names, nil)
	lists := index.NewLists("name", keys.Text(), name, nil)
	summary := index.NewSummary("name", keys.Text(), name, nil)
	global := index.NewGlobal("name", keys.Text(), name, nil)
	pointers := index.NewGlobal("name", keys.Text(), name, nil).Only()
	unique := index.NewUniqueMulti("name", keys.Text(), 2, names, nil)
	all["multi"] = kind{multi, func(ctx context.Context, t *table.Table[employee]) (int, error) {
		return byID(multi.Get(ctx, t, dept.Of("Sales"), "Jones2"))
	}}
	all["lists"] = kind{lists, func(ctx context.Context, t *table.Table[employee]) (int, error) {
		return byKey(lists.Keys(ctx, t, dept.Of("Sales"), "Jones"))
	}}
	all["summary"] = kind{summary, func(ctx context.Context, t *table.Table[employee]) (int, error) {
		g, err := summary.Get(ctx, t, dept.Of("Sales"), "Jones")
		if err != nil {
			return 0, err
		}
		return int(g.Count), nil
	}}
	for what, ix := range map[string]interface {
		aztablekit.Definition[employee]
		Get(context.Context, *table.Table[employee], string) (*table.Entity[employee], error)
	}{"global": global, "global pointers": pointers, "unique in the whole table": unique} {
		all[what] = kind{ix, func(ctx context.Context, t *table.Table[employee]) (int, error) { return byID(ix.Get(ctx, t, "Jones")) }}
	}
	view := materialized.New("name", directory, func(e *employee, _ keys.Key) (employee, bool) {
		return employee{Department: "all", ID: e.ID}, true
	})
	all["view"] = kind{view, func(ctx context.Context, _ *table.Table[employee]) (int, error) {
		return byID(directory.Get(ctx, keys.At(dept.Of("all"), empid.Of(1))))
	}}
	return all
}

// derivedRows returns what is left of a definition: all rows but those of entities, of the library, and tombstones.
func derivedRows(s *storagetest.Service) (left []string) {
	for _, name := range s.TableNames() {
		if strings.HasSuffix(name, "work") { // what waits for the work of a day
			continue
		}
		for _, row := range s.Rows(name) {
			library := strings.HasPrefix(row.RowKey, "~") && !strings.HasPrefix(row.RowKey, "~x|")
			tombstone := name == "staffname" && row.Get("_sys") == nil && row.Get("Members") == nil
			copyTombstone := name == "staffname" && strings.Contains(fmt.Sprint(row.Get("_sys")), "/~")
			if name == "staff" && strings.HasPrefix(row.RowKey, "empid_") || library || tombstone || copyTombstone {
				continue
			}
			left = append(left, fmt.Sprint(name, row))
		}
	}
	return left
}

// TestRetireKinds: Retire leaves no rows of a definition of any kind, also no rows of an entity that is gone, and Fill makes them again.
func TestRetireKinds(t *testing.T) {
	t.Parallel()
	for what := range retirable(nil) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := storagetest.New(nil)
				company := aztablekit.Open(service, "company", nil)
				var directory *table.Table[employee]
				if what == "view" {
					directory = aztablekit.Table(company, "directory", dept, empid)
				}
				is := retirable(directory)[what]
				r := &release{t: t, store: company, staff: aztablekit.Table(company, "staff", dept, empid, is.definition)}
				r.ensure()
				for id, name := range []string{"", "Jones", "Smith", "Brown"} {
					if id > 0 {
						_, err := r.staff.Insert(t.Context(), &employee{Department: "Sales", ID: id, Name: name})
						r.expect("Insert", err, nil)
					}
				}
				r.expect("Drain", company.Drain(t.Context()), nil)
				readable := func(what string) {
					t.Helper()
					if id, err := is.lookUp(t.Context(), r.staff); err != nil || id != 1 {
						t.Errorf("%s: got %d, %v; want 1", what, id, err)
					}
				}
				readable("at first")
				// Another program deletes an entity, and leaves its rows.
				if _, err := service.Tables().NewClient("staff").DeleteEntity(t.Context(), "Sales", "empid_000003", nil); err != nil {
					t.Fatal(err)
				}
				r.retire(is.definition.Name())
				r.expect("Drain", company.Drain(t.Context()), nil)
				if left := derivedRows(service); len(left) > 0 {
					t.Errorf("got rows %q after Retire; want none", left)
				}
				if e, err := r.staff.Get(t.Context(), keys.At(dept.Of("Sales"), empid.Of(1))); err != nil || e.Value.Name != "Jones" {
					t.Errorf("the entity: got %v, %v", e, err)
				}
				r.retire(is.definition.Name()) // does no harm
				r.fill()
				r.expect("Drain", company.Drain(t.Context()), nil)
				readable("after Fill")
				if report, err := company.Verify(t.Context(), nil); err != nil || report.Faults > 0 {
					t.Errorf("got %+v, %v; want a sound table", report, err)
				}
			})
		})
	}
}

// TestRetireMistakes: what cannot be retired or filled is refused before anything is sent.
func TestRetireMistakes(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	r := newer(t, service)
	service.Count()
	_, fill := r.store.Fill(t.Context(), &aztablekit.FillOptions{Table: "others"})
	for what, err := range map[string]error{
		"a table that is not declared":      r.store.Retire(t.Context(), "others", "email", nil),
		"a definition that is not declared": r.store.Retire(t.Context(), "staff", "others", nil),
		"Fill of another table":             fill,
	} {
		if !errors.As(err, new(*table.ValueError)) {
			t.Errorf("%s: got %v; want a *ValueError", what, err)
		}
	}
	if n := service.Count().Total(); n > 0 {
		t.Errorf("got %d requests; want none", n)
	}
}

// TestOlderReading: an answer that is late does not take the place of what was read since.
func TestOlderReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		r := newer(t, service)
		r.ensure()
		r.expect("a write", r.insert(1), nil)
		time.Sleep(58 * time.Second)
		slow := true
		service.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.PartitionKey != "~c" || q.Kind != requests.Get || !slow {
				return storagetest.Fault{}
			}
			slow = false
			return storagetest.Slow(9 * time.Second)
		})
		r.expect("a look-up, which reads ahead", r.find(1), nil)
		time.Sleep(time.Millisecond)
		restate(t, service, "readable", "retiring")
		_, err := r.store.Fill(t.Context(), &aztablekit.FillOptions{Pass: table.Pass{DryRun: true}})
		r.expect("a read of the catalogue", err, table.ErrNotReadable)
		r.expect("a look-up", r.find(1), table.ErrNotReadable)
		time.Sleep(9500 * time.Millisecond)
		service.SetFaults(func(q storagetest.Request) storagetest.Fault { // the catalogue cannot be read now
			if q.PartitionKey != "~c" {
				return storagetest.Fault{}
			}
			return storagetest.Refuse(503, "ServerBusy")
		})
		if _, err = r.byName.Get(t.Context(), r.staff, dept.Of("Sales"), "Name1"); err == nil {
			t.Error("the index is looked up by what was read first")
		}
		time.Sleep(minute) // until the requests that the look-up has left behind have ended
	})
}
