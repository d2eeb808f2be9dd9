package extend

import (
	"fmt"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Definition is what follows from the entities of a table: an index, a summary, an effect, a view. aztablekit.Table takes definitions.
type Definition[T any] interface {
	// Name is unique among the definitions of a table, of all its types. Errors contain it.
	Name() string

	// Define adds the definition to the declaration of a table. It sends nothing. An error is a mistake in the declaration.
	Define(d *Declaration[T]) error
}

// Declaration is a table of a store while it is declared. Definitions add to it, one after another.
type Declaration[T any] struct {
	host  *Host
	table *table.Table[T]
	adds  string // the name of the definition that is added
	needs []need[T]
}

// need is what a definition needs besides its part in writes.
type need[T any] struct {
	definition string
	parts      func(*table.Table[T]) (Parts, error)
}

// NewDeclaration returns a declaration without definitions, for stores and for tests of definitions. t has the outbox of the store.
func NewDeclaration[T any](h *Host, t *table.Table[T]) *Declaration[T] {
	return &Declaration[T]{host: h, table: t}
}

// Host returns the store. A change of what it returns does not change the store.
func (d *Declaration[T]) Host() *Host {
	if d == nil || d.host == nil {
		return &Host{Invalid: &table.ValueError{
			Field:  "d",
			Reason: "is nil or a zero Declaration; aztablekit.Table makes one",
		}}
	}
	h := *d.host
	h.declares = d.table.Name()
	return &h
}

// Add adds a definition. Errors: *table.ValueError for one that is nil; those of its Define, with its name.
func (d *Declaration[T]) Add(definition Definition[T]) error {
	if d == nil || wire.IsNil(definition) {
		return &table.ValueError{Field: "definition", Reason: "is nil"}
	}
	d.adds = definition.Name()
	return named(d.adds, definition.Define(d))
}

// named adds the name of a definition to an error.
func named(definition string, err error) error {
	if err != nil {
		err = fmt.Errorf("definition %s: %w", definition, err)
	}
	return err
}

// Attach changes the handle of the table: f returns the handle with what the definition does in writes, such as by [With]. The handle that f gets
// has the outbox of the store, and the definitions before this one. Errors: that of f; *table.ValueError for a nil or zero declaration, and for a nil f.
func (d *Declaration[T]) Attach(f func(t *table.Table[T]) (*table.Table[T], error)) error {
	if d == nil || f == nil {
		return errNil
	}
	if err := engine.CheckHandle("d", door.Table(d.table)); err != nil {
		return err
	}
	t, err := f(d.table)
	if err == nil {
		d.table = t
	}
	return err
}

// Needs adds what the definition needs besides. f gets the handle with all definitions, which programs get. Errors: *table.ValueError for a
// nil declaration, and for a nil f.
func (d *Declaration[T]) Needs(f func(t *table.Table[T]) (Parts, error)) error {
	if d == nil || f == nil {
		return errNil
	}
	d.needs = append(d.needs, need[T]{d.adds, f})
	return nil
}

var errNil = &table.ValueError{Field: "d", Reason: "is nil, or f is; aztablekit.Table calls Define"}

// Declared returns the handle with all definitions, and what these need, after each of them. Errors: that of a function of Needs, with the
// name of its definition.
func (d *Declaration[T]) Declared() (t *table.Table[T], all []Parts, err error) {
	for _, n := range d.needs {
		parts, err := n.parts(d.table)
		if err != nil {
			return nil, nil, named(n.definition, err)
		}
		all = append(all, parts)
	}
	return d.table, all, nil
}
