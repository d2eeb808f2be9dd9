package archive

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ID names an archived entity: a key and one incarnation of it. An entity that is deleted and inserted again, or restored, has another
// incarnation, so that late work for the first one never changes the second.
type ID struct {
	Key         keys.Key
	Incarnation string
}

// Err returns the error of an ID: its key's error, or a *table.ValueError for an incarnation that is not 16 of the characters 0-9 and A-Z. A
// destination that makes paths, keys or addresses of IDs should call it first. The IDs of a [Mover] have no error.
func (id ID) Err() error {
	if err := id.Key.Err(); err != nil {
		return err
	}
	if len(id.Incarnation) != lifeLength || strings.Trim(id.Incarnation, lifeDigits) != "" {
		return &table.ValueError{Field: "ID.Incarnation", Reason: "is no incarnation; an incarnation is 16 of the characters 0-9 and A-Z"}
	}
	return nil
}

// The form of incarnations, which is that of [table.Common].NewID.
const (
	lifeDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lifeLength = 16
)

// ArchivedRow is what a destination stores for an ID.
type ArchivedRow struct {
	ID

	// Row is the entity's row, with all its columns and under its own key. It is nil for a tombstone: the row was there and is gone, and
	// a late request cannot bring it back.
	Row *table.Row

	// Kind is the kind of the mover. Movers of several tables, and of several types, may share a destination.
	Kind string

	// Moves are the operation IDs of the moves that have put it.
	Moves []string

	// Version changes with each Put.
	Version string

	// Time is when the row was last written in the table that it comes from, by that table's clock. The incarnation of a key with the
	// latest time is the newest one. Put stores it and Get returns it.
	Time time.Time
}

// Destination stores moved entities: a table ([ToTable]), a directory, anything that can write a value on condition of its version. It must
// be safe for concurrent use.
//
// An error that wraps table.ErrUnreachable says that the destination cannot be used now, as when a disk is full: the move is tried again
// until it can. Any other error counts as one of WorkerOptions.Attempts, after which the message is poison.
type Destination interface {
	// Get reads what is stored for an ID, nil if nothing ever was.
	Get(ctx context.Context, id ID) (*ArchivedRow, error)

	// Put stores k if what is stored for its ID still has a version, "" if nothing ever was. Otherwise the error is table.ErrChanged. When
	// Put returns, k must be stored for good: the mover deletes the row from its table next. Tombstones may be deleted after
	// table.CommitRecordRetention and an hour (for clocks that differ). An error that wraps a *table.LimitError, *table.ValueError or
	// *keys.KeyError means that k can never be stored.
	Put(ctx context.Context, k *ArchivedRow, version string) error

	// Lives yields what is stored under a key, without tombstones, in any order, of all kinds.
	Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*ArchivedRow, error]
}

// Checker is a destination that knows beforehand which rows it can never store.
type Checker interface {
	// Check returns the error that Put will return for k, if that is known without a request.
	Check(k *ArchivedRow) error
}

// Lister is a destination that can list what it stores.
type Lister interface {
	// List yields what is stored of a partition's entities, without tombstones, of all kinds.
	List(ctx context.Context, partition keys.Enc) iter.Seq2[*ArchivedRow, error]
}

// Sweeper is a destination that deletes old tombstones.
type Sweeper interface {
	// Sweep deletes the tombstones of a partition from before a time.
	Sweep(ctx context.Context, partition keys.Enc, before time.Time) error
}
