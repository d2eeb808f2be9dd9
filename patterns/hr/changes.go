package main

import (
	"context"

	"github.com/aztablekit/aztablekit/eventual"
)

// Change is a record of the log of changes, and the payload of the effect that appends the record.
type Change struct {
	Kind       string `json:"kind"` // hired, salary, photo or moved
	Department string `json:"department"`
	ID         int    `json:"id"`
	From       string `json:"from,omitempty"`   // of moved: the old department
	Salary     int64  `json:"salary,omitempty"` // of hired and salary: the new salary
}

// changeOf returns the change that a write makes to an employee, and whether there is one to log. See eventual.On.
func changeOf(c *eventual.Change[Employee]) (Change, bool) {
	if c.New == nil {
		return Change{}, false // the employee leaves a department; the insert in the new department is the change
	}
	change := Change{Department: c.New.Department, ID: c.New.ID}
	from, moved := c.MovedFrom()
	switch {
	case moved:
		department, err := dept.Decode(from.Partition())
		if err != nil {
			department = from.PartitionKey()
		}
		change.Kind, change.From = "moved", department
	case c.Old == nil:
		change.Kind, change.Salary = "hired", c.New.Salary
	case c.Old.Salary != c.New.Salary:
		change.Kind, change.Salary = "salary", c.New.Salary
	case c.Old.Photo != c.New.Photo:
		change.Kind = "photo"
	default:
		return Change{}, false
	}
	return change, true
}

// appendChange is the handler of the effect. A worker may call it several times for one write. The operation ID of the write and the RowKey
// of the employee identify the record, so the log contains the change once.
func (c *company) appendChange(ctx context.Context, j eventual.Job, change Change) error {
	_, err := c.changes.AppendOnce(ctx, j.OperationID+"-"+j.Key.RowKey(), j.Time, &change)
	return err
}
