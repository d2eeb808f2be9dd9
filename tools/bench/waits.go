package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// This file measures how long many operations take over a service that takes 5 ms for each request.

// waits returns the goals for waits.
func waits() []wait {
	const rows = 1000
	return []wait{
		{"wait1", "bulk: 1,000 upserts of existing rows, one index", most(0.6, "s"), func(ctx context.Context) (float64, error) { return bulkUpserts(ctx, rows, true) }},
		{"wait2", "bulk: 1,000 upserts of new rows, one index", most(0.6, "s"), func(ctx context.Context) (float64, error) { return bulkUpserts(ctx, rows, false) }},
		{"wait3", "bulk: 1,000 inserts over 1,000 groups of a summary", most(1, "s"), func(ctx context.Context) (float64, error) { return bulkGroups(ctx, rows) }},
		{"Q2", "bulk: 10 x 1,000 inserts with a list and a summary, 20 ms / without", most(1.3, "× as long"), func(ctx context.Context) (float64, error) {
			long, _, err := bulkShared(ctx, rows, sharedByThree()...)
			if err != nil {
				return 0, err
			}
			plain, _, err := bulkShared(ctx, rows)
			return long / plain, err
		}},
		{"Q1", "the same: reads of each shared row", most(1, "reads"), func(ctx context.Context) (float64, error) {
			_, reads, err := bulkShared(ctx, rows, sharedByThree()...)
			return reads, err
		}},
		{"wait4", "Transact of 40 upserts with an index", most(30, "ms"), transactUpserts},
		{"wait5", "20 bursts of 64 Gets: connections after the first", most(0, "connections"), func(ctx context.Context) (float64, error) {
			opened, _, err := bursts(ctx, 20, 64, serviceDelay)
			return opened, err
		}},
		{"wait6", "20 bursts of 64 Gets: median of a burst", figure{Unit: "ms", NoGoal: true}, func(ctx context.Context) (float64, error) {
			_, median, err := bursts(ctx, 20, 64, serviceDelay)
			return median, err
		}},
		{"P23a", "100 point reads, 10 at a time / 50 ms", most(1.2, "× the ideal"), func(ctx context.Context) (float64, error) {
			took, _, err := pointReads(ctx, 100, serviceDelay)
			return took / 50, err
		}},
		{"P23b", "100 point reads, 10 at a time: connections", most(10, "connections"), func(ctx context.Context) (float64, error) {
			_, opened, err := pointReads(ctx, 100, serviceDelay)
			return opened, err
		}},
		{"P23c", "100 reads of the SDK, JSON alone, 10 at a time / 50 ms", info("× the ideal"), func(ctx context.Context) (float64, error) {
			took, err := sdkReads(ctx, 100, serviceDelay)
			return took / 50, err
		}},
		{"P23d", "100 requests of net/http alone, 10 at a time / 50 ms", info("× the ideal"), func(ctx context.Context) (float64, error) {
			took, err := bareRequests(ctx, 100)
			return took / 50, err
		}},
	}
}

// info is a figure without a goal.
func info(unit string) figure { return figure{Unit: unit, NoGoal: true} }

func most(goal float64, unit string) figure { return figure{Goal: goal, Unit: unit, Bound: atMost} }

func least(goal float64, unit string) figure {
	return figure{Goal: goal, Unit: unit, Bound: atLeast}
}

// indexedOrders returns a table of orders with maintainers, on a service that is still fast.
func indexedOrders(ctx context.Context, definitions ...extend.Definition[order]) (*table.Table[order], *delayed, error) {
	d, acc, err := openDelayed()
	if err != nil {
		return nil, nil, err
	}
	base, err := bare.NewTable(acc.Tables(), tableName, orderSchema(), nil)
	if err != nil {
		return nil, nil, err
	}
	if err := tabledoor.Ensure(ctx, base); err != nil {
		return nil, nil, err
	}
	t, err := baretest.Attach(base, definitions...)
	return t, d, err
}

// runBulk executes an operation for each order, and returns the seconds that it takes.
func runBulk(ctx context.Context, all []order, op func(*order) table.Op) (float64, error) {
	began := time.Now()
	result, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range all {
			if !yield(op(&all[i]), nil) {
				return
			}
		}
	}, nil)
	if err != nil {
		return 0, err
	}
	return time.Since(began).Seconds(), expect("operations done", result.Applied, len(all))
}

// bulkUpserts upserts n orders of one partition by one index.
func bulkUpserts(ctx context.Context, n int, existing bool) (float64, error) {
	t, d, err := indexedOrders(ctx, emailIndex("email"))
	if err != nil {
		return 0, err
	}
	upsert := func(o *order) table.Op { return t.UpsertOp(o, table.ReplaceExisting) }
	if existing {
		if _, err := runBulk(ctx, newOrders(n), t.InsertOp); err != nil {
			return 0, err
		}
	}
	d.slow.Store(true)
	return runBulk(ctx, newOrders(n), upsert)
}

// bulkGroups inserts n orders of one partition, each in another group of a summary.
func bulkGroups(ctx context.Context, n int) (float64, error) {
	byCount := index.NewSummary("count", keys.Digits[int](6), func(o *order) (int, bool) { return o.Number, true }, nil)
	t, d, err := indexedOrders(ctx, byCount)
	if err != nil {
		return 0, err
	}
	d.slow.Store(true)
	return runBulk(ctx, newOrders(n), t.InsertOp)
}

// sharedByThree returns a list and a summary, with three rows of each in a partition.
func sharedByThree() []extend.Definition[order] {
	rest := keys.Digits[int](1)
	of := func(o *order) (int, bool) { return o.Number % 3, true }
	return []extend.Definition[order]{index.NewLists("list", rest, of, nil), index.NewSummary("sum", rest, of, nil)}
}

// bulkShared inserts orders of 10 customers, n each, over a service that takes 20 ms for each
// request. It returns the seconds, and how often each shared row was read if definitions are those
// of sharedByThree.
func bulkShared(ctx context.Context, n int, definitions ...extend.Definition[order]) (took, reads float64, err error) {
	t, d, err := indexedOrders(ctx, definitions...)
	if err != nil {
		return 0, 0, err
	}
	all := newOrders(10 * n)
	for i := range all {
		all[i].Customer, all[i].Number = fmt.Sprint(customer, i/n), i%n
	}
	d.delay = 20 * time.Millisecond
	d.slow.Store(true)
	d.Count()
	took, err = runBulk(ctx, all, t.InsertOp)
	const rows = 10 * 3 * 2 // customers, values, definitions
	sent := d.Count()
	return took, float64(sent[requests.Get]+sent[requests.Query]) / rows, err
}

// transactUpserts upserts 40 orders with an index in one transaction.
func transactUpserts(ctx context.Context) (float64, error) {
	const n = 40
	t, d, err := indexedOrders(ctx, emailIndex("email"))
	if err != nil {
		return 0, err
	}
	d.slow.Store(true)
	all := newOrders(n)
	return medianTime(9, func() error {
		ops := make([]table.Op, n)
		for i := range ops {
			ops[i] = t.UpsertOp(&all[i], table.ReplaceExisting)
		}
		_, err := table.Transact(ctx, ops...)
		return err
	})
}

// listening returns a table of n orders on a service behind a port, its service, which is still
// fast, and the connection string.
func listening(n int) (t *table.Table[order], s *storagetest.Service, connection string, err error) {
	s = storagetest.New(&storagetest.Options{RequestLogSize: -1})
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if connection, err = s.Listen(); err != nil {
		return nil, nil, "", err
	}
	acc, err := account.FromConnectionString(connection, nil)
	if err != nil {
		return nil, nil, "", err
	}
	if t, err = bare.NewTable(acc.Tables(), tableName, orderSchema(), nil); err == nil {
		err = fill(t, newOrders(n))
	}
	return t, s, connection, err
}

// bursts reads orders in bursts, over a service that takes a time for each. It returns the
// connections that are opened after the first burst, and the median of the times of the bursts in
// milliseconds.
func bursts(ctx context.Context, n, width int, each time.Duration) (opened, median float64, err error) {
	t, s, _, err := listening(width)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	delay(s, each)
	var c connections
	burst := func() error {
		reads, ctx := errgroup.WithContext(c.trace(ctx))
		for i := range width {
			reads.Go(func() error { _, err := t.Get(ctx, t.Key(newOrder(i))); return err })
		}
		return reads.Wait()
	}
	if err := burst(); err != nil {
		return 0, 0, err
	}
	c.opened.Store(0)
	median, err = medianTime(n-1, burst)
	return float64(c.opened.Load()), median, err
}

// pointReads reads n orders with GetMany, nine times, over a service that takes a time for each. It
// returns the median of the milliseconds, and the connections that are opened.
func pointReads(ctx context.Context, n int, each time.Duration) (took, opened float64, err error) {
	t, s, _, err := listening(n)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	delay(s, each)
	all := make([]keys.Key, n)
	for i := range all {
		all[i] = t.Key(newOrder(i))
	}
	var c connections
	took, err = medianTime(9, func() error {
		for _, err := range t.GetMany(c.trace(ctx), all...) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	return took, float64(c.opened.Load()), err
}

// sdkReads returns how many milliseconds the same reads take by the SDK, which leaves an entity as
// JSON.
func sdkReads(ctx context.Context, n int, each time.Duration) (float64, error) {
	_, s, connection, err := listening(n)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	delay(s, each)
	service, err := aztables.NewServiceClientFromConnectionString(connection, nil)
	if err != nil {
		return 0, err
	}
	c := service.NewClient(tableName)
	get := func(ctx context.Context, i int) error {
		o := newOrder(i)
		k, err := o.check()
		if err == nil {
			_, err = c.GetEntity(ctx, k.PartitionKey(), k.RowKey(), nil)
		}
		return err
	}
	return medianTime(9, func() error { return together(ctx, n, 10, get) })
}

// bareRequests returns how many milliseconds n requests of net/http take, 10 at a time, each to a
// handler that sleeps as long as the service.
func bareRequests(ctx context.Context, n int) (float64, error) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(serviceDelay)
		_, _ = w.Write(make([]byte, 700))
	}))
	defer s.Close()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10}}
	defer c.CloseIdleConnections()
	get := func(context.Context, int) error {
		resp, err := c.Get(s.URL)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	return medianTime(9, func() error { return together(ctx, n, 10, get) })
}

// together calls f for the numbers below n, so many at a time.
func together(ctx context.Context, n, atATime int, f func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atATime)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}
