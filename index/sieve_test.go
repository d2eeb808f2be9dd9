package index_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// sifted verifies a table with all rows in memory, and with so few that they are sifted, and expects the same report and faults of both.
func sifted(t *testing.T, what string, staff *table.Table[worker], mostRows int) (r table.Progress) {
	t.Helper()
	var reports, found [2]string
	for i, most := range []int{0, mostRows} {
		var faults []string
		var err error
		r, err = verify.Check(context.Background(), staff, &verify.Options{MostRows: most, Fault: func(f verify.Fault) {
			faults = append(faults, fmt.Sprintf("%s %v %v %v %v", f.Definition, f.Kind, f.Row, f.Entity, f.Owner))
		}})
		check(t, err)
		slices.Sort(faults)
		reports[i], found[i] = fmt.Sprintf("%+v", r), fmt.Sprintf("%q", faults)
	}
	if reports[0] != reports[1] || found[0] != found[1] {
		t.Errorf("%s: with %d rows in memory: got %s and the faults %s; want %s and %s, as with all in memory", what, mostRows, reports[1], found[1], reports[0], found[0])
	}
	return r
}

// TestSieve: a run that keeps few rows in memory reports what one reports that keeps all, for faults of each kind at once, and repairs them. A
// sound table is read once.
func TestSieve(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	definitions := append(sharedDefinitions(), byEmail, byLast)
	staff, s := newStaff(t, definitions...)
	_, err := openAs(t, s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
	check(t, err)
	for i := range 60 {
		insertAll(t, staff, s, worker{"S", i, fmt.Sprint("Jones", i%9), fmt.Sprint("m", i), 30 + i, nil})
	}
	for _, most := range []int{0, 1, 7, 50, 1000} {
		s.Count()
		r, err := verify.Check(ctx, staff, &verify.Options{MostRows: most})
		if sent := s.Count().String(); err != nil || r.Faults > 0 || sent != "10 query" {
			t.Errorf("a sound table, %d rows in memory: got %+v, %v and the requests %s; want 10 query", most, r, err, sent)
		}
	}
	raw := rawTable(t, s)
	foreign := door.Rows[table.Table[table.Row]](door.Table(raw), false)
	check(t, raw.DeleteAny(ctx, rowAt("email_m3")))
	check(t, raw.DeleteAny(ctx, at(8)))
	check(t, foreign.MergeAny(ctx, at(11), table.PropertyOf[string]("Last").Set("Brown")))
	check(t, foreign.MergeAny(ctx, at(12), table.PropertyOf[string]("Email").Set("m13")))
	check(t, raw.MergeAny(ctx, rowAt("team_Jones2"), table.PropertyOf[string]("EmployeeIDs").Set("w_000002/w_000099")))
	overwrite(t, s, at(20), func(c map[string]any) { delete(c, "_ix"); delete(c, "_ix@odata.type") })
	overwrite(t, s, at(21), func(c map[string]any) { c["_ix"] = "garbage"; delete(c, "_ix@odata.type") })
	overwrite(t, s, at(22), func(c map[string]any) { c["Age"] = "many"; delete(c, "Age@odata.type") })
	overwrite(t, s, rowAt("email_m30"), func(c map[string]any) { c["Email"] = "x" })
	overwrite(t, s, rowAt("email_m31"), func(c map[string]any) { c["_ix"] = []byte("x") })
	overwrite(t, s, rowAt("team_Jones4"), func(c map[string]any) { delete(c, "EmployeeIDs") })
	check(t, raw.DeleteAny(ctx, rowAt("ages_Jones5")))
	// A list without members that no entity wants.
	overwrite(t, s, rowAt("team_Jones6"), func(c map[string]any) { c["RowKey"] = "team_Nobody"; delete(c, "EmployeeIDs") })
	for _, most := range []int{1, 7, 50, 100} {
		if r := sifted(t, "damaged", staff, most); r.Faults == 0 {
			t.Fatalf("got %+v; want faults", r)
		}
	}
	check(t, foreign.MergeAny(ctx, at(12), table.PropertyOf[string]("Email").Set("m12"))) // the duplicate value
	overwrite(t, s, at(22), func(c map[string]any) { c["Age"] = 52 })
	for range 2 {
		if r, err := verify.Repair(ctx, staff, &verify.Options{MostRows: 7}); err != nil || r.Counts["failed"] > 0 {
			t.Errorf("repair: got %+v, %v; want all repaired", r, err)
		}
	}
	if r := sifted(t, "repaired", staff, 7); r.Faults > 0 {
		t.Errorf("repaired: got %+v; want a sound table", r)
	}
}

// TestSieveOfContributions: an entity whose state names another group of a summary is found among others.
func TestSieveOfContributions(t *testing.T) {
	t.Parallel()
	staff, s := newStaff(t, byLast, ages)
	for i := range 9 {
		insertAll(t, staff, s, worker{"S", i, fmt.Sprint("Jones", i%3), "", 30 + i, nil})
	}
	overwrite(t, s, at(4), func(c map[string]any) {
		c["_ix"] = stateBytes("w_000004", `{"last":["last_Jones1!_w_000004"],"ages":["ages_Jones2"]}`)
	})
	if r := sifted(t, "a wrong group", staff, 1); r.Counts[verify.StateMismatch] == 0 {
		t.Errorf("got %+v; want a state mismatch", r)
	}
}

// TestSieveElsewhere: the same for rows elsewhere.
func TestSieveElsewhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	unique := index.NewUnique("login", keys.Text(), func(w *worker) (string, bool) { return w.Email, w.Email != "" }, nil)
	d := newElsewhere()
	s := newElsewhereScene(t, d, append(d.all(), unique)...)
	for i := range 40 {
		insertAll(t, s.staff, s.Service, worker{[]string{"K", "S"}[i%2], i, fmt.Sprint("Jones", i%5), fmt.Sprint("m", i), 44, []string{fmt.Sprint(i % 7)}})
	}
	s.drain(t)
	rows, err := bare.NewTable(s.Tables(), "staffmail", table.Schema[table.Row]{}, quick())
	check(t, err)
	mail := door.Rows[table.Table[table.Row]](door.Table(rows), false)
	sound := func(most int) string {
		s.Count()
		r, err := verify.Check(ctx, s.staff, &verify.Options{MostRows: most})
		if err != nil || r.Faults > 0 {
			t.Errorf("a sound table, %d rows in memory: got %+v, %v", most, r, err)
		}
		return s.Count().String()
	}
	testkit.Expect(t, "requests of a sound table", sound(3), sound(0))
	check(t, mail.DeleteAny(ctx, keys.Raw("mail_m3", "mail_m3_S:w_000003")))
	check(t, mail.DeleteAny(ctx, keys.Raw("mail_m8", "mail_m8_K:w_000008")))
	base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
	check(t, err)
	_, err = base.Insert(ctx, &worker{"S", 90, "Brown", "m90", 30, nil})
	check(t, err)
	_, err = base.Insert(ctx, &worker{"S", 92, "Brown", "m92", 30, nil})
	check(t, err)
	overwrite(t, s.Service, at(7), func(c map[string]any) { delete(c, "_ix"); delete(c, "_ix@odata.type") })
	overwrite(t, s.Service, at(21), func(c map[string]any) { c["Age"] = "many"; delete(c, "Age@odata.type") })
	for _, most := range []int{1, 5, 60} {
		if r := sifted(t, "damaged", s.staff, most); r.Faults == 0 {
			t.Fatalf("got %+v; want faults", r)
		}
	}
}
