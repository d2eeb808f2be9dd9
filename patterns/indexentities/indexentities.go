// Package indexentities lists the employees of a department who have a last name.
package indexentities

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
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	// A row without fields for each employee, under the last name.
	members = index.New("last", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only()
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee] // each write changes the member row in its transaction
}

// Open declares the table of the employees. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, members)}
}

// Keys yields the keys of the employees of a last name, in the order of their IDs. 1 request for each 1,000.
func (s *Staff) Keys(ctx context.Context, department, name string) iter.Seq2[keys.Key, error] {
	return members.Keys(ctx, s.Employees, table.Query[Employee]{Partition: dept.Of(department), Rows: members.Value(name)})
}

// List yields the employees of a last name, in the order of their IDs. 1 request for each 1,000, and 1 for each employee, 10 at a time.
func (s *Staff) List(ctx context.Context, department, name string) iter.Seq2[*table.Entity[Employee], error] {
	return members.List(ctx, s.Employees, dept.Of(department), name)
}
