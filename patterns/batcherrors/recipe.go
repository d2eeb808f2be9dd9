package batcherrors

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "batch-errors",
	Title:       "Find the operation that made a transaction fail",
	Guide:       []string{"G44"},
	Related:     []string{"several-types", "bulk", "optimistic"},
	Consistency: "strong",
	Measured:    []string{"insert employees 1 to 4"},
	Problem: `One failed operation makes its whole transaction fail. The service still answers with status 202, and names the
		operation inside the body of the response; the SDK's error has status 202 and no code. Here the error names the
		operation, its row and the service's code, and matches a condition such as table.ErrExists. The library checks the
		limits of a transaction before it sends anything, including limits that emulators ignore.`,
	Kept: "batcherrors",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		if _, err := staff.Hire(ctx, Employee{Department: sales, ID: 3, LastName: "Jones"}); err != nil {
			return err
		}
		var all []Employee
		for id := range 101 {
			all = append(all, Employee{Department: sales, ID: id + 1, LastName: fmt.Sprint("new ", id+1)})
		}
		if err := r.Do("insert employees 1 to 4, of whom employee 3 exists", func() error {
			_, err := staff.Hire(ctx, all[:4]...)
			var failed *table.BatchError
			if !errors.As(err, &failed) {
				return fmt.Errorf("got error %v, want a BatchError", err)
			}
			r.Answer("operation %d on %v failed with %s; errors.Is(err, table.ErrExists) is %v", failed.Index, failed.Key, failed.Code, errors.Is(err, table.ErrExists))
			return nil
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		for _, c := range []struct {
			what string
			all  []Employee
		}{
			{"a transaction with two operations on one row", []Employee{all[0], all[0]}},
			{"a transaction over two partitions", []Employee{all[0], {Department: "Marketing", ID: 2, LastName: "Cao"}}},
			{"a transaction with a value that is too long", []Employee{all[0], {Department: sales, ID: 2, LastName: string(make([]byte, 40_000))}}},
			{"a transaction of 101 operations", all},
		} {
			if err := r.Do(c.what, func() error {
				_, err := staff.Hire(ctx, c.all...)
				if err == nil {
					return errors.New("got no error, want a refusal")
				}
				r.Answer("refused: %v", err)
				return nil
			}); err != nil {
				return err
			}
		}
		return r.Naive("the SDK's error for the first transaction", func() error {
			var actions []aztables.TransactionAction
			for id := range 4 {
				body := fmt.Appendf(nil, `{"PartitionKey":"Sales","RowKey":"%06d"}`, id+1)
				actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: body})
			}
			_, err := r.Table("staff").SubmitTransaction(ctx, actions, nil)
			var response *azcore.ResponseError
			if !errors.As(err, &response) {
				return fmt.Errorf("got error %v, want a ResponseError", err)
			}
			r.Answer("status %d, code %q", response.StatusCode, response.ErrorCode)
			return nil
		})
	},
}
