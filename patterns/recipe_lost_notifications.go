package main

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Order is an entity. Each new order sends a mail.
type Order struct {
	Shop string
	ID   int
}

var orders = table.Schema[Order]{
	Partition: keys.Partition(keys.Text(), func(o *Order) *string { return &o.Shop }),
	Row:       keys.Row(keys.Digits[int](6).Named("order"), func(o *Order) *int { return &o.ID }),
}

// IsNew reports whether a write inserts an order.
func IsNew(c *extend.Change[Order]) (struct{}, bool) { return struct{}{}, c.Old == nil }

// NotifyAll sends a notification for each pending commit record of a table, and returns their number. It is a job that can be
// stopped at any time: after each part it calls save with the position at which to resume, for NotifyOptions.Token. From here to
// the recipe, the code is what a user writes.
func NotifyAll(ctx context.Context, out *eventual.Outbox, source table.AnyTable, o eventual.NotifyOptions, save func(resume string) error) (sent int, err error) {
	for {
		result, err := out.NotifyPending(ctx, source, &o)
		sent += result.Sent
		if err := errors.Join(err, save(result.Token)); err != nil { // also after an error, the position is valid
			return sent, err
		}
		if result.Token == "" {
			return sent, nil
		}
		o.Token = result.Token
	}
}

var lostNotifications = recipe{
	name:        "lost-notifications",
	title:       "Execute effects whose notifications were lost",
	guide:       []string{"G22"},
	related:     []string{"workers", "search-index", "archive"},
	consistency: "eventual",
	measured:    []string{"find the partitions"},
	problem: `Workers learn of writes by notifications in a queue. If an operator clears or deletes the queue, or drops poison
		messages that looked like rubbish, no worker executes the effects of those writes. But the transaction of each write has
		stored its effects in a commit record. A job finds the pending commit records and notifies the workers again, while
		writers and workers keep running.`,
	run: func(ctx context.Context, r *Run) error {
		base, err := table.New(r.Tables(), r.TableName("orders"), orders, nil)
		if err != nil {
			return err
		}
		outbox, err := eventual.NewOutbox(r.Queue("mails"), nil)
		if err != nil {
			return err
		}
		mailed, err := eventual.WithOutbox(base, outbox, eventual.OnChange("mail", IsNew))
		if err != nil {
			return err
		}
		mails := 0
		send := eventual.NewHandler("mail", base, func(context.Context, eventual.Job, struct{}) error { mails++; return nil })
		worker, err := eventual.NewWorker(r.Queue("mails"), r.Queue("poison"), []eventual.Handler{send}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(base.Ensure(ctx), worker.Ensure(ctx)); err != nil {
			return err
		}
		if err := r.Do("insert three orders of two shops, and clear the queue", func() error {
			for _, o := range []Order{{"Bern", 1}, {"Bern", 2}, {"Ulm", 3}} {
				if _, err := mailed.Insert(ctx, &o); err != nil {
					return err
				}
			}
			_, err := r.Queue("mails").ClearMessages(ctx, nil)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("a worker finds no notifications", func() error {
			err := worker.Drain(ctx)
			r.Answer("%d mails sent", mails)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("find the partitions, query each one for pending commit records, and send a notification for each record", func() error {
			// By default, Grace leaves out the writes of the last minutes, whose own notifications may still arrive.
			sent, err := NotifyAll(ctx, outbox, base, eventual.NotifyOptions{Grace: -1, Max: 2}, func(string) error { return nil })
			r.Answer("%d notifications sent", sent)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("the worker executes the effects", func() error {
			err := worker.Drain(ctx)
			r.Answer("%d mails sent", mails)
			return err
		}); err != nil {
			return err
		}
		return r.Do("run the job again: no commit record is pending", func() error {
			sent, err := NotifyAll(ctx, outbox, base, eventual.NotifyOptions{Grace: -1}, func(string) error { return nil })
			r.Answer("%d notifications sent", sent)
			return err
		})
	},
}
