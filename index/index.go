package index

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The conditions that callers tell apart, with errors.Is.
var (
	// ErrTaken: another entity has the value of a unique index, or its details are where those of this entity should be. The
	// *table.DerivedError around it contains the owner of the value, unless both entities are in one transaction. Check for it before
	// table.ErrExists, which the error also is if the service has found the row.
	ErrTaken = errors.New("the value is taken")
	// ErrSeveral: a look-up for one entity has found several entities. Use List.
	ErrSeveral = errors.New("several entities have the value")
	// ErrWriteOnly: the index is being filled, and look-ups are not allowed yet. See Options.WriteOnly.
	ErrWriteOnly = errors.New("the index is being built (WriteOnly)")
	// ErrRanged: Verify sees the table through a signature for a range of keys, and so only part of it. A write fails with ErrRanged
	// if it has to read the other entities of a partition, or to know that a row does not exist, and the signature is for a range of
	// rows.
	ErrRanged = table.ErrRanged
	// ErrForeignRow: a row of another type, definition or program is in the place of an index row, list or summary. The row is
	// neither replaced nor deleted, also not by Verify. A write that would need its place fails with this error, and so does a read of the
	// one list or summary whose key it has. The *table.DerivedError around it contains the key.
	ErrForeignRow = table.ErrForeignRow
	// ErrUnknownIndex: the entity is in an index that this handle lacks, so a write would leave the index rows behind. Only writes by
	// key of a handle without definitions that was made with table.Options.BlindWrites do not return it: they leave the rows behind.
	ErrUnknownIndex = table.ErrUnknownMaintainer
)

// Scope is where a value may belong to one entity only.
type Scope int

// The scopes of uniqueness.
const (
	NotUnique   Scope = iota
	InPartition       // one owner in each partition
)

// Options of an index. The zero value is a full copy of each entity under a value that several may have.
type Options[T any] struct {
	// Unique is where a value may belong to one entity only. A write that would give the value to a second entity fails with ErrTaken.
	Unique Scope

	// Only are the fields of a copy; empty means all. A look-up then returns an entity with these fields and those of the key, to be read
	// only: to write the entity, Get it by its key. The fields must include all that the key function uses. If a copy is of an older
	// version than the schema, or of another kind, look-ups read the entity itself, 1 request more, until it is written again or
	// Verify repairs it.
	Only []table.AnyField[T]

	// Pointer stores the entity's key instead of a copy: an index entity for each member of a value. Rows are small, a write that does not
	// change the value does not write them, and a look-up costs 1 request more for each entity.
	Pointer bool

	// Verified makes look-ups read the entity itself, 1 request more for each: for tables in which other programs write entities without
	// this library.
	ReadEntities bool

	// WriteOnly makes writes update the index, and look-ups fail with ErrWriteOnly: the first step of adding an index to a table in use.
	// Then Verify with Repair fills the index, and the next release can read it. If two entities share a value of an index that is to
	// be unique, Verify reports a Conflict, and the second entity cannot be written until it has another value.
	WriteOnly bool

	// Reserved puts the rows of the index among the library's own, which begin with ~x| and which lists of the partition leave out: for
	// tables whose own RowKeys may be any text.
	Reserved bool
}

// Index is a secondary index in the partitions of its entities. It has the methods that look entities up. It is made by [New] or
// [NewMulti], can be a package's variable, and is safe for concurrent use.
type Index[T, K any] struct {
	name          string
	byValue       keys.Compound[K] // the rows of a unique index
	byValueAndKey keys.Followed[K] // the others
	key           func(*T) []K
	maxValues     int
	opt           Options[T]
	invalid       error
}

// New defines an index. The RowKeys of its rows begin with name, which contains letters and digits, unless the layout has a name. key
// returns an entity's value, and false for an entity that is not in the index. key must be pure: its result must depend on the entity
// only, or index rows are lost. If a later release changes key, or an Upgrade of the schema changes what key returns, look-ups find
// earlier entities only after they were written again or Verify has repaired them; see docs/indexes.md.
//
//	byEmail := index.New("email", keys.Tuple1(keys.Fold(keys.Text())), func(e *Employee) (string, bool) {
//		return e.Email, e.Email != ""
//	}, &index.Options[Employee]{Unique: index.InPartition})
//
// A wrong definition is an error of [Attach] and of the look-ups.
func New[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *Options[T]) *Index[T, K] {
	ix := newIndex[T](name, layout, 1, o)
	if key == nil {
		ix.fail("key", "is nil")
		return ix
	}
	ix.key = func(v *T) []K {
		if k, in := key(v); in {
			return []K{k}
		}
		return nil
	}
	return ix
}

// NewMulti defines an index in which an entity has several values, at most so many: its tags, its telephone numbers. Equal values
// count once. A list over a range of values yields an entity once for each of its values there. An entity with more values fails with
// a *table.LimitError. A change may touch twice as many rows, of the 97 that all definitions of a table may touch together: most is 48
// at most. Once entities are stored, most must not become smaller than their numbers of values.
func NewMulti[T, K any](name string, layout keys.Layout[K], most int, key func(*T) []K, o *Options[T]) *Index[T, K] {
	ix := newIndex[T](name, layout, most, o)
	if ix.key = key; key == nil {
		ix.fail("key", "is nil")
	}
	if most < 1 {
		ix.fail("most", "must be at least 1")
	}
	return ix
}

func newIndex[T, K any](name string, layout keys.Layout[K], most int, o *Options[T]) *Index[T, K] {
	ix := &Index[T, K]{name: name, maxValues: most}
	if o != nil {
		ix.opt = *o
		ix.opt.Only = slices.Clone(o.Only)
	}
	if err := checkName(name); err != nil {
		ix.invalid = err
	}
	if layout == nil {
		ix.fail("layout", "is nil")
		return ix
	}
	ix.byValue, ix.byValueAndKey = keys.NamedAs(layout, name), keys.Follow(layout, name)
	if err := ix.byValue.All().Err(); err != nil && ix.invalid == nil {
		ix.invalid = &DefinitionError{Definition: name, Field: "layout", Reason: err.Error(), Err: err}
	}
	switch {
	case ix.opt.Unique != NotUnique && ix.opt.Unique != InPartition:
		ix.fail("Unique", fmt.Sprintf("%d is no scope", ix.opt.Unique))
	case ix.opt.Pointer && len(ix.opt.Only) > 0:
		ix.fail("Only", "a pointer holds no fields")
	}
	return ix
}

// named is what is wrong with a definition's name.
func checkName(name string) error {
	if name == "" {
		return &DefinitionError{Field: "name", Reason: "is empty"}
	}
	for _, c := range []byte(name) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return &DefinitionError{Definition: name, Field: "name", Reason: "may hold only letters and digits"}
		}
	}
	return nil
}

func (ix *Index[T, K]) fail(field, reason string) {
	if ix.invalid == nil {
		ix.invalid = &DefinitionError{Definition: ix.name, Field: field, Reason: reason}
	}
}

// Name is the name of the index.
func (ix *Index[T, K]) Name() string { return ix.name }

// full tells whether its rows are the whole of their entities.
func (ix *Index[T, K]) full() bool { return !ix.opt.Pointer && len(ix.opt.Only) == 0 }

func (ix *Index[T, K]) prefixed(s string) string {
	if ix.opt.Reserved {
		return reserved.Derived + s
	}
	return s
}

// placed is a range of the layout where the rows are.
func (ix *Index[T, K]) prefixedRange(r keys.Range) keys.Range {
	if !ix.opt.Reserved || r.Err() != nil {
		return r
	}
	from, to, closed := r.Bounds()
	if closed {
		to += " " // the first key behind it
	}
	return keys.StoredBetween(reserved.Derived+from, reserved.Derived+to)
}

// row is the RowKey of a value's row for an entity.
func (ix *Index[T, K]) rowKey(k K, primary keys.Key) (string, error) {
	e := ix.byValue.Of(k)
	if ix.opt.Unique == NotUnique {
		e = ix.byValueAndKey.Of(k, primary.Row())
	}
	s, err := e.Result()
	if err == nil && ix.opt.Reserved {
		s = ix.prefixed(s)
		err = keys.Stored("p", s).Err() // which is longer
	}
	return s, err
}

// rows are the RowKeys of an entity's rows, in order. The key function is called twice, for one that is not pure would leave rows
// behind that nothing finds.
func (ix *Index[T, K]) rowKeys(v *T, primary keys.Key) ([]string, error) {
	if v == nil {
		return nil, nil
	}
	rows, err := ix.rowKeysOnce(v, primary)
	if err != nil {
		return nil, err
	}
	again, err := ix.rowKeysOnce(v, primary)
	if err == nil && !slices.Equal(rows, again) {
		err = &DefinitionError{Definition: ix.name, Field: "key", Reason: fmt.Sprintf("is not pure: of one entity it made %q, and then %q", rows, again)}
	}
	return rows, err
}

func (ix *Index[T, K]) rowKeysOnce(v *T, primary keys.Key) (rows []string, err error) {
	type result struct {
		rowKey string
		err    error
	}
	all, err := callUser(ix.name, "key", func(v *T) (all []result) {
		for _, k := range ix.key(v) {
			s, err := ix.rowKey(k, primary)
			all = append(all, result{s, err})
		}
		return all
	}, v)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.err != nil {
			return nil, fmt.Errorf("index %s: %w", ix.name, m.err)
		}
		rows = append(rows, m.rowKey)
	}
	slices.Sort(rows)
	if rows = slices.Compact(rows); len(rows) > ix.maxValues {
		return nil, &table.LimitError{Field: "index " + ix.name, Limit: "values of one entity", Got: len(rows), Max: ix.maxValues}
	}
	return rows, nil
}

// stands tells whether an entity has this row: also one that has more of them than it may, or others that it cannot have.
func (ix *Index[T, K]) hasRow(v *T, primary keys.Key, row string) bool {
	is, err := callUser(ix.name, "key", func(v *T) bool {
		return slices.ContainsFunc(ix.key(v), func(k K) bool {
			s, err := ix.rowKey(k, primary)
			return err == nil && s == row
		})
	}, v)
	return err == nil && is
}

// call calls a user's function, whose panic is an error of the write that it was called for.
func callUser[T, R any](definition, field string, f func(*T) R, v *T) (r R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &DefinitionError{Definition: definition, Field: field, Reason: fmt.Sprintf("panics: %v", p)}
		}
	}()
	return f(v), nil
}
