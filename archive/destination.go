package archive

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ID names what is archived: one life of the entity under a key. An entity that is deleted and inserted again, or restored, has
// another life, so that what is still to be done for the first never meets the second.
type ID struct {
	Key  keys.Key
	Life string
}

// Err is what is wrong with an ID: its key's error, or a *table.ValueError for an incarnation that is not 16 of the characters 0-9 and
// A-Z. A destination that makes paths, keys or addresses of IDs asks it first. The IDs that a [Mover] gives it are in order.
func (id ID) Err() error {
	if err := id.Key.Err(); err != nil {
		return err
	}
	if len(id.Life) != lifeLength || strings.Trim(id.Life, lifeDigits) != "" {
		return &table.ValueError{Field: "ID.Life", Reason: "is no incarnation; an incarnation is 16 of the characters 0-9 and A-Z"}
	}
	return nil
}

// The form of incarnations, which is that of [table.Common].NewID.
const (
	lifeDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lifeLength = 16
)

// Kept is what a destination holds of a life.
type Kept struct {
	ID

	// Row is the entity's row, with all its columns and under its own key. It is nil where there was one that has gone: that is
	// remembered, so that a request which is late cannot bring it back.
	Row *table.Row

	// Kind is the mover's. Movers of several tables, and of several types, may share a destination.
	Kind string

	// Moves are the names of the moves that have put it.
	Moves []string

	// Version is another after each Put.
	Version string

	// Time is when the row was written last in the table that it comes from, by that table's clock: of several lives of one key the
	// latest is the newest. It is put and read back.
	Time time.Time
}

// Destination is where moved entities are: a table ([ToTable]), a directory, anything that can write a thing only if it is still as
// it was read. It must be safe for concurrent use.
//
// An error that wraps table.ErrUnreachable says that the destination cannot be used now, as when a disk is full: the move is tried again
// until it can. Any other error counts as one of WorkerOptions.Attempts, after which the message is poison.
type Destination interface {
	// Get reads what is kept of a life: nil if nothing ever was.
	Get(ctx context.Context, id ID) (*Kept, error)

	// Put keeps k if what is kept of its ID still is of a version, "" where nothing ever was. Otherwise it is table.ErrChanged. When it
	// returns, k is stored for good: the row is deleted in its table next. What
	// has no row any more may be forgotten after table.IntentRetention, and an hour for clocks that differ. An error that
	// wraps a *table.LimitError, *table.ValueError or *keys.KeyError says that it can never be kept.
	Put(ctx context.Context, k *Kept, version string) error

	// Lives yields what is kept under a key, with rows, in any order, of all kinds.
	Lives(ctx context.Context, k keys.Key) iter.Seq2[*Kept, error]
}

// Checker is a destination that can tell beforehand what it can never keep.
type Checker interface {
	// Check returns what Put will say of k, if that can be seen without a request.
	Check(k *Kept) error
}

// Lister is a destination that can list what it keeps.
type Lister interface {
	// List yields what is kept of a partition's entities, with rows, of all kinds.
	List(ctx context.Context, partition keys.Enc) iter.Seq2[*Kept, error]
}

// Sweeper is a destination that forgets what has no row any more.
type Sweeper interface {
	// Sweep forgets what has had no row since before a time, in a partition.
	Sweep(ctx context.Context, partition keys.Enc, before time.Time) error
}
