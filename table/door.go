package table

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Handle is a *Table of any type.
type Handle interface {
	Name() string

	engine() *engine.Table // without its type parameter, nil for a nil or zero Table
	inner() inner
	wrap(h handle) any           // a handle of the same type
	schemaOf(schema any) *schema // a new one: of a *Schema of the same type, or without fields for nil
}

func init() { door.Tables = doors{} }

// doors is what other packages of this module do with handles, rows and operations; see package
// door.
type doors struct{}

func (doors) Table(t any) *engine.Table {
	if t, is := t.(Handle); is {
		return t.engine()
	}
	return nil
}

func (doors) Inner(t any) any { return t.(Handle).inner() }

func (doors) KeyOf(e any) keys.Key { return *e.(entity).fields().key }

func (doors) ValueOf(e any) any { return e.(entity).fields().value }

func (doors) QueryOf(q any) query.Query { return q.(queried).engine() }

func (doors) InMode(t any, change func(*engine.Mode)) any {
	of := t.(Handle)
	return of.wrap(of.inner().h.inMode(change))
}

func (doors) Rows(t *engine.Table, hasID bool) any { return rowsOf(t, hasID) }

func (doors) Elsewhere(t any, other *engine.Table) any {
	of := t.(Handle)
	return of.wrap(of.inner().h.elsewhere(other))
}

func (doors) Op(op any) *engine.Op { return op.(Op).engine() }

// queried is a *Query of any type.
type queried interface{ engine() query.Query }

func (doors) Scan(
	ctx context.Context, t, q any, entities bool, h *stored.Hasher, yield func(*engine.Scanned) bool,
) error {
	of := t.(Handle).inner().h
	query := q.(queried).engine()
	query.WithoutJSON = !entities
	return of.engine.Scan(ctx, *of.schema.query(query, false), h, yield)
}

func (doors) InsertRow(ctx context.Context, t any, k keys.Key, r *stored.Row) (any, error) {
	op := t.(Handle).inner().h.insertRow(k, (*Row)(r))
	if err := op.send(ctx); err != nil {
		return nil, err
	}
	return op.stored(), nil
}

func (doors) InsertRowOp(t any, k keys.Key, r *stored.Row) any {
	return t.(Handle).inner().h.insertRow(k, (*Row)(r))
}

// Faulty returns a handle whose methods return a fault. It knows no field of the type.
func (doors) Faulty(t any, name string, fault error) any {
	of := t.(Handle)
	s := of.schemaOf(nil)
	s.codec, _ = edm.NewCodec(emptyType, nil) // it has no mistake
	return of.wrap(handle{engine.Faulty(name, fault).WithMode(engine.Mode{Schema: s}), s})
}

func (doors) CheckPass(pass any, used ...string) error { return checkPass(pass.(*Pass), used...) }

// New returns a handle of a table.
//
// Errors:
//   - *TypeError for a type that cannot be stored
//   - *keys.KeyError for a wrong binding
//   - *ValueError or *LimitError for a name that no table can have (3 to 63 letters and digits, a
//     letter first), a nil service, or a wrong schema or option
func (doors) New(t, service any, name string, schema, o any) (any, error) {
	of := t.(Handle)
	s, _ := service.(engine.Service)
	h, err := newHandle(s, name, of.schemaOf(schema), o.(*Options))
	if err != nil {
		return nil, err
	}
	return of.wrap(h), nil
}

func (t *Table[T]) engine() *engine.Table {
	if t == nil {
		return nil
	}
	return t.h.engine
}

func (t *Table[T]) inner() inner {
	if t == nil {
		return inner{}
	}
	return inner{t.h}
}

func (*Table[T]) wrap(h handle) any { return &Table[T]{h} }

func (*Table[T]) schemaOf(s any) *schema {
	if s == nil {
		return schemaOf(&Schema[T]{})
	}
	return schemaOf(s.(*Schema[T]))
}

// inner is a handle without its type parameter; see package tabledoor.
type inner struct{ h handle }

func (t inner) Name() string          { return t.h.engine.NameOf() }
func (t inner) engine() *engine.Table { return t.h.engine }
func (t inner) inner() inner          { return t }
func (t inner) wrap(h handle) any     { return inner{h} }
func (t inner) schemaOf(any) *schema  { s := *t.h.schema; return &s }

func (t inner) List(ctx context.Context, q Query[Row]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		err := t.h.listAll(ctx, q.engine(), func(e entity) bool { return yield(e, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

func (t inner) RowsOf(ctx context.Context, q query.Query) iter.Seq2[*Row, error] {
	return t.h.listRows(ctx, q)
}

func (t inner) Copies(ctx context.Context, q query.Query, yield func(*stored.Row, any) bool) error {
	return t.h.listCopies(ctx, q, yield)
}

func (t inner) GetCopy(ctx context.Context, k keys.Key) (*stored.Row, any, error) {
	row, e, err := t.h.getCopy(ctx, k)
	return row, e, err
}

func (t inner) ListOf(ctx context.Context, q query.Query, yield func(any) bool) error {
	return t.h.listAll(ctx, q, func(e entity) bool { return yield(e) })
}

func (t inner) PageOf(ctx context.Context, q query.Query, token string, yield func(any) bool) (string, error) {
	return t.h.page(ctx, q, token, func(e entity) bool { return yield(e) })
}

func (t inner) DeleteOp(e any) Op { return t.h.remove(e.(entity)) }

func (t inner) Delete(ctx context.Context, e any) error { return t.DeleteOp(e).send(ctx) }

func (t inner) GetMany(ctx context.Context, ks []keys.Key, yield func(any, error) bool) {
	t.h.getMany(ctx, ks, func(e entity, err error) bool { return yield(e, err) })
}

func (t inner) Rows(ctx context.Context, q Query[Row]) iter.Seq2[*Row, error] {
	return t.h.listRows(ctx, q.engine())
}

func (t inner) Entity(row *Row) (any, error) {
	e, err := t.h.entity(row)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (t inner) Partitions(ctx context.Context, in keys.PartitionRange) iter.Seq2[keys.PartitionKey, error] {
	return t.h.partitionsIn(ctx, in)
}

func (t inner) Get(ctx context.Context, k keys.Key) (any, error) {
	e, err := t.h.spannedGet(ctx, k)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (t inner) GetRow(ctx context.Context, k keys.Key) (*Row, error) { return t.h.getRow(ctx, k) }

func (t inner) Exists(ctx context.Context, k keys.Key) (bool, error) { return t.h.exists(ctx, k) }

func (t inner) InsertAtOp(k keys.Key, e any) Op { return t.h.insertAt(k, e.(entity)) }

func (t inner) InsertAt(ctx context.Context, k keys.Key, e any) error {
	return t.h.insertAt(k, e.(entity)).send(ctx)
}

func (t inner) UpsertOp(e any, mode UpsertMode) Op {
	of := e.(entity)
	return t.h.upsert("Upsert", t.h.schema.keyOf(of.fields().value), of, mode, true)
}

func (t inner) DeleteAnyOp(k keys.Key) Op { return t.h.removeAny(k) }

func (t inner) UpsertAtOp(k keys.Key, e any, mode UpsertMode) Op {
	return t.h.upsert("UpsertAt", k, e.(entity), mode, false)
}

func (t inner) UpsertAt(ctx context.Context, k keys.Key, e any, mode UpsertMode) (any, error) {
	op := t.UpsertAtOp(k, e, mode)
	err := op.send(ctx)
	return op.stored(), err
}

func (t inner) MergeAnyOp(k keys.Key, changes []any) Op {
	all := make([]set, len(changes))
	for i, c := range changes {
		all[i] = c.(interface{ untyped() set }).untyped()
	}
	return t.h.mergeAny(k, all)
}

func (t inner) ReplaceAnyOp(e any) Op { return t.h.replaceAny(e.(entity)) }

func (t inner) PinOp(e any) Op { return t.h.pin(e.(entity)) }

func (t inner) TouchOp(e any) Op { return t.h.touch(e.(entity)) }

func (t inner) Touch(ctx context.Context, e any) error { return t.h.touch(e.(entity)).send(ctx) }

func (t inner) DeleteOps(ctx context.Context, q any) iter.Seq2[Op, error] {
	return t.h.deletes(ctx, q.(queried).engine())
}

// rowsOf returns a handle for rows of any type; see door.Rows.
func rowsOf(t *engine.Table, hasID bool) *Table[Row] {
	rows := *t.LibraryHandle()
	rows.Options.OmitOperationID = rows.Options.OmitOperationID || !hasID
	s := rowSchema()
	rows.Mode.Schema, rows.Mode.Parts = s, t.Mode.Parts
	return &Table[Row]{handle{&rows, s}}
}

func (h handle) elsewhere(other *engine.Table) handle {
	s := *h.schema
	s.partitions = keys.PartitionRange{}
	return handle{other.WithMode(engine.Mode{Schema: &s, Writing: engine.Writing{BlindWrites: true}}), &s}
}
