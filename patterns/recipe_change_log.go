package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/table"
)

// staffMember is an entity. Each change of one is in the log of changes.
type staffMember struct {
	Department string
	ID         int
	LastName   string
	Salary     int32
}

// staffChange is a record of the log.
type staffChange struct{ What string }

// changeOf is the payload of the effect: what the log says of a write.
func changeOf(c *extend.Change[staffMember]) (staffChange, bool) {
	if from, moved := c.MovedFrom(); moved {
		return staffChange{fmt.Sprintf("%s moved from %v to %v", c.New.LastName, from, c.Key)}, true
	}
	if _, moves := c.MovedTo(); moves {
		return staffChange{}, false // the insert under the new key tells it
	}
	switch {
	case c.Old == nil:
		return staffChange{"hired " + c.New.LastName}, true
	case c.New == nil:
		return staffChange{c.Old.LastName + " left"}, true
	case c.Old.Salary != c.New.Salary:
		return staffChange{fmt.Sprintf("salary of %s: %d, before %d", c.New.LastName, c.New.Salary, c.Old.Salary)}, true
	}
	return staffChange{}, false
}

var changeLog = recipe{
	name:        "change-log",
	title:       "A log of all changes, with each change once",
	guide:       []string{"G22", "G26"},
	related:     []string{"log-tail", "workers", "move-department", "search-index"},
	consistency: "eventual",
	measured:    []string{"hire Jones", "the newest"},
	problem: `If a program writes an entity and then appends to a log, a crash in between loses the record; in the other order, the log tells of a
		change that was never made. Here the write stores the record as an effect in its own transaction, and a worker appends it. A worker
		that crashes appends it again, so the operation ID of the write and the RowKey identify the record: AppendOnce stores it once. A move to
		another department is one change, although it deletes a row and inserts another.`,
	run: func(ctx context.Context, r *Run) error {
		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[staffMember]{
			Partition: keys.Partition(keys.Text(), func(e *staffMember) *string { return &e.Department }),
			Row:       keys.Row(keys.Digits[int](6).Named("empid"), func(e *staffMember) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		outbox, err := eventual.NewOutbox(r.Queue("changes"), nil)
		if err != nil {
			return err
		}
		staff, err := eventual.WithOutbox(base, outbox, eventual.OnChange("change", changeOf))
		if err != nil {
			return err
		}
		changes := logtail.New[staffChange](&extend.Host{Tables: r.Tables()}, r.TableName("changes"), nil)
		err = changes.Err()
		if err != nil {
			return err
		}
		attempts := 1
		handler := eventual.NewHandler("change", staff, func(ctx context.Context, j eventual.Job, change staffChange) (err error) {
			id := j.OperationID + "-" + j.Effect.RowKey // a transaction of several employees has one operation ID
			for range attempts {
				_, err = changes.AppendOnce(ctx, id, j.CommitRecord.Time(), &change)
			}
			return err
		})
		worker, err := eventual.NewWorker(r.Queue("changes"), r.Queue("poison"), []eventual.Handler{handler}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(staff.Ensure(ctx), changes.Ensure(ctx), worker.Ensure(ctx)); err != nil {
			return err
		}

		var jones *table.Entity[staffMember]
		next := func() { time.Sleep(2 * time.Millisecond) } // the log has an order of milliseconds
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"hire Jones", func() (err error) {
				jones, err = staff.Insert(ctx, &staffMember{Department: "Sales", ID: 223, LastName: "Jones", Salary: 50_000})
				return err
			}},
			{"hire two in one transaction, which has one operation ID", func() error {
				next()
				_, err := table.Transact(ctx,
					staff.InsertOp(&staffMember{Department: "Sales", ID: 224, LastName: "Li", Salary: 48_000}),
					staff.InsertOp(&staffMember{Department: "Sales", ID: 225, LastName: "Smith", Salary: 60_000}))
				return err
			}},
			{"raise the salary: the transaction of the write contains the effect", func() error {
				next()
				jones.Value.Salary = 56_000
				return staff.Replace(ctx, jones)
			}},
			{"move Jones to Marketing", func() error {
				next()
				jones.Value.Department = "Marketing"
				return staff.Move(ctx, jones)
			}},
			{"a worker appends the records", func() error { return worker.Drain(ctx) }},
			{"raise the salary again; the worker appends the record twice, as after a crash", func() error {
				next()
				attempts, jones.Value.Salary = 2, 60_000
				if err := staff.Replace(ctx, jones); err != nil {
					return err
				}
				return worker.Drain(ctx)
			}},
			{"the newest changes", func() error {
				for change, err := range changes.Tail(ctx, 10) {
					if err != nil {
						return err
					}
					r.Answer("%s", change.Value.What)
				}
				return nil
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return r.Naive("write the entity, crash, and append never", func() error {
			if _, err := base.Insert(ctx, &staffMember{Department: "Sales", ID: 226, LastName: "Cao"}); err != nil {
				return err
			}
			r.Answer("Cao is hired, and the log does not say so")
			return nil
		})
	},
}
