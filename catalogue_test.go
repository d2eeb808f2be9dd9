package aztablekit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// release is a program of some release, with a store of its own.
type release struct {
	t       *testing.T
	store   *aztablekit.Store
	staff   *table.Table[employee]
	byEmail *index.Unique[employee, string]
	byName  *index.Index[employee, string]
}

// older is a release without indexes, and newer one that has them.
func older(t *testing.T, service *storagetest.Service) *release {
	r := &release{t: t, store: aztablekit.Open(service, "company", nil)}
	r.staff = aztablekit.Table(r.store, "staff", dept, empid)
	return r
}

// inUse is the older release when it has created its table and has written the entity 1.
func inUse(t *testing.T, service *storagetest.Service) *release {
	t.Helper()
	r := older(t, service)
	r.ensure()
	r.expect("a write", r.insert(1), nil)
	return r
}

func newer(t *testing.T, service *storagetest.Service) *release { return newerOf(t, service) }

func newerOf(t *testing.T, acc aztablekit.Account) *release {
	r := &release{t: t, store: aztablekit.Open(acc, "company", nil), byEmail: newUnique()}
	r.byName = index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, e.Name != "" }, &index.Options{Unique: true})
	r.staff = aztablekit.Table(r.store, "staff", dept, empid, r.byEmail, r.byName)
	return r
}

func (r *release) ensure() {
	r.t.Helper()
	if err := r.store.Ensure(r.t.Context()); err != nil {
		r.t.Fatalf("Ensure: %v", err)
	}
}

func (r *release) fill() table.Progress {
	r.t.Helper()
	report, err := r.store.Fill(r.t.Context(), nil)
	if err != nil {
		r.t.Fatalf("Fill: %v", err)
	}
	return report
}

func (r *release) retire(definition string) {
	r.t.Helper()
	if err := r.store.Retire(r.t.Context(), "staff", definition, nil); err != nil {
		r.t.Fatalf("Retire %s: %v", definition, err)
	}
}

func (r *release) insert(id int) error {
	_, err := r.staff.Insert(r.t.Context(), numbered(id))
	return err
}

func numbered(id int) *employee {
	return &employee{Department: "Sales", ID: id, Name: fmt.Sprint("Name", id), Email: fmt.Sprintf("%d@contoso.com", id)}
}

// find looks an employee up by both indexes.
func (r *release) find(id int) error {
	is := numbered(id)
	e, err := r.byEmail.Get(r.t.Context(), r.staff, is.Email)
	if err != nil {
		return err
	}
	f, err := r.byName.Get(r.t.Context(), r.staff, dept.Of("Sales"), is.Name)
	if err == nil && (e.Value.ID != id || f.Value.ID != id) {
		r.t.Errorf("got employees %d and %d; want %d", e.Value.ID, f.Value.ID, id)
	}
	return err
}

func (r *release) expect(what string, err, want error) {
	r.t.Helper()
	if !errors.Is(err, want) || (err == nil) != (want == nil) {
		r.t.Errorf("%s: got error %v; want %v", what, err, want)
	}
}

// minute is the longest time until all programs go by a state.
const minute = time.Minute + time.Second

// TestRelease: a release that adds indexes to a table in use refuses no write before Fill. From then on, the release without them is refused
// within a minute, and the look-ups find all entities. After Retire, both write again, and nothing is left.
func TestRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old, new := inUse(t, service), newer(t, service)

		new.ensure()
		time.Sleep(minute)
		old.expect("a write of the older release", old.insert(2), nil)
		new.expect("a write of the newer release", new.insert(3), nil)
		new.expect("a look-up before Fill", new.find(3), table.ErrNotReadable)
		if err := new.find(3); errors.Is(err, table.ErrUnreachable) || !strings.Contains(err.Error(), "Store.Fill") {
			t.Errorf("a look-up before Fill: got %v; want the way out, and nothing of the network", err)
		}
		if rows := len(service.Rows("staff")); rows != 4 {
			t.Errorf("got %d rows; want 3 employees and the record, and no index rows", rows)
		}

		report := new.fill()
		if report.Changed != 3 {
			t.Errorf("Fill: got %d entities; want 3", report.Changed)
		}
		for id := 1; id <= 3; id++ {
			new.expect("a look-up after Fill", new.find(id), nil)
		}
		old.expect("a write of the older release after Fill", old.insert(4), table.ErrNotDeclared)
		new.expect("a write of the newer release after Fill", new.insert(4), nil)
		new.expect("a look-up", new.find(4), nil)

		new.retire("email")
		old.expect("a write without the other index", old.insert(5), table.ErrNotDeclared)
		new.expect("a write with it", new.insert(5), nil)
		new.retire("name")
		new.expect("a look-up after Retire", new.find(5), table.ErrNotReadable)
		old.expect("a write of the older release after Retire", old.insert(6), nil)
		new.expect("a write of the newer release after Retire", new.insert(7), nil)
		old.expect("a write of an entity that was in the index", old.staff.MergeAny(t.Context(), keys.At(dept.Of("Sales"), empid.Of(3)), salaryField.Set(1)), nil)
		for _, row := range service.Rows("staffemail") {
			if _, is := row.Get("_sys").(string); is {
				t.Errorf("got row %s; want none", row.RowKey)
			}
		}
		for _, row := range service.Rows("staff") {
			if strings.HasPrefix(row.RowKey, "name_") {
				t.Errorf("got row %s; want none", row.RowKey)
			}
		}

		new.fill()
		for id := 1; id <= 7; id++ {
			new.expect("a look-up after the second Fill", new.find(id), nil)
		}
	})
}

// TestReleaseRequests: what Ensure, Fill, Retire and the record take.
func TestReleaseRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old, new := older(t, service), newer(t, service)
		count := func(what string, want int) {
			t.Helper()
			synctest.Wait() // for what is read ahead
			if got := service.Count().Total(); got != want {
				t.Errorf("%s: got %d requests; want %d", what, got, want)
			}
		}
		old.ensure()
		count("the first Ensure", 1+3+3) // the table; the record, a look whether the table is empty, and the write; the queues
		old.expect("a write", old.insert(1), nil)
		count("the first write, which reads the record", 2)
		for range 10 {
			old.expect("a write", old.staff.MergeAny(t.Context(), keys.At(dept.Of("Sales"), empid.Of(1)), table.FieldOf(func(e *employee) *string { return &e.Name }).Set("Jones")), nil)
		}
		count("10 writes by key", 20)
		new.ensure()
		count("Ensure of a newer release", 2+2+3)
		new.ensure()
		count("Ensure without a change", 2+1+3)
		setCatalogue(t, service, fmt.Sprintf(`,"Definitions":%q`, strings.Replace(rawCatalogue(t, service), `"go":"`, `"go":"other.`, 1)))
		service.Count()
		new.ensure()
		count("Ensure of a type that is in another package", 2+1+3)
		new.fill()
		new.fill()
		count("Fill of an entity", 1+3+5+1+6+8+1) // the record; what is building; the note of a commit record; a run by what entities record, the entity with its unique value, a run that compares all, and the record, ahead of the next write
		new.fill()
		count("Fill with nothing to fill", 1)
		new.retire("name")
		count("Retire", 6+1+1+1) // the record; a scan of the entities, the one that has a row, and a scan of the rows
	})
}

// TestViewRelease: a view of a release that adds it is filled like an index.
func TestViewRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		inUse(t, service)

		company := aztablekit.Open(service, "company", nil)
		directory := aztablekit.Table(company, "directory", dept, empid)
		listed := materialized.New("listed", directory, func(e *employee, _ keys.Key) (employee, bool) {
			return employee{Department: "all", ID: e.ID, Name: e.Name}, true
		})
		r := &release{t: t, store: company, staff: aztablekit.Table(company, "staff", dept, empid, listed)}
		r.ensure()
		r.expect("a write", r.insert(2), nil)
		r.expect("Drain", company.Drain(t.Context()), nil)
		if n := len(service.Rows("directory")); n != 1 {
			t.Errorf("got %d rows; want the record alone", n)
		}
		r.fill()
		for id := 1; id <= 2; id++ {
			if _, err := directory.Get(t.Context(), keys.At(dept.Of("all"), empid.Of(id))); err != nil {
				t.Errorf("derived entity %d: %v", id, err)
			}
		}
		r.retire("listed")
		r.expect("Drain", company.Drain(t.Context()), nil)
		if _, err := directory.Get(t.Context(), keys.At(dept.Of("all"), empid.Of(1))); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("after Retire: got %v; want ErrNotFound", err)
		}
	})
}
