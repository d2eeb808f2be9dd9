// Package pointquery reads an employee by department and ID, which are the two keys of the row.
package pointquery

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department and ID.
type Employee struct {
	Department string // the PartitionKey
	ID         int    // the RowKey
	FirstName  string
	LastName   string
	Age        int32
	Email      string
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](8), func(e *Employee) *int { return &e.ID })
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

// Employee returns the employee of a department and an ID, table.ErrNotFound for none. 1 request.
func (s *Staff) Employee(ctx context.Context, department string, id int) (*table.Entity[Employee], error) {
	return s.Employees.Get(ctx, Key(department, id))
}

// Key returns the key of an employee.
func Key(department string, id int) keys.Key {
	return keys.At(dept.Of(department), empid.Of(id))
}
