// Package reviews keeps employees with their yearly reviews. One query reads an employee with all reviews, and one transaction writes both.
package reviews

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Rating     int32 // of the last review
}

// Review is stored behind its employee: 000123_2012 is the review of employee 000123.
type Review struct {
	Department string
	ID, Year   int
	Rating     int32
	Text       string
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })

	reviewed = keys.Partition(keys.Text(), func(v *Review) *string { return &v.Department })
	year     = keys.Row2(keys.Digits[int](6), keys.Digits[int](4), func(v *Review) (*int, *int) { return &v.ID, &v.Year })

	// Both types have RowKeys in one range, so each row contains its type.
	employee = &aztablekit.Settings[Employee]{Schema: table.Schema[Employee]{Type: "employee"}}
	review   = &aztablekit.Settings[Review]{Schema: table.Schema[Review]{Type: "review"}}
)

// Staff is the employees of a company, and their reviews.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
	Reviews   *table.Table[Review]
}

// Open declares one table of two types. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, employee), aztablekit.Table(s, "staff", reviewed, year, review)}
}

// Import stores new employees of one department and their reviews, all or none, at most 100 rows. It fails with table.ErrExists if a row
// exists. 1 request, 2 more for a refusal.
func (s *Staff) Import(ctx context.Context, employees []Employee, reviews []Review) error {
	var ops []table.Op
	for _, e := range employees {
		ops = append(ops, s.Employees.InsertOp(&e))
	}
	for _, v := range reviews {
		ops = append(ops, s.Reviews.InsertOp(&v))
	}
	_, err := table.Transact(ctx, ops...)
	return err
}

// Query finds an employee and all reviews of the employee.
func Query(department string, id int) table.Query[table.Row] {
	return table.Query[table.Row]{Partition: dept.Of(department), Rows: empid.Of(id).Family()}
}

// Get returns an employee and all reviews, the earliest first, table.ErrNotFound for no such employee. 1 request.
func (s *Staff) Get(ctx context.Context, department string, id int) (*table.Entity[Employee], []Review, error) {
	reader, err := table.NewMixed(s.Employees, s.Reviews)
	if err != nil {
		return nil, nil, err
	}
	var found *table.Entity[Employee]
	var reviews []Review
	for x, err := range reader.List(ctx, Query(department, id)) {
		if err != nil {
			return nil, nil, err
		}
		switch x := x.(type) {
		case *table.Entity[Employee]:
			found = x
		case *table.Entity[Review]:
			reviews = append(reviews, x.Value)
		}
	}
	if found == nil {
		return nil, nil, table.ErrNotFound
	}
	return found, reviews, nil
}

// Review stores a new review and the rating of the employee, both or neither. It fails with table.ErrExists if the year has a review, and
// with table.ErrChanged if another program has changed the employee since Get. 1 request, 1 or 2 more for a refusal.
func (s *Staff) Review(ctx context.Context, e *table.Entity[Employee], year int, rating int32, text string) error {
	e.Value.Rating = rating
	v := Review{Department: e.Value.Department, ID: e.Value.ID, Year: year, Rating: rating, Text: text}
	_, err := table.Transact(ctx, s.Reviews.InsertOp(&v), s.Employees.ReplaceOp(e))
	return err
}
