package table

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Handle is a *Table of any type.
type Handle interface {
	Name() string

	engine() *engine.Table // without its type parameter, nil for a nil or zero Table
	inner() untyped
}

func init() { door.Tables = doors{} }

// doors is what other packages of this module do with handles, rows and operations; see package door.
type doors struct{}

func (doors) Table(t any) *engine.Table {
	if t, is := t.(Handle); is {
		return t.engine()
	}
	return nil
}

func (doors) Inner(t any) any { return t.(Handle).inner() }

func (doors) InMode(t any, change func(*engine.Mode)) any { return t.(Handle).inner().inMode(change) }

func (doors) Rows(t *engine.Table, hasID bool) any { return rowsOf(t, hasID) }

func (doors) Elsewhere(t any, other *engine.Table) any { return t.(Handle).inner().elsewhere(other) }

func (doors) Op(op any) *engine.Op { return op.(Op).engine() }

func (doors) Scan(ctx context.Context, t, q any, entities bool, h *stored.Hasher, yield func(*engine.Scanned) bool) error {
	return t.(Handle).inner().scan(ctx, q, entities, h, yield)
}

func (doors) Copies(ctx context.Context, t, q any, yield func(row *stored.Row, e any) bool) error {
	return t.(Handle).inner().copies(ctx, q, yield)
}

func (doors) GetCopy(ctx context.Context, t any, k keys.Key) (*stored.Row, any, error) {
	return t.(Handle).inner().getCopy(ctx, k)
}

func (doors) InsertRow(ctx context.Context, t any, k keys.Key, r *stored.Row) (any, error) {
	return t.(Handle).inner().insertRow(ctx, k, r)
}

func (doors) InsertRowOp(t any, k keys.Key, r *stored.Row) any {
	return t.(Handle).inner().insertRowOp(k, r)
}

func (doors) Faulty(t any, name string, fault error) any {
	return t.(Handle).inner().faulty(name, fault)
}

func (doors) CheckPass(pass any, used ...string) error { return checkPass(pass.(*Pass), used...) }

func (doors) CopyCursor(c any) any { return &Cursor{*c.(*Cursor).c.Copy()} }

func (doors) New(t, service any, name string, schema, o any) (any, error) {
	s, _ := service.(engine.Service)
	return t.(Handle).inner().make(s, name, schema, o.(*Options))
}

// untyped is what package door does with a handle of any type.
type untyped interface {
	inMode(change func(*engine.Mode)) any
	elsewhere(other *engine.Table) any
	scan(ctx context.Context, q any, entities bool, h *stored.Hasher, yield func(*engine.Scanned) bool) error
	copies(ctx context.Context, q any, yield func(row *stored.Row, e any) bool) error
	insertRow(ctx context.Context, k keys.Key, r *stored.Row) (any, error)
	insertRowOp(k keys.Key, r *stored.Row) Op
	getCopy(ctx context.Context, k keys.Key) (*stored.Row, any, error)
	eachPartition(ctx context.Context, p *Pass, f func(context.Context, keys.PartitionKey) error) (Progress, error)
	faulty(name string, fault error) any
	make(service engine.Service, name string, schema any, o *Options) (any, error)
}

// inner is a handle with what packages door and tabledoor do with it.
type inner[T any] struct{ h handle }

func (t *Table[T]) inner() untyped {
	if t == nil {
		return inner[T]{}
	}
	return inner[T]{t.h}
}

func (t *Table[T]) engine() *engine.Table {
	if t == nil {
		return nil
	}
	return t.h.engine
}

// make returns a handle of a table. Errors: *TypeError for a T that cannot be stored; *keys.KeyError for a wrong binding; *ValueError or
// *LimitError for a name that no table can have (3 to 63 letters and digits, a letter first), a nil service, or a wrong schema or option.
func (inner[T]) make(service engine.Service, name string, schema any, o *Options) (any, error) {
	h, err := newHandle(service, name, schemaOf(schema.(*Schema[T])), o)
	if err != nil {
		return nil, err
	}
	return &Table[T]{h}, nil
}

// faulty returns a handle whose methods return a fault. It knows no field of T.
func (t inner[T]) faulty(name string, fault error) any {
	s := schemaOf(&Schema[T]{})
	s.codec, _ = edm.NewCodec(emptyType, nil) // it has no mistake
	return &Table[T]{handle{engine.Faulty(name, fault).WithMode(engine.Mode{Schema: s}), s}}
}

func (t inner[T]) inMode(change func(*engine.Mode)) any { return &Table[T]{t.h.inMode(change)} }

func (t inner[T]) elsewhere(other *engine.Table) any { return &Table[T]{t.h.elsewhere(other)} }

func (t inner[T]) scan(ctx context.Context, q any, entities bool, h *stored.Hasher, yield func(*engine.Scanned) bool) error {
	query := q.(*Query[T]).engine()
	query.WithoutJSON = !entities
	return t.h.engine.Scan(ctx, *t.h.schema.query(query, false), h, yield)
}

func (t inner[T]) copies(ctx context.Context, q any, yield func(row *stored.Row, e any) bool) error {
	return t.h.listCopies(ctx, q.(*Query[T]).engine(), yield)
}

func (t inner[T]) getCopy(ctx context.Context, k keys.Key) (*stored.Row, any, error) {
	row, e, err := t.h.getCopy(ctx, k)
	return row, e, err
}

func (t inner[T]) insertRow(ctx context.Context, k keys.Key, r *stored.Row) (any, error) {
	return sendStoring[T](ctx, t.h.insertRow(k, (*Row)(r)))
}

func (t inner[T]) insertRowOp(k keys.Key, r *stored.Row) Op { return t.h.insertRow(k, (*Row)(r)) }

func (t inner[T]) eachPartition(
	ctx context.Context, p *Pass, f func(context.Context, keys.PartitionKey) error,
) (Progress, error) {
	return t.h.eachPartition(ctx, p, f)
}

// GetRow and the others are documented in package tabledoor.

func (t inner[T]) GetRow(ctx context.Context, k keys.Key) (*Row, error) { return t.h.getRow(ctx, k) }

func (t inner[T]) Exists(ctx context.Context, k keys.Key) (bool, error) { return t.h.exists(ctx, k) }

func (t inner[T]) InsertAtOp(k keys.Key, v *T) Op { return t.h.insertAt(k, newEntity(v)) }

func (t inner[T]) UpsertAtOp(k keys.Key, v *T, mode UpsertMode) Op {
	return t.h.upsert("UpsertAt", k, newEntity(v), mode, false)
}

func (t inner[T]) UpsertAt(ctx context.Context, k keys.Key, v *T, mode UpsertMode) (*Entity[T], error) {
	return sendStoring[T](ctx, t.UpsertAtOp(k, v, mode))
}

func (t inner[T]) MergeAnyOp(k keys.Key, changes ...Set[T]) Op { return t.h.mergeAny(k, sets(changes)) }

func (t inner[T]) ReplaceAnyOp(e *Entity[T]) Op { return t.h.replaceAny(e) }

func (t inner[T]) PinOp(e *Entity[T]) Op { return t.h.pin(e) }

func (t inner[T]) TouchOp(e *Entity[T]) Op { return t.h.touch(e) }

func (t inner[T]) Touch(ctx context.Context, e *Entity[T]) error { return t.h.touch(e).send(ctx) }

func (t inner[T]) DeleteOps(ctx context.Context, q Query[T]) iter.Seq2[Op, error] {
	return t.h.deletes(ctx, q.engine())
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
	return handle{other.WithMode(engine.Mode{BlindWrites: true, Schema: &s}), &s}
}
