package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/table"
)

// insert is the code of docs/errors.md.
func insert(ctx context.Context, staff *table.Table[employee], e *employee, later func(*employee) error, look func(context.Context, *employee) error) error {
	_, err := staff.Insert(ctx, e)
	switch {
	case table.Retryable(err):
		return later(e) // nothing was written, and the cause passes by itself
	case table.Applied(err) == table.MaybeApplied:
		return look(ctx, e) // it was written, may still be, or may never be
	}
	return err // nil, or nothing was written, and nothing will be
}

// What a program asks after an error.
func ExampleApplied() {
	staff := sales(nil)
	err := insert(context.Background(), staff, &employee{"Sales", 1, "Jones", 44}, nil, nil)
	fmt.Println(table.Applied(err), table.Retryable(err))
	err = insert(context.Background(), staff, &employee{"Sales", 9, "Cao", 30}, nil, nil)
	fmt.Println(table.Applied(err), err)
	// Output:
	// not applied false
	// applied <nil>
}
