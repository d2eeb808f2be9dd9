package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var severalTypes = recipe{
	name:        "several-types",
	title:       "Change entities of two types in one transaction",
	guide:       []string{"G13"},
	related:     []string{"reviews", "entity-types", "summary"},
	consistency: "strong",
	measured:    []string{"hire Jones: insert"},
	problem: `A department contains the number of its employees. If an employee and the number are written one after the other,
		the number becomes wrong when the program crashes in between, or when two programs write at the same time. An entity
		group transaction changes entities of several types in one partition, all or nothing. InPartition reads the entities
		that the change depends on, and repeats the change after a conflict.`,
	run: func(ctx context.Context, r *Run) error {
		type Department struct {
			Name          string
			EmployeeCount int32
		}
		type Employee struct {
			Department string
			ID         int
			LastName   string
		}
		var (
			dept  = keys.Text()
			empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		)
		departments, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Department]{
			Partition: keys.Partition(dept, func(d *Department) *string { return &d.Name }),
			Row:       keys.OneRow[Department]("department"),
		}, nil)
		if err != nil {
			return err
		}
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{
			Partition: keys.Partition(dept, func(e *Employee) *string { return &e.Department }),
			Row:       empid,
		}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if _, err := departments.Insert(ctx, &Department{"Sales", 0}); err != nil {
			return err
		}
		// hire inserts an employee and counts her. The catalogue calls concurrent in the first attempt, to cause a conflict.
		hire := func(e Employee, concurrent func() error) (attempts int, err error) {
			_, err = table.InPartition(ctx, dept.PartitionKey(e.Department), func(tx *table.Tx) error {
				attempts++
				d, err := table.GetIn(tx, departments, keys.RawRow("department"))
				if err != nil {
					return err
				}
				if attempts == 1 && concurrent != nil {
					if err := concurrent(); err != nil {
						return err
					}
				}
				d.Value.EmployeeCount++
				tx.Do(staff.InsertOp(&e), departments.ReplaceOp(d))
				return nil
			})
			return attempts, err
		}
		if err := r.Do("hire Jones: insert the employee and count her", func() error {
			_, err := hire(Employee{"Sales", 123, "Jones"}, nil)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("hire Smith while another program hires Weber", func() error {
			attempts, err := hire(Employee{"Sales", 124, "Smith"}, func() error {
				_, err := hire(Employee{"Sales", 125, "Weber"}, nil)
				return err
			})
			r.Answer("applied in attempt %d", attempts)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("hire Jones again: the transaction fails, so she is counted once", func() error {
			_, err := hire(Employee{"Sales", 123, "Jones"}, nil)
			return r.Refused(err, table.ErrExists)
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Naive("two writes, and a crash between them", func() error {
			if _, err := staff.Insert(ctx, &Employee{"Sales", 126, "Cao"}); err != nil {
				return err
			}
			d, err := departments.Get(ctx, keys.At(dept.PartitionKey("Sales"), keys.RawRow("department")))
			if err != nil {
				return err
			}
			n, err := staff.Count(ctx, table.Query[Employee]{Partition: dept.PartitionKey("Sales")})
			if err != nil {
				return err
			}
			r.Answer("%d employees, and EmployeeCount is %d", n, d.Value.EmployeeCount)
			return nil
		})
	},
}
