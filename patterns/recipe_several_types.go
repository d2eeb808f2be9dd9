package main

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var severalTypes = recipe{
	name:  "several-types",
	title: "Two types in one partition, one transaction",
	guide: []string{"G13"},
	problem: `A department keeps the number of its employees. Two writes, one after the other, leave the number wrong when the
		program dies between them or two of them run at once. Entities of several types in one partition change in one entity
		group transaction: all or nothing. InPartition reads what the change depends on and begins again where another writer
		was faster.`,
	run: func(ctx context.Context, r *Run) error {
		type Department struct {
			Name  string
			Heads int32
		}
		type Employee struct {
			Department string
			ID         int
			LastName   string
		}
		var (
			dept  = keys.Tuple1(keys.Text())
			empid = keys.Tuple1(keys.Digits[int](6)).Named("empid")
		)
		departments, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Department]{
			Partition: keys.Bind1(dept, func(d *Department) *string { return &d.Name }),
			Row:       keys.Const[Department]("department"),
		}, nil)
		if err != nil {
			return err
		}
		staff, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		if err := errors.Join(staff.Ensure(ctx), insert(ctx, departments, &Department{"Sales", 0})); err != nil {
			return err
		}
		hire := func(e Employee, rival func() error) (rounds int, err error) {
			_, err = table.InPartition(ctx, dept.Of(e.Department), func(tx *table.Tx) error {
				rounds++
				d, err := table.GetIn(tx, departments, keys.Raw("department"))
				if err != nil {
					return err
				}
				if rounds == 1 && rival != nil {
					if err := rival(); err != nil {
						return err
					}
				}
				d.Value.Heads++
				tx.Do(staff.InsertOp(&e), departments.ReplaceOp(d))
				return nil
			})
			return rounds, err
		}
		if err := r.Do("hire Jones: insert the employee, count her", func() error {
			_, err := hire(Employee{"Sales", 123, "Jones"}, nil)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("hire Smith while another program hires Weber", func() error {
			rounds, err := hire(Employee{"Sales", 124, "Smith"}, func() error {
				_, err := hire(Employee{"Sales", 125, "Weber"}, nil)
				return err
			})
			r.Answer("done in round %d", rounds)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("hire Jones again: refused, and she is not counted twice", func() error {
			_, err := hire(Employee{"Sales", 123, "Jones"}, nil)
			if !errors.Is(err, table.ErrExists) {
				return err
			}
			r.Answer("she %v", table.ErrExists)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Naive("two writes, and the program dies between them", func() error {
			if err := insert(ctx, staff, &Employee{"Sales", 126, "Cao"}); err != nil {
				return err
			}
			d, err := departments.Get(ctx, keys.At(dept.Of("Sales"), keys.Raw("department")))
			if err != nil {
				return err
			}
			n, err := staff.Count(ctx, table.Query[Employee]{Partition: dept.Of("Sales")})
			if err != nil {
				return err
			}
			r.Answer("%d employees, %d counted", n, d.Value.Heads)
			return nil
		})
	},
}
