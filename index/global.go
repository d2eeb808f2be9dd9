package index

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Global is an index over all partitions of a table, with the methods that look entities up by a value alone ('Azure Table storage table
// design guide': inter-partition secondary index pattern). [NewGlobal] and [NewGlobalMulti] make one. Each value has a partition of its
// own, so that there is no order between values; [Global.In] has it. A Global can be a package's variable, and is safe for concurrent
// use.
//
// # Guarantees
//
// The rows follow a moment later: a worker executes each committed change at least once, and whatever crashes, is lost, repeated or
// late, the rows are in the end as the entity is. A look-up by a copy may find the entity as it was, or find it under its old value; a
// look-up by a pointer ([Global.Only] without fields) reads the entity itself and leaves out entities that do not have the value (a
// verified read). It may still miss an entity that got its value a moment ago. With GlobalOptions.Inline, a write returns when the
// rows are right.
//
// A row that an entity does not have any more becomes a tombstone, which look-ups leave out. The work of a day deletes it two or three
// days later.
//
// # Requests
//
// A write that changes no row elsewhere takes no more requests than before. A full copy changes with every write of its entity; a
// projected copy, a pointer and a list only if the value or a copied field changes. A write that changes rows takes 2 more, for its
// notification. The worker takes 5, and 2 for each row: a value that changes has two.
type Global[T, K any] struct{ ix *Index[T, K] }

// NewGlobal defines an index over all partitions, whose rows follow their entities a moment later: workers keep them. name, layout and
// key are those of [New].
//
//	byName := index.NewGlobal("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil)
//
//	for e, err := range byName.List(ctx, staff, "Jones") { … } // of all departments
func NewGlobal[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *GlobalOptions) *Global[T, K] {
	return global(single(name, layout, key, globalOptionsOf(o)))
}

// NewGlobalMulti is [NewGlobal] for entities that have several values, up to most; see [NewMulti].
func NewGlobalMulti[T, K any](name string, layout keys.Layout[K], most int, key func(*T) []K, o *GlobalOptions) *Global[T, K] {
	return global(multi(name, layout, most, key, globalOptionsOf(o)))
}

func globalOptionsOf(o *GlobalOptions) (opt options) {
	if o != nil {
		opt.table, opt.inline = o.Table, o.Inline
	}
	return opt
}

func global[T, K any](ix *Index[T, K]) *Global[T, K] {
	g := &Global[T, K]{ix}
	ix.definition, ix.elsewhere = g, true
	return g
}

// zeroIndex returns the index of a definition that no constructor has made.
func zeroIndex[T, K any]() *Index[T, K] {
	ix := newIndex[T, K]("", nil, 1, options{})
	ix.invalid = &table.DefinitionError{Field: "definition", Reason: "is nil or zero; make it by New, NewGlobal, NewUnique or the like"}
	return ix
}

// index returns the index; a zero Global has one that is wrong.
func (g *Global[T, K]) index() *Index[T, K] {
	if g == nil || g.ix == nil {
		return zeroIndex[T, K]()
	}
	return g.ix
}

// Only is [Index.Only]: copies of some fields, or pointers.
func (g *Global[T, K]) Only(fields ...table.FieldIn[T]) *Global[T, K] {
	c := &Global[T, K]{g.index().Only(fields...)}
	c.ix.definition = c
	return c
}

// In returns the same index with its rows in partitions of the program's choice, where they are sorted by their values: partition
// returns that of the rows of an entity, and must be pure. Look-ups take a partition of the rows, and have orders, ranges and
// prefixes over all partitions of the entities.
//
//	byName := index.NewGlobal("name", keys.Ordered(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).In(func(e *Employee) keys.PartitionKey {
//		return keys.RawPartition("names") // those of all departments, in order
//	})
func (g *Global[T, K]) In(partition func(*T) keys.PartitionKey) *Index[T, K] {
	return g.index().placed(partition)
}

// Name returns the name of the index.
func (g *Global[T, K]) Name() string { return g.index().Name() }

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (g *Global[T, K]) Define(d *extend.Declaration[T]) error { return define(d, g) }

func (g *Global[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	return g.index().maintainer(t)
}

// Get is [Index.Get] for a value in the whole table. A copy may be older than its entity. Requests: 1; by a pointer 2.
func (g *Global[T, K]) Get(ctx context.Context, t *table.Table[T], k K) (*table.Entity[T], error) {
	return g.index().Get(ctx, t, keys.PartitionKey{}, k)
}

// List is [Index.List] for a value in the whole table: it yields the entities that have it, in the order of their keys.
func (g *Global[T, K]) List(ctx context.Context, t *table.Table[T], k K) iter.Seq2[*table.Entity[T], error] {
	return g.index().List(ctx, t, keys.PartitionKey{}, k)
}

// Query is [Index.Query] for the entities that have a value, with the limits, conditions, cursors and budgets of q. Errors also:
// *table.ValueError if q has a Partition or Rows.
func (g *Global[T, K]) Query(ctx context.Context, t *table.Table[T], k K, q table.Query[T]) iter.Seq2[*table.Entity[T], error] {
	of, err := g.query(k, q)
	if err != nil {
		return func(yield func(*table.Entity[T], error) bool) { yield(nil, err) }
	}
	return g.index().Query(ctx, t, of)
}

// Keys is [Index.Keys] for the entities that have a value; see [Global.Query].
func (g *Global[T, K]) Keys(ctx context.Context, t *table.Table[T], k K, q table.Query[T]) iter.Seq2[keys.Key, error] {
	of, err := g.query(k, q)
	if err != nil {
		return func(yield func(keys.Key, error) bool) { yield(keys.Key{}, err) }
	}
	return g.index().Keys(ctx, t, of)
}

// Page is [Index.Page] for the entities that have a value; see [Global.Query].
//
//	page, err := byName.Page(ctx, staff, "Jones", table.Query[Employee]{Limit: 20}, token)
func (g *Global[T, K]) Page(ctx context.Context, t *table.Table[T], k K, q table.Query[T], token string) (*table.Page[T], error) {
	of, err := g.query(k, q)
	if err != nil {
		return nil, err
	}
	return g.index().Page(ctx, t, of, token)
}

// query returns the query of the rows of a value.
func (g *Global[T, K]) query(k K, q table.Query[T]) (table.Query[T], error) {
	if q.Partition.IsSet() || q.Partitions.IsSet() || q.Rows.IsSet() || q.TableScan {
		return q, withDefinition(g.Name(), &table.ValueError{Field: "Query", Reason: "has a Partition, Partitions, Rows or TableScan; the value alone names the rows"})
	}
	q.Partition, q.Rows = g.index().partitionForValue(q.Partition, k), g.index().Value(k)
	return q, nil
}

// GlobalLists are [Lists] over all partitions of a table, which follow their entities a moment later; see [Global]. A list contains the
// keys of its members, PartitionKey:RowKey. In a PartitionKey, ; is written as ;0 and : as ;1. [NewGlobalLists] makes them.
type GlobalLists[T, K any] struct{ l *Lists[T, K] }

// NewGlobalLists defines lists over all partitions; name, layout and key are those of [New].
func NewGlobalLists[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *GlobalListOptions) *GlobalLists[T, K] {
	if o == nil {
		o = &GlobalListOptions{}
	}
	g := &GlobalLists[T, K]{lists(name, layout, key, o.Property, options{table: o.Table, inline: o.Inline})}
	g.l.ix.elsewhere = true
	g.l.ix.definition = g
	return g
}

// lists returns the lists; zero GlobalLists have some that are wrong.
func (g *GlobalLists[T, K]) lists() *Lists[T, K] {
	if g == nil || g.l == nil {
		return &Lists[T, K]{ix: zeroIndex[T, K]()}
	}
	return g.l
}

// Name returns the name of the definition.
func (g *GlobalLists[T, K]) Name() string { return g.lists().Name() }

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (g *GlobalLists[T, K]) Define(d *extend.Declaration[T]) error { return define(d, g) }

func (g *GlobalLists[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	return g.lists().maintainer(t)
}

// Keys is [Lists.Keys] for a value in the whole table. 1 request.
func (g *GlobalLists[T, K]) Keys(ctx context.Context, t *table.Table[T], k K) ([]keys.Key, error) {
	return g.lists().Keys(ctx, t, keys.PartitionKey{}, k)
}

// List is [Lists.List] for a value in the whole table. 1 request, and 1 for each entity, 10 at a time.
func (g *GlobalLists[T, K]) List(ctx context.Context, t *table.Table[T], k K) iter.Seq2[*table.Entity[T], error] {
	return g.lists().List(ctx, t, keys.PartitionKey{}, k)
}
