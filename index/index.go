package index

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The conditions that callers tell apart, with errors.Is.
var (
	// ErrTaken: another entity has the value of a unique index, or its details are where those of this one should be. The
	// *table.DerivedError around it names the owner of a value, unless both are of one transaction. Look for it before
	// table.ErrExists, which it is, too, where the service has found the row.
	ErrTaken = errors.New("the value is taken")
	// ErrSeveral: a look-up for one entity has found several. Use List.
	ErrSeveral = errors.New("several entities have the value")
	// ErrWriteOnly: the index is being built and cannot be asked yet. See Options.WriteOnly.
	ErrWriteOnly = errors.New("the index is being built (WriteOnly)")
	// ErrRanged: Verify sees the table through a signature for a range of keys, and so only part of it. A write fails with ErrRanged
	// if it has to read the other entities of a partition, or to know that a row does not exist, and the signature is for a range of
	// rows.
	ErrRanged = table.ErrRanged
	// ErrForeignRow: a row of another type, definition or program is in the place of an index row, list or summary. The row is
	// neither replaced nor deleted, also not by Verify. A write that would need its place fails with this error, and so does a read of the
	// one list or summary whose key it has. The *table.DerivedError around it contains the key.
	ErrForeignRow = table.ErrForeignRow
	// ErrUnknownIndex: the entity is in an index that this program does not know, and whose rows would be left behind. Every write returns
	// it, but for writes by the key alone of a handle without definitions that was made with table.Options.BlindWrites: these leave the
	// rows behind.
	ErrUnknownIndex = table.ErrUnknownMaintainer
)

// Scope is where a value can belong to one entity only.
type Scope int

// The scopes of uniqueness.
const (
	NotUnique   Scope = iota
	InPartition       // one owner in each partition
)

// Options of an index. The zero value is a full copy of each entity under a value that several may have.
type Options[T any] struct {
	// Unique says whether a value belongs to one entity only, and where. A write that would give it to a second one fails with
	// ErrTaken, whatever races with it.
	Unique Scope

	// Only are the fields that a copy holds; empty means all. What a look-up then returns is a value to read, with these fields
	// and those of the key: to write the entity, Get it. The fields must hold whatever the key function uses. A copy that is of an
	// older version than the schema, or was made as another kind of copy, cannot be read for the entity: look-ups then read the
	// entity itself, for 1 request more, until it is written again or Verify repairs it.
	Only []table.AnyField[T]

	// Pointer keeps no copy, but the key of the entity alone: an index entity for each member of a value. Rows are small, writes
	// that do not change the value leave them alone, and a look-up costs 1 request more for each entity.
	Pointer bool

	// Verified makes look-ups read the entity itself, 1 request more for each, and answer by that: for tables where other
	// programs write entities without keeping the index.
	Verified bool

	// WriteOnly makes writes keep the index, and look-ups refuse it: the first step of adding an index to a table that is in
	// use. Then Verify with Repair fills it, and the next release can read it. Where entities share a value of an index that is
	// to be unique, Verify reports a Conflict, and the second cannot be written until it has another.
	WriteOnly bool

	// Reserved keeps the rows of the index among the library's own, which begin with ~x|, where lists of the partition do not see them:
	// for tables whose own RowKeys may be anything.
	Reserved bool
}

// Index is a secondary index in the partitions of its entities: what it is made of, and the handle of its look-ups. It is a
// value for a package's variables, made by [New] or [NewMulti], and safe for concurrent use.
type Index[T, K any] struct {
	name  string
	alone keys.Compound[K] // the rows of a unique index
	many  keys.Followed[K] // the others
	key   func(*T) []K
	max   int
	opt   Options[T]
	fault error
}

// New defines an index. Its rows are called after name, which holds letters and digits, unless the layout has a name. key returns
// an entity's value, and false where the entity is not in the index. It must be pure: nothing but the entity decides what it
// returns, or index rows are lost. One that is changed in a later release, also by an Upgrade of the schema that changes what it
// returns, finds what earlier releases have stored only after the entities were written again, or Verify has repaired them; see the
// package's introduction.
//
//	byEmail := index.New("email", keys.Tuple1(keys.Fold(keys.Text())), func(e *Employee) (string, bool) {
//		return e.Email, e.Email != ""
//	}, &index.Options[Employee]{Unique: index.InPartition})
//
// What is wrong with a definition is an error of [Attach] and of its look-ups.
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

// NewMulti defines an index in which an entity stands under several values, at most so many: its tags, its telephone numbers.
// Values that come twice count once. A list over a range of values yields an entity once for each of its values there. An entity with
// more than most is refused with a *table.LimitError. A change may touch twice as many rows, of the 97 that all definitions of a table
// may touch together: 48 is the most that most can be. Once entities are stored, most
// must not become smaller than what they have.
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
	ix := &Index[T, K]{name: name, max: most}
	if o != nil {
		ix.opt = *o
		ix.opt.Only = slices.Clone(o.Only)
	}
	if err := named(name); err != nil {
		ix.fault = err
	}
	if layout == nil {
		ix.fail("layout", "is nil")
		return ix
	}
	ix.alone, ix.many = keys.NamedAs(layout, name), keys.Follow(layout, name)
	if err := ix.alone.All().Err(); err != nil && ix.fault == nil {
		ix.fault = &DefinitionError{Definition: name, Field: "layout", Reason: err.Error(), Err: err}
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
func named(name string) error {
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
	if ix.fault == nil {
		ix.fault = &DefinitionError{Definition: ix.name, Field: field, Reason: reason}
	}
}

// Name is the name of the index.
func (ix *Index[T, K]) Name() string { return ix.name }

// full tells whether its rows are the whole of their entities.
func (ix *Index[T, K]) full() bool { return !ix.opt.Pointer && len(ix.opt.Only) == 0 }

// reserved is the beginning of index rows among the library's.
const reserved = "~x|"

func (ix *Index[T, K]) place(s string) string {
	if ix.opt.Reserved {
		return reserved + s
	}
	return s
}

// placed is a range of the layout where the rows are.
func (ix *Index[T, K]) placed(r keys.Range) keys.Range {
	if !ix.opt.Reserved || r.Err() != nil {
		return r
	}
	from, to, closed := r.Bounds()
	if closed {
		to += " " // the first key behind it
	}
	return keys.StoredBetween(reserved+from, reserved+to)
}

// row is the RowKey of a value's row for an entity.
func (ix *Index[T, K]) row(k K, primary keys.Key) (string, error) {
	e := ix.alone.Of(k)
	if ix.opt.Unique == NotUnique {
		e = ix.many.Of(k, primary.Row())
	}
	s, err := e.Result()
	if err == nil && ix.opt.Reserved {
		s = ix.place(s)
		err = keys.Stored("p", s).Err() // which is longer
	}
	return s, err
}

// rows are the RowKeys of an entity's rows, in order. The key function is called twice, for one that is not pure would leave rows
// behind that nothing finds.
func (ix *Index[T, K]) rows(v *T, primary keys.Key) ([]string, error) {
	if v == nil {
		return nil, nil
	}
	rows, err := ix.rowsOnce(v, primary)
	if err != nil {
		return nil, err
	}
	again, err := ix.rowsOnce(v, primary)
	if err == nil && !slices.Equal(rows, again) {
		err = &DefinitionError{Definition: ix.name, Field: "key", Reason: fmt.Sprintf("is not pure: of one entity it made %q, and then %q", rows, again)}
	}
	return rows, err
}

func (ix *Index[T, K]) rowsOnce(v *T, primary keys.Key) (rows []string, err error) {
	type made struct {
		row string
		err error
	}
	all, err := call(ix.name, "key", func(v *T) (all []made) {
		for _, k := range ix.key(v) {
			s, err := ix.row(k, primary)
			all = append(all, made{s, err})
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
		rows = append(rows, m.row)
	}
	slices.Sort(rows)
	if rows = slices.Compact(rows); len(rows) > ix.max {
		return nil, &table.LimitError{Field: "index " + ix.name, Limit: "values of one entity", Got: len(rows), Max: ix.max}
	}
	return rows, nil
}

// stands tells whether an entity has this row: also one that has more of them than it may, or others that it cannot have.
func (ix *Index[T, K]) stands(v *T, primary keys.Key, row string) bool {
	is, err := call(ix.name, "key", func(v *T) bool {
		return slices.ContainsFunc(ix.key(v), func(k K) bool {
			s, err := ix.row(k, primary)
			return err == nil && s == row
		})
	}, v)
	return err == nil && is
}

// call calls a user's function, whose panic is an error of the write that it was called for.
func call[T, R any](definition, field string, f func(*T) R, v *T) (r R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &DefinitionError{Definition: definition, Field: field, Reason: fmt.Sprintf("panics: %v", p)}
		}
	}()
	return f(v), nil
}
