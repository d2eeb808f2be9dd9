package verify_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

type Employee struct {
	Department string
	ID         int
	Age        int
}

var dept = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })

var empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

// newStaff returns a table of three employees with definitions, on a service in memory.
func newStaff(ctx context.Context, s *storagetest.Service, definitions ...aztablekit.Definition[Employee]) *table.Table[Employee] {
	company := aztablekit.Open(s, "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid, definitions...)
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for _, e := range []Employee{{"Sales", 152, 38}, {"Sales", 223, 44}, {"Sales", 300, 51}} {
		if _, err := staff.Insert(ctx, &e); err != nil {
			log.Fatal(err)
		}
	}
	return staff
}

// deleteRow deletes a row, as a program without this library may do.
func deleteRow(ctx context.Context, s *storagetest.Service, rowKey string) {
	if _, err := s.Tables().NewClient("staff").DeleteEntity(ctx, "Sales", rowKey, nil); err != nil {
		log.Fatal(err)
	}
}

// Rows that entities lack are added.
func ExampleRepair() {
	ctx := context.Background()
	byAge := index.New("age", keys.Digits[int](3), func(e *Employee) (int, bool) { return e.Age, true }, nil)
	s := storagetest.New(nil)
	staff := newStaff(ctx, s, byAge)
	deleteRow(ctx, s, "age_051_empid_000300")
	report, err := verify.Repair(ctx, staff, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(derived.Kinds(report), "repaired:", report.Changed, "sound:", report.Faults == 0)
	for e, err := range byAge.Between(ctx, staff, dept.Of("Sales"), 40, 60) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.ID)
	}
	// Output:
	// map[missing:1] repaired: 1 sound: true
	// 223
	// 300
}

// Each fault, with its kind and its row; nothing is written.
func ExampleOptions() {
	ctx := context.Background()
	byAge := index.New("age", keys.Digits[int](3), func(e *Employee) (int, bool) { return e.Age, e.Age > 50 }, nil)
	s := storagetest.New(nil)
	staff := newStaff(ctx, s, byAge)
	deleteRow(ctx, s, "age_051_empid_000300")
	_, err := verify.Check(ctx, staff, &verify.Options{Pass: table.Pass{Partitions: dept.Of("Sales").Point()}, Fault: func(f verify.Fault) { fmt.Println(f.Definition, f.Kind, f.Row, f.Entity) }}, byAge)
	fmt.Println(err)
	// Output:
	// age missing ('Sales','age_051_empid_000300') ('Sales','empid_000300')
	// <nil>
}
