package extend_test

import (
	"context"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
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
	staff, err := bare.NewTable(memory.Tables(), "staff", staffSchema, nil)
	check(err)
	check(tabledoor.Ensure(context.Background(), staff))
	return staff, memory
}

// staffOf returns a table of a store of an example's own, with maintainers.
func staffOf(h *extend.Host, maintainers ...extend.Maintainer[employee]) (*table.Table[employee], error) {
	base, err := extend.NewTable(h, "staff", staffSchema, nil)
	if err != nil {
		return nil, err
	}
	if err := tabledoor.Ensure(context.Background(), base); err != nil {
		return nil, err
	}
	return extend.With(base, maintainers...)
}

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
