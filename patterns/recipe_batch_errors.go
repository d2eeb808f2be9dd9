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
	name:  "batch-errors",
	title: "Which of a hundred operations was it?",
	guide: []string{"G44"},
	problem: `A transaction fails as a whole, for one of its operations. The service answers 202 all the same and says which one
		deep in the reply; the SDK gives an error with status 202 and no code. Here the error names the operation, its row, the
		service's code and the condition. What the service would refuse, or what an emulator would let through, is refused
		before it is sent.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
		}
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](6))
		staff, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		if err := errors.Join(staff.Ensure(ctx), insert(ctx, staff, &Employee{"Sales", 3, "Jones"})); err != nil {
			return err
		}
		four := []table.Op{}
		for id := range 4 {
			four = append(four, staff.InsertOp(&Employee{"Sales", id + 1, fmt.Sprint("new ", id+1)}))
		}
		if err := r.Do("insert employees 1 to 4, of whom 3 exists", func() error {
			_, err := table.Transact(ctx, four...)
			var failed *table.BatchError
			if !errors.As(err, &failed) {
				return err
			}
			r.Answer("operation %d, %v, %s; it exists: %v", failed.Index, failed.Key, failed.Code, errors.Is(err, table.ErrExists))
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
			{"a row twice", []table.Op{four[0], staff.DeleteAnyOp(keys.At(dept.Of("Sales"), empid.Of(1)))}},
			{"two partitions", []table.Op{four[0], staff.InsertOp(&Employee{"Marketing", 2, "Cao"})}},
			{"a value that is too long", []table.Op{four[0], staff.InsertOp(&Employee{"Sales", 2, string(make([]byte, 40_000))})}},
			{"101 operations", make([]table.Op, 101)},
		} {
			if err := r.Do(c.what, func() error {
				_, err := table.Transact(ctx, c.ops...)
				if err == nil {
					return errors.New("it was sent")
				}
				r.Answer("refused: %v", err)
				return nil
			}); err != nil {
				return err
			}
		}
		return r.Naive("what the SDK says of the first transaction", func() error {
			var actions []aztables.TransactionAction
			for id := range 4 {
				body := fmt.Appendf(nil, `{"PartitionKey":"Sales","RowKey":"%06d"}`, id+1)
				actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: body})
			}
			_, err := r.Tables().NewClient(staff.Name()).SubmitTransaction(ctx, actions, nil)
			var re *azcore.ResponseError
			if !errors.As(err, &re) {
				return err
			}
			r.Answer("status %d, code %q", re.StatusCode, re.ErrorCode)
			return nil
		})
	},
}
