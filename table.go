package aztablekit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Definition is what follows from the entities of a table: an index, a summary, an effect, a view, large values. Package extend says how
// to make one.
type Definition[T any] = extend.Definition[T]

// Settings are a definition that says what else a table, or one of its types, has besides keys. Schema.Partition and Schema.Row are unset,
// since [Table] takes them. Options.Common is that of the store if it is zero, and Options.MovedFrom names tables of the store.
type Settings[T any] struct {
	Schema  table.Schema[T]
	Options table.Options
}

// Name returns "settings".
func (*Settings[T]) Name() string { return "settings" }

// Define does nothing: [Table] makes the handle by the settings, before any definition is added.
func (*Settings[T]) Define(*extend.Declaration[T]) error { return nil }

// declaration is a table of a store, or one type of its entities.
type declaration struct {
	name     string // in the account
	of       reflect.Type
	handle   table.AnyTable
	handlers []extend.Handler
	parts    extend.Parts
	checks   []func(context.Context, *verify.Options) (verify.Report, error)
}

// id identifies the table.
func (d *declaration) id() string { return strings.ToLower(d.name) }

// Table declares a table of a store, its keys, and everything that follows from its entities. It returns the table's only handle: each
// write by it keeps all definitions.
//
//	staff := aztablekit.Table(company, "staff", dept, empid, byEmail, payroll)
//
// A table of several types is declared once for each type, with one name. Either key may be nil, if it is not stored in a field; see
// table.Schema. A definition belongs to one table of a store, and may be a package's variable. Table sends nothing.
//
// Errors are returned by the methods of the store and by each method of the handle, with the names of table and definition:
// *table.TypeError for a T that cannot be stored; *keys.KeyError for a wrong key; *table.ValueError for a name that no table can have, a
// type that is declared twice, a definition that is nil or belongs to another table, and for a declaration after a method of the store
// was called; the errors of the definitions, such as *index.DefinitionError.
func Table[T any](s *Store, name string, partition keys.AnyPartition[T], row keys.AnyRow[T], definitions ...Definition[T]) *table.Table[T] {
	fail := func(err error) *table.Table[T] {
		return door.Faulty[*table.Table[T]](name, fmt.Errorf("table %s: %w", name, err))
	}
	if s == nil {
		return fail(&table.ValueError{Field: "s", Reason: "is nil; give one that Open has returned"})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.invalid != nil {
		return door.Faulty[*table.Table[T]](name, s.invalid)
	}
	t, err := declare(s, name, table.Schema[T]{Partition: partition, Row: row}, definitions)
	if err != nil {
		s.host.Fault(fmt.Errorf("table %s: %w", name, err))
		return door.Faulty[*table.Table[T]](name, err)
	}
	return t
}

// declare returns the handle of a table, with everything that follows from its entities.
func declare[T any](s *Store, name string, schema table.Schema[T], definitions []Definition[T]) (*table.Table[T], error) {
	d := &declaration{name: s.host.TableName(name), of: reflect.TypeFor[T]()}
	if err := s.admit(d); err != nil {
		return nil, err
	}
	t, err := newTable(s, d.name, schema, definitions)
	if err != nil {
		return nil, err
	}
	to := extend.NewDeclaration(&s.host, t)
	for i, of := range definitions {
		if err := define(s, name, to, of, i); err != nil {
			return nil, err
		}
		if c, is := of.(verify.Checker); is {
			d.checks = append(d.checks, c.Check)
		}
	}
	t, parts, err := to.Declared()
	if err != nil {
		return nil, err
	}
	d.handle = t
	d.parts.Ensure = []extend.Task{{Name: "table " + d.name, Do: t.Ensure}}
	for _, p := range parts {
		if err := s.add(d, p); err != nil {
			return nil, err
		}
	}
	if len(d.handlers) > 0 {
		d.parts.Daily = append(d.parts.Daily, extend.Task{Name: "pending effects of " + d.name, Do: func(ctx context.Context) error { return notifyPending(ctx, s.outbox, t) }})
	}
	if hasRows(t) {
		d.checks = append(d.checks, func(ctx context.Context, o *verify.Options) (verify.Report, error) { return verify.Run(ctx, t, o) })
	}
	s.declarations = append(s.declarations, d)
	return t, nil
}

// admit returns why a store cannot have a declaration.
func (s *Store) admit(d *declaration) error {
	if s.complete {
		return &table.ValueError{Field: "the declaration", Reason: "is too late: declare all tables before Ensure, Run and the other methods of the store"}
	}
	for _, other := range s.declarations {
		if other.id() == d.id() && other.of == d.of {
			return &table.ValueError{Field: "type " + d.of.String(), Reason: "is declared twice: pass the handle of the first declaration on"}
		}
	}
	return nil
}

// newTable returns a handle with the outbox of the store, without definitions.
func newTable[T any](s *Store, name string, schema table.Schema[T], definitions []Definition[T]) (*table.Table[T], error) {
	var settings Settings[T]
	found := false
	for _, of := range definitions {
		given, is := of.(*Settings[T])
		if !is || given == nil {
			continue
		}
		if found {
			return nil, &table.ValueError{Field: "definitions", Reason: "contain Settings twice"}
		}
		settings, found = *given, true
	}
	if settings.Schema.Partition != nil || settings.Schema.Row != nil {
		return nil, &table.ValueError{Field: "Settings.Schema", Reason: "has keys; give them to Table"}
	}
	settings.Schema.Partition, settings.Schema.Row = schema.Partition, schema.Row
	o := settings.Options
	o.Common = s.host.Options(o.Common)
	o.MovedFrom = nil
	for _, from := range settings.Options.MovedFrom {
		o.MovedFrom = append(o.MovedFrom, s.host.TableName(from))
	}
	t, err := table.New(s.host.Tables, name, settings.Schema, &o)
	if err != nil {
		return nil, errors.Unwrap(err) // which does not name the table again
	}
	door.Table(t).Prefix, door.Table(t).Made = s.host.Prefix, "Store.Ensure"
	return eventual.WithOutbox(t, s.outbox)
}

// define adds a definition to the declaration of a table, the i-th.
func define[T any](s *Store, name string, to *extend.Declaration[T], of Definition[T], i int) error {
	if wire.IsNil(of) {
		return &table.ValueError{Field: fmt.Sprintf("definitions[%d]", i), Reason: "is nil"}
	}
	if !reflect.ValueOf(of).Comparable() {
		return fmt.Errorf("definition %s: %w", of.Name(), &table.ValueError{Field: "definition", Reason: "cannot be compared with others; use a pointer"})
	}
	if owner, owned := s.owners[of]; owned {
		return fmt.Errorf("definition %s: %w", of.Name(), &table.ValueError{Field: "definition", Reason: fmt.Sprintf("is one of table %s, too; make another one", owner)})
	}
	if err := of.Define(to); err != nil {
		return fmt.Errorf("definition %s: %w", of.Name(), err)
	}
	s.owners[of] = name
	return nil
}

// add adds what a definition needs to a declaration.
func (s *Store) add(d *declaration, p extend.Parts) error {
	for _, h := range p.Handlers {
		for _, other := range s.declarations {
			if other.id() == d.id() && hasKind(other.handlers, h.Kind) {
				return &table.ValueError{Field: "effect " + h.Kind, Reason: "is that of an effect of another type of the table; choose another"}
			}
		}
		if !hasKind(d.handlers, h.Kind) {
			d.handlers = append(d.handlers, h)
		}
	}
	d.parts.Ensure = append(d.parts.Ensure, p.Ensure...)
	d.parts.Daily = append(d.parts.Daily, p.Daily...)
	return nil
}

func hasKind(handlers []extend.Handler, kind string) bool {
	return slices.ContainsFunc(handlers, func(h extend.Handler) bool { return h.Kind == kind })
}

// hasRows reports whether definitions of a table have rows that [verify.Run] compares.
func hasRows(t table.AnyTable) bool {
	return slices.ContainsFunc(door.Table(t).Mode.Maintainers, func(m engine.Maintainer) bool {
		_, is := m.Typed().(interface{ Definition() any })
		return is
	})
}

// notifyPending notifies the workers of all effects of a table whose notification was lost.
func notifyPending(ctx context.Context, o *eventual.Outbox, t table.AnyTable) error {
	var opt eventual.NotifyOptions
	for {
		result, err := o.NotifyPending(ctx, t, &opt)
		if err != nil || result.Token == "" {
			return err
		}
		opt.Token = result.Token
	}
}
