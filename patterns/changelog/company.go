// Package changelog keeps employees, and a log of all changes of them, which contains each change once.
package changelog

import (
	"context"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Salary     int32
}

// Change is a record of the log.
type Change struct{ What string }

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
)

// Company is the employees and the log. Each write of Employees that the log contains takes 2 requests more, for a message. The log has the
// change a moment later.
type Company struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
	changes   *logtail.Log[Change]
}

// Open declares the table of the employees and the log. Call Ensure of the result when the program starts, and Run in one program, which
// appends the changes.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Company {
	c := &Company{Store: aztablekit.Open(acc, "company", o)}
	c.changes = logtail.New[Change](c.Store, "changes", nil)
	c.Employees = aztablekit.Table(c.Store, "staff", dept, empid, eventual.On("change", changeOf, c.appendChange))
	return c
}

// Newest yields the n newest changes, newest first. 1 request for each 1,000.
func (c *Company) Newest(ctx context.Context, n int) iter.Seq2[*logtail.Record[Change], error] {
	return c.changes.Tail(ctx, n)
}

// changeOf returns what the log says of a write, and whether it says anything.
func changeOf(c *eventual.Change[Employee]) (Change, bool) {
	if from, moved := c.MovedFrom(); moved {
		return Change{fmt.Sprintf("%s moved from %v to %v", c.New.LastName, from, c.Key)}, true
	}
	if _, moves := c.MovedTo(); moves {
		return Change{}, false // the insert under the new key tells it
	}
	switch {
	case c.Old == nil:
		return Change{"hired " + c.New.LastName}, true
	case c.New == nil:
		return Change{c.Old.LastName + " left"}, true
	case c.Old.Salary != c.New.Salary:
		return Change{fmt.Sprintf("salary of %s: %d, before %d", c.New.LastName, c.New.Salary, c.Old.Salary)}, true
	}
	return Change{}, false
}

// appendChange appends a change, unless an earlier attempt has appended it.
func (c *Company) appendChange(ctx context.Context, j eventual.Job, change Change) error {
	id := j.OperationID + "-" + j.Key.RowKey() // a transaction of several employees has one operation ID
	_, err := c.changes.AppendOnce(ctx, id, j.Time, &change)
	return err
}
