package index

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Definition is an [Index], [Lists], [Details] or [Summary] of any kind of key, for [Attach] and [Verify].
type Definition[T any] interface {
	Name() string
	maintainer(*table.Table[T]) (maintainer[T], error)
}

// maintainer is a definition of a table.
type maintainer[T any] interface {
	table.Maintainer[T]
	// ranges are where its rows are, those that are nobody else's.
	Ranges() []keys.Range
	// is tells whether it is this definition's.
	is(Definition[T]) bool
	// mine reports whether a row is its own: one that it has written, or holds something that it has written. All others are
	// neither replaced nor deleted.
	Owns(row *table.Row) bool
	// columns are those that it writes into entities of other types.
	columns() []string
}

// DefinitionError is a mistake in a definition. Nothing was written.
type DefinitionError struct {
	Definition string // its name
	Field      string // of the definition: key, layout, or an option
	Reason     string
	Err        error // what the field's own package says, if that is the cause
}

func (e *DefinitionError) Error() string {
	return fmt.Sprintf("index %s: %s %s", e.Definition, e.Field, e.Reason)
}

// Unwrap returns Err.
func (e *DefinitionError) Unwrap() error { return e.Err }

// about says of which definition an error is, unless that says so itself.
func withDefinition(definition string, err error) error {
	if de, is := err.(*DefinitionError); is && de.Definition == definition {
		return err
	}
	return fmt.Errorf("index %s: %w", definition, err)
}

// absent tells whether a definition is nil, or a nil pointer.
func isNil(d any) bool {
	v := reflect.ValueOf(d)
	return d == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// Attach returns a handle of the same table with these definitions, besides those that t has. Every write by the handle updates the
// rows of all definitions in its own transaction, still 1 request. Writes by key read the row first; see [table.Table.With]. outbox
// may be nil if the table has no effects. Attach sends nothing.
//
// Look-ups do not find entities that were stored before. [Verify] with Repair adds them, once, while other programs write. Until then,
// the first write of such an entity reads each index row that the stored entity may have and the new one does not need: 1 request
// each. A summary counts its groups anew; see [Summary].
//
// Errors: *DefinitionError for a wrong definition: its name, its layout, rows that would lie among those of the table or of another
// definition, more rows for one write than a transaction holds, a projection that lacks a field of the key, or a key function that is
// not pure, as far as made-up entities show it; and those of [table.Table.With]. If a key function panics, the write of that entity
// fails.
func Attach[T any](t *table.Table[T], outbox table.Outbox, definitions ...Definition[T]) (*table.Table[T], error) {
	if t == nil {
		return nil, errors.New("index: Attach: the table is nil")
	}
	fail := func(d Definition[T], field, reason string) error {
		return fmt.Errorf("index: Attach %s: %w", t.Name(), &DefinitionError{Definition: d.Name(), Field: field, Reason: reason})
	}
	attached := t
	var before []maintainer[T]
	for _, m := range t.Maintainers() {
		if m, is := m.(maintainer[T]); is {
			before = append(before, m)
		}
	}
	for _, d := range definitions {
		if isNil(d) {
			return nil, fmt.Errorf("index: Attach %s: a definition is nil", t.Name())
		}
		if slices.ContainsFunc(attached.Maintainers(), func(m table.Maintainer[T]) bool { return m.Name() == d.Name() }) {
			return nil, fail(d, "name", "is that of another definition")
		}
		m, err := d.maintainer(t)
		if err != nil {
			return nil, fmt.Errorf("index: Attach %s: %w", t.Name(), err)
		}
		for _, r := range m.Ranges() {
			if r.Meets(t.Range()) {
				return nil, fail(d, "layout", fmt.Sprintf("keeps rows in %v, among those of the table, %v: give the table's layout a name, or set Reserved", r, t.Range()))
			}
			for _, other := range before {
				if slices.ContainsFunc(other.Ranges(), r.Meets) {
					return nil, fail(d, "layout", fmt.Sprintf("keeps rows in %v, as %s does", r, other.Name()))
				}
			}
		}
		for _, other := range before {
			for _, c := range other.columns() {
				if slices.Contains(m.columns(), c) {
					return nil, fail(d, "prefix", fmt.Sprintf("makes the property %s, as %s does", c, other.Name()))
				}
			}
		}
		before = append(before, m)
		if attached, err = attached.With(outbox, m); err != nil {
			var limit *table.LimitError
			if errors.As(err, &limit) {
				reason := fmt.Sprintf("are %d for one change of an entity, with those of the other definitions, and a transaction has room for %d: each value counts twice, for the row that goes and the one that comes", limit.Got, limit.Max)
				return nil, fmt.Errorf("index: Attach %s: %w", t.Name(), &DefinitionError{Definition: d.Name(), Field: "rows", Reason: reason, Err: err})
			}
			return nil, fmt.Errorf("index: Attach %s: definition %s: %w", t.Name(), d.Name(), err)
		}
	}
	return attached, nil
}
