// Package projection lists the names of the employees of a department, without their CVs.
package projection

import (
	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department and ID.
type Employee struct {
	Department string
	ID         int
	FirstName  string
	LastName   string
	CV         string // long
}

// Name is the properties of an employee that a list of names reads.
type Name struct {
	LastName string
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

// Names returns a view of the employees. Its lists transfer the properties of Name alone. No requests.
func (s *Staff) Names() (*table.View[Name, Employee], error) {
	return table.ViewOf[Name](s.Employees)
}

// Members is the query for the employees of a department, for the view and for the table. 1 request for each 1,000, more for long CVs.
func Members(department string) table.Query[Employee] {
	return table.Query[Employee]{Partition: dept.Of(department)}
}

// ID returns the ID in the key of an employee.
func ID(k keys.Key) (int, error) {
	return empid.Decode(k.Row())
}
