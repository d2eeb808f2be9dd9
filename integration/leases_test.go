package integration

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/table"
)

// leases: a holder enters a partition, and storage refuses its writes once the next holder has, which waits for the end of a lease by the service's clock.
func leases(e *env) {
	ctx := context.Background()
	name := freshName()
	h := &host.Host{Account: e.acc, Tables: e.tables}
	o := &lease.Options{TTL: 3 * time.Second}
	one, two := lease.New(h, name, o), lease.New(h, name, o)
	rows, err := bare.NewTable(e.tables, name, table.Schema[table.Row]{}, nil)
	e.must(err)
	e.must(tabledoor.Ensure(ctx, rows))
	data, err := bare.NewTable(e.tables, freshName(), table.Schema[table.Row]{}, nil)
	e.must(err)
	e.must(tabledoor.Ensure(ctx, data))
	key := keys.At(keys.RawPartition("p"), keys.RawRow("r"))
	write := func(p *lease.Partition) error {
		_, err := table.Transact(ctx, p.Guard(), baretest.UpsertAtOp(data, key, &table.Row{Key: key}, table.ReplaceExisting))
		return err
	}
	wantIs := func(what string, err, want error) {
		e.Helper()
		if !errors.Is(err, want) {
			e.Errorf("%s: got error %v; want %v", what, err, want)
		}
	}

	first, err := one.Acquire(ctx, "x")
	e.must(err)
	_, err = two.Acquire(ctx, "x")
	if !errors.As(err, new(*lease.HeldError)) {
		e.Errorf("a second holder: got error %v; want a *lease.HeldError", err)
	}
	p, err := first.In(ctx, data, keys.RawPartition("p"))
	e.must(err)
	e.must(write(p))
	e.must(first.Renew(ctx))
	e.must(write(p))

	err = two.Elect(ctx, "x", func(ctx context.Context, second *lease.Lease) error { // when the first lease is over
		if second.Fence() != first.Fence()+1 {
			e.Errorf("got fence %d after %d; want the next one", second.Fence(), first.Fence())
		}
		q, err := second.In(ctx, data, keys.RawPartition("p"))
		if err != nil {
			return err
		}
		wantIs("a write of the first holder", write(p), lease.ErrLost)
		return write(q)
	})
	e.must(err)
	third, err := two.Acquire(ctx, "x") // it was released
	e.must(err)
	e.must(third.Release(ctx))
	for found, err := range data.List(ctx, table.Query[table.Row]{Partition: keys.RawPartition("p")}) {
		e.must(err)
		if found.Key != key {
			e.Errorf("got %v in a list; want no rows of holders", found.Key)
		}
	}
}
