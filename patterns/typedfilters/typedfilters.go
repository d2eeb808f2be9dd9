// Package typedfilters finds the employees of a department by conditions on their fields. The compiler checks the conditions, and no value
// can change the filter: names may contain quotes.
package typedfilters

import (
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department and ID.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Age        int32
	Salary     float64
	Hired      time.Time
	Badge      int64
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })

	lastName = table.FieldOf(func(e *Employee) *string { return &e.LastName })
	age      = table.FieldOf(func(e *Employee) *int32 { return &e.Age })
	salary   = table.FieldOf(func(e *Employee) *float64 { return &e.Salary })
	hired    = table.FieldOf(func(e *Employee) *time.Time { return &e.Hired })
	badge    = table.FieldOf(func(e *Employee) *int64 { return &e.Badge })
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

// Named is the query for the employees of a department with a last name. This query and the others read all employees of the department: 1
// request for each 1,000 of them.
func Named(department, name string) table.Query[Employee] {
	return table.Query[Employee]{Partition: dept.Of(department), Where: lastName.Eq(name)}
}

// WellPaidOrBadge is the query for the employees of a department who are over an age and earn at least an amount, or who have a badge.
func WellPaidOrBadge(department string, over int32, least float64, number int64) table.Query[Employee] {
	where := table.Or(table.And(age.Gt(over), salary.Ge(least)), badge.Eq(number))
	return table.Query[Employee]{Partition: dept.Of(department), Where: where}
}

// HiredSince is the query for the employees of a department who were hired from a time on, except those with a last name.
func HiredSince(department string, from time.Time, except string) table.Query[Employee] {
	where := table.And(hired.Ge(from), table.Not(lastName.Eq(except)))
	return table.Query[Employee]{Partition: dept.Of(department), Where: where}
}
