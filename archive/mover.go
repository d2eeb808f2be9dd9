package archive

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// Mover moves entities of a table to a destination, and back. It is safe for concurrent use.
type Mover[T any] struct {
	kind      string
	from      *table.Table[T]
	archiving *table.Table[T] // a handle whose touches request a move
	to        Destination
}

// New returns a mover. kind names its effects, and must be the same in all programs that move between these two places. from is the
// table with its maintainers, so that indexes move with the entities, up to 96 rows for an entity. outbox notifies workers of
// moves; it is the outbox of from, if from has one. New sends nothing. Errors are those of [maintain.WithOutbox], and
// *table.ValueError.
func New[T any](kind string, from *table.Table[T], to Destination, outbox commit.Outbox) (*Mover[T], error) {
	fail := func(err error) (*Mover[T], error) { return nil, fmt.Errorf("archive: New %s: %w", kind, err) }
	switch {
	case kind == "":
		return fail(&table.ValueError{Field: "kind", Reason: "is empty"})
	case from.Engine() == nil:
		return fail(table.ErrorOf(engine.CheckHandle("from", nil)))
	case wire.IsNil(to):
		return fail(&table.ValueError{Field: "to", Reason: "is nil"})
	}
	if d, is := to.(*TableDestination); is {
		if d.rows == nil {
			return fail(&table.ValueError{Field: "to", Reason: "is a zero TableDestination; use one of ToTable"})
		}
		if d.rows.Engine().Same(from.Engine()) {
			return fail(&table.ValueError{Field: "to", Reason: "is also the table from; give another"})
		}
		to = d.withParts(from.Engine().Mode.Parts)
	}
	from, err := maintain.WithOutbox(from, outbox)
	if err != nil {
		return fail(err)
	}
	archiving, err := maintain.With(from, &archiveMaintainer[T]{kind, to})
	if err != nil {
		return fail(err)
	}
	if _, err := maintain.With(from, &restoreMaintainer[T]{kind: kind}); err != nil { // an entity that is archived must be able to come back
		return fail(err)
	}
	return &Mover[T]{kind, from, archiving, to}, nil
}

// Archive requests a move of an entity, if the stored row is still as e was read, and renews e's ETag. A worker moves the entity,
// with what concurrent writers have written to it meanwhile. Until then the entity is in the table, then in both places for a
// moment, and always in at least one. If a concurrent writer deletes the entity meanwhile, the destination does not contain it in
// the end either. If Rekey or Move gives it another key meanwhile, the request may end without an archived row.
//
// Errors: those of [table.Table.Touch], such as table.ErrChanged, table.ErrNotFound and, for a row of an older version,
// table.ErrOldVersion; table.ErrOutbox if the queue does not store the notification, and then nothing was written;
// *table.LimitError for a row that the destination can never store, if it is a [Checker]. Requests: 3, and 1 more if e is not the
// whole row; the worker's are 7. A second request for the same move does no harm.
func (m *Mover[T]) Archive(ctx context.Context, e *table.Entity[T]) error {
	if err := m.archiving.Touch(ctx, e); err != nil {
		return fmt.Errorf("archive: Archive: %w", err)
	}
	return nil
}
