// Package rangequery lists the employees of a department whose IDs are in a range.
package rangequery

import (
	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department and ID.
type Employee struct {
	Department string
	ID         int
	LastName   string
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID }) // six digits, which sort as the numbers do
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

// Numbers is the query for the employees of a department with IDs from first to last, both included, in this order:
//
//	for e, err := range staff.Employees.List(ctx, rangequery.Numbers("Sales", 100, 199)) { … }
//
// 1 request for each 1,000 employees of the range.
func Numbers(department string, first, last int) table.Query[Employee] {
	return table.Query[Employee]{Partition: dept.Of(department), Rows: empid.Between(first, last)}
}
