package archive

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ID names an archived entity: a key and one incarnation of it. An entity that is deleted and inserted again, or restored, has
// another incarnation, so that late work for the first incarnation never changes the second.
type ID struct {
	Key         keys.Key
	Incarnation string
}

// Err returns the error of the key, or a *table.ValueError if the incarnation is not 16 characters of 0-9 and A-Z. A destination
// that makes paths, keys or addresses of IDs should call Err first. The IDs of a [Mover] have no error.
func (id ID) Err() error {
	if err := id.Key.Err(); err != nil {
		return err
	}
	if len(id.Incarnation) != incarnationLength || strings.Trim(id.Incarnation, incarnationDigits) != "" {
		reason := fmt.Sprintf("is %.20q; an incarnation has %d characters of 0-9 and A-Z", id.Incarnation, incarnationLength)
		return &table.ValueError{Field: "ID.Incarnation", Reason: reason}
	}
	return nil
}

// The form of incarnations is that of [table.Common].NewID.
const (
	incarnationDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	incarnationLength = 16
)

// ArchivedRow is what a destination stores for an ID.
type ArchivedRow struct {
	ID

	// Row is the entity's row, with all its columns and under its own key. A nil Row is a tombstone: the destination contained the
	// row before, and a late request cannot bring it back.
	Row *table.Row

	// Kind is the kind of the mover. Movers of several tables, and of several types, may share a destination.
	Kind string

	// Moves are the operation IDs of the moves that have stored the row.
	Moves []string

	// Version changes with each Put.
	Version string

	// Time is when the row was last written in the table that it comes from, by that table's clock. The newest incarnation of a key
	// is the one with the latest time. Put stores the time and Get returns it.
	Time time.Time
}

// tombstone returns what remains of the row after its deletion.
func (r *ArchivedRow) tombstone() *ArchivedRow {
	return &ArchivedRow{ID: r.ID, Kind: r.Kind, Moves: r.Moves, Time: r.Time}
}

// Destination stores moved entities: a table ([ToTable]), a directory, or anything else that can write a value on condition of its
// version. It must be safe for concurrent use.
//
// An error that wraps table.ErrUnreachable means that the destination cannot be used now, as when a disk is full: the worker defers
// the move until the destination can be used. Any other error counts as one of WorkerOptions.Attempts, after which the message is
// poison.
type Destination interface {
	// Get returns what is stored for an ID, or nil if nothing ever was. For a row that no move has stored, the error is
	// table.ErrForeignRow.
	Get(ctx context.Context, id ID) (*ArchivedRow, error)

	// Put stores r if version is the version that is stored for r.ID, or "" if nothing ever was. Otherwise the error is
	// table.ErrChanged. When Put returns, r must be durable: the mover deletes the row from its table next. An error that wraps a
	// *table.LimitError, *table.ValueError or *keys.KeyError means that r can never be stored. A destination may delete a tombstone
	// after table.CommitRecordRetention and an hour (for clocks that differ).
	Put(ctx context.Context, r *ArchivedRow, version string) error

	// Incarnations yields what is stored under a key, of all kinds and in any order, without tombstones.
	Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*ArchivedRow, error]
}

// Checker is a destination that can tell, before a move, which rows it can never store.
type Checker interface {
	// Check returns the error that Put will return for r, if it is known without a request.
	Check(r *ArchivedRow) error
}

// Lister is a destination that can list what it stores.
type Lister interface {
	// List yields what is stored of a partition's entities, of all kinds, without tombstones. For a row that no move has stored, it
	// yields table.ErrForeignRow and goes on.
	List(ctx context.Context, partition keys.Enc) iter.Seq2[*ArchivedRow, error]
}

// Sweeper is a destination that deletes old tombstones.
type Sweeper interface {
	// Sweep deletes the tombstones of a partition that were stored before a time.
	Sweep(ctx context.Context, partition keys.Enc, before time.Time) error
}
