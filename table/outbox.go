package table

import (
	"context"
	"reflect"
	"time"
)

// Outbox announces writes that have effects, before they are made, to those who carry the effects out. Package eventual's is a
// queue. It must be safe for concurrent use.
type Outbox interface {
	// Hint stores what is announced where workers will find it, but not before Announcement.Hidden is over, so that it is not
	// lost when the writer dies. An error refuses the write; nothing has then been done.
	Hint(ctx context.Context, a Announcement) (Hint, error)
}

// Announcement names a write that has effects. It holds nothing of the effects: a worker reads them from the write's intent, by
// [Intents.Resolve], which also makes sure that a write which was announced and is not yet done never will be.
type Announcement struct {
	Table     string
	Partition string
	Op        string // the operation ID
	Hidden    time.Duration
}

// Hint is what an outbox has stored.
type Hint interface {
	// Show lets workers see it now: the write is done. If it fails, they see it when Announcement.Hidden is over.
	Show(context.Context) error
	// Withdraw takes it back: the write was refused. If it fails, a worker finds nothing to do.
	Withdraw(context.Context) error
}

// Effect is work that is to be done elsewhere because of a write.
type Effect struct {
	Kind    string // of handler
	Version int    // of the payload's form
	RowKey  string // of the entity whose change it follows from
	Payload []byte
}

// sameValue compares what two interfaces hold, as far as that can be compared.
func sameValue(a, b any) bool { return reflect.ValueOf(a).Comparable() && a == b }
