package index

import (
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

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
