package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// This file measures ratios on the emulator Azurite, by the wall clock: the emulator is another
// process.

// emulator is the emulator, which starts with the first line.
type emulator struct {
	start  func() (*azurite.Server, error)
	server *azurite.Server
}

func newEmulator() *emulator {
	e := &emulator{}
	e.start = sync.OnceValues(func() (*azurite.Server, error) {
		var err error
		e.server, err = azurite.Open(context.Background())
		return e.server, err
	})
	return e
}

// stop ends the emulator if it has been started.
func (e *emulator) stop() {
	if e.server != nil {
		e.server.Stop()
	}
}

// lines returns the lines of the emulator.
func (e *emulator) lines() []line {
	return []line{
		e.line("P21a", "Azurite: page of 1,000 / bytes of the SDK's pager", 0.70, e.pages),
		e.line("P21b", "Azurite: transaction of 100 / 100 Upserts of the SDK", 0.20, e.transactions),
		e.line("P22a", "Azurite: Replace with 5 copies / 6 Upserts of the SDK", 0.65, e.indexed),
		e.line("P22b", "Azurite: delete 1,000 / one by one, 16 in parallel", 0.40, nil),
	}
}

// line returns a line whose ratio is that of a pair, or of deletes.
func (e *emulator) line(id, what string, goal float64, setup func(context.Context) (pair, error)) line {
	return line{id, what, func(ctx context.Context, s settings) (result, error) {
		var times spread
		var err error
		if setup == nil {
			times, err = e.deletes(ctx, s)
		} else {
			var p pair
			if p, err = setup(ctx); err == nil {
				times, err = compare(p, s)
			}
		}
		return result{Value: figure{Got: times.median, Goal: goal, Bound: atMost}, Low: times.low, High: times.high}, err
	}}
}

// sides returns a new table of orders, and the client of the SDK for it.
func (e *emulator) sides(ctx context.Context, o *table.Options) (*table.Table[order], *aztables.Client, error) {
	server, err := e.start()
	if err != nil {
		return nil, nil, err
	}
	acc, err := account.FromConnectionString(server.ConnectionString, nil)
	if err != nil {
		return nil, nil, err
	}
	name := fmt.Sprintf("bench%d", time.Now().UnixNano())
	t, err := bare.NewTable(acc.Tables(), name, orderSchema(), o)
	if err != nil {
		return nil, nil, err
	}
	c, err := aztables.NewServiceClientFromConnectionString(server.ConnectionString, nil)
	if err != nil {
		return nil, nil, err
	}
	return t, c.NewClient(name), tabledoor.Ensure(ctx, t)
}

// upsertEDM is a write of the baseline.
func upsertEDM(ctx context.Context, c *aztables.Client, o *order, rowKey string) error {
	b, err := marshalEDM(o, rowKey)
	if err != nil {
		return err
	}
	_, err = c.UpsertEntity(ctx, b, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	return err
}

func (e *emulator) pages(ctx context.Context) (pair, error) {
	t, c, err := e.sides(ctx, nil)
	if err != nil {
		return pair{}, err
	}
	if err := fill(t, newOrders(pageSize)); err != nil {
		return pair{}, err
	}
	return pair{
		ours: func() error {
			p, err := t.Page(ctx, table.Query[order]{Partition: keys.RawPartition(customer)}, "")
			if err == nil {
				err = expect("entities", len(p.Entities), pageSize)
			}
			return err
		},
		base: func() error {
			p, err := c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: to.Ptr(ordersFilter)}).NextPage(ctx)
			if err == nil {
				err = expect("entities", len(p.Entities), pageSize)
			}
			return err
		},
		clock: wallClock,
	}, nil
}

func (e *emulator) transactions(ctx context.Context) (pair, error) {
	const n = 100
	t, c, err := e.sides(ctx, blind())
	all := newOrders(n)
	return pair{
		ours: func() error {
			ops := make([]table.Op, n)
			for i := range ops {
				ops[i] = t.UpsertOp(&all[i], table.ReplaceExisting)
			}
			_, err := table.Transact(ctx, ops...)
			return err
		},
		base: func() error {
			for i := range all {
				if err := upsertEDM(ctx, c, &all[i], rowKey(i)); err != nil {
					return err
				}
			}
			return nil
		},
		clock: wallClock,
	}, err
}

func (e *emulator) indexed(ctx context.Context) (pair, error) {
	const copies = 5
	base, c, err := e.sides(ctx, nil)
	if err != nil {
		return pair{}, err
	}
	t, err := withCopies(base, copies)
	if err != nil {
		return pair{}, err
	}
	o, other := newOrder(1), newOrder(2)
	stored, err := t.Insert(ctx, &o)
	return pair{
		ours: func() error { stored.Value.Count++; return t.Replace(ctx, stored) },
		base: func() error {
			other.Count++
			for i := range copies + 1 {
				if err := upsertEDM(ctx, c, &other, fmt.Sprintf("copy%d_%06d", i, other.Number)); err != nil {
					return err
				}
			}
			return nil
		},
		clock: wallClock,
	}, err
}

// deletes compares a delete of 1,000 entities with deletes one by one, 16 at a time. The entities
// are inserted before each of them.
func (e *emulator) deletes(ctx context.Context, s settings) (spread, error) {
	t, c, err := e.sides(ctx, nil)
	if err != nil {
		return spread{}, err
	}
	all := newOrders(pageSize)
	timed := func(f func() error) (time.Duration, error) {
		if err := fill(t, all); err != nil {
			return 0, err
		}
		began := time.Now()
		err := f()
		return time.Since(began), err
	}
	var ratios []float64
	for range min(s.slices, 5) {
		ours, err := timed(func() error {
			_, err := table.BulkDelete(ctx, t, table.Query[order]{Partition: keys.RawPartition(customer)}, nil)
			return err
		})
		theirs, baseErr := timed(func() error {
			deletes, ctx := errgroup.WithContext(ctx)
			deletes.SetLimit(16)
			for i := range all {
				deletes.Go(func() error { _, err := c.DeleteEntity(ctx, customer, rowKey(i), nil); return err })
			}
			return deletes.Wait()
		})
		if err := errors.Join(err, baseErr); err != nil {
			return spread{}, err
		}
		ratios = append(ratios, ours.Seconds()/theirs.Seconds())
	}
	return spreadOf(ratios), nil
}
