// Package workertest makes what tests and measurements need of workers and movers of tables that
// are in no store.
package workertest

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// CleanAll is [bareworker.Clean] for all partitions of a table.
func CleanAll[T any](ctx context.Context, w bareworker.Worker, t *table.Table[T]) error {
	_, err := table.EachPartition(ctx, t, nil, func(ctx context.Context, partition keys.PartitionKey) error {
		pk, err := partition.Result()
		if err == nil {
			_, err = bareworker.Clean(ctx, w, t, pk, time.Time{})
		}
		return err
	})
	return err
}

// Mover is an *archive.Mover of a table, with the handler that executes its moves.
type Mover[T any] struct {
	incarnations
	Definition *archive.Mover[T]
	Table      *table.Table[T] // the handle that has the mover
	Handler    host.Handler
}

// incarnations is what an *archive.Mover makes for a table, for package largeentity.
type incarnations interface {
	Contains(ctx context.Context, k keys.Key, incarnation string) (bool, error)
}

// The methods are those of the definition, for the table.

func (m *Mover[T]) Archive(ctx context.Context, e *table.Entity[T]) error {
	return m.Definition.Archive(ctx, m.Table, e)
}

func (m *Mover[T]) ArchiveAll(ctx context.Context, q table.Query[T], p *table.Pass) (table.Progress, error) {
	return m.Definition.ArchiveAll(ctx, m.Table, q, p)
}

func (m *Mover[T]) Archived(ctx context.Context, partition keys.PartitionKey) iter.Seq2[*table.Entity[T], error] {
	return m.Definition.Archived(ctx, m.Table, partition)
}

func (m *Mover[T]) Find(ctx context.Context, k keys.Key) (e *table.Entity[T], archived bool, err error) {
	return m.Definition.Find(ctx, m.Table, k)
}

func (m *Mover[T]) Restore(ctx context.Context, k keys.Key) (*table.Entity[T], error) {
	return m.Definition.Restore(ctx, m.Table, k)
}

// NewMover returns the mover of a table that is in no store. outbox notifies workers of its moves;
// it is the outbox of from, if from has one. It sends nothing. Errors: those of archive.Into.
func NewMover[T any](kind string, from *table.Table[T], to archive.Destination, outbox commit.Outbox) (*Mover[T], error) {
	m := archive.Into[T](kind, to)
	d := bare.Declare(&host.Host{Outbox: outbox}, from)
	if err := d.Add(m); err != nil {
		return nil, err
	}
	with, parts, err := host.Declared(d)
	if err != nil {
		return nil, err
	}
	t := with.(*table.Table[T])
	bound, err := bare.BoundTo[incarnations](t, m)
	return &Mover[T]{bound, m, t, parts[0].Handlers[0]}, err
}

// Destination is a destination of this library, with all of its methods.
type Destination interface {
	archive.Destination
	Ensure(ctx context.Context) error
	Check(r *archive.ArchivedRow) error
	List(ctx context.Context, partition keys.PartitionKey) iter.Seq2[*archive.ArchivedRow, error]
	Sweep(ctx context.Context, partition keys.PartitionKey, before time.Time) error
}

// Place returns a destination of this library in a store, which need not be declared there.
func Place(h *host.Host, to archive.Destination) (Destination, error) {
	placed, err := to.(interface {
		In(h *host.Host) (archive.Destination, error)
	}).In(h)
	if err != nil {
		return nil, err
	}
	return placed.(Destination), nil
}
