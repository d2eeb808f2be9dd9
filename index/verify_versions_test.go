package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// renamed is the schema of a release that has renamed the property Name of an older program's rows to Last.
func renamed() table.Schema[worker] {
	s := schema
	s.Version = 1
	s.Upgrade = map[int]func(*table.Row) error{0: func(r *table.Row) error {
		if name, is := r.Get("Name"); is {
			r.Delete("Name")
			return r.Set("Last", name)
		}
		return errors.New("the row has no Name")
	}}
	return s
}

// ownProperties returns the entities of a table with all properties, except those that say which derived rows there are.
func ownProperties(s *storagetest.Service) (all []string) {
	for _, r := range s.Rows("staff") {
		if !strings.HasPrefix(r.RowKey, "w_") {
			continue
		}
		text := r.PartitionKey + " " + r.RowKey
		for _, p := range r.Properties {
			if !slices.Contains([]string{"_ix", "_op"}, p.Name) {
				text += " " + p.String()
			}
		}
		all = append(all, text)
	}
	return all
}

// TestRepairChangesOnlyDerivedRows: a repair writes nothing into the rows of an older program but which derived rows there are: no
// version, no renamed property, and no other type of a number. So the older program can go on. Derived rows follow from the entities as
// this program reads them.
func TestRepairChangesOnlyDerivedRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	definitions := map[string][]extend.Definition[worker]{
		"in the partition": append(copyDefinitions(), teams, ages, index.NewDetails("head", "Head", func(w *worker) (keys.RowKey, bool) { return keys.RawRow("department"), w.ID == 1 }, last)),
		"elsewhere":        newElsewhere().all(),
	}
	for name, definitions := range definitions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storagetest.New(nil)
			acc, err := account.FromTransport(s, nil)
			check(t, err)
			out, err := bareworker.NewOutbox(acc.Queues().NewQueueClient("effects"), nil)
			check(t, err)
			base, err := bare.NewTable(acc.Tables(), "staff", renamed(), quick())
			check(t, err)
			staff, err := baretest.WithOutbox(base, out)
			check(t, err)
			staff, err = baretest.Attach(staff, definitions...)
			check(t, err)
			check(t, errors.Join(out.Ensure(ctx), tabledoor.Ensure(ctx, staff), baretest.Ensure(ctx, staff)))
			older := acc.Tables().NewClient("staff")
			for i, dept := range []string{"S", "S", "M"} {
				_, err := older.AddEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":"w_%06d","Name":"Jones","Email":"m%[2]d","Age":30,"Shoe":44,"Tags":"[\"x\"]"}`, dept, i+1), nil)
				check(t, err)
			}
			_, err = older.AddEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"department"}`), nil)
			check(t, err)
			before := ownProperties(s)
			run := func(repair bool) table.Progress {
				r, err := verify.Repair(ctx, staff, &verify.Options{Pass: table.Pass{DryRun: !repair}, Fault: func(f verify.Fault) {
					if repair && !f.Repaired {
						t.Errorf("fault %+v is not repaired", f)
					}
				}})
				check(t, err)
				return r
			}
			if r := run(true); r.Counts[verify.Missing] == 0 || r.Faults > 0 {
				t.Errorf("got report %+v; want missing rows, all repaired", r)
			}
			testkit.Expect(t, "entities", fmt.Sprint(ownProperties(s)), fmt.Sprint(before))
			if r := run(true); len(derived.Kinds(r)) > 0 || r.Faults > 0 {
				t.Errorf("after a repair: got report %+v; want no fault", r)
			}
			_, err = older.UpdateEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"w_000001","Name":"Smith"}`), &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge})
			check(t, err)
			e, err := staff.Get(ctx, at(1))
			check(t, err)
			testkit.Expect(t, "name that the older program has written", e.Value.Last, "Smith")
			before = ownProperties(s)
			if r := run(true); len(derived.Kinds(r)) == 0 || r.Faults > 0 {
				t.Errorf("after a write of the older program: got report %+v; want faults, all repaired", r)
			}
			testkit.Expect(t, "entities", fmt.Sprint(ownProperties(s)), fmt.Sprint(before))
			if r := run(false); len(derived.Kinds(r)) > 0 {
				t.Errorf("after a second repair: got report %+v; want no fault", r)
			}
			for _, r := range s.Rows("staff") {
				if r.RowKey == "department" && name == "in the partition" {
					testkit.Expect(t, "name in the details", r.Get("HeadLast"), any("Smith"))
				}
			}
			e, err = staff.Get(ctx, at(1))
			check(t, err)
			e.Value.Age = 31
			check(t, staff.Replace(ctx, e)) // a write upgrades the row
			if got := fmt.Sprint(ownProperties(s)); !strings.Contains(got, "_v: 1") || strings.Contains(got, "Name: Smith") {
				t.Errorf("after a write: got %s; want an upgraded row", got)
			}
		})
	}
}
