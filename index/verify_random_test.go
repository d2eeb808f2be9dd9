package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

var damages = testkit.Count("damages", 60, "how many damaged partitions TestVerifyAnything repairs")

// damagedPartition is a partition with some of the definitions, in any order, in which another program has changed and deleted rows.
type damagedPartition struct {
	t     testing.TB
	rnd   *rand.Rand
	defs  []extend.Definition[worker]
	staff *table.Table[worker]
	s     *storagetest.Service
	did   []string // to it

	compared bool // wrong has found the repair sound, and then compared and written everything
}

func (d *damagedPartition) one(all ...string) string { return all[d.rnd.Intn(len(all))] }
func (d *damagedPartition) last() string             { return d.one("Jones", "Cao", "Li", "") }
func (d *damagedPartition) email() string            { return d.one("a", "b", "c", "", "", "") }
func (d *damagedPartition) note(what ...any) {
	d.did = append(d.did, strings.TrimSpace(fmt.Sprintln(what...)))
}

func (d *damagedPartition) worker(id int) worker {
	return worker{"S", id, d.one("Jones", "Cao", "Li"), d.email(), d.rnd.Intn(4) * 10, []string{"x", "y", "z"}[:d.rnd.Intn(3)]}
}

func newDamagedPartition(t *testing.T, seed int) *damagedPartition {
	d := &damagedPartition{t: t, rnd: rand.New(rand.NewSource(int64(seed))), defs: append(copyDefinitions(), sharedDefinitions()...)}
	d.rnd.Shuffle(len(d.defs), func(i, j int) { d.defs[i], d.defs[j] = d.defs[j], d.defs[i] })
	d.defs = d.defs[:1+d.rnd.Intn(len(d.defs))]
	for _, def := range d.defs {
		d.note(def.Name())
	}
	d.staff, d.s = newStaff(t, d.defs...)
	_, err := openAs(t, d.s.ConnectionString(), d.s, depts).Insert(context.Background(), &department{Name: "S", Budget: 7})
	check(t, err)
	check(t, insertForeignRows(context.Background(), rawTable(t, d.s)))
	for i := range 6 {
		w := d.worker(i)
		if _, err := d.staff.Insert(context.Background(), &w); err != nil && !errors.Is(err, table.ErrTaken) {
			t.Fatalf("seed %d, definitions %q: Insert of worker %d: got error %v; want none or ErrTaken", seed, d.did, i, err)
		}
	}
	for range 1 + d.rnd.Intn(5) {
		d.damage()
	}
	return d
}

// forged is maintainer state that names entities as derived rows, of definitions that the partition's handle has: an entity with
// state of another one is not to be written.
func (d *damagedPartition) forged() string {
	state := map[string][]string{}
	for _, def := range d.defs {
		if row := map[string]string{"last": "w_000001", "ages": "w_000002"}[def.Name()]; row != "" {
			state[def.Name()] = []string{row}
		}
	}
	b, err := json.Marshal(state)
	check(d.t, err)
	return string(b)
}

// damage deletes a row, or changes some of its properties.
func (d *damagedPartition) damage() {
	rows := slices.DeleteFunc(d.s.Rows("staff"), func(r storagetest.Row) bool { return isForeignRow(r.RowKey) })
	r := rows[d.rnd.Intn(len(rows))]
	if d.rnd.Intn(3) == 0 {
		d.note("deleted", r.RowKey)
		check(d.t, rawTable(d.t, d.s).DeleteAny(context.Background(), rowAt(r.RowKey)))
		return
	}
	overwriteRow(d.t, d.s, r, func(m map[string]any) {
		set := func(name string, v any) {
			d.note(r.RowKey, name, v)
			m[name] = v
			if delete(m, name+"@odata.type"); name == "Age" {
				m[name+"@odata.type"] = "Edm.Int64"
			}
		}
		switch {
		case m["_ix"] != nil && d.rnd.Intn(3) == 0:
			set("_ix", stateBytes(r.RowKey, d.one("garbage", "", "{}", d.forged())))
		case r.RowKey == "department":
			set("HeadRowKey", d.one("", "w_000001", "w_000009"))
		case strings.HasPrefix(r.RowKey, "team_"):
			set("EmployeeIDs", d.one("", "w_000001/w_000002", "w_000009/w_000001", "w_000000/w_000003/w_000004/zzz"))
		case strings.HasPrefix(r.RowKey, "ages_"):
			set(d.one("Count", "AgeSum", "AgeMin", "AgeMax", "AgeCount"), d.rnd.Int63n(50))
		default:
			switch d.rnd.Intn(4) {
			case 0:
				set("Last", d.last())
			case 1:
				set("Email", d.email())
			case 2:
				set("Age", fmt.Sprint(d.rnd.Intn(4)*10))
			case 3:
				set("_sys", d.one("w_000001", "w_000009", "x/y"))
			}
		}
	})
}

// concurrentWrite does one random operation by a handle with the definitions.
func (d *damagedPartition) concurrentWrite() {
	ctx := context.Background()
	id := d.rnd.Intn(7)
	var err error
	switch d.rnd.Intn(5) {
	case 0:
		err = d.staff.MergeAny(ctx, at(id), last.Set(d.last()))
	case 1:
		err = d.staff.MergeAny(ctx, at(id), email.Set(d.email()))
	case 2:
		err = d.staff.MergeAny(ctx, at(id), age.Set(d.rnd.Intn(4)*10))
	case 3:
		err = d.staff.DeleteAny(ctx, at(id))
	case 4:
		w := d.worker(id)
		_, err = d.staff.Insert(ctx, &w)
	}
	d.note("a concurrent writer", id, err)
}

// verify calls verify.Repair on the partition, while concurrent writers write before some of its
// requests.
func (d *damagedPartition) verify(repair bool, concurrent ...int) (r table.Progress, faults []verify.Fault, err error) {
	i := 0
	b := &testkit.Hooked{Service: d.s, Serial: true, BeforeRequest: func(*http.Request) {
		for _, n := range concurrent {
			if n == i {
				d.concurrentWrite()
			}
		}
		i++
	}}
	t, err := baretest.Attach(openAs(d.t, d.s.ConnectionString(), b, schema), d.defs...)
	check(d.t, err)
	r, err = verify.Repair(context.Background(), t, &verify.Options{Pass: table.Pass{DryRun: !repair}, MostRows: d.rnd.Intn(6), Fault: func(f verify.Fault) { faults = append(faults, f) }}, asDefinitions(d.defs)...)
	return r, faults, err
}

// wrong returns what is wrong with the reports, the repair or the table after it.
func (d *damagedPartition) wrong(race bool) error {
	report, foretold, err := d.verify(false)
	if err != nil {
		return err
	}
	var concurrent []int
	if race {
		concurrent = []int{d.rnd.Intn(30), d.rnd.Intn(60)}
	}
	r, faults, err := d.verify(true, concurrent...)
	n := 0
	for kind, of := range derived.Kinds(r) {
		if kind != verify.DuplicateValue {
			n += of
		}
	}
	switch {
	case err != nil:
		return err
	case n != r.Changed+r.Counts["failed"]:
		return fmt.Errorf("faults without duplicate values: got %d in %+v, faults %+v; want as many as repaired and failed, %d", n, r, faults, r.Changed+r.Counts["failed"])
	case !race && (report.Faults == 0) != (len(faults) == 0):
		return fmt.Errorf("verify without repair: got %+v, faults %+v, sound %v; want sound %v, because the repair got %+v, faults %+v", report, foretold, report.Faults == 0, len(faults) == 0, r, faults)
	case r.Faults > 0:
		return nil
	}
	for _, when := range []string{"later", "after writes"} {
		if again, faults, err := d.verify(false); err != nil || again.Faults > 0 {
			return fmt.Errorf("verify %s: got %+v, faults %+v, error %v; want a sound report and no error, as after the repair: %+v", when, again, faults, err, r)
		}
		for id := range 6 {
			if _, err := d.staff.Get(context.Background(), at(id)); err == nil {
				if err := d.staff.MergeAny(context.Background(), at(id), age.Set(7), last.Set("New")); err != nil {
					return fmt.Errorf("write of %v %s: got error %w; want none; the repair was %+v", at(id), when, err, r)
				}
			}
		}
	}
	d.compared = true
	return nil
}

// TestVerifyAnything: after random damage, and with concurrent writers during the repair,
// verify.Repair reports the truth, and the next run finds the table sound.
func TestVerifyAnything(t *testing.T) {
	t.Parallel()
	n := *damages
	if testing.Short() {
		n = testkit.Fewer(min(n, 60))
	}
	compared := 0
	for seed := range n {
		d := newDamagedPartition(t, seed)
		if err := errors.Join(d.wrong(seed%2 == 1), withForeignRows(func(*storagetest.Service) error { return nil })(d.s)); err != nil {
			t.Errorf("seed %d, definitions, damage and writes %q: got error %v; want none", seed, d.did, err)
		}
		if d.compared {
			compared++
		}
	}
	if want := n - n/4; compared < want {
		t.Errorf("seeds whose repair is sound, and is compared as a whole: got %d of %d; want at least %d", compared, n, want)
	}
}
