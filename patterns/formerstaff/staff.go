// Package formerstaff keeps employees who have left in a table of their own, and moves those who come back.
package formerstaff

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
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
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	former = archive.Into[Employee]("staff", archive.ToTable("Archive", nil))
)

// Staff is the employees in the table Current, and former employees in the table Archive. An employee is always in one of them, during a
// move in both for a moment.
type Staff struct {
	*aztablekit.Store
	Current *table.Table[Employee]
}

// Open declares both tables. Call Ensure of the result when the program starts, and Run in one program, which executes the moves.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "staff", o)
	return &Staff{s, aztablekit.Table(s, "Current", dept, empid, former)}
}

// Archive requests the move of an employee to Archive, unless another program has changed the employee (table.ErrChanged). The worker moves
// what is stored then. 3 requests.
func (s *Staff) Archive(ctx context.Context, e *table.Entity[Employee]) error {
	return former.Archive(ctx, s.Current, e)
}

// Find returns an employee, and whether Archive contains the employee, table.ErrNotFound if neither table does. 1 request, or 2 in Archive.
func (s *Staff) Find(ctx context.Context, department string, id int) (Employee, bool, error) {
	e, archived, err := former.Find(ctx, s.Current, keys.At(dept.Of(department), empid.Of(id)))
	if err != nil {
		return Employee{}, false, err
	}
	return e.Value, archived, nil
}

// Restore moves an employee back, table.ErrNotFound if Archive does not contain the employee, table.ErrIncomplete if the move to Archive has
// not ended. 6 requests.
func (s *Staff) Restore(ctx context.Context, department string, id int) error {
	_, err := former.Restore(ctx, s.Current, keys.At(dept.Of(department), empid.Of(id)))
	return err
}
