package aztablekit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Definition is what follows from the entities of a table: an index, a summary, an effect, a view,
// large values. Package extend says how to make one.
type Definition[T any] = extend.Definition[T]

// Settings are a definition that says what else a table, or one of its types, has besides keys.
// Schema.Partition and Schema.Row are unset, since [Table] takes them. Zero fields of
// Options.Common are those of the store.
type Settings[T any] struct {
	Schema  table.Schema[T]
	Options table.Options
}

const settingsName = "settings"

// Name returns "settings".
func (*Settings[T]) Name() string { return settingsName }

// Define does nothing: [Table] makes the handle by the settings, before any definition is added.
func (*Settings[T]) Define(*extend.Declaration[T]) error { return nil }

// declaration is a table of a store, or one type of its entities.
type declaration struct {
	name      string // in the account
	of        reflect.Type
	handle    table.Handle
	catalogue *catalogue.Catalogue // that of the table, with all its types
	guard     *catalogue.Guard
	names     []string                   // of the definitions
	rows      map[string][]keys.RowRange // of the definitions, by their tables
	parts     host.Parts
	checks    []func(context.Context, *verify.Options) (table.Progress, error)
	fill      func(context.Context, *verify.Options, ...verify.Definition) (table.Progress, error)
	sweep     func(context.Context, *sweeper) error
	verifier  verifier
}

// id identifies the table.
func (d *declaration) id() string { return strings.ToLower(d.name) }

// Table declares a table of a store, its keys, and everything that follows from its entities. It
// returns the table's only handle: each write by it keeps all definitions.
//
//	staff := aztablekit.Table(company, "staff", dept, empid, byEmail, payroll)
//
// A table of several types is declared once for each type, with one name. Either key may be nil, if
// it is not stored in a field; see table.Schema. A definition belongs to one table of a store.
// Definitions that are not made of a store, indexes and effects, may be variables of a package.
// Table sends nothing.
//
// A name that begins with $ is that of a table which the service keeps, such as
// $MetricsHourPrimaryTransactionsBlob. It has no prefix, no definitions but Settings, and can only
// be read.
//
// Errors are returned by the methods of the store and by each method of the handle, with the names
// of table and definition:
//   - *table.TypeError for a T that cannot be stored
//   - *keys.KeyError for a wrong key
//   - *table.ValueError for a name that no table can have, a type that is declared twice, types
//     whose rows are in one range of keys, a definition that is nil, belongs to another table or
//     has the name of another one, a table that something else owns, and for a declaration after a
//     method of the store was called
//   - the errors of the definitions, such as *table.DefinitionError
func Table[T any](s *Store, name string, partition keys.AnyPartition[T], row keys.AnyRow[T], definitions ...Definition[T]) *table.Table[T] {
	var none *table.Table[T]
	to := new(extend.Declaration[T])
	m := &making{of: reflect.TypeFor[T](), none: none, to: to, add: func(i int) error { return to.Add(definitions[i]) }}
	var settings Settings[T]
	for _, definition := range definitions {
		m.definitions = append(m.definitions, definition)
		if given, is := definition.(*Settings[T]); is && given != nil {
			settings = *given
			m.settings++
		}
	}
	m.hasKeys = settings.Schema.Partition != nil || settings.Schema.Row != nil
	settings.Schema.Partition, settings.Schema.Row = partition, row
	m.schema, m.options = &settings.Schema, settings.Options
	return s.make(name, m).(*table.Table[T])
}

// making is what Table gives to the rest of a declaration, which is compiled once for all types.
type making struct {
	of          reflect.Type
	none        table.Handle // a nil *table.Table
	schema      any          // a *table.Schema, with the keys
	options     table.Options
	settings    int  // how many there are
	hasKeys     bool // the settings have keys
	definitions []named

	to  any // the *extend.Declaration
	add func(i int) error
}

// named is a Definition without its type parameter.
type named interface{ Name() string }

// make returns the handle of a declaration, or one that returns its mistake.
func (s *Store) make(name string, m *making) table.Handle {
	t, err := s.add(name, m)
	if err != nil {
		return door.Tables.Faulty(m.none, name, err).(table.Handle)
	}
	return t
}

// add adds a declaration to the store, or its mistake.
func (s *Store) add(name string, m *making) (table.Handle, error) {
	if err := s.invalid(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &declaration{name: s.host.TableName(name), of: m.of, rows: map[string][]keys.RowRange{}}
	ofService := strings.HasPrefix(name, "$")
	var t table.Handle
	var err error
	if ofService {
		d.name = name
		t, err = s.readOnly(d, m)
	} else {
		d.catalogue = s.catalogueOf(d)
		t, err = s.declare(d, m)
	}
	if err != nil {
		s.declared.refuse(fmt.Errorf("table %s: %w", name, err))
		return nil, err
	}
	if ofService {
		return t, nil // nothing creates it, and nothing follows from its rows
	}
	s.tables.Add(d.name)
	d.guard.Declare(declared(d))
	for _, definition := range m.definitions {
		s.owners[definition] = name
	}
	s.declarations = append(s.declarations, d)
	return t, nil
}

// readOnly returns the handle of a table of the service.
func (s *Store) readOnly(d *declaration, m *making) (table.Handle, error) {
	if slices.ContainsFunc(m.definitions, func(of named) bool { return wire.IsNil(of) || of.Name() != settingsName }) {
		return nil, &table.ValueError{Field: "definitions", Reason: "are of a table that belongs to the service: programs can only read it"}
	}
	t, err := s.handleOf(d, m)
	if err == nil {
		door.Table(t).Made = "the service, if the account keeps them,"
	}
	return t, err
}

// declare returns the handle of a table, with everything that follows from its entities.
func (s *Store) declare(d *declaration, m *making) (table.Handle, error) {
	others := slices.DeleteFunc(slices.Clone(s.declarations), func(other *declaration) bool { return other.id() != d.id() })
	if slices.ContainsFunc(others, func(other *declaration) bool { return other.of == d.of }) {
		return nil, &table.ValueError{Field: "type " + d.of.String(), Reason: "is declared twice: pass the handle of the first declaration on"}
	}
	t, err := s.newTable(d, m)
	if err != nil {
		return nil, err
	}
	if err := s.declared.claimEntities(d.id()); err != nil {
		return nil, err
	}
	host.Begin(m.to, host.Of(s), t)
	var faults []error
	for i, definition := range m.definitions {
		err := s.check(d, others, definition, i)
		if err == nil {
			err = m.add(i)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	t, parts, err := host.Declared(m.to)
	if err != nil {
		return nil, err
	}
	d.handle = t
	for _, definition := range m.definitions {
		switch made := door.Table(t).Mode.Bindings[definition].(type) {
		case verifier:
			if made.Verifies() {
				d.verifier = made
			}
		case interface {
			Check(context.Context, *verify.Options) (table.Progress, error)
		}:
			d.checks = append(d.checks, made.Check)
		}
	}
	d.parts.Ensure = []host.Task{{Name: "table " + d.name, Do: func(ctx context.Context) error {
		if err := door.Table(t).Ensure(ctx); err != nil {
			return err
		}
		return ensureCatalogue(ctx, tabledoor.Of(t), d.catalogue)
	}}}
	d.fill = func(ctx context.Context, o *verify.Options, of ...verify.Definition) (table.Progress, error) {
		return verify.Repair(ctx, t, o, of...)
	}
	d.sweep = func(ctx context.Context, w *sweeper) error { return sweep(ctx, tabledoor.Of(t), w) }
	for _, p := range parts {
		if err := d.add(p, others); err != nil {
			return nil, err
		}
	}
	if err := d.checkRows(others); err != nil {
		return nil, err
	}
	if hasRows(t) {
		d.checks = append(d.checks, func(ctx context.Context, o *verify.Options) (table.Progress, error) { return verify.Repair(ctx, t, o) })
	}
	return t, s.declared.admit("table "+d.id(), append(parts, host.Parts{Tables: []string{d.name}})...)
}

// check returns why the store cannot add a definition, the i-th, to a declaration.
func (s *Store) check(d *declaration, others []*declaration, definition named, i int) error {
	if wire.IsNil(definition) {
		return &table.ValueError{Field: fmt.Sprintf("definitions[%d]", i), Reason: "is nil"}
	}
	name := definition.Name()
	fail := func(reason string) error {
		return fmt.Errorf("definition %s: %w", name, &table.ValueError{Field: "definition", Reason: reason})
	}
	if !reflect.ValueOf(definition).Comparable() {
		return fail("cannot be compared with others; use a pointer")
	}
	if name == settingsName {
		return nil // each type may have some, also the same
	}
	if owner, owned := s.owners[definition]; owned {
		return fail(fmt.Sprintf("is one of table %s, too; make another one", owner))
	}
	if slices.Contains(d.names, name) {
		return fail("has the name of another definition of the table; choose another")
	}
	for _, other := range others {
		if slices.Contains(other.names, name) {
			return fail(fmt.Sprintf("has the name of a definition of type %v of the table; choose another", other.of))
		}
	}
	d.names = append(d.names, name)
	return nil
}

// add adds what a definition needs. Indexes of one type share a handler, and so do views.
func (d *declaration) add(p host.Parts, others []*declaration) error {
	for _, h := range p.Handlers {
		for _, other := range others {
			if other.hasKind(h.Kind) {
				return &table.ValueError{Field: "effect " + h.Kind, Reason: fmt.Sprintf("is that of an effect of type %v of the table; choose another", other.of)}
			}
		}
		if !d.hasKind(h.Kind) {
			d.parts.Handlers = append(d.parts.Handlers, h)
		}
	}
	for name, rows := range p.Rows {
		d.rows[strings.ToLower(name)] = append(d.rows[strings.ToLower(name)], rows...)
	}
	d.parts.Ensure = append(d.parts.Ensure, p.Ensure...)
	d.parts.Daily = append(d.parts.Daily, p.Daily...)
	return nil
}

func (d *declaration) hasKind(kind string) bool {
	return slices.ContainsFunc(d.parts.Handlers, func(h host.Handler) bool { return h.Kind == kind })
}

// newTable returns a handle with the outbox and the catalogue of the store, without definitions.
func (s *Store) newTable(d *declaration, m *making) (table.Handle, error) {
	t, err := s.handleOf(d, m)
	if err != nil {
		return nil, err
	}
	if d.catalogue == nil {
		d.catalogue = catalogue.New(door.Table(t), s.opt.CatalogueAge)
	}
	d.guard = d.catalogue.Guard()
	door.Table(t).Mode.Guard = d.guard
	return bare.InOutbox(t, s.outbox)
}

// handleOf returns a handle by the settings among the definitions.
func (s *Store) handleOf(d *declaration, m *making) (table.Handle, error) {
	switch {
	case m.settings > 1:
		return nil, &table.ValueError{Field: "definitions", Reason: "contain Settings twice"}
	case m.hasKeys:
		return nil, &table.ValueError{Field: "Settings.Schema", Reason: "has keys; give them to Table"}
	}
	o := m.options
	o.Common = s.host.Options(o.Common)
	made, err := door.Tables.New(m.none, s.host.Tables, d.name, m.schema, &o)
	if err != nil {
		return nil, cmp.Or(errors.Unwrap(err), err) // which does not name the table again
	}
	t := made.(table.Handle)
	e := door.Table(t)
	e.Prefix, e.Made, e.Kin, e.Notes = s.host.Prefix, "Store.Ensure", &s.tables, s.work
	return t, nil
}

// checkRows returns the error of a type whose rows, or those of its definitions, would be taken for
// those of another type of the table. Entities of one range of keys are told apart if both types
// have names.
func (d *declaration) checkRows(others []*declaration) error {
	own, name := d.entities()
	for _, other := range others {
		taken, otherName := other.entities()
		if (name == "" || otherName == "" || name == otherName) && keyrange.RowsOverlap(own, taken) {
			return d.overlap(own, taken, other, "give the layouts names, or set Schema.Type of both")
		}
		for table, rows := range d.rows {
			also := slices.Clone(other.rows[table])
			if table == d.id() {
				also = append(also, taken)
			}
			if err := d.checkApart(rows, also, other); err != nil {
				return err
			}
		}
		if err := d.checkApart([]keys.RowRange{own}, other.rows[d.id()], other); err != nil {
			return err
		}
	}
	return nil
}

// checkApart returns an error if ranges of rows overlap those of another type.
func (d *declaration) checkApart(rows, taken []keys.RowRange, by *declaration) error {
	for _, r := range rows {
		for _, other := range taken {
			if keyrange.RowsOverlap(r, other) {
				return d.overlap(r, other, by, "give the definition another name")
			}
		}
	}
	return nil
}

// entities returns the range of the RowKeys of the entities, and Schema.Type.
func (d *declaration) entities() (keys.RowRange, string) {
	schema := door.Table(d.handle).Mode.Schema
	_, name := schema.Type()
	return schema.Rows(), name
}

func (d *declaration) overlap(r, taken keys.RowRange, of *declaration, wayOut string) error {
	return &table.ValueError{Field: "type " + d.of.String(), Reason: fmt.Sprintf("has rows in %v, which overlaps %v of type %v: %s", r, taken, of.of, wayOut)}
}

// hasRows reports whether definitions of a table have rows that [verify.Check] compares.
func hasRows(t table.Handle) bool {
	return slices.ContainsFunc(door.Table(t).Mode.Maintainers, func(m engine.Maintainer) bool {
		_, is := m.Typed().(interface{ Definition() any })
		return is
	})
}
