// Package oldorders takes over a table of orders that another program has written with plain aztables, and still writes. Its times are
// text, and its numbers are doubles, as JSON has them.
//
// The table passes in stages. Until the other program has stopped, open it without the index (ReadTyped). If the index must come before
// that, call KeepSound in one program. A query of the other program for all rows of a customer finds the rows of the index, too,
// unless it says RowKey lt '~'.
package oldorders

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Order is a row as the other program stores it.
type Order struct {
	Customer string // the PartitionKey
	ID       string // the RowKey
	Status   string
	Cents    int64     `table:",double"`
	Placed   time.Time `table:",text"`
}

var (
	customer = keys.RawPartitionOf(func(o *Order) *string { return &o.Customer })
	id       = keys.RawRowOf(func(o *Order) *string { return &o.ID })

	// Pointer keeps the properties out of the rows of the index, so that no query by a property finds them, and Reserved gives them
	// keys behind all others.
	byStatus = index.New("status", keys.Text(), func(o *Order) (string, bool) { return o.Status, o.Status != "" },
		&index.Options{Reserved: true}).Only()
)

// Orders is the table.
type Orders struct {
	*aztablekit.Store
	Table *table.Table[Order]
}

// ReadTyped opens the table of the first release, without an index. Both programs write.
func ReadTyped(acc aztablekit.Account, o *aztablekit.Options) *Orders {
	s := aztablekit.Open(acc, "shop", o)
	return &Orders{s, aztablekit.Table(s, "orders", customer, id)}
}

// Open opens the table of the second release, with the index. When all programs with aztablekit have this release, call Fill once.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Orders {
	s := aztablekit.Open(acc, "shop", o)
	return &Orders{s, aztablekit.Table(s, "orders", customer, id, byStatus)}
}

// ByStatus yields the orders of a customer that have a status. 1 request for up to 1,000 pointers, and 1 for each order, several at once.
func (s *Orders) ByStatus(ctx context.Context, of, status string) iter.Seq2[*table.Entity[Order], error] {
	return byStatus.List(ctx, s.Table, keys.RawPartition(of), status)
}

// KeepSound repairs in a loop what the other program writes beside the index, until ctx ends, and returns the error of ctx. In between,
// look-ups may miss an order that the other program has changed, and find no wrong one. report receives what each Verify has found; after an
// error, such as one of an outage, the loop goes on. Requests: each time those of Verify, about 1 for each 1,000 rows and 3 for each
// customer, and 4 for each repair.
func (s *Orders) KeepSound(ctx context.Context, every time.Duration, report func(table.Progress, error)) error {
	for {
		report(s.Repair(ctx, nil))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}
