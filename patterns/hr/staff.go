package main

import (
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is a row of the table staff. The department is the PartitionKey, and the ID is the RowKey.
type Employee struct {
	Department string
	ID         int
	Name       string
	Email      string
	Salary     int64 // in cents
	Photo      largeentity.Blob
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	salary = table.FieldOf(func(e *Employee) *int64 { return &e.Salary })
)

// keyOf returns the key of an employee.
func keyOf(department string, id int) keys.Key {
	return keys.At(dept.Of(department), empid.Of(id))
}

// byEmail finds an employee by e-mail address. An address belongs to one employee in all departments, in any case of letters. Therefore
// its rows are in a table of their own.
var byEmail = index.NewUnique("email", keys.Fold(keys.Text()),
	func(e *Employee) (string, bool) { return e.Email, e.Email != "" },
	&index.UniqueOptions{Table: "emails"})

// photos are the photos of the employees, of any size.
var photos = largeentity.In[Employee]("photos", nil)

// payroll counts the employees of a department, and adds their salaries, in one row of the department.
var payroll = index.NewSummary("payroll", keys.Text(),
	func(*Employee) (string, bool) { return "all", true },
	nil, index.Measure[Employee]{
		Name:      "Salary",
		Of:        func(e *Employee) (int64, bool) { return e.Salary, true },
		ExactUpTo: -1, // the service shows no smallest and no largest salary
	})
