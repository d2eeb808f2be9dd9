package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// movedEmployee is an entity that moves. Both processes of the recipe use the type.
type movedEmployee struct {
	Department string
	ID         int
	LastName   string
}

// killAfterPut is a destination that kills its process as soon as it has stored a row.
type killAfterPut struct{ archive.Destination }

func (d killAfterPut) Put(ctx context.Context, row *archive.ArchivedRow, version string) error {
	if err := d.Destination.Put(ctx, row, version); err != nil {
		return err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {} // until the signal arrives
}

// moveNames are the names of tables and queues that both processes use.
type moveNames struct{ current, archive, moves, poison string }

var archiving = recipe{
	name:        "archive",
	title:       "Move an entity to another table, even if workers crash",
	guide:       []string{"G22"},
	related:     []string{"archive-directory", "search-index", "several-types", "replace-merge", "workers"},
	consistency: "eventual",
	measured:    []string{"request the move", "a second worker completes"},
	problem: `Employee 456 has left and moves from the table Current to the table Archive. No transaction covers two tables. The
		guide puts a message into a queue, and a worker copies the row and deletes it. This loses changes that are made in
		between, and an old message deletes an employee who has come back. Here a write requests the move and stores a commit
		record. The worker checks the versions of the rows, and the transaction that deletes the row also records the move. In
		the rows below, ~i|OP1 is the commit record. _life is the incarnation: it distinguishes an employee from one who has
		come back, and is part of the RowKey in the archive. _sys contains the RowKey of the entity, the name of the mover, and
		the time and operation ID of the request.`,
	run: func(ctx context.Context, r *Run) error {
		names := moveNames{r.TableName("Current"), r.TableName("Archive"), r.QueueName("moves"), r.QueueName("poison")}
		current, mover, worker, err := newMover(r, names, false)
		if err != nil {
			return err
		}
		destination := archive.ToTable(&extend.Host{Tables: r.Tables()}, names.archive, nil)
		err = destination.Err()
		if err != nil {
			return err
		}
		var e *table.Entity[movedEmployee]
		if err := r.Do("create the tables and queues, and insert employee 456", func() (err error) {
			if err := errors.Join(current.Ensure(ctx), destination.Ensure(ctx), worker.Ensure(ctx)); err != nil {
				return err
			}
			e, err = current.Insert(ctx, &movedEmployee{"Sales", 456, "Jones"})
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("request the move: put a hidden notification, touch the entity and store a commit record, make the notification visible", func() error {
			return mover.Archive(ctx, e)
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Library(ctx, "Current", "Sales")); err != nil {
			return err
		}
		if err := r.Do("kill a worker during the move, when 456 is in both tables", func() error {
			return r.RunKilledChild(ctx, names.current, names.archive, names.moves, names.poison)
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Stored(ctx, "Archive")); err != nil {
			return err
		}
		if err := r.Do("change the name of 456 before the move continues", func() error {
			_, err := current.Update(ctx, e.Key, func(e *movedEmployee) error { e.LastName = "Brown"; return nil })
			return err
		}); err != nil {
			return err
		}
		time.Sleep(1100 * time.Millisecond) // until the notification of the killed worker is visible again
		if err := r.Do("a second worker completes the move: read the commit record, Archive and Current; write to Archive; delete from Current", func() error {
			return worker.Drain(ctx)
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Library(ctx, "Current", "Sales"), r.Stored(ctx, "Archive")); err != nil {
			return err
		}
		if err := r.Do("find 456 in either table", func() error {
			e, archived, err := mover.Find(ctx, e.Key)
			if err == nil {
				r.Answer("%s, archived: %v", e.Value.LastName, archived)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("restore 456 as a new incarnation", func() error {
			_, err := mover.Restore(ctx, e.Key)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("a worker deletes the old incarnation from Archive, and leaves a tombstone", func() error { return worker.Drain(ctx) }); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Stored(ctx, "Archive")); err != nil {
			return err
		}
		return r.Naive("the guide's way: message, copy, delete; a concurrent change is lost", func() error {
			return moveAsInTheGuide(ctx, r, current, e.Key)
		})
	},
	child: func(ctx context.Context, r *Run, words []string) error {
		names := moveNames{words[0], words[1], words[2], words[3]}
		_, _, worker, err := newMover(r, names, true)
		if err != nil {
			return err
		}
		return worker.Drain(ctx)
	},
}

// newMover returns the parts that both processes use. If kill is set, the worker kills its process during a move.
func newMover(r *Run, names moveNames, kill bool) (*table.Table[movedEmployee], *archive.Mover[movedEmployee], *eventual.Worker, error) {
	fail := func(err error) (*table.Table[movedEmployee], *archive.Mover[movedEmployee], *eventual.Worker, error) {
		return nil, nil, nil, err
	}
	staff, err := table.New(r.Tables(), names.current, table.Schema[movedEmployee]{
		Partition: keys.Partition(keys.Text(), func(e *movedEmployee) *string { return &e.Department }),
		Row:       keys.Row(keys.Digits[int](6).Named("empid"), func(e *movedEmployee) *int { return &e.ID }),
	}, nil)
	if err != nil {
		return fail(err)
	}
	rows := archive.ToTable(&extend.Host{Tables: r.Tables()}, names.archive, nil)
	err = rows.Err()
	if err != nil {
		return fail(err)
	}
	var destination archive.Destination = rows
	options := &eventual.WorkerOptions{Concurrency: 1}
	if kill {
		destination = killAfterPut{rows}
		options.Visibility = time.Second // so that the notification is soon visible again
	}
	moves := r.Account().Queue(names.moves)
	outbox, err := eventual.NewOutbox(moves, nil)
	if err != nil {
		return fail(err)
	}
	mover, err := archive.New("staff", staff, destination, outbox)
	if err != nil {
		return fail(err)
	}
	worker, err := eventual.NewWorker(moves, r.Account().Queue(names.poison), []eventual.Handler{mover.Handler()}, options)
	if err != nil {
		return fail(err)
	}
	return staff, mover, worker, nil
}

// moveAsInTheGuide is the pattern of the guide: a message says what to do.
func moveAsInTheGuide(ctx context.Context, r *Run, current *table.Table[movedEmployee], k keys.Key) error {
	archived, err := table.New(r.Tables(), r.TableName("Archive"), table.Schema[table.Row]{}, nil)
	if err != nil {
		return err
	}
	queue := r.Queue("moves")
	if _, err := queue.EnqueueMessage(ctx, "archive "+k.RowKey(), nil); err != nil {
		return err
	}
	got, err := queue.DequeueMessage(ctx, nil)
	if err != nil {
		return err
	}
	if len(got.Messages) != 1 {
		return fmt.Errorf("got %d messages, want 1", len(got.Messages))
	}
	row, err := current.GetRow(ctx, k)
	if err != nil {
		return err
	}
	// A concurrent writer changes the entity.
	lost, err := current.Update(ctx, k, func(e *movedEmployee) error { e.LastName = "Lost"; return nil })
	if err != nil {
		return err
	}
	r.Answer("a concurrent writer changes the name to %s", lost.Value.LastName)
	if _, err := archived.Insert(ctx, row); err != nil { // the version before that change
		return err
	}
	if err := current.DeleteAny(ctx, k); err != nil { // the version after that change
		return err
	}
	name, _ := row.Get("LastName")
	r.Answer("the archive contains the name %v", name)
	r.Answer("the guide's way takes 7 requests, and the concurrent writer 2; the library takes 3 to request a move and 7 to execute it")
	_, err = queue.DeleteMessage(ctx, *got.Messages[0].MessageID, *got.Messages[0].PopReceipt, nil)
	return err
}
