package mixed_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/mixed"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type employee struct {
	Department string
	ID         int
	LastName   string
	Age        int32
}

type review struct {
	Department string
	ID, Year   int
	Rating     int32
}

var (
	dept  = keys.Tuple1(keys.Text())
	empid = keys.Tuple1(keys.Digits[int](6))
	years = keys.Tuple2(keys.Digits[int](6), keys.Digits[int](4)) // the reviews of an employee are sorted behind her own row
)

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// open returns two handles of a table with two employees and two reviews.
func open() (*table.Table[employee], *table.Table[review]) {
	ctx := context.Background()
	service := storagetest.New(nil).Tables()
	staff, err := table.New(service, "staff", table.Schema[employee]{
		Partition: keys.Bind1(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Bind1(empid, func(e *employee) *int { return &e.ID }),
	}, nil)
	check(err)
	reviews, err := table.New(service, "staff", table.Schema[review]{
		Partition: keys.Bind1(dept, func(r *review) *string { return &r.Department }),
		Row:       keys.Bind2(years, func(r *review) (*int, *int) { return &r.ID, &r.Year }),
	}, nil)
	check(err)
	check(staff.Ensure(ctx))
	_, err = table.Transact(ctx,
		staff.InsertOp(&employee{"Sales", 123, "Jones", 44}),
		reviews.InsertOp(&review{"Sales", 123, 2025, 4}),
		reviews.InsertOp(&review{"Sales", 123, 2026, 5}),
		staff.InsertOp(&employee{"Sales", 124, "Smith", 35}),
	)
	check(err)
	return staff, reviews
}

// One query returns an employee and all her reviews, each as its own type.
func ExampleReader() {
	ctx := context.Background()
	staff, reviews := open()
	reader, err := mixed.New(staff, reviews)
	check(err)
	for x, err := range reader.List(ctx, table.Query[table.Row]{Partition: dept.Of("Sales"), Rows: keys.Family(empid.Of(123))}) {
		check(err)
		switch x := x.(type) {
		case *table.Entity[employee]:
			fmt.Println(x.Value.LastName)
		case *table.Entity[review]:
			fmt.Println(x.Value.Year, x.Value.Rating)
		}
	}
	x, err := reader.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(124)))
	check(err)
	fmt.Printf("%T\n", x)
	// Output:
	// Jones
	// 2025 4
	// 2026 5
	// *table.Entity[github.com/aztablekit/aztablekit/mixed_test.employee]
}

// Rows changes rows of any type. Other columns keep their values and types.
func ExampleReader_Rows() {
	ctx := context.Background()
	staff, _ := open()
	reader, err := mixed.New(staff)
	check(err)
	jones := keys.At(dept.Of("Sales"), empid.Of(123))
	_, err = reader.Rows().Update(ctx, jones, func(r *table.Row) error {
		r.Delete("Age")
		return r.Set("Audited", true)
	})
	check(err)
	check(reader.Rows().MergeAny(ctx, jones, table.PropertyOf[int64]("Badge").Set(4711)))
	row, err := reader.Rows().Get(ctx, jones)
	check(err)
	for _, name := range []string{"Audited", "Badge", "LastName", "Age"} {
		value, ok := row.Value.Get(name)
		fmt.Println(name, value, ok)
	}
	// Output:
	// Audited true true
	// Badge 4711 true
	// LastName Jones true
	// Age <nil> false
}
