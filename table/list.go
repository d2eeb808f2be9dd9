package table

import (
	"context"
	"iter"
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// List yields the entities of a query in the order of their keys. Nothing is sent until it is ranged over, breaking out of
// the loop ends it, an error is yielded once and ends it, and ranging again starts again. 1 request for each page; pages
// that are short or empty, which the service may send at any time, are followed by the next. Rows whose key another layout
// has made are skipped and counted in Query.Stats.
//
// Errors: ErrTableScan for a query without a partition; *LimitError for more than 15 comparisons; *ValueError for values
// that cannot be compared; *keys.KeyError; *DecodeError for a row that does not fit T; ErrTableNotFound.
func (t *Table[T]) List(ctx context.Context, q Query[T]) iter.Seq2[*Entity[T], error] {
	plain := untyped(&q)
	return func(yield func(*Entity[T], error) bool) {
		if err := t.h.listAll(ctx, plain, func(e entity) bool { return yield(e.(*Entity[T]), nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// listAll gives the entities of a query to yield, until yield returns false.
func (h handle) listAll(ctx context.Context, q engine.Query, yield func(entity) bool) error {
	return h.list(ctx, "List", *h.query(q, true), h.shape.read, yield)
}

// list gives the entities of a query to yield, as read makes them, until yield returns false.
func (h handle) list(ctx context.Context, method string, q engine.Query, read func(*edm.Reader, edm.Entity) (entity, bool, error), yield func(entity) bool) error {
	return public(h.engine.List(ctx, method, q, &entities{read: read, yield: yield}))
}

// entities is the engine's Lister of entities.
type entities struct {
	read  func(*edm.Reader, edm.Entity) (entity, bool, error)
	yield func(entity) bool
	last  entity
}

func (l *entities) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	l.last, mine, err = l.read(r, in)
	return mine, err
}

func (l *entities) Yield() bool { return l.yield(l.last) }

// rowLister is the engine's Lister of rows.
type rowLister struct {
	yield func(*Row, error) bool
	last  *Row
}

func (l *rowLister) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	columns, err := r.Columns()
	l.last = &Row{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, columns: columns}
	return true, err
}

func (l *rowLister) Yield() bool { return l.yield(l.last, nil) }

// Rows yields the rows of a query as they are stored, whatever their type, in the order of their keys. Where the query names
// no range, it is the whole partition without the library's own rows. Requests and errors are those of List.
func (t *Table[T]) Rows(ctx context.Context, q Query[T]) iter.Seq2[*Row, error] {
	return t.h.listRows(ctx, untyped(&q))
}

//go:noinline
func (h handle) listRows(ctx context.Context, q engine.Query) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if err := h.engine.List(ctx, "Rows", *h.query(q, false), &rowLister{yield: yield}); err != nil {
			yield(nil, public(err))
		}
	}
}

// Projection is an entity of which only the properties of P were read.
type Projection[P any] struct {
	Value P
	Key   keys.Key
	ETag  azcore.ETag
}

// View reads rows of a table of T as the narrower type P. It is safe for concurrent use.
type View[P, T any] struct{ v view }

// view is a View without its types.
type view struct {
	h      handle
	plan   *edm.Plan
	choice string
}

// As makes a view that reads only the properties of P: they become the query's $select. Each must be a property of T and
// of the same EDM type, else it is a *TypeError. The rows' keys come with each projection. If keys are computed from
// fields (keys.BindFunc), a view does not check them, and takes all rows in the range of keys to be T's. A row of an older
// version that needs an upgrade is a *VersionError.
func As[P, T any](t *Table[T]) (*View[P, T], error) {
	v, err := t.h.view(reflect.TypeFor[P]())
	if err != nil {
		return nil, t.h.opError("As", keys.Key{}, err)
	}
	return &View[P, T]{v}, nil
}

func (h handle) view(typ reflect.Type) (view, error) {
	plan, err := edm.NewPlan(typ, nil)
	if err != nil {
		return view{}, err
	}
	fail := func(field, reason string) (view, error) {
		return view{}, &TypeError{Type: typ, Field: field, Reason: reason}
	}
	if plan.HasExtra() {
		return fail("", "a projection cannot ask for unknown columns")
	}
	of := h.shape.plan
	for _, name := range plan.Names() {
		switch {
		case !of.Has(name) && !of.HasExtra():
			return fail(name, "is no property of "+of.Type.String())
		case !sameKind(of.KindOf(name), plan.KindOf(name)):
			return fail(name, "is "+plan.KindOf(name).String()+", but "+of.KindOf(name).String()+" in "+of.Type.String())
		}
	}
	return view{h, plan, h.shape.choose(plan.Names()...)}, nil
}

// sameKind compares the types of a property in two plans. Absent is a type that only the value tells.
func sameKind(a, b edm.Kind) bool { return a == b || a == edm.Absent || b == edm.Absent }

// Explain is [Table.Explain] for the properties of P.
func (v *View[P, T]) Explain(q Query[T]) (Explanation, error) {
	ex, err := v.v.h.explain(untyped(&q))
	ex.Select = v.v.choice
	return ex, err
}

// List is [Table.List] for the properties of P. It takes the same queries and refuses the same scans.
func (v *View[P, T]) List(ctx context.Context, q Query[T]) iter.Seq2[*Projection[P], error] {
	return func(yield func(*Projection[P], error) bool) {
		var p *Projection[P]
		err := v.v.list(ctx, untyped(&q), func(k keys.Key, etag azcore.ETag) any {
			p = &Projection[P]{Key: k, ETag: etag}
			return &p.Value
		}, func() bool { return yield(p, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// Get reads one row's properties of P. 1 request, a point query, for the SDK's own Get knows no projection. Errors:
// ErrNotFound, ErrTableNotFound, *keys.KeyError, *DecodeError.
func (v *View[P, T]) Get(ctx context.Context, k keys.Key) (*Projection[P], error) {
	if err := k.Err(); err != nil {
		return nil, v.v.h.opError("Get", k, err)
	}
	for p, err := range v.List(ctx, Query[T]{Partition: k.Partition(), Rows: keys.Point(k.Row()), Limit: 1}) {
		return p, err
	}
	return nil, v.v.h.opError("Get", k, ErrNotFound)
}

// list is the list of a view. begin returns the pointer that takes the properties of a row.
func (v view) list(ctx context.Context, q engine.Query, begin func(keys.Key, azcore.ETag) any, yield func() bool) error {
	q = *v.h.query(q, true)
	q.Select = v.choice
	return public(v.h.engine.List(ctx, "List", q, &projections{v, begin, yield}))
}

// projections is the engine's Lister of projections.
type projections struct {
	view
	begin func(keys.Key, azcore.ETag) any
	yield func() bool
}

func (l *projections) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	if mine, err := l.h.shape.owns(r, in); !mine || err != nil {
		return mine, err
	}
	to := l.begin(keys.Stored(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag))
	return true, l.plan.Decode(r, reflect.ValueOf(to).Elem())
}

func (l *projections) Yield() bool { return l.yield() }
