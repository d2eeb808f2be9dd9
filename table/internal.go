package table

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Engine, InMode, Elsewhere, Scan, InsertRow (insertrow.go), RowsOf, RowOf and ErrorOf are for packages of this module: their signatures name types
// of an internal package. Programs do not need them, and they may change with any release.

// Engine returns the handle without its type parameter, nil for a nil or zero Table. It is for packages of this module.
func (t *Table[T]) Engine() *engine.Table {
	if t == nil {
		return nil
	}
	return t.h.engine
}

// InMode returns the same handle in another mode. It is for packages of this module.
func (t *Table[T]) InMode(change func(*engine.Mode)) *Table[T] { return &Table[T]{t.h.with(change)} }

// RowsOf returns a handle for rows of any type, also derived rows and the library's own. It has no maintainers, and its Entity
// returns every row whole, also a copy. If hasID is set, it stores an operation ID in each row that it writes: set it for entities,
// not for lists and summaries. It is for packages of this module.
func RowsOf(t *engine.Table, hasID bool) *Table[Row] {
	plain := *t.Plain()
	plain.Options.OmitOperationID = plain.Options.OmitOperationID || !hasID
	s := rowShape()
	plain.Mode.Schema, plain.Mode.Parts = s, t.Mode.Parts
	return &Table[Row]{handle{&plain, s}}
}

// Elsewhere returns a handle without maintainers for the copies of entities in another table. Its lists take any partition. It is for
// packages of this module.
func (t *Table[T]) Elsewhere(other *engine.Table) *Table[T] { return &Table[T]{t.h.elsewhere(other)} }

func (h handle) elsewhere(other *engine.Table) handle {
	s := *h.shape
	s.partition.all = keys.Range{}
	return handle{other.With(engine.Mode{BlindWrites: true, Schema: &s}), &s}
}

// Scan is Rows for callers that decode only some of what they read; see engine.Scanned. Entities says that Scanned.Entity is called.
// It is for packages of this module.
func (t *Table[T]) Scan(ctx context.Context, q Query[T], entities bool, h *engine.Hasher, yield func(*engine.Scanned) bool) error {
	plain := q.engine()
	plain.WithoutJSON = !entities
	return public(t.h.engine.Scan(ctx, *t.h.shape.query(plain, false), h, yield))
}

// Engine returns the row without what Set and Delete note of changes, nil for nil. It is for packages of this module.
func (r *Row) Engine() *engine.Row { return r.row() }

// RowOf returns a row of the engine, nil for nil. It is for packages of this module.
func RowOf(r *engine.Row) *Row { return rowOf(r) }

// ErrorOf returns an error of the engine as one of this package, with the errors that it wraps, and any other error as it is. It is
// for packages of this module.
func ErrorOf(err engine.Error) error { return public(err) }

// Engine returns the options with their defaults. It is for packages of this module.
func (o Common) Engine() engine.Options { return o.engine() }
