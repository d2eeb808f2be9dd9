// Package movedepartment keeps employees who change departments. Each is in one department at every instant, whatever crashes.
package movedepartment

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Email      string
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	// The rows of both are in the department of their employee, and move in the same write.
	byEmail = index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, &index.Options{Unique: true})
	byName  = index.New("last", keys.Ordered(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only()
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
}

// Open declares the table of the employees. Call Ensure of the result when the program starts, and Run in one program, which finishes the
// moves of crashed programs.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, byEmail, byName)}
}

// Move moves an employee to another department. It fails with table.ErrChanged if another program has changed the employee, with
// table.ErrExists if an employee of the department has the ID, and with table.ErrTaken if one has the address. 3 transactions, and 2 requests
// for a message.
func (s *Staff) Move(ctx context.Context, e *table.Entity[Employee], department string) error {
	e.Value.Department = department
	return s.Employees.Move(ctx, e)
}

// Get returns an employee of a department, table.ErrNotFound for none. 1 request; more after the crash of a program that moved the employee,
// to finish the move or roll it back.
func (s *Staff) Get(ctx context.Context, department string, id int) (*table.Entity[Employee], error) {
	return s.Employees.Get(ctx, keys.At(dept.Of(department), empid.Of(id)))
}

// ByEmail returns the employee of a department who has an address, table.ErrNotFound for none. Its requests are those of Get.
func (s *Staff) ByEmail(ctx context.Context, department, address string) (*table.Entity[Employee], error) {
	return byEmail.Get(ctx, s.Employees, dept.Of(department), address)
}

// List yields the employees of a department, in the order of their IDs. 1 request for each 1,000, and 1 for each move in progress.
func (s *Staff) List(ctx context.Context, department string) iter.Seq2[*table.Entity[Employee], error] {
	return s.Employees.List(ctx, table.Query[Employee]{Partition: dept.Of(department)})
}

// Named yields the employees of a department who have a last name. 1 request for each 1,000, and 1 for each employee, 10 at a time.
func (s *Staff) Named(ctx context.Context, department, name string) iter.Seq2[*table.Entity[Employee], error] {
	return byName.List(ctx, s.Employees, dept.Of(department), name)
}
