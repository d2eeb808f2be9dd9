package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

func ExampleTable_Get() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(3)))
	check(err)
	fmt.Println(e.Value.Last, e.Value.Age)
	_, err = staff.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(99)))
	fmt.Println(errors.Is(err, table.ErrNotFound))
	// Output:
	// O'Brien 40
	// true
}

// Delete is by ETag, DeleteAny past it.
func ExampleTable_Delete() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, at("Sales", 1))
	check(err)
	check(staff.Delete(ctx, e))
	fmt.Println(errors.Is(staff.Delete(ctx, e), table.ErrNotFound))
	// Output: true
}

func ExampleTable_DeleteAny() {
	ctx := context.Background()
	staff := sales(nil)
	check(staff.DeleteAny(ctx, at("Sales", 1)))
	fmt.Println(errors.Is(staff.DeleteAny(ctx, at("Sales", 1)), table.ErrNotFound))
	// Output: true
}

// ReplaceAny is for the writer who knows that what others wrote may go.
func ExampleTable_ReplaceAny() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, at("Sales", 1))
	check(err)
	check(staff.MergeAny(ctx, e.Key, age.Set(99)))
	e.Value.Last = "Johnson"
	check(staff.ReplaceAny(ctx, e))
	e, err = staff.Get(ctx, at("Sales", 1))
	check(err)
	fmt.Println(e.Value.Last, e.Value.Age)
	// Output: Johnson 30
}

// A schema without bindings serves tables whose keys have nothing to do with the type.
func ExampleTable_InsertAt() {
	ctx := context.Background()
	type note struct{ Text string }
	notes := newTable(table.Schema[note]{})
	k := keys.At(keys.Raw("2026"), keys.Raw("first"))
	_, err := notes.InsertAt(ctx, k, &note{"hello"})
	check(err)
	_, err = notes.UpsertAt(ctx, k, &note{"hello again"}, table.ReplaceExisting)
	check(err)
	n, err := notes.Get(ctx, k)
	check(err)
	fmt.Println(n.Key, n.Value.Text)
	// Output: ('2026','first') hello again
}

// Ensure creates the table, and does nothing where it exists.
func ExampleTable_Ensure() {
	ctx := context.Background()
	staff := newTable(staffSchema)
	fmt.Println(staff.Ensure(ctx))
	// Output: <nil>
}

// A Field is kept in a variable and names a field for conditions and merges. The compiler checks types.
func ExampleFieldOf() {
	last := table.FieldOf(func(e *employee) *string { return &e.Last })
	age := table.FieldOf(func(e *employee) *int32 { return &e.Age })
	staff := sales(nil)
	ex, err := staff.Explain(table.Query[employee]{
		Partition: dept.Of("Sales"),
		Where:     table.And(age.Ge(30), table.Not(table.Or(last.Eq("Jones"), last.Eq("Smith")))),
	})
	check(err)
	fmt.Println(ex.Class, ex.Comparisons)
	// Output: partition scan 6
}

// A point query with a projection, in one request.
func ExampleView_Get() {
	type name struct {
		Last string `table:"LastName"`
	}
	names, err := table.As[name](sales(nil))
	check(err)
	n, err := names.Get(context.Background(), at("Sales", 2))
	check(err)
	fmt.Println(n.Value.Last)
	// Output: Smith
}

// What a list has cost: pages asked for, rows read, rows of other types among them.
func ExampleStats() {
	staff := sales(nil)
	stats := new(table.Stats)
	for _, err := range staff.List(context.Background(), table.Query[employee]{Partition: dept.Of("Sales"), PageSize: 3, Stats: stats}) {
		check(err)
	}
	fmt.Printf("%+v\n", *stats)
	// Output: {Requests:2 Rows:4 Foreign:0 Skipped:0}
}

// The error says what was to be done, on which row, and why it was not; errors.Is and errors.As find the rest.
func ExampleOpError() {
	staff := sales(nil)
	_, err := staff.Get(context.Background(), at("Sales", 99))
	var op *table.OpError
	fmt.Println(errors.As(err, &op), op.Op, op.Key, op.Code, errors.Is(err, table.ErrNotFound))
	// Output: true Get ('Sales','empid_000099') ResourceNotFound true
}

// Limits are checked before anything is sent.
func ExampleLimitError() {
	staff := sales(nil)
	_, err := staff.Insert(context.Background(), &employee{Department: "Sales", ID: 5, Last: string(make([]byte, 40_000))})
	var limit *table.LimitError
	fmt.Println(errors.As(err, &limit), limit)
	// Output: true property LastName has 40000 UTF-16 units; at most 32768 are allowed
}

// All six comparisons. A row that lacks the property meets none of them.
func ExampleField_Lt() {
	staff := sales(nil)
	for _, c := range []table.Cond[employee]{age.Eq(40), age.Ne(40), age.Lt(40), age.Le(40), age.Gt(40), age.Ge(40)} {
		ex, err := staff.Explain(table.Query[employee]{Partition: dept.Of("Sales"), Where: c})
		check(err)
		n := 0
		for _, err := range staff.List(context.Background(), table.Query[employee]{Partition: dept.Of("Sales"), Where: c}) {
			check(err)
			n++
		}
		_, cond, _ := strings.Cut(ex.Filter, "(")
		fmt.Println("("+cond, n)
	}
	// Output:
	// (Age eq 40) 1
	// (Age ne 40) 3
	// (Age lt 40) 2
	// (Age le 40) 3
	// (Age gt 40) 1
	// (Age ge 40) 2
}

// A row as a bag of properties.
func ExampleRow() {
	staff := sales(nil)
	e, err := staff.Get(context.Background(), at("Sales", 1))
	check(err)
	row, err := e.Row()
	check(err)
	name, ok := row.Get("LastName")
	fmt.Println(row.Len(), name, ok, row.Type("Age"))
	// Output: 2 Jones true Edm.Int32
}

// What a piece of code costs, in production or in a test.
func ExampleCounts() {
	requests := new(table.Counter)
	staff := sales(requests)
	_, err := staff.Update(context.Background(), at("Sales", 1), func(e *employee) error { e.Age++; return nil })
	check(err)
	n := requests.Take()
	fmt.Println(n, n.Total(), n[table.KindReplace])
	// Output: 1 get, 1 replace 2 1
}

// An entity is printed and logged by its key, its value and its ETag.
func ExampleEntity_LogValue() {
	staff := sales(nil)
	e, err := staff.Get(context.Background(), at("Sales", 3))
	check(err)
	fmt.Println(e)
	for _, a := range e.LogValue().Group()[:2] {
		fmt.Println(a.Key, a.Value)
	}
	// Output:
	// ('Sales','empid_000003') {Department:Sales ID:3 Last:O'Brien Age:40}
	// key ('Sales','empid_000003')
	// value {Sales 3 O'Brien 40}
}
