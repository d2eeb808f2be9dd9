// Package managers keeps the name and address of the manager in each department, so that one read returns both.
package managers

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Department is stored in the partition of its employees.
type Department struct {
	Name          string
	EmployeeCount int

	// The details of the manager: writes of employees set them.
	ManagerRowKey   string `table:",omitempty"`
	ManagerLastName string `table:",omitempty"`
	ManagerEmail    string `table:",omitempty"`
}

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Email      string
	Manager    bool // at most one in a department
}

const departmentRow = "department"

var (
	name  = keys.Partition(keys.Text(), func(d *Department) *string { return &d.Name })
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	lastName = table.FieldOf(func(e *Employee) *string { return &e.LastName })
	email    = table.FieldOf(func(e *Employee) *string { return &e.Email })

	manager = index.NewDetails("manager", "Manager", func(e *Employee) (keys.RowKey, bool) { return keys.RawRow(departmentRow), e.Manager },
		lastName, email)
)

// Company is the departments of a company and their employees.
type Company struct {
	*aztablekit.Store
	Departments *table.Table[Department]
	Employees   *table.Table[Employee] // a write of a manager changes the department in its transaction, for 1 request more
}

// Open declares the table of both types. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Company {
	s := aztablekit.Open(acc, "company", o)
	return &Company{
		Store:       s,
		Departments: aztablekit.Table(s, "company", name, keys.OneRow[Department](departmentRow)),
		Employees:   aztablekit.Table(s, "company", dept, empid, manager),
	}
}

// Department returns a department with its manager, table.ErrNotFound for none. 1 request.
func (c *Company) Department(ctx context.Context, name string) (*table.Entity[Department], error) {
	return c.Departments.Get(ctx, c.Departments.Key(Department{Name: name}))
}

// Hire stores a new employee. It fails with table.ErrTaken for a second manager of a department, and with index.ErrNoTarget for the manager
// of a department that does not exist. 1 request, 1 more for a manager.
func (c *Company) Hire(ctx context.Context, e Employee) (*table.Entity[Employee], error) {
	return c.Employees.Insert(ctx, &e)
}

// ReplaceManager makes an employee the manager of a department in place of another one, in one transaction. It fails with table.ErrChanged if
// another program has changed one of them. 1 request, and 1 transaction.
func (c *Company) ReplaceManager(ctx context.Context, former, next *table.Entity[Employee]) error {
	former.Value.Manager, next.Value.Manager = false, true
	_, err := table.Transact(ctx, c.Employees.ReplaceOp(former), c.Employees.ReplaceOp(next)) // the former manager first, to make room
	return err
}
