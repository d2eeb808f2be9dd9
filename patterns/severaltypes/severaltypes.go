// Package severaltypes keeps departments with their employees. Each department contains the number of its employees, which is right at every
// instant.
package severaltypes

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// Department is stored in one partition with its employees.
type Department struct {
	Name          string
	EmployeeCount int32
}

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	LastName   string
}

var (
	name       = keys.Partition(keys.Text(), func(d *Department) *string { return &d.Name })
	department = keys.OneRow[Department]("department") // a partition has one

	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
)

// Company is departments and employees.
type Company struct {
	*aztablekit.Store
	Departments *table.Table[Department]
	Employees   *table.Table[Employee]
}

// Open declares one table of two types. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Company {
	s := aztablekit.Open(acc, "company", o)
	return &Company{s, aztablekit.Table(s, "staff", name, department), aztablekit.Table(s, "staff", dept, empid)}
}

// Found stores a new department, without employees; table.ErrExists if the name is taken. 1 request, 2 more for a refusal.
func (c *Company) Found(ctx context.Context, name string) error {
	_, err := c.Departments.Insert(ctx, &Department{Name: name})
	return err
}

// Department returns a department, table.ErrNotFound for none. 1 request.
func (c *Company) Department(ctx context.Context, name string) (*table.Entity[Department], error) {
	return c.Departments.Get(ctx, c.Departments.Key(Department{Name: name}))
}

// Hire stores a new employee and counts her, both or neither. After a conflict with another program, it reads the department again. It fails
// with table.ErrNotFound without the department, and with table.ErrExists if the employee exists. 2 requests, and 1 for a note of the partition
// now and then; 3 more after each conflict, and 3 more for an employee that exists.
func (c *Company) Hire(ctx context.Context, e Employee) error {
	return txn.Run(ctx, c.Store, func(tx *txn.Tx) error { return c.HireIn(tx, e) })
}

// HireIn is Hire together with other changes: in a function that txn.Run calls. 1 request.
func (c *Company) HireIn(tx *txn.Tx, e Employee) error {
	d, err := txn.Get(tx, c.Departments, c.Departments.Key(Department{Name: e.Department}))
	if err != nil {
		return err
	}
	d.Value.EmployeeCount++
	tx.Do(c.Employees.InsertOp(&e), c.Departments.ReplaceOp(d))
	return nil
}
