// Package bare makes the parts of a store: handles of tables, and the maintainers and handlers of
// effects. It is for stores, for logs and archives, whose rows have no definitions, and for tests.
// A handle without a store knows nothing of the catalogue of its table: it keeps its own
// definitions, and looks up by them at any time.
package bare

import (
	"context"
	"maps"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
)

// NewTable returns a handle of a table. It sends nothing: Ensure of the handle creates the table.
// Errors: *table.TypeError for a T that cannot be stored; *keys.KeyError for a wrong binding;
// *table.ValueError or *table.LimitError for a name that no table can have, a nil service, or a
// wrong schema or option.
func NewTable[T any](service engine.Service, name string, schema table.Schema[T], o *table.Options) (*table.Table[T], error) {
	return door.New[*table.Table[T]](service, name, &schema, o)
}

// Declare returns the declaration of a table that has no definitions yet. t has the outbox of the
// store.
func Declare[T any](h *host.Host, t *table.Table[T]) *extend.Declaration[T] {
	d := new(extend.Declaration[T])
	host.Begin(d, h, t)
	return d
}

// With returns a handle of the same table with these maintainers, besides those of t. Errors: those
// of extend.Declaration.Maintain.
func With[T any](t *table.Table[T], maintainers ...extend.Maintainer[T]) (*table.Table[T], error) {
	if err := engine.CheckHandle("t", door.Table(t)); err != nil {
		return nil, err
	}
	d := Declare(nil, t)
	for _, m := range maintainers {
		if err := d.Maintain(m); err != nil {
			return nil, err
		}
	}
	return declared[T](d)
}

func declared[T any](d any) (*table.Table[T], error) {
	made, _, err := host.Declared(d)
	t, _ := made.(*table.Table[T])
	return t, err
}

// Maintainer is an extend.Maintainer that is compiled once for all types: Old and New of a change
// are pointers to the type of the table, nil for none.
type Maintainer interface {
	Name() string
	MaxRows() int
	Maintain(ctx context.Context, p *extend.Plan, c *engine.Change) error
}

// WithAny is With for such a maintainer.
func WithAny(t table.Handle, m Maintainer) (table.Handle, error) {
	change, err := door.Plans.Maintain(door.Table(t), m)
	if err != nil {
		return nil, err
	}
	return door.InMode(t, change), nil
}

// Bind returns a handle that contains what a definition has made for it, for [BoundTo]: the methods
// of a definition get the handle, and the definition itself is bound to none.
func Bind(t table.Handle, definition, made any) table.Handle {
	return door.InMode(t, func(m *engine.Mode) {
		all := map[any]any{definition: made}
		maps.Copy(all, m.Bindings)
		m.Bindings = all
	})
}

// BoundTo returns what a definition has made for a handle, an M. Errors: *table.ValueError for a
// nil or zero handle; the mistakes of its declaration; *table.DefinitionError for a handle without
// the definition.
func BoundTo[M any](t table.Handle, definition interface{ Name() string }) (made M, err error) {
	of := door.Table(t)
	if err := engine.CheckHandle("t", of); err != nil {
		return made, err
	}
	made, is := of.Mode.Bindings[definition].(M)
	if !is {
		err = &table.DefinitionError{Definition: definition.Name(), Field: "table", Reason: "does not have the definition: " +
			"use the handle of a table that the same definition was given to"}
	}
	return made, err
}

// BoundByName returns what a definition of a name has made for a handle, nil for none.
func BoundByName(t table.Handle, name string) any {
	for definition, made := range door.Table(t).Mode.Bindings {
		if of, is := definition.(interface{ Name() string }); is && of.Name() == name {
			return made
		}
	}
	return nil
}

// InAccount returns a store in another account, in which nothing is declared; the store itself for
// nil.
func InAccount(h *host.Host, a host.Account) *host.Host {
	if a == nil {
		return h
	}
	return &host.Host{Account: a, Tables: a.Tables(), Common: h.Common, Prefix: h.Prefix, Invalid: h.Invalid}
}

// Place returns a text for a thing of a store that is in this account; nil for that of the store.
func Place(of string, a host.Account) string {
	if a == nil {
		return of
	}
	return of + " of another account"
}
