package table

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// AnyTable is a *[Table] of any type.
type AnyTable interface {
	handle() handle
}

func (t *Table[T]) handle() handle { return t.h }

// Types reads entities of several Go types from one table, each as its own type: an *Entity of the type that is registered for the
// row, or an *Entity[Row] if none is. It is safe for concurrent use.
type Types struct {
	rows    *Table[Row]
	members []*shape
}

// NewTypes registers the types of a table. A row belongs to the type that it names in _type (Schema.Type). A row without _type belongs
// to the type whose layouts have made its keys. If that is true of two types, it is a Row. Errors: *ValueError for two types that
// cannot be told apart, because they have the same range of RowKeys and the same Type, or none, and for tables of different names or
// services.
func NewTypes(tables ...AnyTable) (*Types, error) {
	fail := func(err error) (*Types, error) { return nil, fmt.Errorf("table: NewTypes: %w", err) }
	if len(tables) == 0 {
		return fail(&ValueError{Field: "tables", Reason: "there is none"})
	}
	m := &Types{}
	first := tables[0].handle().engine
	for _, t := range tables {
		h := t.handle()
		if !h.engine.Same(first) {
			return fail(&ValueError{Field: "tables", Reason: fmt.Sprintf("%s is not the table %s, or not of the same service; the types of one table belong together", h.engine.Name, first.Name)})
		}
		for _, b := range m.members {
			if h.shape.name == b.name && h.shape.Rows() == b.Rows() {
				return fail(&ValueError{Field: "tables", Reason: fmt.Sprintf("the rows of %s and %s cannot be told apart: give them a Schema.Type, or layouts with names", b.typ, h.shape.typ)})
			}
		}
		m.members = append(m.members, h.shape)
	}
	s := rowShape()
	m.rows = &Table[Row]{handle{first.With(engine.Mode{Schema: s}), s}}
	return m, nil
}

// Rows is the table as rows of any type: what writes the entities of types that are not registered.
func (m *Types) Rows() *Table[Row] { return m.rows }

// Get reads one entity, of whatever type it is: *Entity[Employee], *Entity[Review], … or *Entity[Row]. 1 request. Errors are
// those of [Table.Get].
func (m *Types) Get(ctx context.Context, k keys.Key) (any, error) {
	h := m.rows.h
	fail := func(err error) (any, error) { return nil, h.opError("Get", k, err) }
	if err := errors.Join(k.Err(), ctx.Err()); err != nil {
		return fail(err)
	}
	ctx, end := h.engine.Span(ctx, "Get")
	r, in, err := h.engine.OpenRow(ctx, k)
	end(err)
	if err != nil {
		return fail(err)
	}
	e, err := m.dispatch(r, in)
	if err != nil {
		return fail(err)
	}
	return e, nil
}

// List yields the entities of a query in the order of their keys, each as its own type: an entity with all that is stored
// below it ([keys.Family]), in one query. Conditions name properties ([PropertyOf]). Requests and errors are those of
// [Table.List].
func (m *Types) List(ctx context.Context, q Query[Row]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		h := m.rows.h
		err := h.list(ctx, "List", *h.query(untyped(&q), true), func(r *edm.Reader, in edm.Entity) (entity, bool, error) {
			e, err := m.dispatch(r, in)
			return e, true, err
		}, func(e entity) bool { return yield(e, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// dispatch makes of the row that the reader has just read an entity of its type.
func (m *Types) dispatch(r *edm.Reader, in edm.Entity) (entity, error) {
	typ, err := r.Property(reserved.Type)
	if err != nil {
		return nil, err
	}
	var found entity
	n := 0
	for _, s := range m.members {
		if typ.S != "" && s.name != typ.S || !s.keyed(in) {
			continue
		}
		// If keys are computed from fields, only these tell whether they have made them.
		e, mine, derr := s.read(r, in)
		if mine {
			found, err = e, derr
			n++
		}
	}
	if n == 1 {
		return found, err
	}
	e, _, err := m.rows.h.shape.read(r, in)
	return e, err
}
