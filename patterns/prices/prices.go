// Package prices stores the prices of markets. Several programs begin to compute those of a day,
// and one of them does, once.
package prices

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/table"
)

// Price is stored by market.
type Price struct {
	Market, Item string
	Cents        int64
}

// Day says that the prices of a market are computed for a day.
type Day struct {
	Market, Date string
	By           string // the program that has done it
}

var (
	market = keys.Partition(keys.Text(), func(p *Price) *string { return &p.Market })
	item   = keys.Row(keys.Text().Named("item"), func(p *Price) *string { return &p.Item })

	marketOf = keys.Partition(keys.Text(), func(d *Day) *string { return &d.Market })
	date     = keys.Row(keys.Text().Named("day"), func(d *Day) *string { return &d.Date })
)

// Prices is the prices of all markets.
type Prices struct {
	*aztablekit.Store
	Table  *table.Table[Price]
	Days   *table.Table[Day]
	leases *lease.Leases
	owner  string
}

// Open declares the table of the prices, and that of the leases. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, owner string, o *aztablekit.Options) *Prices {
	s := aztablekit.Open(acc, "prices", o)
	return &Prices{
		s, aztablekit.Table(s, "prices", market, item), aztablekit.Table(s, "prices", marketOf, date),
		lease.New(s, "leases", &lease.Options{TTL: 5 * time.Second, Owner: owner}), owner,
	}
}

// Compute stores the prices of a market for a day, at most 98, once for all programs. It fails with
// a *lease.HeldError at once if another program is at work for the market, and returns nil if the day is
// done. The context of compute ends when the lease is lost; what a program stores that was asleep
// meanwhile is refused, with lease.ErrLost. After a crash, another call computes the day again.
// Requests: 7, and 1 for each price; 6 if the day is done; 1 if another program is at work; and 1
// for each 1.7 seconds of work.
func (p *Prices) Compute(ctx context.Context, of, day string, compute func(ctx context.Context) ([]Price, error)) error {
	return p.leases.Try(ctx, "market."+of, func(ctx context.Context, held *lease.Lease) error {
		guarded, err := held.In(ctx, p.Table, market.Of(of))
		if err != nil {
			return err
		}
		if _, err := p.Days.Get(ctx, keys.At(marketOf.Of(of), date.Of(day))); !errors.Is(err, table.ErrNotFound) {
			return err // nil: another program has done it
		}
		prices, err := compute(ctx)
		if err != nil {
			return err
		}
		ops := []table.Op{guarded.Guard(), p.Days.InsertOp(&Day{of, day, p.owner})}
		for _, one := range prices {
			ops = append(ops, p.Table.UpsertOp(&one, table.ReplaceExisting))
		}
		_, err = table.Transact(ctx, ops...)
		return err
	})
}
