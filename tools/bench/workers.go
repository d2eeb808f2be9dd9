package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
)

// This file measures how fast a worker executes messages over a service that takes 5 ms for each
// request.

// slots is how many messages the worker executes at a time.
const slots = 16

// workers returns the goals for workers.
func workers() []wait {
	const n = 1000
	return []wait{
		{"wait7", "1,000 messages of 1 partition / of 1,000, PerPartition 16", most(1.5, "× the ideal"), func(ctx context.Context) (float64, error) {
			spread, err := work(ctx, n, n)
			if err != nil {
				return 0, err
			}
			busy, err := work(ctx, n, 1)
			return busy.Seconds() / spread.Seconds(), err
		}},
		{"wait8", "worker of 16 slots: messages a second", least(1000, "messages/s"), func(ctx context.Context) (float64, error) {
			took, err := work(ctx, 2*n, 2*n)
			return 2 * n / took.Seconds(), err
		}},
	}
}

// work inserts n orders with an effect each, over so many partitions, and returns how long a worker
// takes for the messages. Its handler does nothing.
func work(ctx context.Context, n, partitions int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	d, acc, err := openDelayed()
	if err != nil {
		return 0, err
	}
	base, err := bare.NewTable(acc.Tables(), tableName, orderSchema(), nil)
	if err != nil {
		return 0, err
	}
	if err := tabledoor.Ensure(ctx, base); err != nil {
		return 0, err
	}
	outbox, err := bareworker.NewOutbox(acc.Queues().NewQueueClient("notifications"), nil)
	if err != nil {
		return 0, err
	}
	t, err := baretest.WithOutbox(base, outbox, bare.OnChange("ship", func(c *extend.Change[order]) (int, bool) { return c.New.Number, true }))
	if err != nil {
		return 0, err
	}
	ship := bare.NewHandler("ship", t, func(context.Context, eventual.Job, int) error { return nil })
	w, err := bareworker.New(acc.Queues().NewQueueClient("notifications"), acc.Queues().NewQueueClient("poison"), []host.Handler{ship}, &eventual.WorkerOptions{Concurrency: slots, PerPartition: slots})
	if err != nil {
		return 0, err
	}
	if err := w.Ensure(ctx); err != nil {
		return 0, err
	}
	for i := range n {
		o := newOrder(i)
		o.Customer = fmt.Sprint("customer", i%partitions)
		if _, err := t.Insert(ctx, &o); err != nil {
			return 0, err
		}
	}
	d.slow.Store(true)
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- w.Run(working) }()
	for w.Stats().Completed < n {
		select {
		case err := <-ended:
			return 0, fmt.Errorf("the worker ended after %d of %d messages: %w", w.Stats().Completed, n, err)
		case <-time.After(time.Millisecond):
		}
	}
	took := time.Since(began)
	d.slow.Store(false)
	stop()
	<-ended
	return took, nil
}
