// Package workers keeps the parcels of shops, and sends a mail for each new one. The mails are the work of programs of their own.
package workers

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Parcel is stored by shop.
type Parcel struct {
	Shop string
	ID   int
}

// Send sends the mail of a parcel. After a crash of the worker, the mail is sent again with the same ID, by which a mail service drops it.
type Send func(ctx context.Context, id string, p Parcel) error

var (
	shop   = keys.Partition(keys.Text(), func(p *Parcel) *string { return &p.Shop })
	number = keys.Row(keys.Digits[int](6).Named("parcel"), func(p *Parcel) *int { return &p.ID })
)

// Shops is the parcels of all shops.
type Shops struct {
	*aztablekit.Store
	parcels *table.Table[Parcel]
}

// Open declares the table of the parcels. send is nil in programs that run no worker. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, send Send, o *aztablekit.Options) *Shops {
	var do func(context.Context, eventual.Job, Parcel) error
	if send != nil {
		do = func(ctx context.Context, j eventual.Job, p Parcel) error {
			return send(ctx, j.OperationID+"-"+j.Key.RowKey(), p) // a transaction of several parcels has one operation ID
		}
	}
	s := aztablekit.Open(acc, "shops", o)
	return &Shops{s, aztablekit.Table(s, "parcels", shop, number, eventual.On("mail", newParcel, do))}
}

// newParcel returns the new parcel of a write, and whether there is one.
func newParcel(c *eventual.Change[Parcel]) (Parcel, bool) {
	if !c.Inserted() {
		return Parcel{}, false
	}
	return *c.New, true
}

// Accept stores a new parcel, table.ErrExists if the shop has one of the ID. It does not wait for the mail. 1 transaction, and 2 requests
// for a message.
func (s *Shops) Accept(ctx context.Context, p Parcel) error {
	_, err := s.parcels.Insert(ctx, &p)
	return err
}

// Work sends the mails until ctx ends or the platform stops the program: on its signal, the worker takes no more messages, returns those
// that it has not begun, and completes the others. As many programs as the queue needs may work.
func (s *Shops) Work(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return s.Run(ctx)
}
