package index

import (
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Index is a secondary index whose rows are sorted by their values, with the methods that look
// entities up in a partition: of the entities ([New]), or of the rows ([Global.In], [Unique.In]).
// An Index can be a package's variable, and is safe for concurrent use.
type Index[T, K any] struct {
	c *core
	k *keyed[K]
}

// New defines an index. The RowKeys of its rows begin with name, which contains letters and digits,
// unless the layout has a name. key returns an entity's value, and false for an entity that is not
// in the index. key must be pure: its result must depend on the entity only, or index rows are
// lost. A later release with another key function is another definition: give it a new name; see
// docs/indexes.md.
//
//	byEmail := index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) {
//		return e.Email, e.Email != ""
//	}, &index.Options{Unique: true}) // one owner in each department
//
// The store and the look-ups return the error of a wrong definition.
func New[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *Options) *Index[T, K] {
	return indexOf[T](single(name, layout, key, optionsOf(o)))
}

// NewMulti defines an index in which an entity has up to most values: its tags, its telephone
// numbers. Equal values count once. A list over a range of values yields an entity once for each of
// its values there. The write of an entity with more values fails with a *table.LimitError. A
// change may touch twice as many rows as values, of the 97 that all definitions of a table may
// touch together, so most is 48 at most. Once entities are stored, most must not become smaller
// than the number of values of any of them.
func NewMulti[T, K any](name string, layout keys.Layout[K], most int, key func(*T) []K, o *Options) *Index[T, K] {
	return indexOf[T](multi(name, layout, most, key, optionsOf(o)))
}

func optionsOf(o *Options) (opt options) {
	if o != nil {
		opt.unique, opt.reserved = o.Unique, o.Reserved
	}
	return opt
}

// single returns an index in which an entity has one value.
//
//go:noinline
func single[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o options) (*core, *keyed[K]) {
	k := newKeyed(name, layout)
	if key != nil {
		k.one = func(v any) (K, bool) { return key(v.(*T)) }
	}
	return newCore(name, k, 1, o), k
}

// multi returns an index in which an entity has several values.
//
//go:noinline
func multi[T, K any](name string, layout keys.Layout[K], most int, key func(*T) []K, o options) (*core, *keyed[K]) {
	k := newKeyed(name, layout)
	if key != nil {
		k.many = func(v any) []K { return key(v.(*T)) }
	}
	return newCore(name, k, most, o), k
}

//go:noinline
func indexOf[T, K any](c *core, k *keyed[K]) *Index[T, K] {
	ix := &Index[T, K]{c, k}
	c.definition = ix
	return ix
}

// partitionOf returns a function without its type.
//
//go:noinline
func partitionOf[T any](partition func(*T) keys.PartitionKey) func(v any) keys.PartitionKey {
	if partition == nil {
		return nil
	}
	return func(v any) keys.PartitionKey { return partition(v.(*T)) }
}

// zero returns the core and the values of a definition that no constructor has made.
//
//go:noinline
func zero[K any]() (*core, *keyed[K]) {
	k := newKeyed[K]("", nil)
	c := newCore("", k, 1, options{})
	c.invalid = &table.DefinitionError{Field: "definition", Reason: "is nil or zero; make it by New, NewGlobal, NewUnique or the like"}
	return c, k
}

// core returns the core and the values; a zero Index has some that are wrong.
func (ix *Index[T, K]) core() (*core, *keyed[K]) {
	if ix == nil || ix.c == nil {
		return zero[K]()
	}
	return ix.c, ix.k
}

// Only returns the same index with copies of some fields, in place of full copies. A look-up then
// returns an entity with these fields and the fields of the key, to be read only: to write the
// entity, Get it by its key.
//
//	byName := index.New("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only(lastName, email)
//
// The fields must include all that the key function uses. If a copy is of an older version than the
// schema, or of another kind, look-ups read the entity itself, 1 request more, until the entity is
// written again or verify.Repair repairs the copy.
//
// Without fields, a row contains only the key of its entity: a pointer, small, and not written by a
// write that leaves the value as it was. Look-ups read the entity itself, 1 request more for each,
// and so are right in a table in which other programs write entities without this library.
//
//	byName := index.New("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only()
func (ix *Index[T, K]) Only(fields ...table.FieldIn[T]) *Index[T, K] {
	c, k := ix.core()
	return indexOf[T](c.withOnly(untyped(fields)), k)
}

// Name returns the name of the index.
func (ix *Index[T, K]) Name() string {
	if ix == nil || ix.c == nil {
		return ""
	}
	return ix.c.name
}

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (ix *Index[T, K]) Define(d *extend.Declaration[T]) error {
	c, _ := ix.core()
	return define(d, ix, c)
}
