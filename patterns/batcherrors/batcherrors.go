// Package batcherrors stores several employees in one transaction, all or none, and says which employee made it fail.
package batcherrors

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	LastName   string
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
}

// Open declares the table of the employees. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid)}
}

// Hire stores new employees of one department, all or none, at most 100. If an employee makes the transaction fail, Hire returns this employee
// with a *table.BatchError. It is around table.ErrExists if the employee exists, *table.ValueError if all contains the employee twice,
// *table.ValueError for an employee of another department, and *table.LimitError for a field that is too long. Too many employees fail
// with *table.LimitError, and no employee is returned. 1 request, 2 more for an employee who exists, and none for the other refusals.
func (s *Staff) Hire(ctx context.Context, all ...Employee) (refused *Employee, err error) {
	var ops []table.Op
	for _, e := range all {
		ops = append(ops, s.Employees.InsertOp(&e))
	}
	_, err = table.Transact(ctx, ops...)
	var failed *table.BatchError
	if errors.As(err, &failed) {
		refused = &all[failed.Index]
	}
	return refused, err
}
