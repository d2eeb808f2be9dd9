package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// former is an employee as both halves of the recipe know one.
type former struct {
	Department string
	ID         int
	LastName   string
}

// killed is a destination whose worker is killed as soon as it has put something there.
type killed struct{ archive.Destination }

func (k killed) Put(ctx context.Context, kept *archive.ArchivedRow, version string) error {
	if err := k.Destination.Put(ctx, kept, version); err != nil {
		return err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	self.Kill()
	select {}
}

var archiving = recipe{
	name:  "archive",
	title: "Move an entity to another table, whoever crashes",
	guide: []string{"G22"},
	problem: `Employee 456 has left and goes from the table Current to the table Archive. There is no transaction over two tables. The guide
		puts a message into a queue, and a worker copies the row and deletes it: what others change in between is lost, and an employee
		who comes back is deleted by an old message. Here the request is part of a write, the worker goes by versions, and says in the
		transaction that deletes the row that it was moved. The row ~i|OP1 is the intent of the write that asked for it; _life tells an
		employee from one who comes back, and stands behind the RowKey in the archive; _sys says whose row that is, and who has put it.`,
	run: func(ctx context.Context, r *Run) error {
		current, mover, worker, err := moving(r, "", "", "", "", false)
		if err != nil {
			return err
		}
		out, err := eventual.NewOutbox(r.Queue("moves"), nil)
		if err != nil {
			return err
		}
		old, err := archive.ToTable(r.Tables(), r.Table("Archive"), nil)
		if err != nil {
			return err
		}
		var e *table.Entity[former]
		if err := r.Do("create both tables, the queues, and employee 456", func() (err error) {
			if err := errors.Join(current.Ensure(ctx), old.Ensure(ctx), out.Ensure(ctx), worker.Ensure(ctx)); err != nil {
				return err
			}
			e, err = current.Insert(ctx, &former{"Sales", 456, "Jones"})
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("ask for 456 to be archived: the message, hidden; the intent with a touch of the entity; the message, visible", func() error {
			return mover.Archive(ctx, e)
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Library(ctx, "Current", "Sales")); err != nil {
			return err
		}
		if err := r.Do("a worker is killed half-way, when 456 is in both tables", func() error {
			return r.Killed(ctx, r.Table("Current"), r.Table("Archive"), r.prefix+"moves", r.prefix+"poison")
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Stored(ctx, "Archive")); err != nil {
			return err
		}
		if err := r.Do("meanwhile somebody changes her name", func() error {
			_, err := current.Update(ctx, e.Key, func(f *former) error { f.LastName = "Brown"; return nil })
			return err
		}); err != nil {
			return err
		}
		time.Sleep(1100 * time.Millisecond) // the dead worker's message is seen again, after a second
		if err := r.Do("a second worker finishes: message, intent, Archive, Current, put, delete, message; and a look for more", func() error {
			return worker.Drain(ctx)
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Library(ctx, "Current", "Sales"), r.Stored(ctx, "Archive")); err != nil {
			return err
		}
		if err := r.Do("find 456, wherever she is", func() error {
			e, archived, err := mover.Find(ctx, e.Key)
			if err == nil {
				r.Answer("%s, archived: %v", e.Value.LastName, archived)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("restore her, as a new life", func() error {
			_, err := mover.Restore(ctx, e.Key)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("the worker forgets the old life", func() error { return worker.Drain(ctx) }); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Stored(ctx, "Archive")); err != nil {
			return err
		}
		return r.Naive("the guide's way: message, copy, delete; what others write in between is lost", func() error {
			return asInTheGuide(ctx, r, current, e.Key)
		})
	},
	other: func(ctx context.Context, r *Run, words []string) error {
		_, _, worker, err := moving(r, words[0], words[1], words[2], words[3], true)
		if err != nil {
			return err
		}
		return worker.Drain(ctx)
	},
}

// moving is what both processes have. dies is the one that is killed.
func moving(r *Run, current, old, hints, poison string, dies bool) (*table.Table[former], *archive.Mover[former], *eventual.Worker, error) {
	fail := func(err error) (*table.Table[former], *archive.Mover[former], *eventual.Worker, error) {
		return nil, nil, nil, err
	}
	queue, dead := r.Account().Queue(hints), r.Account().Queue(poison)
	if !dies {
		current, old, queue, dead = r.Table("Current"), r.Table("Archive"), r.Queue("moves"), r.Queue("poison")
	}
	staff, err := table.New(r.Tables(), current, table.Schema[former]{
		Partition: keys.Bind1(keys.Tuple1(keys.Text()), func(f *former) *string { return &f.Department }),
		Row:       keys.Bind1(keys.Tuple1(keys.Digits[int](6)).Named("empid"), func(f *former) *int { return &f.ID }),
	}, nil)
	if err != nil {
		return fail(err)
	}
	rows, err := archive.ToTable(r.Tables(), old, nil)
	if err != nil {
		return fail(err)
	}
	var to archive.Destination = rows
	if dies {
		to = killed{rows}
	}
	out, err := eventual.NewOutbox(queue, nil)
	if err != nil {
		return fail(err)
	}
	mover, err := archive.New("staff", staff, to, out)
	if err != nil {
		return fail(err)
	}
	o := &eventual.WorkerOptions{Concurrency: 1}
	if dies {
		o.Visibility = time.Second // so that its message is soon seen again
	}
	worker, err := eventual.NewWorker(queue, dead, []eventual.Handler{mover.Handler()}, o)
	if err != nil {
		return fail(err)
	}
	return staff, mover, worker, nil
}

// asInTheGuide is the pattern as the guide has it: a message that says what to do.
func asInTheGuide(ctx context.Context, r *Run, current *table.Table[former], k keys.Key) error {
	old, err := table.New(r.Tables(), r.Table("Archive"), table.Schema[table.Row]{}, nil)
	if err != nil {
		return err
	}
	queue := r.Queue("moves")
	if _, err := queue.EnqueueMessage(ctx, "archive "+k.RowKey(), nil); err != nil {
		return err
	}
	got, err := queue.DequeueMessage(ctx, nil)
	if err != nil || len(got.Messages) != 1 {
		return fmt.Errorf("%d messages: %w", len(got.Messages), err)
	}
	row, err := current.GetRow(ctx, k)
	if err != nil {
		return err
	}
	lost, err := current.Update(ctx, k, func(f *former) error { f.LastName = "Lost"; return nil }) // somebody else, meanwhile
	if err != nil {
		return err
	}
	r.Answer("somebody has changed her name to %s", lost.Value.LastName)
	if _, err := old.Insert(ctx, row); err != nil { // a copy of what was there then
		return err
	}
	if err := current.DeleteAny(ctx, k); err != nil { // and all that was written since it was read
		return err
	}
	name, _ := row.Get("LastName")
	r.Answer("in the archive she is %v; 6 requests, and 2 of the other's; ours are 3 to ask and 7 to move", name)
	_, err = queue.DeleteMessage(ctx, *got.Messages[0].MessageID, *got.Messages[0].PopReceipt, nil)
	return err
}
