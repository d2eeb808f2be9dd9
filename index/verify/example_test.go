package verify_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type Employee struct {
	Department string
	ID         int
	Age        int
}

var dept = keys.Tuple1(keys.Text())

// newStaff returns a table of three employees without an index, on a service in memory.
func newStaff(ctx context.Context) *table.Table[Employee] {
	s := storagetest.New(nil)
	staff, err := table.New(s.Tables(), "staff", table.Schema[Employee]{
		Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
		Row:       keys.Bind1(keys.Tuple1(keys.Digits[int](6)).Named("empid"), func(e *Employee) *int { return &e.ID }),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for _, e := range []Employee{{"Sales", 152, 38}, {"Sales", 223, 44}, {"Sales", 300, 51}} {
		if _, err := staff.Insert(ctx, &e); err != nil {
			log.Fatal(err)
		}
	}
	return staff
}

// A new index for a table in use: one release writes it, Run fills it, and the next release reads it.
func ExampleRun() {
	ctx := context.Background()
	plain := newStaff(ctx)
	byAge := func(o *index.Options[Employee]) *index.Index[Employee, int] {
		return index.New("age", keys.Tuple1(keys.Digits[int](3)), func(e *Employee) (int, bool) { return e.Age, true }, o)
	}
	first, err := index.Attach(plain, byAge(&index.Options[Employee]{WriteOnly: true}))
	if err != nil {
		log.Fatal(err)
	}
	report, err := verify.Run(ctx, first, &verify.Options{Repair: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Faults, "repaired:", report.Repaired, "sound:", report.Sound())

	next := byAge(nil)
	staff, err := index.Attach(plain, next)
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range next.Between(ctx, staff, dept.Of("Sales"), 40, 60) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.ID)
	}
	// Output:
	// map[missing:3] repaired: 3 sound: true
	// 223
	// 300
}

// Each fault, with its kind and its row; nothing is written.
func ExampleOptions() {
	ctx := context.Background()
	byAge := index.New("age", keys.Tuple1(keys.Digits[int](3)), func(e *Employee) (int, bool) { return e.Age, e.Age > 50 }, nil)
	staff, err := index.Attach(newStaff(ctx), byAge)
	if err != nil {
		log.Fatal(err)
	}
	_, err = verify.Run(ctx, staff, &verify.Options{
		Partition: dept.Of("Sales"),
		Fault:     func(f verify.Fault) { fmt.Println(f.Definition, f.Kind, f.Row, f.Entity) },
	}, byAge)
	fmt.Println(err)
	// Output:
	// age missing ('Sales','age_051_empid_000300') ('Sales','empid_000300')
	// <nil>
}
