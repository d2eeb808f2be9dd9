// Package bulk stores and deletes streams of employees of any length, in transactions of up to 100.
package bulk

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	Age        int32
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })

	age = table.FieldOf(func(e *Employee) *int32 { return &e.Age })

	// No entity has derived rows, so writes need not read the row first.
	blind = &aztablekit.Settings[Employee]{Options: table.Options{BlindWrites: true}}
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
}

// Open declares the table of the employees. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, blind)}
}

// Import stores employees of any departments, in any order, and overwrites existing employees. An error of the stream ends the work. After any
// error, call Import again with the employees from the result's Token on. 1 request for each 100 employees of a department.
func (s *Staff) Import(ctx context.Context, all iter.Seq2[Employee, error]) (table.Progress, error) {
	return table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for e, err := range all {
			if !yield(s.Employees.UpsertOp(&e, table.ReplaceExisting), err) {
				return
			}
		}
	}, nil)
}

// Remove deletes employees by department and ID, in any order. The result counts employees who do not exist as missing. 1 request for each 100
// employees of a department, and at most 3 more if some of the 100 are missing.
func (s *Staff) Remove(ctx context.Context, all iter.Seq2[Employee, error]) (table.Progress, error) {
	return table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for e, err := range all {
			if !yield(s.Employees.DeleteAnyOp(s.Employees.Key(e)), err) {
				return
			}
		}
	}, nil)
}

// Retire deletes the employees of a department from an age on. 1 request for each 1,000 employees of the department, and 1 for each 100 deleted
// employees.
func (s *Staff) Retire(ctx context.Context, department string, from int32) (table.Progress, error) {
	return table.BulkDelete(ctx, s.Employees, table.Query[Employee]{Partition: dept.Of(department), Where: age.Ge(from)}, nil)
}
