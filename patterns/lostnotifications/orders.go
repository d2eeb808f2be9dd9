// Package lostnotifications keeps the orders of shops, and sends a mail for each new one, also if the queue of the worker was cleared.
package lostnotifications

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Order is stored by shop.
type Order struct {
	Shop string
	ID   int
}

// Send sends the mail of an order. After a crash of the worker, the mail is sent again with the same ID, by which a mail service drops it.
type Send func(ctx context.Context, id string, o Order) error

var (
	shop   = keys.Partition(keys.Text(), func(o *Order) *string { return &o.Shop })
	number = keys.Row(keys.Digits[int](6).Named("order"), func(o *Order) *int { return &o.ID })
)

// Shops is the orders of all shops.
type Shops struct {
	*aztablekit.Store
	orders *table.Table[Order]
}

// Open declares the table of the orders. Call Ensure of the result when the program starts, and Run in one program, which sends the mails.
func Open(acc aztablekit.Account, send Send, o *aztablekit.Options) *Shops {
	s := aztablekit.Open(acc, "shops", o)
	mail := eventual.On("mail", newOrder, func(ctx context.Context, j eventual.Job, o Order) error {
		return send(ctx, j.OperationID+"-"+j.Key.RowKey(), o) // a transaction of several orders has one operation ID
	})
	return &Shops{s, aztablekit.Table(s, "orders", shop, number, mail)}
}

// newOrder returns the new order of a write, and whether there is one.
func newOrder(c *eventual.Change[Order]) (Order, bool) {
	if !c.Inserted() {
		return Order{}, false
	}
	return *c.New, true
}

// Accept stores a new order, table.ErrExists if the shop has one of the ID. 1 transaction, and 2 requests for a message.
func (s *Shops) Accept(ctx context.Context, o Order) error {
	_, err := s.orders.Insert(ctx, &o)
	return err
}

// NotifyAll notifies the worker of all mails that are not sent yet, and returns the number of their writes. Call it after the queue was
// cleared or deleted, in any program: for a notification that was not lost, the worker finds nothing to do. Run does the same once a day, and
// leaves out the writes of the last ten minutes. 2 requests for each shop, and 1 for each write. It can be interrupted and called again.
func (s *Shops) NotifyAll(ctx context.Context) (int, error) {
	done, err := s.NotifyPending(ctx, "orders", -1, nil)
	return done.Changed, err
}
