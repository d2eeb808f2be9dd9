package table

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Mixed reads entities of several Go types from one table. Each entity has its own type: *Entity[T]
// for the type T of its row, or *Entity[Row] for a row of no registered type. It is safe for
// concurrent use.
//
//	reader, err := table.NewMixed(staff, reviews) // two handles of one table
//
//	// Employee 123 and all her reviews, in one query.
//	q := table.Query[table.Row]{Partition: dept.Of("Sales"), Rows: empid.Of(123).Family()}
//	for x, err := range reader.List(ctx, q) {
//		if err != nil {
//			return err
//		}
//		switch x := x.(type) {
//		case *table.Entity[Employee]:
//			fmt.Println(x.Value.LastName)
//		case *table.Entity[Review]:
//			fmt.Println(x.Value.Year, x.Value.Rating)
//		}
//	}
//
// The handles of the types write the entities; [Transact] writes entities of several types
// together.
type Mixed struct {
	rows    *Table[Row]
	schemas []engine.Schema
}

// NewMixed returns a reader for the types of a table. A row belongs to the type that it names in
// _type (Schema.Type). A row without _type belongs to the type whose layouts decode its keys. If
// the layouts of two types decode them, the row is a Row.
//
// Errors: *ValueError for two types that cannot be told apart, because they have the same range of
// RowKeys and the same Schema.Type or none; for tables of different names or services; and for no
// table. Requests: none.
func NewMixed(tables ...Handle) (*Mixed, error) {
	fail := func(reason string) (*Mixed, error) {
		return nil, fmt.Errorf("table: NewMixed: %w", &ValueError{Field: "tables", Reason: reason})
	}
	if len(tables) == 0 {
		return fail("there is none")
	}
	for _, t := range tables {
		if wire.IsNil(t) || t.engine() == nil {
			return fail("contain a nil or zero Table; give handles that New has returned")
		}
	}
	first := tables[0].engine()
	m := &Mixed{}
	for _, t := range tables {
		t := t.engine()
		if !t.Same(first) {
			return fail(fmt.Sprintf("%s is not the table %s, or not of the same service; the types of one table belong together", t.Name, first.Name))
		}
		s := t.Mode.Schema
		for _, other := range m.schemas {
			a, name := other.Type()
			if b, same := s.Type(); same == name && s.Rows() == other.Rows() {
				return fail(fmt.Sprintf("the rows of %s and %s cannot be told apart: give them a Schema.Type, or layouts with names", a, b))
			}
		}
		m.schemas = append(m.schemas, s)
	}
	parts := 0
	var ends *engine.Ends
	for _, t := range tables {
		t := t.engine()
		parts = max(parts, t.Mode.Parts)
		if t.Mode.Ends() == nil {
			continue
		}
		if ends == nil {
			ends = new(engine.Ends)
		}
		ends.Types = append(ends.Types, t)
	}
	m.rows = &Table[Row]{rowsOf(first, true).h.inMode(func(mode *engine.Mode) {
		mode.BlindWrites, mode.LibraryRows, mode.Parts = false, false, parts
		mode.SetEnds(ends)
	})}
	return m, nil
}

// Rows returns a handle of the same table for rows of any type. It can write entities of types that
// are not registered.
func (m *Mixed) Rows() *Table[Row] { return m.rows }

// Get returns one entity, of its own type: *Entity[Employee], *Entity[Review], … or *Entity[Row].
// Errors: ErrNotFound; *DecodeError if the row does not fit its type; errors of a read (see package
// table). Requests: 1.
func (m *Mixed) Get(ctx context.Context, k keys.Key) (any, error) {
	t := m.rows.engine()
	fail := func(err error) (any, error) { return nil, t.OpError("Get", k, err) }
	if err := errors.Join(engine.AddressErr(k), ctx.Err()); err != nil {
		return fail(err)
	}
	ctx, end := t.Span(ctx, "Get")
	r, in, err := t.OpenRow(ctx, k)
	end(err)
	if err != nil {
		return fail(err)
	}
	e, err := m.entity(r, in)
	if err != nil {
		return fail(err)
	}
	return e, nil
}

// List yields the entities of a query in the order of their keys, each of its own type. One query
// can read an entity with the rows below it ([keys.RowKey.Family]). Conditions name properties
// ([PropertyOf]). Errors: ErrTableScan for a query without a partition; ErrBudget; *LimitError,
// *ValueError and *ValueError for the query; *DecodeError for a row that does not fit its type;
// errors of a read (see package table). Requests are those of [Table.List].
func (m *Mixed) List(ctx context.Context, q Query[Row]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		t := m.rows.engine()
		if err := t.List(ctx, "List", *t.Mode.Schema.Query(&q), &mixedLister{reader: m, yield: yield}); err != nil {
			yield(nil, err)
		}
	}
}

// mixedLister is the engine's Lister of a reader.
type mixedLister struct {
	reader *Mixed
	yield  func(any, error) bool
	last   any
}

func (l *mixedLister) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	l.last, err = l.reader.entity(r, in)
	return true, err
}

func (l *mixedLister) Yield() bool { return l.yield(l.last, nil) }

// entity returns the entity of the row that r has just read.
func (m *Mixed) entity(r *edm.Reader, in edm.Entity) (any, error) {
	named, err := r.Property(reserved.Type)
	if err != nil {
		return nil, err
	}
	var found any
	n := 0
	for _, s := range m.schemas {
		if _, name := s.Type(); named.S != "" && named.S != name {
			continue
		}
		// If a schema computes keys from fields, only the fields show whether it has made the keys
		// of the row.
		e, mine, derr := s.Read(r, in)
		if mine {
			found, err = e, derr
			n++
		}
	}
	if n == 1 {
		return found, err
	}
	e, _, err := m.rows.engine().Mode.Schema.Read(r, in)
	return e, err
}
