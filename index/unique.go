package index

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Unique is a value that belongs to one entity in the whole table, at every instant. [NewUnique] and [NewUniqueMulti] make one. It can
// be a package's variable, and is safe for concurrent use.
//
// The rows are pointers, each in a partition of its own. They change together with their entities in one write over several
// partitions; see [table.Table.Move] for its guarantees. A write that changes a value takes 2 transactions more for each partition of
// the values, and 2 requests for the message; other writes take no more requests than before.
type Unique[T, K any] struct{ ix *Index[T, K] }

// NewUnique defines a value that belongs to one entity in the whole table, at every instant. A
// write that would give it to a second entity fails with table.ErrTaken. name, layout and key are those
// of [New]. On a table in use, that begins with aztablekit.Store.Fill: until then, a value can be
// stored twice, and aztablekit.Store.Ensure warns of it.
//
//	byEmail := index.NewUnique("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, nil)
//
//	e, err := byEmail.Get(ctx, staff, "JonesJ@contoso.com") // whatever the department
func NewUnique[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *UniqueOptions) *Unique[T, K] {
	return unique(single(name, layout, key, uniqueOptionsOf(o)))
}

// NewUniqueMulti is [NewUnique] for entities that have several unique values, up to most; see [NewMulti].
func NewUniqueMulti[T, K any](name string, layout keys.Layout[K], most int, key func(*T) []K, o *UniqueOptions) *Unique[T, K] {
	return unique(multi(name, layout, most, key, uniqueOptionsOf(o)))
}

func uniqueOptionsOf(o *UniqueOptions) options {
	opt := options{unique: true}
	if o != nil {
		opt.table = o.Table
	}
	return opt
}

func unique[T, K any](ix *Index[T, K]) *Unique[T, K] {
	u := &Unique[T, K]{ix}
	ix.definition, ix.elsewhere, ix.content = u, true, keyOnly
	return u
}

// index returns the index; a zero Unique has one that is wrong.
func (u *Unique[T, K]) index() *Index[T, K] {
	if u == nil || u.ix == nil {
		return zeroIndex[T, K]()
	}
	return u.ix
}

// In returns the same values with their rows in partitions of the program's choice; see [Global.In]. A value is unique among the
// rows of a partition. The index has orders, ranges and prefixes, at every instant; its rows are pointers.
func (u *Unique[T, K]) In(partition func(*T) keys.PartitionKey) *Index[T, K] {
	return u.index().placed(partition)
}

// Name returns the name of the definition.
func (u *Unique[T, K]) Name() string { return u.index().Name() }

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (u *Unique[T, K]) Define(d *extend.Declaration[T]) error { return define(d, u) }

func (u *Unique[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	return u.index().maintainer(t)
}

// Get returns the entity that has the value k; see [Index.Get] for what it returns, and for errors. 2 requests.
func (u *Unique[T, K]) Get(ctx context.Context, t *table.Table[T], k K) (*table.Entity[T], error) {
	return u.index().Get(ctx, t, keys.PartitionKey{}, k)
}

// GetMany reads the entities that have some values, 10 values at a time and up to 40 ahead of the loop, and yields them in the order
// of the values. For a value that no entity has it yields (nil, table.ErrNotFound), and goes on; any other error ends the list. Leaving
// the loop cancels the requests under way. Errors: those of Get. 2 requests for each value.
func (u *Unique[T, K]) GetMany(ctx context.Context, t *table.Table[T], ks ...K) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		ix := u.index()
		if _, err := ix.readable(t); err != nil {
			yield(nil, withDefinition(ix.name, err))
			return
		}
		for _, k := range ks {
			if _, err := ix.uniqueKey(t, keys.PartitionKey{}, k); err != nil {
				yield(nil, withDefinition(ix.name, err))
				return
			}
		}
		ctx, end := door.Table(t).Span(ctx, "GetMany")
		var failed error
		defer func() { end(failed) }()
		get := func(ctx context.Context, k K) (*table.Entity[T], error) {
			return ix.get(ctx, t, keys.PartitionKey{}, k)
		}
		engine.InOrder(ctx, ks, get, func(e *table.Entity[T], err error) bool {
			if err == nil {
				return yield(e, nil)
			}
			err = withDefinition(ix.name, err)
			if errors.Is(err, table.ErrNotFound) {
				return yield(nil, err)
			}
			failed = err
			yield(nil, err)
			return false
		})
	}
}
