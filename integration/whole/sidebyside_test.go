package whole_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// sideBySide is one table that a program with aztables and a program with aztablekit use.
type sideBySide struct {
	t      *testing.T
	s      *storagetest.Service
	client *aztables.Client
	base   *table.Table[Employee] // without an index
	staff  *table.Table[Employee] // with the index
	index  *index.Index[Employee, string]
}

// copiesByName is byName with full copies.
var copiesByName = index.New("name", keys.Ordered(), func(e *Employee) (string, bool) { return e.Name, e.Name != "" },
	&index.Options{Reserved: true})

func newSideBySide(t *testing.T, by *index.Index[Employee, string]) *sideBySide {
	x := &sideBySide{t: t, s: storagetest.New(nil), index: by}
	cs, err := x.s.Listen()
	fatal(t, err)
	t.Cleanup(func() { x.s.Close() })
	x.client, err = sdkConnect(cs)
	fatal(t, err)
	acc, err := account.FromConnectionString(cs, nil)
	fatal(t, err)
	x.base = openStaff(t, acc.Tables())
	x.staff, err = baretest.Attach(x.base, by)
	fatal(t, err)
	fatal(t, tabledoor.Ensure(t.Context(), x.base))
	return x
}

// openStaff opens the table by a handle without a store, which knows nothing of a catalogue.
func openStaff(t *testing.T, service engine.Service) *table.Table[Employee] {
	t.Helper()
	return openStaffWith(t, service, table.Common{})
}

func openStaffWith(t *testing.T, service engine.Service, common table.Common) *table.Table[Employee] {
	t.Helper()
	staff, err := bare.NewTable(service, "staff", table.Schema[Employee]{Partition: department, Row: id}, &table.Options{Common: common})
	fatal(t, err)
	return staff
}

// attach attaches byName to a table.
func attach(t *testing.T, base *table.Table[Employee]) *table.Table[Employee] {
	t.Helper()
	staff, err := baretest.Attach(base, byName)
	fatal(t, err)
	return staff
}

var jones = keys.Raw("Sales", "000223")

// row returns the stored row of jones.
func (x *sideBySide) row() storagetest.Row {
	for _, row := range x.s.Rows("staff") {
		if row.RowKey == jones.RowKey() {
			return row
		}
	}
	x.t.Fatalf("got no row %v", jones)
	return storagetest.Row{}
}

// found reports which of the names a look-up by the index finds.
func (x *sideBySide) found(names ...string) (found []string) {
	x.t.Helper()
	for _, name := range names {
		all, err := table.Collect(x.index.List(x.t.Context(), x.staff, keys.RawPartition("Sales"), name))
		fatal(x.t, err)
		if len(all) > 0 {
			found = append(found, name)
		}
	}
	return found
}

func (x *sideBySide) expectFound(after string, want ...string) {
	x.t.Helper()
	if got := x.found("Jones", "Smith", "Cao"); !slices.Equal(got, want) {
		x.t.Errorf("after %s: got look-ups that find %q, want %q", after, got, want)
	}
}

// write replaces or merges the row of jones by aztables.
func (x *sideBySide) write(mode aztables.UpdateMode, body string) {
	x.t.Helper()
	always := azcore.ETagAny
	_, err := x.client.UpdateEntity(x.t.Context(), []byte(body), &aztables.UpdateEntityOptions{IfMatch: &always, UpdateMode: mode})
	fatal(x.t, err)
}

// TestAztablesWritesBesideIndexes: the rows of an index after writes by aztables, as docs/aztables.md describes them. Look-ups by full
// copies find the values and the entities of before, and look-ups by pointers find neither.
func TestAztablesWritesBesideIndexes(t *testing.T) {
	t.Parallel()
	for kind, by := range map[string]*index.Index[Employee, string]{"full copies": copiesByName, "pointers": byName} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x := newSideBySide(t, by)
			ctx := t.Context()
			before := func(name string) []string {
				if by == byName {
					return nil
				}
				return []string{name}
			}
			repair := func(faults map[string]int) {
				t.Helper()
				r, err := verify.Repair(ctx, x.staff, nil)
				fatal(t, err)
				for kind, n := range faults {
					if r.Counts[kind] != n || r.Faults > 0 {
						t.Errorf("verify.Check: got %+v, sound %v, want %d faults of kind %v, all repaired", r, r.Faults == 0, n, kind)
					}
				}
			}
			fatal(t, sdkInsert(ctx, x.client))
			x.expectFound("an insert by aztables")
			repair(map[string]int{verify.Missing: 1})
			x.expectFound("the repair", "Jones")

			x.write(aztables.UpdateModeMerge, `{"PartitionKey":"Sales","RowKey":"000223","Name":"Smith"}`)
			x.expectFound("a merge by aztables", before("Jones")...)
			if err := kitUpdate(ctx, x.base); !errors.Is(err, table.ErrNotDeclared) {
				t.Errorf("write by a handle without the index: got %v, want ErrUnknownMaintainer", err)
			}
			fatal(t, kitUpdate(ctx, x.staff))
			x.expectFound("the next write by aztablekit", "Smith")

			fatal(t, sdkUpdate(ctx, x.client)) // a map of all properties, with those of the library
			if x.row().Get("_ix") == nil || x.row().Get("_op") == nil {
				t.Errorf("after a replace with an EDMEntity that was read: got row %v, want _ix and _op", x.row())
			}
			x.write(aztables.UpdateModeReplace, `{"PartitionKey":"Sales","RowKey":"000223","Name":"Cao","Age":1}`)
			if x.row().Get("_ix") != nil || x.row().Get("_op") != nil {
				t.Errorf("after a replace with a struct: got row %v, want no _ix and no _op", x.row())
			}
			x.expectFound("a replace without _ix", before("Smith")...)
			fatal(t, kitUpdate(ctx, x.staff))
			x.expectFound("a replace without _ix and a write by aztablekit", append(before("Smith"), "Cao")...)
			repair(map[string]int{verify.Dangling: 1})
			x.expectFound("the repair", "Cao")

			_, err := x.client.DeleteEntity(ctx, "Sales", "000223", nil)
			fatal(t, err)
			x.expectFound("a delete by aztables", before("Cao")...)
			repair(map[string]int{verify.Dangling: 1})
			x.expectFound("the repair")
		})
	}
}

// TestAztablesQueriesBesideIndexes runs the queries of a program with aztables before and after an index is added, as docs/aztables.md
// describes them. With pointers, and with rows elsewhere, a query for values finds what it found before. With full copies, it finds each
// entity twice. A query without a condition on a value also finds the library's rows, unless a range of RowKeys leaves them out.
func TestAztablesQueriesBesideIndexes(t *testing.T) {
	t.Parallel()
	elsewhere := index.NewGlobal("name", keys.Ordered(), func(e *Employee) (string, bool) { return e.Name, e.Name != "" },
		nil)
	const sales = "PartitionKey eq 'Sales'"
	values := []string{"Name eq 'Jones'", sales + " and Age ge 40", sales + " and Salary gt 50000L", "Hired ge datetime'2020-01-01T00:00:00Z'",
		sales + " and Name ne 'Cao' and Age lt 60", sales + " and (Name eq 'Jones' or Name eq 'Cao')"}
	ranges := []string{sales + " and RowKey lt '~'", "RowKey eq '000223'", sales + " and RowKey ge '000000' and RowKey lt '999999'"}
	whole := []string{"", sales}
	for kind, c := range map[string]struct {
		by                    extend.Definition[Employee]
		values, ranges, whole int // the rows for each row of before
		records               int // more rows of the whole partition
	}{
		"pointers":    {byName, 1, 1, 2, 0},
		"full copies": {copiesByName, 2, 1, 2, 0},
		"elsewhere":   {elsewhere, 1, 1, 1, 1}, // the commit record of all, until it is swept
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := storagetest.New(nil)
			acc, err := account.FromTransport(s, nil)
			fatal(t, err)
			client := s.Tables().NewClient("staff")
			base := openStaff(t, acc.Tables())
			fatal(t, tabledoor.Ensure(ctx, base))
			for i, name := range []string{"Jones", "Cao", "Jones", "Smith"} {
				body := `{"PartitionKey":"Sales","RowKey":"00022%d","Name":%q,"Age":%d,"Salary":"%d","Salary@odata.type":"Edm.Int64","Hired":"2021-02-03T04:05:06Z","Hired@odata.type":"Edm.DateTime"}`
				_, err := client.AddEntity(ctx, fmt.Appendf(nil, body, i+1, name, 38+i, 49000+1000*i), nil)
				fatal(t, err)
			}
			find := func(filter string) (n int) {
				t.Helper()
				pager := client.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter})
				for pager.More() {
					page, err := pager.NextPage(ctx)
					fatal(t, err)
					n += len(page.Entities)
				}
				return n
			}
			before := map[string]int{}
			for _, filter := range slices.Concat(values, ranges, whole) {
				before[filter] = find(filter)
				if before[filter] == 0 {
					t.Errorf("%q before: got no rows; want some", filter)
				}
			}
			out, err := bareworker.NewOutbox(acc.Queues().NewQueueClient("effects"), nil)
			fatal(t, err)
			withOutbox, err := baretest.WithOutbox(base, out)
			fatal(t, err)
			staff, err := baretest.Attach(withOutbox, c.by)
			fatal(t, err)
			fatal(t, errors.Join(out.Ensure(ctx), baretest.Ensure(ctx, staff)))
			r, err := verify.Repair(ctx, staff, nil)
			if err != nil || r.Faults > 0 {
				t.Fatalf("verify.Check: got report %+v, error %v; want a sound report", r, err)
			}
			for filters, times := range map[*[]string]int{&values: c.values, &ranges: c.ranges, &whole: c.whole} {
				for _, filter := range *filters {
					want := before[filter] * times
					if filters == &whole {
						want += c.records
					}
					if got := find(filter); got != want {
						t.Errorf("%q after: got %d rows; want %d, %d times those of before and %d commit records", filter, got, want, times, c.records)
					}
				}
			}
		})
	}
}

// TestAztablesWritesWithoutIndexes: without derived rows, the two programs write side by side. The ETag is the condition for both.
func TestAztablesWritesWithoutIndexes(t *testing.T) {
	t.Parallel()
	x := newSideBySide(t, byName)
	ctx := t.Context()
	fatal(t, kitInsert(ctx, x.base))
	e, err := x.base.Get(ctx, jones)
	fatal(t, err)
	op := x.row().Get("_op")
	x.write(aztables.UpdateModeMerge, `{"PartitionKey":"Sales","RowKey":"000223","Phone":"123"}`)
	if got := x.row().Get("_op"); got != op {
		t.Errorf("_op after a merge by aztables: got %v, want %v", got, op)
	}
	err = x.base.Replace(ctx, e)
	var refused *azcore.ResponseError
	if !errors.Is(err, table.ErrChanged) || !errors.As(err, &refused) || refused.StatusCode != 412 {
		t.Errorf("Replace by an old ETag: got %v, want ErrChanged and a *azcore.ResponseError of 412", err)
	}
	fatal(t, errors.Join(kitUpdate(ctx, x.base), sdkUpdate(ctx, x.client), kitMerge(ctx, x.base)))
	if row := x.row(); row.Get("Phone") != "123" || row.Get("Age") != int32(46) {
		t.Errorf("got row %v, want Phone 123, which Employee does not have, and Age 46", row)
	}
	_, err = x.base.Upsert(ctx, &Employee{Department: "Sales", ID: "000223", Name: "Jones"}, table.ReplaceExisting)
	fatal(t, err)
	if got := x.row().Get("Phone"); got != nil {
		t.Errorf("Phone after Upsert with ReplaceExisting: got %v, want none", got)
	}
}

// TestAztablesTypes: what becomes of values that a program with aztables stores without annotations.
func TestAztablesTypes(t *testing.T) {
	t.Parallel()
	x := newSideBySide(t, byName)
	ctx := t.Context()
	type numbers struct {
		P, R   string
		Ratio  float64
		N      int64
		Narrow int64 `table:",int32"`
	}
	tab, err := bare.NewTable(x.s.Tables(), "staff", table.Schema[numbers]{
		Partition: keys.RawPartitionOf(func(n *numbers) *string { return &n.P }),
		Row:       keys.RawRowOf(func(n *numbers) *string { return &n.R }),
	}, nil)
	fatal(t, err)
	_, err = x.client.AddEntity(ctx, []byte(`{"PartitionKey":"Sales","RowKey":"000223","Ratio":3.0,"N":5,"Narrow":6}`), nil)
	fatal(t, err)
	expect := func(after string, want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for _, p := range x.row().Properties {
			got[p.Name] = p.Type
		}
		for name, w := range want {
			if got[name] != w {
				t.Errorf("after %s: got %s of type %q, want %s", after, name, got[name], w)
			}
		}
	}
	expect("an insert by aztables", map[string]string{"Ratio": "Edm.Int32", "N": "Edm.Int32", "Narrow": "Edm.Int32"})
	update := func(f func(n *numbers)) {
		t.Helper()
		_, err := tab.Update(ctx, jones, func(n *numbers) error { f(n); return nil })
		fatal(t, err)
	}
	update(func(n *numbers) { n.Ratio, n.N = n.Ratio+1, n.N+1 })
	expect("an update", map[string]string{"Ratio": "Edm.Int32", "N": "Edm.Int32", "Narrow": "Edm.Int32"})
	update(func(n *numbers) { n.Ratio, n.N = n.Ratio+0.5, 1<<40 })
	expect("values that do not fit", map[string]string{"Ratio": "Edm.Double", "N": "Edm.Int64", "Narrow": "Edm.Int32"})
	_, err = tab.Upsert(ctx, &numbers{"Sales", "000223", 3, 5, 6}, table.ReplaceExisting)
	fatal(t, err)
	expect("an upsert", map[string]string{"Ratio": "Edm.Double", "N": "Edm.Int64", "Narrow": "Edm.Int32"})

	_, err = x.client.AddEntity(ctx, []byte(`{"PartitionKey":"Sales","RowKey":"000224","Hired":"2014-07-31T09:00:00Z"}`), nil)
	fatal(t, err)
	_, err = x.base.Get(ctx, keys.Raw("Sales", "000224"))
	var wrong *table.DecodeError
	if !errors.As(err, &wrong) || wrong.Field != "Hired" {
		t.Errorf("a time that is stored as text: got %v, want a *table.DecodeError that names Hired", err)
	}
}

// TestAztablesKeys: keys of existing tables that the library cannot write.
func TestAztablesKeys(t *testing.T) {
	t.Parallel()
	x := newSideBySide(t, byName)
	ctx := t.Context()
	for _, body := range []string{`{"PartitionKey":"Sales","RowKey":""}`, `{"PartitionKey":"Sales","RowKey":"~home"}`, `{"PartitionKey":"Sales","RowKey":"O'Brien & Öblarn"}`} {
		_, err := x.client.AddEntity(ctx, []byte(body), nil)
		fatal(t, err)
	}
	all, err := table.Collect(x.base.List(ctx, table.Query[Employee]{Partition: keys.RawPartition("Sales")}))
	fatal(t, err)
	if len(all) != 2 || all[0].Value.ID != "" || all[1].Value.ID != "O'Brien & Öblarn" {
		t.Fatalf("got entities %v, want the empty RowKey and O'Brien & Öblarn", all)
	}
	fatal(t, x.base.Replace(ctx, all[1]))
	fatal(t, x.base.Replace(ctx, all[0]))
	var wrong *keys.KeyError
	empty, err := x.base.Get(ctx, keys.Raw("Sales", ""))
	fatal(t, err)
	if err := x.staff.Delete(ctx, empty); !errors.As(err, &wrong) {
		t.Errorf("Delete of the row with the empty key by a handle with an index: got %v, want a *keys.KeyError", err)
	}
	fatal(t, x.base.Delete(ctx, empty))
	if _, err := x.base.Get(ctx, keys.Raw("Sales", "~home")); !errors.As(err, &wrong) {
		t.Errorf("Get of the RowKey ~home: got %v, want a *keys.KeyError", err)
	}
}

// TestAztablesLostResponse: after a lost response, the SDK repeats an insert and reports that the entity exists. The library, on the
// same client, reports success.
func TestAztablesLostResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the pauses between attempts take no time
		s := storagetest.New(nil)
		acc, err := account.FromTransport(s, nil)
		fatal(t, err)
		staff := openStaff(t, acc.Tables())
		fatal(t, tabledoor.Ensure(t.Context(), staff))
		lose := func() { s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostResponse()))) }

		lose()
		var refused *azcore.ResponseError
		if err := sdkInsert(t.Context(), acc.Tables().NewClient("staff")); !errors.As(err, &refused) || refused.StatusCode != 409 {
			t.Errorf("insert by aztables: got %v, want a *azcore.ResponseError of 409", err)
		}
		fatal(t, staff.DeleteAny(t.Context(), jones))
		lose()
		if err := kitInsert(t.Context(), staff); err != nil {
			t.Errorf("insert by aztablekit: got %v, want no error", err)
		}
	})
}
