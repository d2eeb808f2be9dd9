package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var batchErrors = recipe{
	name:        "batch-errors",
	title:       "Find the operation that made a transaction fail",
	guide:       []string{"G44"},
	related:     []string{"several-types", "bulk", "optimistic"},
	consistency: "strong",
	measured:    []string{"insert employees 1 to 4"},
	problem: `One failed operation makes its whole transaction fail. The service still answers with status 202, and names the
		operation inside the body of the response; the SDK's error has status 202 and no code. Here the error names the
		operation, its row and the service's code, and matches a condition such as table.ErrExists. The library checks the
		limits of a transaction before it sends anything, including limits that emulators ignore.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if _, err := staff.Insert(ctx, &Employee{"Sales", 3, "Jones"}); err != nil {
			return err
		}
		inserts := []table.Op{}
		for id := range 4 {
			inserts = append(inserts, staff.InsertOp(&Employee{"Sales", id + 1, fmt.Sprint("new ", id+1)}))
		}
		if err := r.Do("insert employees 1 to 4, of whom employee 3 exists", func() error {
			_, err := table.Transact(ctx, inserts...)
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
			ops  []table.Op
		}{
			{"a transaction with two operations on one row", []table.Op{inserts[0], staff.DeleteAnyOp(keys.At(dept.Of("Sales"), empid.Of(1)))}},
			{"a transaction over two partitions", []table.Op{inserts[0], staff.InsertOp(&Employee{"Marketing", 2, "Cao"})}},
			{"a transaction with a value that is too long", []table.Op{inserts[0], staff.InsertOp(&Employee{"Sales", 2, string(make([]byte, 40_000))})}},
			{"a transaction of 101 operations", make([]table.Op, 101)},
		} {
			if err := r.Do(c.what, func() error {
				_, err := table.Transact(ctx, c.ops...)
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
			_, err := r.Tables().NewClient(staff.Name()).SubmitTransaction(ctx, actions, nil)
			var response *azcore.ResponseError
			if !errors.As(err, &response) {
				return fmt.Errorf("got error %v, want a ResponseError", err)
			}
			r.Answer("status %d, code %q", response.StatusCode, response.ErrorCode)
			return nil
		})
	},
}
