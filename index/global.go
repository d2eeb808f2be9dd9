package index

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Global is an index over all partitions of a table, with the methods that look entities up by a
// value alone ('Azure Table storage table design guide': inter-partition secondary index pattern).
// [NewGlobal] and [NewGlobalMulti] make one. Each value has a partition of its own, so that there
// is no order between values; [Global.In] has it. A Global can be a package's variable, and is safe
// for concurrent use.
//
// # Guarantees
//
// Copies follow a moment later: a worker executes each committed change at least once, and whatever
// crashes, is lost, repeated or late, the rows are in the end as the entity is. A look-up by a copy
// may find the entity as it was, or find it under its old value. A row that an entity does not have
// any more becomes a tombstone, which look-ups leave out. The work of a day deletes it two or three
// days later.
//
// Pointers ([Global.Only] without fields) need no worker. A write stores its pointer before the
// entity, which names it, and deletes the old one after. A look-up reads the entity itself, and
// leaves out an entity that does not name the pointer: it finds each entity that has the value as
// long as the look-up takes, and no other. An entity that moves to another key meanwhile may be
// missed, and one that another program has replaced without this library. A pointer that a crash or
// a refused change leaves is deleted by a look-up a day later, or by [verify.Repair]. An insert
// stores a commit record, which the work of a day deletes (aztablekit.Store.Run).
//
// # Requests
//
// A write that changes no row elsewhere takes no more requests than before. With pointers, an
// insert takes 2, a change of a value 3, and a delete 2, and no worker any: those of one partition
// are stored together.
//
// A full copy changes with every write of its entity, a copy of some fields only if the value or a
// copied field changes. Such a write takes 2 more, for its notification. The worker takes 5, and 2
// for each row: a value that changes has two.
type Global[T, K any] struct {
	c *core
	k *keyed[K]
}

// NewGlobal defines an index over all partitions. Its rows are full copies, which follow their
// entities a moment later: workers keep them. With Only they are pointers, at every instant. name,
// layout and key are those of [New].
//
//	byName := index.NewGlobal("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only()
//
//	for e, err := range byName.List(ctx, staff, "Jones") { … } // of all departments
func NewGlobal[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *GlobalOptions) *Global[T, K] {
	return global[T](single(name, layout, key, globalOptionsOf(o)))
}

// NewGlobalMulti is [NewGlobal] for entities that have several values, up to most; see [NewMulti].
func NewGlobalMulti[T, K any](name string, layout keys.Layout[K], most int, key func(*T) []K, o *GlobalOptions) *Global[T, K] {
	return global[T](multi(name, layout, most, key, globalOptionsOf(o)))
}

func globalOptionsOf(o *GlobalOptions) (opt options) {
	if o != nil {
		opt.table = o.Table
	}
	return opt
}

//go:noinline
func global[T, K any](c *core, k *keyed[K]) *Global[T, K] {
	g := &Global[T, K]{c, k}
	c.definition, c.elsewhere = g, true
	return g
}

func (g *Global[T, K]) core() (*core, *keyed[K]) { return (*Index[T, K])(g).core() }

// Only is [Index.Only]: copies of some fields, or, without fields, pointers, which are right at
// every instant and need no worker; see [Global].
func (g *Global[T, K]) Only(fields ...table.FieldIn[T]) *Global[T, K] {
	c, k := g.core()
	return global[T](c.withOnly(untyped(fields)), k)
}

// In returns the same index with its rows in partitions of the program's choice, where they are
// sorted by their values: partition returns that of the rows of an entity, and must be pure.
// Look-ups take a partition of the rows, and have orders, ranges and prefixes over all partitions
// of the entities.
//
//	byName := index.NewGlobal("name", keys.Ordered(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).In(func(e *Employee) keys.PartitionKey {
//		return keys.RawPartition("names") // those of all departments, in order
//	})
func (g *Global[T, K]) In(partition func(*T) keys.PartitionKey) *Index[T, K] {
	c, k := g.core()
	return indexOf[T](c.placed(partitionOf(partition)), k)
}

// Name returns the name of the index.
func (g *Global[T, K]) Name() string { return (*Index[T, K])(g).Name() }

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (g *Global[T, K]) Define(d *extend.Declaration[T]) error {
	c, _ := g.core()
	return define(d, g, c)
}

// Get is [Index.Get] for a value in the whole table. A copy may be older than its entity. Requests:
// 1; by a pointer 2.
func (g *Global[T, K]) Get(ctx context.Context, t *table.Table[T], k K) (*table.Entity[T], error) {
	c, v := g.core()
	return typed[*table.Entity[T]](c.lookUp(ctx, tabledoor.Of(t), keys.PartitionKey{}, v.wanted(c, k)))
}

// List is [Index.List] for a value in the whole table: it yields the entities that have it, in the
// order of their keys.
func (g *Global[T, K]) List(ctx context.Context, t *table.Table[T], k K) iter.Seq2[*table.Entity[T], error] {
	c, v := g.core()
	return entities[T](c.list(ctx, tabledoor.Of(t), keys.PartitionKey{}, v.wanted(c, k)))
}

// Query is [Index.Query] for the entities that have a value, with the limits, conditions, cursors
// and budgets of q. Errors also: *table.ValueError if q has a Partition or Rows.
func (g *Global[T, K]) Query(ctx context.Context, t *table.Table[T], k K, q table.Query[T]) iter.Seq2[*table.Entity[T], error] {
	c, v := g.core()
	return entities[T](c.queryOf(ctx, tabledoor.Of(t), v.wanted(c, k), tabledoor.QueryOf(&q)))
}

// Keys is [Index.Keys] for the entities that have a value; see [Global.Query]. By pointers, it may
// also name an entity that has had the value a moment ago, or whose write has failed, and an entity
// twice if its pointers lie on two pages of cursors; List compares.
func (g *Global[T, K]) Keys(ctx context.Context, t *table.Table[T], k K, q table.Query[T]) iter.Seq2[keys.Key, error] {
	c, v := g.core()
	return c.keysWith(ctx, tabledoor.Of(t), v.wanted(c, k), tabledoor.QueryOf(&q))
}

// Page is [Index.Page] for the entities that have a value; see [Global.Query].
//
//	page, err := byName.Page(ctx, staff, "Jones", table.Query[Employee]{Limit: 20}, token)
func (g *Global[T, K]) Page(ctx context.Context, t *table.Table[T], k K, q table.Query[T], token string) (*table.Page[T], error) {
	c, v := g.core()
	return pageOf[T](c.pageOf(ctx, tabledoor.Of(t), v.wanted(c, k), tabledoor.QueryOf(&q), token))
}

// queryOf is Global.Query.
func (ix *core) queryOf(ctx context.Context, t tabledoor.Untyped, of wanted, q query.Query) listed {
	if err := ix.complete(&q, of); err != nil {
		return func(yield func(tabledoor.Entity, error) bool) { yield(nil, err) }
	}
	return ix.query(ctx, t, q)
}

// keysWith is Global.Keys.
func (ix *core) keysWith(
	ctx context.Context, t tabledoor.Untyped, of wanted, q query.Query,
) iter.Seq2[keys.Key, error] {
	if err := ix.complete(&q, of); err != nil {
		return func(yield func(keys.Key, error) bool) { yield(keys.Key{}, err) }
	}
	return ix.keysOf(ctx, t, q)
}

// pageOf is Global.Page.
func (ix *core) pageOf(
	ctx context.Context, t tabledoor.Untyped, of wanted, q query.Query, token string,
) (*page, error) {
	if err := ix.complete(&q, of); err != nil {
		return nil, err
	}
	return ix.page(ctx, t, q, token)
}

// complete makes a query one of the rows of a value.
func (ix *core) complete(q *query.Query, of wanted) error {
	if q.Partition.IsSet() || q.Partitions.IsSet() || q.Rows.IsSet() || q.TableScan {
		return withDefinition(ix.name, &table.ValueError{Field: "Query", Reason: "has a Partition, Partitions, Rows or TableScan; the value alone names the rows"})
	}
	q.Partition, q.Rows = ix.partitionFor(q.Partition, of), of.rows
	return nil
}
