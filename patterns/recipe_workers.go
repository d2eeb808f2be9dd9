package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// parcel is an entity. Each new parcel sends a mail.
type parcel struct {
	Shop string
	ID   int
}

// parcelNames are the names of the table and the queues, which all programs know.
type parcelNames struct{ table, mails, poison string }

// openParcels returns the table for programs that write.
func openParcels(acc *account.Account, names parcelNames) (*table.Table[parcel], error) {
	base, err := table.New(acc.Tables(), names.table, table.Schema[parcel]{
		Partition: keys.Partition(keys.Text(), func(p *parcel) *string { return &p.Shop }),
		Row:       keys.Row(keys.Digits[int](6).Named("parcel"), func(p *parcel) *int { return &p.ID }),
	}, nil)
	if err != nil {
		return nil, err
	}
	outbox, err := eventual.NewOutbox(acc.Queue(names.mails), nil)
	if err != nil {
		return nil, err
	}
	newParcel := func(c *extend.Change[parcel]) (parcel, bool) {
		if c.Old != nil {
			return parcel{}, false
		}
		return *c.New, true
	}
	return eventual.WithOutbox(base, outbox, eventual.OnChange("mail", newParcel))
}

// newMailWorker returns the worker that sends the mails.
func newMailWorker(acc *account.Account, names parcelNames, send func(mail parcel)) (*eventual.Worker, error) {
	parcels, err := openParcels(acc, names)
	if err != nil {
		return nil, err
	}
	handler := eventual.NewHandler("mail", parcels, func(_ context.Context, _ eventual.Job, p parcel) error {
		send(p) // after a crash, a mail is sent again: a mail service drops the second one by the OperationID of the Job
		return nil
	})
	return eventual.NewWorker(acc.Queue(names.mails), acc.Queue(names.poison), []eventual.Handler{handler}, &eventual.WorkerOptions{
		Idle: 500 * time.Millisecond, // the recipe is in a hurry; the default asks an empty queue every 4 s
	})
}

var workers = recipe{
	name:        "workers",
	title:       "Run workers as programs of their own",
	guide:       []string{"G22"},
	related:     []string{"lost-notifications", "archive", "search-index"},
	consistency: "eventual",
	measured:    []string{"insert three parcels"},
	problem: `A program that writes should not wait for mails, search indexes and archives. Workers execute these effects: programs
		of their own, as many as the queue needs. A platform stops a worker at any time, for a new release or because the queue
		is empty: it sends a signal, waits for some seconds, and kills the program. On the signal, the worker takes no more
		messages, returns those that it has not begun, completes the others, and ends. Another worker does the rest.`,
	run: func(ctx context.Context, r *Run) error {
		names := parcelNames{r.TableName("parcels"), r.QueueName("mails"), r.QueueName("poison")}
		parcels, err := openParcels(r.Account(), names)
		if err != nil {
			return err
		}
		setUp, err := newMailWorker(r.Account(), names, nil)
		if err != nil {
			return err
		}
		if err := errors.Join(parcels.Ensure(ctx), setUp.Ensure(ctx)); err != nil {
			return err
		}
		insert := func(all ...parcel) error {
			for _, p := range all {
				if _, err := parcels.Insert(ctx, &p); err != nil {
					return err
				}
			}
			return nil
		}
		var worker *Child
		defer func() {
			if worker != nil {
				_ = worker.Stop() // if a step has failed; otherwise it has stopped
			}
		}()
		start := func() (err error) {
			worker, err = r.StartChild(ctx, names.table, names.mails, names.poison)
			return err
		}
		mails := func(n int) error {
			var all []string
			for range n {
				mail, err := worker.Next()
				if err != nil {
					return err
				}
				all = append(all, mail)
			}
			slices.Sort(all) // the worker executes several at a time
			for _, mail := range all {
				r.Answer("%s", mail)
			}
			return nil
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"start a worker program", start},
			{"insert three parcels: each write puts a hidden notification, commits, and makes the notification visible", func() error {
				return insert(parcel{"Bern", 1}, parcel{"Bern", 2}, parcel{"Ulm", 3})
			}},
			{"the worker sends their mails", func() error { return mails(3) }},
			{"stop the worker, as for a new release", func() error { return worker.Stop() }},
			{"insert a parcel while no worker runs", func() error { return insert(parcel{"Bern", 4}) }},
			{"start the next release of the worker: it sends the mail", func() error {
				if err := start(); err != nil {
					return err
				}
				return mails(1)
			}},
			{"stop it", func() error { return worker.Stop() }},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return nil
	},
	// The worker program. Its main function calls this with context.Background().
	child: func(ctx context.Context, r *Run, words []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		names := parcelNames{words[0], words[1], words[2]}
		worker, err := newMailWorker(r.Account(), names, func(p parcel) { r.Answer("mail for parcel %d of %s", p.ID, p.Shop) })
		if err != nil {
			return err
		}
		return worker.Run(ctx) // until the signal
	},
}
