package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// oldProgram is a program with aztables alone: its rows are JSON of a struct, with times as text and numbers as JSON has them.
type oldProgram struct{ client *aztables.Client }

type oldClerk struct {
	PartitionKey, RowKey string
	Name                 string
	Salary               float64
	Hired                time.Time
}

func (o oldProgram) hire(ctx context.Context, dept, id, name string, salary float64) error {
	body, err := json.Marshal(oldClerk{dept, id, name, salary, time.Date(2020, 5, 1, 9, 0, 0, 0, time.FixedZone("", 7200))})
	if err == nil {
		_, err = o.client.AddEntity(ctx, body, nil)
	}
	return err
}

// rename reads a row, and replaces it by its ETag: what its struct does not know is lost.
func (o oldProgram) rename(ctx context.Context, dept, id, name string) error {
	row, err := o.client.GetEntity(ctx, dept, id, nil)
	if err != nil {
		return err
	}
	var c oldClerk
	if err := json.Unmarshal(row.Value, &c); err != nil {
		return err
	}
	c.Name = name
	body, err := json.Marshal(c)
	if err == nil {
		_, err = o.client.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: (*azcore.ETag)(&row.ETag), UpdateMode: aztables.UpdateModeReplace})
	}
	return err
}

func (o oldProgram) raise(ctx context.Context, dept, id string, salary float64) error {
	body := fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q,"Salary":%g}`, dept, id, salary)
	_, err := o.client.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge})
	return err
}

func (o oldProgram) fire(ctx context.Context, dept, id string) error {
	_, err := o.client.DeleteEntity(ctx, dept, id, nil)
	return err
}

// find returns the names and the sum of the salaries that a filter selects, and how many rows.
func (o oldProgram) find(ctx context.Context, filter string) (found string, rows int, err error) {
	var names []string
	sum := 0.0
	for p := o.client.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter}); p.More(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return "", 0, err
		}
		for _, row := range page.Entities {
			var c oldClerk
			if err := json.Unmarshal(row, &c); err != nil {
				return "", 0, err
			}
			if rows++; c.Name != "" {
				names = append(names, c.Name)
			}
			sum += c.Salary
		}
	}
	slices.Sort(names)
	return fmt.Sprint(names, sum), rows, nil
}

// clerk is the same row in the new program.
type clerk struct {
	Dept, ID string
	Name     string
	Salary   int64     `table:",double"`
	Hired    time.Time `table:",text"`
}

var (
	clerkDept = keys.RawPartitionOf(func(c *clerk) *string { return &c.Dept })
	clerkID   = keys.RawRowOf(func(c *clerk) *string { return &c.ID })
)

func clerkName(c *clerk) (string, bool) { return c.Name, c.Name != "" }

// migration is a table that both programs use, and what it should contain.
type migration struct {
	*testing.T
	service *storagetest.Service
	old     oldProgram
	want    map[string]float64 // salaries by names, of the department Sales
	queries int                // of the old program that were compared
}

// release opens the store of a release of the new program, with an index of it.
func (m *migration) release(definitions ...aztablekit.Definition[clerk]) (*aztablekit.Store, *table.Table[clerk]) {
	store := aztablekit.Open(m.service, "company", nil)
	t := aztablekit.Table(store, "staff", clerkDept, clerkID, definitions...)
	fatal(m.T, store.Ensure(m.Context()))
	return store, t
}

// expectOld checks that the queries of the old program find what is there, and that one for all rows of the partition finds more rows besides.
func (m *migration) expectOld(stage string, more int) {
	m.Helper()
	sum, names := 0.0, slices.Sorted(maps.Keys(m.want))
	for _, salary := range m.want {
		sum += salary
	}
	all, rows, err := m.old.find(m.Context(), "PartitionKey eq 'Sales'")
	if want := fmt.Sprint(names, sum); err != nil || all != want || rows != len(names)+more {
		m.Errorf("%s: all of Sales: got %s in %d rows, error %v; want %s in %d", stage, all, rows, err, want, len(names)+more)
	}
	for _, name := range append(names, "Nemo") {
		want, n := fmt.Sprint([]string{}, 0), 0
		if salary, is := m.want[name]; is {
			want, n = fmt.Sprint([]string{name}, salary), 1
		}
		got, rows, err := m.old.find(m.Context(), "PartitionKey eq 'Sales' and Name eq '"+name+"'")
		if err != nil || got != want || rows != n {
			m.Errorf("%s: by the name %s: got %s in %d rows, error %v; want %s in %d", stage, name, got, rows, err, want, n)
		}
		m.queries++
	}
}

// expectNew checks that the new program lists what is there.
func (m *migration) expectNew(stage string, t *table.Table[clerk]) {
	m.Helper()
	found := map[string]float64{}
	for c, err := range t.List(m.Context(), table.Query[clerk]{Partition: keys.RawPartition("Sales")}) {
		fatal(m.T, err)
		found[c.Value.Name] = float64(c.Value.Salary)
		if c.Value.Hired.Year() != 2020 {
			m.Errorf("%s: got %+v; want one who was hired in 2020", stage, c.Value)
		}
	}
	if !maps.Equal(found, m.want) {
		m.Errorf("%s: the new program lists %v; want %v", stage, found, m.want)
	}
}

// expectFound checks what look-ups by name find, of all names.
func (m *migration) expectFound(stage string, byName func(name string) ([]*table.Entity[clerk], error)) {
	m.Helper()
	for _, name := range append(slices.Sorted(maps.Keys(m.want)), "Nemo") {
		found, err := byName(name)
		_, is := m.want[name]
		if err != nil || is != (len(found) == 1) || len(found) > 1 || is && found[0].Value.Name != name {
			m.Errorf("%s: look-up of %s: got %v, error %v; want it: %t", stage, name, found, err, is)
		}
	}
}

// TestMigration: a table passes from a program with aztables to this library in the stages of docs/aztables.md, while the old program goes on. After
// each stage its queries find what they have found.
func TestMigration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := &migration{T: t, service: storagetest.New(nil), want: map[string]float64{}}
		m.old = oldProgram{m.service.Tables().NewClient("staff")}
		_, err := m.old.client.CreateTable(ctx, nil)
		fatal(t, err)
		for i, name := range []string{"Jones", "Smith", "Li", "Cao"} {
			fatal(t, m.old.hire(ctx, "Sales", fmt.Sprint(100+i), name, float64(1000*i)))
			m.want[name] = float64(1000 * i)
		}

		// 1. The new program reads the rows in its own types, and both write. Nothing else is in the table but the catalogue.
		_, staff := m.release()
		m.expectNew("typed", staff)
		_, err = staff.Update(ctx, keys.Raw("Sales", "100"), func(c *clerk) error { c.Salary = 500; return nil })
		fatal(t, err)
		m.want["Jones"] = 500
		fatal(t, m.old.raise(ctx, "Sales", "101", 1500))
		m.want["Smith"] = 1500
		m.expectNew("both write", staff)
		m.expectOld("both write", 0)

		// 2. An index of pointers. The old program only reads now. Its queries by properties find what they found; one for all rows finds the pointers.
		pointers := index.New("name", keys.Ordered(), clerkName, &index.Options{Reserved: true}).Only()
		company, staff := m.release(pointers)
		_, err = company.Fill(ctx, nil)
		fatal(t, err)
		byPointer := func(name string) ([]*table.Entity[clerk], error) {
			return table.Collect(pointers.List(ctx, staff, keys.RawPartition("Sales"), name))
		}
		m.expectFound("pointers", byPointer)
		m.expectNew("pointers", staff)
		m.expectOld("pointers", len(m.want))
		if found, rows, err := m.old.find(ctx, "PartitionKey eq 'Sales' and RowKey lt '~'"); err != nil || rows != len(m.want) {
			t.Errorf("with RowKey lt '~': got %s in %d rows, error %v; want %d rows", found, rows, err, len(m.want))
		}

		// 3. The old program writes after all. No look-up finds a wrong entity; some miss one, until verify repairs them, here once for each write.
		fatal(t, m.old.hire(ctx, "Sales", "104", "Diaz", 4000))
		m.want["Diaz"] = 4000
		fatal(t, m.old.rename(ctx, "Sales", "102", "Lee"))
		m.want["Lee"] = m.want["Li"]
		delete(m.want, "Li")
		fatal(t, m.old.fire(ctx, "Sales", "103"))
		delete(m.want, "Cao")
		for name := range m.want {
			if found, err := byPointer(name); err != nil || len(found) > 1 || len(found) == 1 && found[0].Value.Name != name {
				t.Errorf("before the repair: look-up of %s: got %v, error %v; want it, or none", name, found, err)
			}
		}
		for _, name := range []string{"Li", "Cao"} {
			if found, err := byPointer(name); err != nil || len(found) != 0 {
				t.Errorf("before the repair: look-up of %s: got %v, error %v; want none", name, found, err)
			}
		}
		m.service.Count()
		report, err := company.Repair(ctx, nil)
		if err != nil || report.Faults > 0 || report.Changed == 0 {
			t.Errorf("Verify: got %+v, error %v; want all repaired", report, err)
		}
		if n := m.service.Count().Total(); n > 15 {
			t.Errorf("Verify: got %d requests for 3 repairs in a partition; want at most 15, as the page says", n)
		}
		m.expectFound("repaired", byPointer)
		m.expectNew("repaired", staff)
		m.expectOld("repaired", len(m.want))

		// 4. The old program is gone, and the new one alone writes: look-ups are right at each instant.
		_, err = staff.Insert(ctx, &clerk{"Sales", "105", "Egon", 5000, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)})
		fatal(t, err)
		m.want["Egon"] = 5000
		_, err = staff.Update(ctx, keys.Raw("Sales", "102"), func(c *clerk) error { c.Name = "Li"; return nil })
		fatal(t, err)
		m.want["Li"] = m.want["Lee"]
		delete(m.want, "Lee")
		m.expectFound("switched", byPointer)
		m.expectOld("switched", len(m.want))

		// 5. Full copies in a table of their own, and no pointers. A query of the old program for all rows finds
		// commit records, for two or three days.
		everywhere := index.NewGlobal("names", keys.Text(), clerkName, nil)
		company, staff = m.release(pointers, everywhere)
		_, err = company.Fill(ctx, nil)
		fatal(t, err)
		byName := func(name string) ([]*table.Entity[clerk], error) {
			return table.Collect(everywhere.List(ctx, staff, name))
		}
		m.expectFound("copies elsewhere", byName)
		m.expectOld("copies elsewhere", len(m.want)+1) // a commit record
		fatal(t, company.Retire(ctx, "staff", "name", nil))
		company, staff = m.release(everywhere)
		_, err = staff.Update(ctx, keys.Raw("Sales", "101"), func(c *clerk) error { c.Name = "Smythe"; return nil })
		fatal(t, err)
		fatal(t, company.Drain(ctx))
		m.want["Smythe"] = m.want["Smith"]
		delete(m.want, "Smith")
		m.expectFound("without pointers", byName)
		time.Sleep(75 * time.Hour) // commit records are kept for a day, and deleted by the work of a later one
		fatal(t, company.RunDaily(ctx))
		m.expectOld("without pointers", 0)

		// 6. Copies in the partition, right at each instant. A query by a property, of a program that is left, finds the copy, too.
		copies := index.New("fullname", keys.Ordered(), clerkName, &index.Options{Reserved: true})
		company, staff = m.release(everywhere, copies)
		_, err = company.Fill(ctx, nil)
		fatal(t, err)
		byCopy := func(name string) ([]*table.Entity[clerk], error) {
			return table.Collect(copies.List(ctx, staff, keys.RawPartition("Sales"), name))
		}
		m.expectFound("copies", byCopy) // the first look-up of a minute also reads the catalogue
		m.service.Count()
		m.expectFound("copies", byCopy)
		if n := m.service.Count().Total(); n != len(m.want)+1 {
			t.Errorf("copies: got %d requests for %d look-ups; want 1 each", n, len(m.want)+1)
		}
		if found, rows, err := m.old.find(ctx, "PartitionKey eq 'Sales' and Name eq 'Jones'"); err != nil || rows != 2 {
			t.Errorf("copies: the old program finds %s in %d rows, error %v; want the entity and its copy, as the page says", found, rows, err)
		}
		fatal(t, company.Retire(ctx, "staff", "names", nil))
		company, staff = m.release(copies)
		if report, err := company.Verify(ctx, nil); err != nil || report.Faults > 0 {
			t.Errorf("Verify: got %+v, error %v; want a sound report", report, err)
		}
		m.expectNew("copies alone", staff)

		// An old release of the new program cannot write any more.
		_, without := m.release()
		if _, err := without.Insert(ctx, &clerk{Dept: "Sales", ID: "106", Name: "Faye"}); !errors.Is(err, table.ErrNotDeclared) {
			t.Errorf("a release without the index: got error %v; want ErrNotDeclared", err)
		}
		if m.queries < 20 {
			t.Errorf("got %d queries of the old program; want at least 20", m.queries)
		}
	})
}
