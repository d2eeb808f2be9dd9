package table

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Projection is an entity of which only the properties of P were read.
type Projection[P any] struct {
	Value P
	Key   keys.Key
	ETag  azcore.ETag
}

// View reads the rows of a table of T as the narrower type P: its queries select the properties of
// P, so that the service sends only these. It is safe for concurrent use.
//
//	type Name struct {
//		LastName string
//	}
//
//	names, err := table.ViewOf[Name](staff) // staff is a *table.Table[Employee]
//	for n, err := range names.List(ctx, table.Query[Employee]{Partition: dept.Of("Sales")}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(n.Key.RowKey(), n.Value.LastName)
//	}
//
// A view does not write. A [Projection] contains the key and the ETag of its row: to change the
// entity, read it by the key.
type View[P, T any] struct {
	of *Table[T]
	v  view
}

// view is a View without its types. Code that needs no types is compiled once.
type view struct {
	table  *engine.Table
	codec  *edm.Codec
	choice string
}

// ViewOf returns a view that reads only the properties of P: they become the $select of its
// queries. Each projection also contains the key of its row. If a schema computes keys from fields
// (keys.RowFunc), the view does not check the keys, and every row in the range of keys counts as
// T's.
//
// Entities with parts need a T with parts: otherwise reading one fails with a *DecodeError.
//
// Errors: *TypeError for a field of P that is no property of T, or has another EDM type there. A
// row of an older version that needs an upgrade fails with *VersionError when it is read. Requests:
// none.
func ViewOf[P, T any](t *Table[T]) (*View[P, T], error) {
	if err := engine.CheckHandle("t", t.engine()); err != nil {
		return nil, fmt.Errorf("table: ViewOf: %w", err)
	}
	v, err := newView(t.engine(), reflect.TypeFor[P](), t.engine().Mode.Schema.Query(&Query[T]{}).Codec)
	if err != nil {
		return nil, err
	}
	return &View[P, T]{t, v}, nil
}

// newView returns a view of type typ. of is the codec of the table's type.
func newView(t *engine.Table, typ reflect.Type, of *edm.Codec) (view, error) {
	fail := func(err error) (view, error) { return view{}, fmt.Errorf("table: ViewOf %s: %w", t.Name, err) }
	codec, err := edm.NewCodec(typ, nil)
	if err != nil {
		return fail(err)
	}
	if codec.HasExtra() {
		return fail(&TypeError{Type: typ, Reason: "a projection cannot ask for unknown columns"})
	}
	for _, name := range codec.Names() {
		switch {
		case !of.Has(name) && !of.HasExtra():
			return fail(&TypeError{Type: typ, Field: name, Reason: "is no property of " + of.Type.String()})
		case !sameKind(of.KindOf(name), codec.KindOf(name)):
			return fail(&TypeError{Type: typ, Field: name, Reason: "is " + codec.KindOf(name).String() + ", but " + of.KindOf(name).String() + " in " + of.Type.String()})
		}
	}
	choice := codec.Names()
	if t.Mode.Parts == 0 {
		choice = append(choice, reserved.Parts) // a head without its parts is an error, and not a value with zero fields
	}
	return view{t, codec, t.Mode.Schema.Select(choice...)}, nil
}

// sameKind compares the types of a property in two codecs. Absent means that only the value shows
// the type.
func sameKind(a, b edm.Kind) bool { return a == b || a == edm.Absent || b == edm.Absent }

// Explain is [Table.Explain] for the properties of P.
func (v *View[P, T]) Explain(q Query[T]) (Explanation, error) {
	ex, err := v.of.Explain(q)
	ex.Select = v.v.choice
	return ex, err
}

// List is [Table.List] for the properties of P. It accepts the same queries, and refuses the same
// scans. Errors: ErrTableScan; ErrBudget; *LimitError, *ValueError and *ValueError for the query;
// *DecodeError for a row that does not fit P; *VersionError for a row that Schema.Upgrade would
// change; errors of a read (see package table).
func (v *View[P, T]) List(ctx context.Context, q Query[T]) iter.Seq2[*Projection[P], error] {
	return func(yield func(*Projection[P], error) bool) {
		var p *Projection[P]
		err := v.v.list(ctx, &q, func(k keys.Key, etag azcore.ETag) any {
			p = &Projection[P]{Key: k, ETag: etag}
			return &p.Value
		}, func() bool { return yield(p, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// mostReads is how often a row is read that is over in a query, and extended when it is read by its
// key.
const mostReads = 10

// Get returns the properties of P of one row. Errors: ErrNotFound; *DecodeError if the row does not
// fit P; *VersionError for a row that Schema.Upgrade would change; errors of a read (see package
// table). Requests: 1, a point query, because the SDK's own Get has no $select.
func (v *View[P, T]) Get(ctx context.Context, k keys.Key) (p *Projection[P], err error) {
	if err := engine.QueryErr(k); err != nil {
		return nil, v.v.getError(k, err)
	}
	ctx, end := v.v.table.Span(ctx, "Get")
	defer func() { end(err) }()
	for range mostReads {
		var passed Stats
		for p, err := range v.List(ctx, Query[T]{Partition: k.Partition(), Rows: k.Row().Point(), Limit: 1, Stats: &passed}) {
			return p, err
		}
		if passed.Over == 0 {
			return nil, v.v.getError(k, ErrNotFound)
		}
		there, err := v.v.table.StillThere(ctx, "Get", k)
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, v.v.getError(k, ErrNotFound)
		}
	}
	return nil, v.v.getError(k, ErrContended)
}

func (v view) getError(k keys.Key, err error) error {
	return v.table.OpError("Get", k, err)
}

// list lists a query, a *Query[T]. begin returns the pointer that takes the properties of a row.
func (v view) list(ctx context.Context, q any, begin func(keys.Key, azcore.ETag) any, yield func() bool) error {
	query := *v.table.Mode.Schema.Query(q)
	query.Select = v.choice
	return v.table.List(ctx, "List", query, &viewLister{v, begin, yield})
}

// viewLister is the engine's Lister of projections.
type viewLister struct {
	view
	begin func(keys.Key, azcore.ETag) any
	yield func() bool
}

func (l *viewLister) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	if mine, err := l.table.Mode.Schema.Owns(r, in); !mine || err != nil {
		return mine, err
	}
	to := l.begin(keys.Raw(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag))
	return true, l.codec.Decode(r, reflect.ValueOf(to).Elem())
}

func (l *viewLister) Yield() bool { return l.yield() }
