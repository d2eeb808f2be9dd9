package index

import (
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/reserved"
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

// core is an index without its type parameters, which is compiled once for all types: an entity is
// a tabledoor.Entity, and a value a pointer to the table's type.
type core struct {
	name      string
	values    values
	maxValues int // of one entity
	opt       options
	content   content
	only      []any // the copied fields of rows with some fields, each a table.FieldIn
	invalid   error

	// elsewhere says that the rows are in other partitions than their entities, perhaps in another
	// table, and partition in which; nil for a partition for each value.
	elsewhere bool
	partition func(v any) keys.PartitionKey

	definition any // as the program has it: the Index, or what contains it
}

// content is what a row contains besides the key of its entity.
type content int

const (
	wholeEntity content = iota
	someFields          // those of core.only
	keyOnly             // a pointer
)

// newCore returns an index in which an entity has up to most values.
func newCore(name string, of values, most int, o options) *core {
	ix := &core{name: name, values: of, maxValues: most, opt: o}
	if err := checkName(name); err != nil {
		ix.invalid = err
	}
	if of.noLayout() {
		ix.fail("layout", "is nil")
	}
	if err := of.all(true).Err(); err != nil && ix.invalid == nil {
		ix.invalid = &table.DefinitionError{Definition: name, Field: "layout", Reason: err.Error(), Err: err}
	}
	if of.noKey() {
		ix.fail("key", "is nil")
	}
	if most < 1 {
		ix.fail("most", "must be at least 1")
	}
	return ix
}

// Name returns the name of the definition.
func (ix *core) Name() string { return ix.name }

func (ix *core) fail(field, reason string) {
	if ix.invalid == nil {
		ix.invalid = &table.DefinitionError{Definition: ix.name, Field: field, Reason: reason}
	}
}

// withOnly returns the same index with copies of some fields, or pointers.
func (ix *core) withOnly(fields []any) *core {
	c := *ix
	if i := slices.Index(fields, nil); i >= 0 {
		c.fail("Only", fmt.Sprintf("has a field %d that is nil", i))
		return &c
	}
	c.only, c.content = fields, someFields
	if len(fields) == 0 {
		c.content = keyOnly
	}
	if c.isUniqueElsewhere() && len(fields) > 0 {
		c.fail("Only", "has fields, but the rows of a value that is unique in other partitions are pointers; leave it out")
	}
	return &c
}

// placed returns the same index with its rows in partitions of the program's choice.
func (ix *core) placed(partition func(any) keys.PartitionKey) *core {
	c := *ix
	if partition == nil {
		c.fail(fieldPartition, "is nil")
	}
	c.partition = partition
	return &c
}

// isUniqueElsewhere reports whether the rows of unique values are in other partitions than their
// entities.
func (ix *core) isUniqueElsewhere() bool {
	return ix.elsewhere && ix.opt.unique
}

// full reports whether the rows are full copies of their entities.
func (ix *core) full() bool { return ix.content == wholeEntity }

// prefixed returns the RowKey under which a key of the layout is stored.
func (ix *core) prefixed(s string) string {
	if ix.opt.reserved {
		return reserved.Derived + s
	}
	return s
}

// prefixedRange returns the range in which a range of the layout is stored.
func (ix *core) prefixedRange(r keys.RowRange) keys.RowRange {
	if !ix.opt.reserved || r.Err() != nil {
		return r
	}
	from, to, closed := r.Bounds()
	if closed {
		to += " " // the first key behind the closed range
	}
	return keyrange.Stored(reserved.Derived+from, reserved.Derived+to)
}
