package extend_test

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type employee struct {
	Department string
	ID         int
	Last       string `table:"LastName"`
	Age        int32
}

var (
	dept        = keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid       = keys.Row(keys.Digits[int](6), func(e *employee) *int { return &e.ID }).Named("empid")
	staffSchema = table.Schema[employee]{Partition: dept, Row: empid}
	age         = table.FieldOf(func(e *employee) *int32 { return &e.Age })
)

// openStaff creates the table of employees in a service in memory.
func openStaff() (*table.Table[employee], *storagetest.Service) {
	memory := storagetest.New(nil)
	staff, err := table.New(memory.Tables(), "staff", staffSchema, nil)
	check(err)
	check(staff.Ensure(context.Background()))
	return staff, memory
}

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
