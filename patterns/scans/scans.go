// Package scans lists the employees of a department by a property that is in neither key.
package scans

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
	Age        int32
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
	age   = table.FieldOf(func(e *Employee) *int32 { return &e.Age })
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

// Aged is the query for the employees of a department aged least or over. The service reads all employees of the department: 1 request for
// each 1,000 of them. Without its Partition, the query is refused with table.ErrTableScan, unless its TableScan is set.
func Aged(department string, least int32) table.Query[Employee] {
	return table.Query[Employee]{Partition: dept.Of(department), Where: age.Ge(least)}
}
