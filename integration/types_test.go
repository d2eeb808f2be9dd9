package integration

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// dispatch: one query reads each row of a partition as its own type. A row of an unknown type is read as a Row.
func dispatch(e *env) {
	ctx := context.Background()
	typed := staffSchema
	typed.Type = "employee"
	staff := newTable(e, typed, nil)
	reviews := sameTable(e, staff, reviewSchema) // recognised by its RowKeys
	type manager struct {
		Department string
		ID         int
		Bonus      int64
	}
	managers := sameTable(e, staff, table.Schema[manager]{
		Partition: keys.Partition(dept, func(m *manager) *string { return &m.Department }),
		Row:       keys.Row(empid, func(m *manager) *int { return &m.ID }),
		Type:      "manager",
	})
	_, err := table.Transact(ctx,
		staff.InsertOp(&employee{Department: "Sales", ID: 1, Last: "Jones", Age: 44}), reviews.InsertOp(&review{"Sales", 1, 2011, 4}),
		managers.InsertOp(&manager{"Sales", 2, 1000}), staff.InsertOp(&employee{Department: "Sales", ID: 3, Last: "Smith", Age: 30}))
	e.must(err)
	raw := e.acc.Tables().NewClient(staff.Name())
	for _, body := range []string{
		`{"PartitionKey":"Sales","RowKey":"empid_000004","_type":"robot","Age":2}`, // an unknown type
		`{"PartitionKey":"Sales","RowKey":"empid_000005","Age":9}`,                 // no type, and a RowKey of two types
		`{"PartitionKey":"Sales","RowKey":"note","Text":"x"}`,                      // no type, and a RowKey of none
	} {
		_, err := raw.AddEntity(ctx, []byte(body), nil)
		e.must(err)
	}
	types, err := table.NewMixed(staff, reviews, managers)
	e.must(err)
	e.counter.Take()
	name := func(x any) string {
		switch x := x.(type) {
		case *table.Entity[employee]:
			return "employee " + x.Value.Last
		case *table.Entity[review]:
			return fmt.Sprint("review ", x.Value.Year)
		case *table.Entity[manager]:
			return fmt.Sprint("manager ", x.Value.Bonus)
		case *table.Entity[table.Row]:
			return "row " + x.Key.RowKey()
		}
		return fmt.Sprintf("%T", x)
	}
	var got []string
	for x, err := range types.List(ctx, table.Query[table.Row]{Partition: dept.PartitionKey("Sales")}) {
		e.must(err)
		got = append(got, name(x))
	}
	if want := "[employee Jones manager 1000 employee Smith row empid_000004 row empid_000005 row note review 2011]"; fmt.Sprint(got) != want {
		e.Errorf("List: got %v; want %s", got, want)
	}
	e.wantRequests("1 query")
	got = nil
	q := table.Query[table.Row]{Partition: dept.PartitionKey("Sales"), Where: table.PropertyOf[int32]("Age").Lt(40)}
	for x, err := range types.List(ctx, q) {
		e.must(err)
		got = append(got, name(x))
	}
	if want := "[employee Smith row empid_000004 row empid_000005]"; fmt.Sprint(got) != want {
		e.Errorf("List with a condition: got %v; want %s", got, want)
	}
	e.counter.Take()
	x, err := types.Get(ctx, at("Sales", 2))
	e.must(err)
	e.wantRequests("1 get")
	boss, ok := x.(*table.Entity[manager])
	if !ok {
		e.Fatalf("Get: got a %T; want an entity of manager", x)
	}
	boss.Value.Bonus++
	e.must(managers.Replace(ctx, boss))
	if _, err := staff.Get(ctx, at("Sales", 2)); !errors.Is(err, table.ErrForeignRow) {
		e.Errorf("Get of a manager as an employee: got error %v; want ErrOtherType", err)
	}
	if _, err := types.Get(ctx, at("Sales", 99)); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("Get of a missing row: got error %v; want ErrNotFound", err)
	}
	n, err := staff.Count(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")})
	e.must(err)
	if n != 3 { // Jones, Smith, and the row without a type
		e.Errorf("Count: got %d employees; want 3", n)
	}

	// The same change of all rows, without their types.
	rows := types.Rows()
	e.counter.Take()
	for r, err := range rows.List(ctx, table.Query[table.Row]{Partition: dept.PartitionKey("Sales")}) {
		e.must(err)
		e.must(r.Value.Set("Audited", true))
		e.must(rows.Replace(ctx, r))
	}
	e.wantRequests("1 query, 7 replace")
	again, err := managers.Get(ctx, at("Sales", 2))
	e.must(err)
	row, err := again.Row()
	e.must(err)
	if audited, _ := row.Get("Audited"); audited != true || again.Value.Bonus != 1001 {
		e.Errorf("Get after a change of the row: got %+v; want it audited, with bonus 1001", again)
	}
	again.Value.Bonus = 7
	e.must(managers.Replace(ctx, again)) // preserves the unknown column
	stored, err := rows.Get(ctx, again.Key)
	e.must(err)
	if audited, _ := stored.Value.Get("Audited"); audited != true || stored.Value.Type("Bonus") != "Edm.Int64" {
		e.Errorf("row after Replace of the entity: got %+v; want it audited, with an Edm.Int64 bonus", stored)
	}
}

// versions: a row of an older version is upgraded when it is read, and stored in the new version when it is written.
func versions(e *env) {
	ctx := context.Background()
	type v0 struct {
		ID   int
		Name string
	}
	type v1 struct {
		ID          int
		First, Last string
	}
	id := keys.Digits[int](3)
	old := newTable(e, table.Schema[v0]{Partition: keys.OnePartition[v0]("p"), Row: keys.Row(id, func(v *v0) *int { return &v.ID }), Type: "person"}, nil)
	schema := table.Schema[v1]{
		Partition: keys.OnePartition[v1]("p"), Row: keys.Row(id, func(v *v1) *int { return &v.ID }), Type: "person", Version: 1,
		Upgrade: map[int]func(*table.Row) error{0: func(r *table.Row) error {
			name, _ := r.Get("Name")
			r.Delete("Name")
			return errors.Join(r.Set("First", "J."), r.Set("Last", name))
		}},
	}
	now := sameTable(e, old, schema)
	for i, name := range []string{"Jones", "Smith"} {
		_, err := old.Insert(ctx, &v0{i + 1, name})
		e.must(err)
	}
	_, err := now.Update(ctx, keys.At(keys.RawPartition("p"), id.RowKey(1)), func(v *v1) error { v.First = "Jessy"; return nil })
	e.must(err)
	var got []string
	for v, err := range now.List(ctx, table.Query[v1]{}) {
		e.must(err)
		got = append(got, v.Value.First+" "+v.Value.Last)
	}
	if fmt.Sprint(got) != "[Jessy Jones J. Smith]" {
		e.Errorf("List: got %q; want Jessy Jones and J. Smith", got)
	}
	var ve *table.VersionError
	if _, err := old.Get(ctx, keys.At(keys.RawPartition("p"), id.RowKey(1))); !errors.As(err, &ve) || ve.Got != 1 {
		e.Errorf("Get of a newer version: got error %v; want a *VersionError of version 1", err)
	}
	if _, err := old.Get(ctx, keys.At(keys.RawPartition("p"), id.RowKey(2))); err != nil {
		e.Errorf("Get of an old row by the old program: got error %v; want none", err)
	}
}
