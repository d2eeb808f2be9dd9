// Package closedorders keeps the orders of each month in a partition of its own, and moves the closed ones of past months to another table.
package closedorders

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Order is stored by month, such as 202601, and number.
type Order struct {
	Month    string
	Number   int
	Customer string
	Open     bool
}

var (
	month  = keys.Partition(keys.Ordered(), func(o *Order) *string { return &o.Month })
	number = keys.Row(keys.Digits[int](8), func(o *Order) *int { return &o.Number })
	open   = table.FieldOf(func(o *Order) *bool { return &o.Open })
	// Closed moves orders to the table of the closed ones.
	Closed = archive.Into[Order]("closed", archive.ToTable("closed", nil))
)

// Orders are the orders of all months.
type Orders struct {
	*aztablekit.Store
	Current *table.Table[Order]
}

// Open declares the tables. Call Ensure of the result when the program starts, and Run in a worker, which ends what a crash has left.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Orders {
	s := aztablekit.Open(acc, "orders", o)
	return &Orders{s, aztablekit.Table(s, "orders", month, number, Closed)}
}

// ArchiveBefore moves the closed orders of the months before one, and returns how many. It may be called again after an error. 1 request for
// each 1,000 orders of these months, and 7 for each 99 that are moved.
func (o *Orders) ArchiveBefore(ctx context.Context, before string) (int, error) {
	q := table.Query[Order]{Partitions: month.Before(before), Where: open.Eq(false)}
	report, err := Closed.ArchiveAll(ctx, o.Current, q, nil)
	return report.Changed, err
}

// Find reads an order, wherever it is. 1 request; 2 for one that was moved.
func (o *Orders) Find(ctx context.Context, of string, n int) (e *table.Entity[Order], archived bool, err error) {
	return Closed.Find(ctx, o.Current, keys.At(month.Of(of), number.Of(n)))
}
