package main

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var compoundEntity = recipe{
	name:  "reviews",
	title: "An employee with all reviews in one query",
	guide: []string{"G25", "G08"},
	problem: `Reviews in a table of their own need a second query to be read with their employee, and no transaction covers both
		tables. In the employee's partition, under a compound key that begins with the employee's own (000123, 000123_2012),
		they are neighbours: one range holds them all and nobody else's, and one transaction writes them.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Rating     int32 // the last review's
		}
		type Review struct {
			Department string
			ID, Year   int
			Rating     int32
			Text       string
		}
		var (
			dept    = keys.Tuple1(keys.Text())
			empid   = keys.Tuple1(keys.Digits[int](6))
			reviews = keys.Tuple2(keys.Digits[int](6), keys.Digits[int](4))
		)
		staff, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		yearly, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Review]{
			Partition: keys.Bind1(dept, func(v *Review) *string { return &v.Department }),
			Row:       keys.Bind2(reviews, func(v *Review) (*int, *int) { return &v.ID, &v.Year }),
		}, nil)
		if err != nil {
			return err
		}
		types, err := table.NewTypes(staff, yearly)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if err := r.Do("two employees and three reviews at once", func() error {
			_, err := table.Transact(ctx,
				staff.InsertOp(&Employee{"Sales", 123, "Jones", 4}),
				yearly.InsertOp(&Review{"Sales", 123, 2011, 5, "A very good year"}),
				yearly.InsertOp(&Review{"Sales", 123, 2012, 4, "A good year"}),
				staff.InsertOp(&Employee{"Sales", 124, "Smith", 3}),
				yearly.InsertOp(&Review{"Sales", 124, 2012, 3, "A year"}),
			)
			return err
		}); err != nil {
			return err
		}
		q := table.Query[table.Row]{Partition: dept.Of("Sales"), Rows: keys.Family(empid.Of(123))}
		ex, err := types.Rows().Explain(q)
		if err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		if err := r.Ask("employee 123 and all that is below her key, each as its own type", ex, func() error {
			for x, err := range types.List(ctx, q) {
				if err != nil {
					return err
				}
				switch x := x.(type) {
				case *table.Entity[Employee]:
					jones = x
					r.Answer("%s, rated %d", x.Value.LastName, x.Value.Rating)
				case *table.Entity[Review]:
					r.Answer("   %d: %d, %q", x.Value.Year, x.Value.Rating, x.Value.Text)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("this year's review, and the employee's rating with it", func() error {
			review := Review{"Sales", 123, 2013, 5, "Her best year"}
			jones.Value.Rating = review.Rating
			_, err := table.Transact(ctx, yearly.InsertOp(&review), staff.ReplaceOp(jones))
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Naive("a table for each type", func() error {
			_, err1 := staff.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(123)))
			n, err2 := yearly.Count(ctx, table.Query[Review]{Partition: dept.Of("Sales"), Rows: reviews.Prefix(123)})
			r.Answer("an employee by one query, %d reviews by another, and no transaction over both", n)
			return errors.Join(err1, err2)
		})
	},
}
