package main

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// office is an account in memory whose requests are counted, with a table of orders and a queue.
type office struct {
	service *storagetest.Service
	acc     *account.Account
	base    *table.Table[order]
	outbox  bareworker.Outbox
}

func openOffice(ctx context.Context) (*office, error) {
	s := storagetest.New(nil)
	acc, err := account.FromTransport(s, nil)
	if err != nil {
		return nil, err
	}
	base, err := bare.NewTable(acc.Tables(), tableName, orderSchema(), nil)
	if err != nil {
		return nil, err
	}
	if err := tabledoor.Ensure(ctx, base); err != nil {
		return nil, err
	}
	outbox, err := bareworker.NewOutbox(acc.Queues().NewQueueClient("notifications"), nil)
	if err != nil {
		return nil, err
	}
	return &office{s, acc, base, outbox}, outbox.Ensure(ctx)
}

// requests returns the number of requests of f.
func (o *office) requests(f func() error) (int, error) {
	o.service.Count()
	err := f()
	return o.service.Count().Total(), err
}

// ofWorker returns the number of requests that a worker takes for the messages of the queue,
// without the last one, which finds the queue empty.
func (o *office) ofWorker(ctx context.Context, h host.Handler) (int, error) {
	w, err := bareworker.New(o.acc.Queues().NewQueueClient("notifications"), o.acc.Queues().NewQueueClient("poison"), []host.Handler{h}, nil)
	if err != nil {
		return 0, err
	}
	if err := w.Ensure(ctx); err != nil {
		return 0, err
	}
	o.service.Count()
	if err := w.Drain(ctx); err != nil {
		return 0, err
	}
	counts := o.service.Count()
	if err := expect("messages that the worker completed", w.Stats().Completed, 1); err != nil {
		return 0, err
	}
	return counts.Total() - counts[kinds.MessageGet] + 1, nil
}

// maintained returns the table with indexes in the entities' partitions, in which an order is
// stored, and the order.
func (o *office) maintained(ctx context.Context, definitions ...extend.Definition[order]) (*table.Table[order], *table.Entity[order], error) {
	t, err := baretest.Attach(o.base, definitions...)
	if err != nil {
		return nil, nil, err
	}
	v := newOrder(1)
	e, err := t.Insert(ctx, &v)
	return t, e, err
}

// elsewhere returns the table with an index in another table, in which an order is stored, and the
// order. A worker has executed its effects.
func (o *office) elsewhere(ctx context.Context, byEmail *index.Global[order, string]) (*table.Table[order], *table.Entity[order], error) {
	notifying, err := baretest.WithOutbox(o.base, o.outbox)
	if err != nil {
		return nil, nil, err
	}
	t, err := baretest.Attach(notifying, byEmail)
	if err != nil {
		return nil, nil, err
	}
	if err := baretest.Ensure(ctx, t); err != nil {
		return nil, nil, err
	}
	v := newOrder(1)
	if _, err := t.Insert(ctx, &v); err != nil {
		return nil, nil, err
	}
	if _, err := o.ofWorker(ctx, baretest.Handlers(t)[0]); err != nil {
		return nil, nil, err
	}
	e, err := t.Get(ctx, t.Key(v))
	return t, e, err
}
