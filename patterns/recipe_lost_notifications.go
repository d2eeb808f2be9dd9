package main

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Order is an entity whose insertion sends a mail.
type Order struct {
	Shop string
	ID   int
}

var orders = table.Schema[Order]{
	Partition: keys.Bind1(keys.Tuple1(keys.Text()), func(o *Order) *string { return &o.Shop }),
	Row:       keys.Bind1(keys.Tuple1(keys.Digits[int](6)).Named("order"), func(o *Order) *int { return &o.ID }),
}

// Mailed is due for each new order.
func Mailed(c *table.Change[Order]) (struct{}, bool) { return struct{}{}, c.Old == nil }

// NotifyAll sends the notifications that a queue has lost, for all pending commit records of a table. From here on it is what a user would
// write: a job that can be stopped at any time and goes on from where save has noted it.
func NotifyAll(ctx context.Context, out *eventual.Outbox, of eventual.Source, o eventual.NotifyOptions, save func(resume string) error) (sent int, err error) {
	for {
		r, err := out.NotifyPending(ctx, of, &o)
		sent += r.Sent
		if err = errors.Join(err, save(r.Resume)); err != nil || r.Resume == "" {
			return sent, err
		}
		o.Resume = r.Resume
	}
}

var lostNotifications = recipe{
	name:  "lost-notifications",
	title: "Bring back effects whose queue was cleared",
	guide: []string{"G22"},
	problem: `The notifications of writes are in a queue, and somebody has cleared the queue, or deleted it, or dropped the poison messages
		because they looked like rubbish. No worker returns to those writes. But each write has stored in its own transaction what is
		due, so a job finds the pending commit records and notifies the workers again, while writers and workers go on.`,
	run: func(ctx context.Context, r *Run) error {
		plain, err := table.New(r.Tables(), r.Table("orders"), orders, nil)
		if err != nil {
			return err
		}
		out, err := eventual.NewOutbox(r.Queue("mails"), nil)
		if err != nil {
			return err
		}
		all, err := plain.With(out, eventual.OnChange("mail", Mailed))
		if err != nil {
			return err
		}
		mails := 0
		send := eventual.NewHandler("mail", plain, func(context.Context, eventual.Job, struct{}) error { mails++; return nil })
		w, err := eventual.NewWorker(r.Queue("mails"), r.Queue("poison"), []eventual.Handler{send}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(plain.Ensure(ctx), w.Ensure(ctx)); err != nil {
			return err
		}
		if err := r.Do("three orders in two shops, and the queue is cleared", func() error {
			err := errors.Join(insert(ctx, all, &Order{"Bern", 1}), insert(ctx, all, &Order{"Bern", 2}), insert(ctx, all, &Order{"Ulm", 3}))
			_, cleared := r.Queue("mails").ClearMessages(ctx, nil)
			return errors.Join(err, cleared)
		}); err != nil {
			return err
		}
		if err := r.Do("workers find nothing", func() error {
			err := w.Drain(ctx)
			r.Answer("%d mails", mails)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("a look for each partition and into it, and a notification for each pending commit record", func() error {
			// The default of Grace leaves out the writes of the last minutes, which have notifications of their own.
			sent, err := NotifyAll(ctx, out, plain, eventual.NotifyOptions{Grace: -1, Max: 2}, func(string) error { return nil })
			r.Answer("%d notifications", sent)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("the worker finds them", func() error {
			err := w.Drain(ctx)
			r.Answer("%d mails", mails)
			return err
		}); err != nil {
			return err
		}
		return r.Do("once more: nothing is due, so nothing is sent", func() error {
			sent, err := NotifyAll(ctx, out, plain, eventual.NotifyOptions{Grace: -1}, func(string) error { return nil })
			r.Answer("%d notifications", sent)
			return err
		})
	},
}
