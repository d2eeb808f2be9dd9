// Package compoundkeys keeps the yearly reviews of the employees of a department. The RowKey of a review is the ID and the year, so that the
// reviews of an employee are neighbours.
package compoundkeys

import (
	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Review is stored by department, ID of the employee, and year.
type Review struct {
	Department string
	ID, Year   int
	Rating     int32
}

var (
	dept   = keys.Partition(keys.Text(), func(v *Review) *string { return &v.Department })
	review = keys.Row2(keys.Digits[int](6), keys.Digits[int](4), func(v *Review) (*int, *int) { return &v.ID, &v.Year }) // 000123_2012
)

// Company is the reviews of its employees.
type Company struct {
	*aztablekit.Store
	Reviews *table.Table[Review]
}

// Open declares the table of the reviews. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Company {
	s := aztablekit.Open(acc, "company", o)
	return &Company{s, aztablekit.Table(s, "reviews", dept, review)}
}

// Employee is the query for all reviews of an employee, oldest first. 1 request for each 1,000.
func Employee(department string, id int) table.Query[Review] {
	return table.Query[Review]{Partition: dept.Of(department), Rows: review.Under(id).All()}
}

// Years is the query for the reviews of an employee of some years, both ends included, oldest first. 1 request for each 1,000.
func Years(department string, id, first, last int) table.Query[Review] {
	return table.Query[Review]{Partition: dept.Of(department), Rows: review.Under(id).Between(first, last)}
}
