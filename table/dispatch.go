package table

import (
	"context"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// AnyTable is a *[Table] of any type.
type AnyTable interface {
	member() member
}

// member is one type among those of a table.
type member struct {
	core   *core
	name   string // of the Go type
	typ    string // Schema.Type
	rows   keys.Range
	keyed  func(edm.Entity) bool // it might have made the row's keys
	decode func(*edm.Reader, edm.Entity) (e any, mine bool, err error)
}

func (t *Table[T]) member() member {
	m := member{core: &t.core, name: fmt.Sprintf("%T", *new(T)), typ: t.schema.Type, rows: t.schema.Row.Range()}
	if !m.rows.IsSet() {
		m.rows = everyRow
	}
	m.keyed = func(in edm.Entity) bool {
		var v T
		return t.schema.Row.Decode(&v, in.RowKey) == nil && t.schema.Partition.Decode(&v, in.PartitionKey) == nil
	}
	m.decode = func(r *edm.Reader, in edm.Entity) (any, bool, error) { return t.decode(r, in) }
	return m
}

// Types reads entities of several Go types from one table and gives each its own: an *Entity of the type that is registered
// for the row, or an *Entity[Row] where none is. It is safe for concurrent use.
type Types struct {
	rows    *Table[Row]
	members []member
}

// NewTypes registers the types of a table. A row belongs to the type whose Schema.Type it names in _type; one that names
// none, to the type whose layouts have made its keys. Where two might be it, it is a Row. Errors: *ValueError where two
// types cannot be told apart, for they have the same range of RowKeys and no Type, or the same one; ErrOtherTable for
// tables of different names or services.
func NewTypes(tables ...AnyTable) (*Types, error) {
	fail := func(err error) (*Types, error) { return nil, fmt.Errorf("table: NewTypes: %w", err) }
	if len(tables) == 0 {
		return fail(&ValueError{Field: "tables", Reason: "there is none"})
	}
	m := &Types{}
	for _, t := range tables {
		a := t.member()
		for _, b := range m.members {
			switch {
			case !a.core.same(b.core):
				return fail(fmt.Errorf("%w: %s, not %s", ErrOtherTable, a.core.name, b.core.name))
			case a.typ == b.typ && a.rows == b.rows:
				return fail(&ValueError{Field: "tables", Reason: fmt.Sprintf("the rows of %s and %s cannot be told apart: give them a Schema.Type, or layouts with names", b.name, a.name)})
			}
		}
		m.members = append(m.members, a)
	}
	c := m.members[0].core
	rows, err := New(c.service, c.name, Schema[Row]{}, &Options{Common: c.opt})
	m.rows = rows
	return m, err
}

// Rows is the table as rows of any type: what writes the entities of types that are not registered.
func (m *Types) Rows() *Table[Row] { return m.rows }

// Get reads one entity, of whatever type it is: *Entity[Employee], *Entity[Review], … or *Entity[Row]. 1 request. Errors are
// those of [Table.Get].
func (m *Types) Get(ctx context.Context, k keys.Key) (any, error) {
	row, err := m.rows.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	r := edm.NewReader(row.raw)
	in, err := r.One()
	if err != nil {
		return nil, m.rows.opError("Get", k, err)
	}
	in.ETag, in.Timestamp = string(row.ETag), row.Timestamp
	e, err := m.dispatch(r, in)
	if err != nil {
		return nil, m.rows.opError("Get", k, err)
	}
	return e, nil
}

// List yields the entities of a query in the order of their keys, each as its own type: an entity with all that is stored
// below it ([keys.Family]), in one query. Conditions name properties ([PropertyOf]). Requests and errors are those of
// [Table.List].
func (m *Types) List(ctx context.Context, q Query[Row]) iter.Seq2[any, error] {
	return list(m.rows, ctx, "List", q, "", true, func(r *edm.Reader, in edm.Entity) (any, bool, error) {
		e, err := m.dispatch(r, in)
		return e, true, err
	})
}

// dispatch makes of the row that the reader has just read an entity of its type.
func (m *Types) dispatch(r *edm.Reader, in edm.Entity) (any, error) {
	typ, err := r.Property(reserved.Type)
	if err != nil {
		return nil, err
	}
	var found any
	n := 0
	for _, c := range m.members {
		if typ.S != "" && c.typ != typ.S || !c.keyed(in) {
			continue
		}
		// Where keys are computed from fields, only these tell whether it has made them.
		e, mine, derr := c.decode(r, in)
		if mine {
			found, err = e, derr
			n++
		}
	}
	if n == 1 {
		return found, err
	}
	e, _, err := m.rows.decode(r, in)
	return e, err
}
