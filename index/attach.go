package index

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// Attach returns a handle of the same table with these definitions, besides those that t has. Every write by the handle updates the
// rows of all definitions in the same transaction, still 1 request. Writes by key read the row first; see [maintain.With]. A
// table with effects gets its outbox before or after, by [maintain.WithOutbox]; for definitions with rows elsewhere, before. Attach
// sends nothing.
//
// Look-ups do not find entities that were stored before. Package index/verify adds them, once, while other programs write. Until
// then, the first write of such an entity reads the index rows of its old values that it no longer has, 1 request each. A summary
// counts the entity's groups again; see [Summary].
//
// Errors: *DefinitionError for a wrong definition: its name, its layout, rows in the range of the table or of another definition,
// more rows for one write than a transaction holds, a projection that lacks a field of the key, or a key function that is not pure,
// as far as sample entities show it; and those of [maintain.With]. If a key function panics, the write of that entity fails.
func Attach[T any](t *table.Table[T], definitions ...Definition[T]) (*table.Table[T], error) {
	if err := engine.CheckHandle("t", t.Engine()); err != nil {
		return nil, fmt.Errorf("index: Attach: %w", table.ErrorOf(err))
	}
	fail := func(d Definition[T], field, reason string) error {
		return fmt.Errorf("index: Attach %s: %w", t.Name(), &DefinitionError{Definition: d.Name(), Field: field, Reason: reason})
	}
	attached := t
	before := derived.MaintainersOf[maintainer[T]](t.Engine())
	for _, d := range definitions {
		if isNil(d) {
			return nil, fmt.Errorf("index: Attach %s: %w", t.Name(), &table.ValueError{Field: "definitions", Reason: "contain nil or a zero definition; use one of index.New and the like"})
		}
		if attached.Engine().Mode.Maintainer(d.Name()) != nil {
			return nil, fail(d, "name", "is the name of another definition of the table; choose another one")
		}
		m, err := d.maintainer(t)
		if err != nil {
			return nil, fmt.Errorf("index: Attach %s: %w", t.Name(), err)
		}
		in := tableOf(m, t)
		for _, r := range m.Ranges() {
			if own := t.Engine().Mode.Schema.Rows(); in.Same(t.Engine()) && r.Overlaps(own) {
				return nil, fail(d, "layout", fmt.Sprintf("has its rows in %v, which overlaps the range of the table, %v: give the table's layout a name, or set Reserved", r, own))
			}
			for _, other := range before {
				if in.Same(tableOf(other, t)) && slices.ContainsFunc(other.Ranges(), r.Overlaps) {
					return nil, fail(d, "layout", fmt.Sprintf("has its rows in %v, which overlaps the range of %s: give one of the two another name", r, other.Name()))
				}
			}
		}
		for _, other := range before {
			for _, c := range other.targetProperties() {
				if slices.Contains(m.targetProperties(), c) {
					return nil, fail(d, "prefix", fmt.Sprintf("makes the property %s, as %s does; choose another prefix", c, other.Name()))
				}
			}
		}
		before = append(before, m)
		if attached, err = maintain.With(attached, m); err != nil {
			var limit *table.LimitError
			if errors.As(err, &limit) {
				reason := fmt.Sprintf("are %d for one change of an entity, with those of the other definitions; a transaction has room for %d, and each value counts twice, for the row that is deleted and the row that is inserted", limit.Got, limit.Max)
				return nil, fmt.Errorf("index: Attach %s: %w", t.Name(), &DefinitionError{Definition: d.Name(), Field: "rows", Reason: reason, Err: err})
			}
			return nil, fmt.Errorf("index: Attach %s: definition %s: %w", t.Name(), d.Name(), err)
		}
	}
	return withInline(attached), nil
}

// tableOf returns the table where the rows of a maintainer of t are.
func tableOf[T any](m maintainer[T], t *table.Table[T]) *engine.Table {
	if e, is := m.(ofElsewhere[T]); is {
		return e.rowsTable().Engine()
	}
	return t.Engine()
}

// isNil reports whether a definition is nil, a nil pointer, or one that no constructor has made.
func isNil(d any) bool {
	v := reflect.ValueOf(d)
	return d == nil || v.Kind() == reflect.Pointer && (v.IsNil() || v.Elem().IsZero())
}
