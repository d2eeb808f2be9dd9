package severaltypes

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "several-types",
	Title:       "Change entities of two types in one transaction",
	Guide:       []string{"G13"},
	Related:     []string{"reviews", "entity-types", "summary"},
	Consistency: "strong",
	Measured:    []string{"hire Jones: insert"},
	Problem: `A department contains the number of its employees. If an employee and the number are written one after the other,
		the number becomes wrong when the program crashes in between, or when two programs write at the same time. An entity
		group transaction changes entities of several types in one partition, all or nothing. A function of txn.Run reads the
		entities that the change depends on, and Run calls it again after a conflict.`,
	Kept: "severaltypes",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		company := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, company); err != nil {
			return err
		}
		if err := company.Found(ctx, sales); err != nil {
			return err
		}
		if err := r.Do("hire Jones: insert the employee and count her", func() error {
			return company.Hire(ctx, Employee{Department: sales, ID: 123, LastName: "Jones"})
		}); err != nil {
			return err
		}
		if err := r.Do("hire Smith while another program hires Weber", func() error {
			attempts := 0
			err := txn.Run(ctx, company.Store, func(tx *txn.Tx) error {
				if err := company.HireIn(tx, Employee{Department: sales, ID: 124, LastName: "Smith"}); err != nil {
					return err
				}
				if attempts++; attempts == 1 { // cause one conflict: the department was read, and is not written yet
					return company.Hire(ctx, Employee{Department: sales, ID: 125, LastName: "Weber"})
				}
				return nil
			})
			r.Answer("applied in attempt %d", attempts)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("hire Jones again: the transaction fails, so she is counted once", func() error {
			return r.Refused(company.Hire(ctx, Employee{Department: sales, ID: 123, LastName: "Jones"}), table.ErrExists)
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Naive("two writes, and a crash between them", func() error {
			if _, err := company.Employees.Insert(ctx, &Employee{Department: sales, ID: 126, LastName: "Cao"}); err != nil {
				return err
			}
			d, err := company.Department(ctx, sales)
			if err != nil {
				return err
			}
			n, err := company.Employees.Count(ctx, table.Query[Employee]{Partition: keys.RawPartition(sales)})
			if err != nil {
				return err
			}
			r.Answer("%d employees, and EmployeeCount is %d", n, d.Value.EmployeeCount)
			return nil
		})
	},
}
