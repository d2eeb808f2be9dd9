package index

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Unique is a value that belongs to one entity in the whole table, at every instant. [NewUnique]
// and [NewUniqueMulti] make one. It can be a package's variable, and is safe for concurrent use.
//
// The rows are pointers, each in a partition of its own. They change together with their entities
// in one write over several partitions; see [table.Table.Move] for its guarantees. A write that
// changes a value takes 2 transactions more for each partition of the values, 1 request to read the
// row of a value that is given up, and 3 for the message and the commit record: 6 in all for an
// insert, 9 for a change, 7 for a delete, and none of a worker. Other writes take no more requests
// than before.
type Unique[T, K any] struct {
	c *core
	k *keyed[K]
}

// NewUnique defines a value that belongs to one entity in the whole table, at every instant. A
// write that would give it to a second entity fails with table.ErrTaken. name, layout and key are
// those of [New]. On a table in use, that begins with aztablekit.Store.Fill: until then, a value
// can be stored twice, and aztablekit.Store.Ensure warns of it.
//
//	byEmail := index.NewUnique("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, nil)
//
//	e, err := byEmail.Get(ctx, staff, "JonesJ@contoso.com") // whatever the department
func NewUnique[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *UniqueOptions) *Unique[T, K] {
	return unique[T](single(name, layout, key, uniqueOptionsOf(o)))
}

// NewUniqueMulti is [NewUnique] for entities that have several unique values, up to most; see
// [NewMulti].
func NewUniqueMulti[T, K any](name string, layout keys.Layout[K], most int, key func(*T) []K, o *UniqueOptions) *Unique[T, K] {
	return unique[T](multi(name, layout, most, key, uniqueOptionsOf(o)))
}

func uniqueOptionsOf(o *UniqueOptions) options {
	opt := globalOptionsOf((*GlobalOptions)(o))
	opt.unique = true
	return opt
}

//go:noinline
func unique[T, K any](c *core, k *keyed[K]) *Unique[T, K] {
	u := &Unique[T, K]{c, k}
	c.definition, c.elsewhere, c.content = u, true, keyOnly
	return u
}

func (u *Unique[T, K]) core() (*core, *keyed[K]) { return (*Index[T, K])(u).core() }

// In returns the same values with their rows in partitions of the program's choice; see
// [Global.In]. A value is unique among the rows of a partition. The index has orders, ranges and
// prefixes, at every instant; its rows are pointers.
func (u *Unique[T, K]) In(partition func(*T) keys.PartitionKey) *Index[T, K] {
	c, k := u.core()
	return indexOf[T](c.placed(partitionOf(partition)), k)
}

// Name returns the name of the definition.
func (u *Unique[T, K]) Name() string { return (*Index[T, K])(u).Name() }

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (u *Unique[T, K]) Define(d *extend.Declaration[T]) error {
	c, _ := u.core()
	return define(d, u, c)
}

// Get returns the entity that has the value k; see [Index.Get] for what it returns, and for errors.
// 2 requests.
func (u *Unique[T, K]) Get(ctx context.Context, t *table.Table[T], k K) (*table.Entity[T], error) {
	c, v := u.core()
	return typed[*table.Entity[T]](c.lookUp(ctx, tabledoor.Of(t), keys.PartitionKey{}, v.wanted(c, k)))
}

// GetMany reads the entities that have some values, 10 values at a time and up to 40 ahead of the
// loop, and yields them in the order of the values. For a value that no entity has it yields (nil,
// table.ErrNotFound), and goes on; any other error ends the list. Leaving the loop cancels the
// requests under way. Errors: those of Get. 2 requests for each value.
func (u *Unique[T, K]) GetMany(ctx context.Context, t *table.Table[T], ks ...K) iter.Seq2[*table.Entity[T], error] {
	c, v := u.core()
	return entities[T](c.getMany(ctx, tabledoor.Of(t), len(ks), func(i int) wanted { return v.wanted(c, ks[i]) }))
}

// getMany is Unique.GetMany for n values.
func (ix *core) getMany(ctx context.Context, t tabledoor.Untyped, n int, value func(i int) wanted) listed {
	return func(yield func(tabledoor.Entity, error) bool) {
		if _, err := ix.readable(t); err != nil {
			yield(nil, withDefinition(ix.name, err))
			return
		}
		all := make([]int, n)
		for i := range all {
			all[i] = i
			if _, err := ix.uniqueKey(t, keys.PartitionKey{}, value(i)); err != nil {
				yield(nil, withDefinition(ix.name, err))
				return
			}
		}
		ctx, end := door.Table(t).Span(ctx, "GetMany")
		var failed error
		defer func() { end(failed) }()
		get := func(ctx context.Context, i int) (tabledoor.Entity, error) {
			return ix.get(ctx, t, keys.PartitionKey{}, value(i))
		}
		engine.InOrder(ctx, all, get, func(e tabledoor.Entity, err error) bool {
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
