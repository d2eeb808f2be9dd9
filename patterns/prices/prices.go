// Package prices stores the prices of markets. One program at a time computes those of a market, and what a program stores that was asleep is refused.
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

var (
	market = keys.Partition(keys.Text(), func(p *Price) *string { return &p.Market })
	item   = keys.Row(keys.Text(), func(p *Price) *string { return &p.Item }).Named("item")
)

// Prices is the prices of all markets.
type Prices struct {
	*aztablekit.Store
	Table  *table.Table[Price]
	leases *lease.Leases
}

// Open declares the table of the prices, and that of the leases. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, owner string, o *aztablekit.Options) *Prices {
	s := aztablekit.Open(acc, "prices", o)
	return &Prices{s, aztablekit.Table(s, "prices", market, item), lease.New(s, "leases", &lease.Options{TTL: 5 * time.Second, Owner: owner})}
}

// Session is the time in which one program stores the prices of a market.
type Session struct {
	prices    *Prices
	held      *lease.Lease
	partition *lease.Partition
}

// Begin begins a session: lease.ErrHeld if another program has one, which has not ended and was begun or renewed within 6 seconds. 4 requests; 1 if it is refused.
func (p *Prices) Begin(ctx context.Context, of string) (*Session, error) {
	held, err := p.leases.Acquire(ctx, "market."+of)
	if err != nil {
		return nil, err
	}
	partition, err := held.In(ctx, p.Table, market.Of(of))
	if err != nil {
		return nil, errors.Join(err, held.Release(ctx))
	}
	return &Session{p, held, partition}, nil
}

// Set stores a price, whatever was stored before: lease.ErrLost if the session is over, or another program has begun one. 2 requests; a session that goes on
// for longer than 3 seconds needs Renew besides.
func (s *Session) Set(ctx context.Context, p Price) error {
	_, err := table.Transact(ctx, s.partition.Guard(), s.prices.Table.UpsertOp(&p, table.ReplaceExisting))
	return err
}

// Renew lets the session go on for 3 seconds more. 1 request.
func (s *Session) Renew(ctx context.Context) error { return s.held.Renew(ctx) }

// End ends the session. 1 request.
func (s *Session) End(ctx context.Context) error { return s.held.Release(ctx) }
