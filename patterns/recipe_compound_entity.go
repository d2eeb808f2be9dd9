package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var compoundEntity = recipe{
	name:        "reviews",
	title:       "Read an employee and all her reviews in one query",
	guide:       []string{"G25", "G08"},
	related:     []string{"compound-keys", "several-types", "entity-types", "inter-partition-index"},
	consistency: "strong",
	measured:    []string{"list employee 123 and her"},
	problem: `If reviews have a table of their own, an employee and her reviews take two queries, and no transaction covers both
		tables. Here the reviews are in the employee's partition, and their RowKeys begin with the employee's own (000123,
		000123_2012). One range query reads the employee with her reviews, and one transaction writes them.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Rating     int32 // of the last review
		}
		type Review struct {
			Department string
			ID, Year   int
			Rating     int32
			Text       string
		}
		var (
			dept      = keys.Text()
			empid     = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
			reviewKey = keys.Row2(keys.Digits[int](6), keys.Digits[int](4), func(v *Review) (*int, *int) { return &v.ID, &v.Year })
		)
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{
			Partition: keys.Partition(dept, func(e *Employee) *string { return &e.Department }),
			Row:       empid,
		}, nil)
		if err != nil {
			return err
		}
		reviews, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Review]{
			Partition: keys.Partition(dept, func(v *Review) *string { return &v.Department }),
			Row:       reviewKey,
		}, nil)
		if err != nil {
			return err
		}
		reader, err := table.NewMixed(staff, reviews)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if err := r.Do("insert two employees and three reviews in one transaction", func() error {
			_, err := table.Transact(ctx,
				staff.InsertOp(&Employee{"Sales", 123, "Jones", 4}),
				reviews.InsertOp(&Review{"Sales", 123, 2011, 5, "A very good year"}),
				reviews.InsertOp(&Review{"Sales", 123, 2012, 4, "A good year"}),
				staff.InsertOp(&Employee{"Sales", 124, "Smith", 3}),
				reviews.InsertOp(&Review{"Sales", 124, 2012, 3, "A year"}),
			)
			return err
		}); err != nil {
			return err
		}
		q := table.Query[table.Row]{Partition: dept.PartitionKey("Sales"), Rows: empid.Of(123).Family()}
		ex, err := reader.Rows().Explain(q)
		if err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		if err := r.Ask("list employee 123 and her reviews, each row as its own type", ex, func() error {
			for x, err := range reader.List(ctx, q) {
				if err != nil {
					return err
				}
				switch x := x.(type) {
				case *table.Entity[Employee]:
					jones = x
					r.Answer("employee %s: rating %d", x.Value.LastName, x.Value.Rating)
				case *table.Entity[Review]:
					r.Answer("review of %d: rating %d, %q", x.Value.Year, x.Value.Rating, x.Value.Text)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("insert a review and change the employee's rating in one transaction", func() error {
			review := Review{"Sales", 123, 2013, 5, "Her best year"}
			jones.Value.Rating = review.Rating
			_, err := table.Transact(ctx, reviews.InsertOp(&review), staff.ReplaceOp(jones))
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Naive("one table for each type", func() error {
			if _, err := staff.Get(ctx, keys.At(dept.PartitionKey("Sales"), empid.Of(123))); err != nil {
				return err
			}
			n, err := reviews.Count(ctx, table.Query[Review]{Partition: dept.PartitionKey("Sales"), Rows: reviewKey.Under(123).All()})
			r.Answer("one query for the employee, another for her %d reviews, and no transaction over both tables", n)
			return err
		})
	},
}
