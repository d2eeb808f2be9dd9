package table

import (
	"context"
	"iter"
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
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
	return list(t, ctx, "List", q, "", true, func(r *edm.Reader, in edm.Entity) (*Entity[T], bool, error) {
		return t.decode(r, in)
	})
}

// Rows yields the rows of a query as they are stored, whatever their type, in the order of their keys. Where the query names
// no range, it is the whole partition without the library's own rows. Requests and errors are those of List.
func (t *Table[T]) Rows(ctx context.Context, q Query[T]) iter.Seq2[*Row, error] {
	return list(t, ctx, "Rows", q, "", false, func(r *edm.Reader, in edm.Entity) (*Row, bool, error) {
		columns, err := r.Columns()
		return &Row{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, columns: columns}, true, err
	})
}

// Projection is an entity of which only the properties of P were read.
type Projection[P any] struct {
	Value P
	Key   keys.Key
	ETag  azcore.ETag
}

// View reads rows of a table of T as the narrower type P. It is safe for concurrent use.
type View[P, T any] struct {
	table  *Table[T]
	plan   *edm.Plan
	choice string
}

// As makes a view that reads only the properties of P: they become the query's $select. Each must be a property of T and
// of the same EDM type, else it is a *TypeError. The rows' keys come with each projection. Where keys are computed from
// fields (keys.BindFunc) a view does not check them, and takes all rows in the range of keys to be T's. A row of an older
// version that needs an upgrade is a *VersionError.
func As[P, T any](t *Table[T]) (*View[P, T], error) {
	typ := reflect.TypeFor[P]()
	plan, err := edm.NewPlan(typ, nil)
	if err != nil {
		return nil, t.opError("As", keys.Key{}, err)
	}
	fail := func(field, reason string) (*View[P, T], error) {
		return nil, t.opError("As", keys.Key{}, &TypeError{Type: typ, Field: field, Reason: reason})
	}
	if plan.HasExtra() {
		return fail("", "a projection cannot ask for unknown columns")
	}
	for _, name := range plan.Names() {
		switch {
		case !t.plan.Has(name) && !t.plan.HasExtra():
			return fail(name, "is no property of "+t.plan.Type.String())
		case !sameKind(t.plan.KindOf(name), plan.KindOf(name)):
			return fail(name, "is "+plan.KindOf(name).String()+", but "+t.plan.KindOf(name).String()+" in "+t.plan.Type.String())
		}
	}
	return &View[P, T]{t, plan, t.choose(plan.Names()...)}, nil
}

// sameKind compares the types of a property in two plans. Absent is a type that only the value tells.
func sameKind(a, b edm.Kind) bool { return a == b || a == edm.Absent || b == edm.Absent }

// Explain is [Table.Explain] for the properties of P.
func (v *View[P, T]) Explain(q Query[T]) (Explanation, error) {
	ex, err := v.table.Explain(q)
	ex.Select = v.choice
	return ex, err
}

// List is [Table.List] for the properties of P. It takes the same queries and refuses the same scans.
func (v *View[P, T]) List(ctx context.Context, q Query[T]) iter.Seq2[*Projection[P], error] {
	return list(v.table, ctx, "List", q, v.choice, true, func(r *edm.Reader, in edm.Entity) (*Projection[P], bool, error) {
		if mine, err := v.table.owns(r, in); !mine || err != nil {
			return nil, mine, err
		}
		p := &Projection[P]{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag)}
		return p, true, v.plan.Decode(r, reflect.ValueOf(&p.Value).Elem())
	})
}

// Get reads one row's properties of P. 1 request, a point query, for the SDK's own Get knows no projection. Errors:
// ErrNotFound, ErrTableNotFound, *keys.KeyError, *DecodeError.
func (v *View[P, T]) Get(ctx context.Context, k keys.Key) (*Projection[P], error) {
	if err := k.Err(); err != nil {
		return nil, v.table.opError("Get", k, err)
	}
	q := Query[T]{Partition: k.Partition(), Rows: keys.Point(k.Row()), Limit: 1}
	for p, err := range v.List(ctx, q) {
		return p, err
	}
	return nil, v.table.opError("Get", k, ErrNotFound)
}
