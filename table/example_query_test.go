package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// A Field is kept in a variable, and names a field in conditions and merges. The compiler checks the types.
func ExampleFieldOf() {
	last := table.FieldOf(func(e *employee) *string { return &e.Last })
	age := table.FieldOf(func(e *employee) *int32 { return &e.Age })
	staff := sales(nil)
	ex, err := staff.Explain(table.Query[employee]{
		Partition: dept.PartitionKey("Sales"),
		Where:     table.And(age.Ge(30), table.Not(table.Or(last.Eq("Jones"), last.Eq("Smith")))),
	})
	check(err)
	fmt.Println(ex.Class, ex.Comparisons)
	// Output: partition scan 6
}

// Stats count the pages and rows that a list has read, and the foreign rows among them.
func ExampleStats() {
	staff := sales(nil)
	stats := new(table.Stats)
	for _, err := range staff.List(context.Background(), table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 3, Stats: stats}) {
		check(err)
	}
	fmt.Printf("%+v\n", *stats)
	// Output: {Requests:2 Rows:4 Foreign:0 Over:0 Skipped:0 Damaged:0}
}

// A field has six comparisons. A row without the property matches none of them.
func ExampleField_Lt() {
	staff := sales(nil)
	for _, c := range []table.Cond[employee]{age.Eq(40), age.Ne(40), age.Lt(40), age.Le(40), age.Gt(40), age.Ge(40)} {
		ex, err := staff.Explain(table.Query[employee]{Partition: dept.PartitionKey("Sales"), Where: c})
		check(err)
		n := 0
		for _, err := range staff.List(context.Background(), table.Query[employee]{Partition: dept.PartitionKey("Sales"), Where: c}) {
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

// A column that another program stores as text: a field with the option text reads it in each form, and writes one.
func ExampleField_IsSet() {
	type order struct {
		Customer string
		No       int
		Placed   time.Time  `table:",text"` // RFC 3339
		Paid     *time.Time `table:",text"`
		Pieces   int        `table:",double"` // a JSON number of JavaScript
	}
	orders := newTable(table.Schema[order]{
		Partition: keys.Partition(keys.Text(), func(o *order) *string { return &o.Customer }),
		Row:       keys.Row(keys.Digits[int](6), func(o *order) *int { return &o.No }),
	})
	ctx := context.Background()
	for _, row := range []string{
		`{"PartitionKey":"acme","RowKey":"000001","Placed":"2026-05-01T12:00:00+02:00","Paid":"","Pieces":3.0}`,
		`{"PartitionKey":"acme","RowKey":"000002","Placed":"2026-05-02T08:30:00Z","Paid":"2026-05-09T00:00:00Z","Pieces":4.0}`,
	} {
		_, err := memory.Tables().NewClient(orders.Name()).AddEntity(ctx, []byte(row), nil)
		check(err)
	}
	paid := table.FieldOf(func(o *order) **time.Time { return &o.Paid })
	for _, c := range []table.Cond[order]{paid.IsNotSet(), paid.IsSet(), table.Timestamp[order]().Ge(time.Now().Add(-time.Minute))} {
		for e, err := range orders.List(ctx, table.Query[order]{Partition: keys.RawPartition("acme"), Where: c}) {
			check(err)
			fmt.Println(e.Value.No, "placed", e.Value.Placed.Format("Jan 2 15:04"), "pieces:", e.Value.Pieces)
		}
	}
	// Output:
	// 1 placed May 1 10:00 pieces: 3
	// 2 placed May 2 08:30 pieces: 4
	// 1 placed May 1 10:00 pieces: 3
	// 2 placed May 2 08:30 pieces: 4
}

// A row is a set of properties with names and types.
func ExampleRow() {
	staff := sales(nil)
	e, err := staff.Get(context.Background(), employeeKey("Sales", 1))
	check(err)
	row, err := e.Row()
	check(err)
	name, ok := row.Get("LastName")
	fmt.Println(name, ok, row.Type("Age"))
	// Output: Jones true Edm.Int32
}

// An entity is printed and logged with its key, its value and its ETag.
func ExampleEntity_LogValue() {
	staff := sales(nil)
	e, err := staff.Get(context.Background(), employeeKey("Sales", 3))
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

// Ranges of keys come from the layout, conditions from the fields. An error is yielded once and ends the list.
func ExampleTable_List() {
	ctx := context.Background()
	staff := sales(nil)
	q := table.Query[employee]{
		Partition: dept.PartitionKey("Sales"),
		Rows:      empid.Rows().Between(2, 4),
		Where:     table.Or(last.Eq("O'Brien"), age.Ge(45)),
		Limit:     10,
	}
	for e, err := range staff.List(ctx, q) {
		check(err)
		fmt.Println(e.Value.ID, e.Value.Last)
	}
	// Output:
	// 3 O'Brien
	// 4 Müller
}

// A query that would read the whole table is refused, unless TableScan is set.
func ExampleTable_Explain() {
	staff := sales(nil)
	_, err := staff.Explain(table.Query[employee]{Where: age.Ge(40)})
	fmt.Println(errors.Is(err, table.ErrTableScan))
	ex, err := staff.Explain(table.Query[employee]{Partition: dept.PartitionKey("Sales"), Rows: empid.Rows().AtLeast(2), Where: last.Eq("O'Brien")})
	check(err)
	fmt.Println(ex.Class, ex.Comparisons)
	fmt.Println(ex.Filter)
	// Output:
	// true
	// range query 4
	// PartitionKey eq 'Sales' and RowKey ge 'empid_000002' and RowKey lt 'empid`' and (LastName eq 'O''Brien')
}

// Rows yields rows as they are stored, for code that does not know the type.
func ExampleTable_Rows() {
	ctx := context.Background()
	staff := sales(nil)
	for row, err := range staff.Rows(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Limit: 1}) {
		check(err)
		for name, value := range row.All() {
			fmt.Println(row.Key.RowKey(), name, row.Type(name), value)
		}
	}
	// Output:
	// empid_000001 Age Edm.Int32 30
	// empid_000001 LastName Edm.String Jones
}

// A table of rows has no fields. PropertyOf names a property, with the Go type of its values.
func ExamplePropertyOf() {
	ctx := context.Background()
	rows := sameTable(sales(nil), table.Schema[table.Row]{})
	check(rows.MergeAny(ctx, employeeKey("Sales", 1), table.PropertyOf[int64]("Badge").Set(4711)))
	older := table.PropertyOf[int32]("Age").Ge(40)
	for row, err := range rows.List(ctx, table.Query[table.Row]{Partition: dept.PartitionKey("Sales"), Where: older}) {
		check(err)
		name, _ := row.Value.Get("LastName")
		fmt.Println(name)
	}
	// Output:
	// O'Brien
	// Müller
}
