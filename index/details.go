package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/property"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Details are copies of some fields of one entity in another entity of the partition: the manager's
// name and address in the department, so that one read returns both.
//
// The other entity, the target, is of another type, which may have fields for the copied
// properties: they are named after the prefix, as is one more, the prefix and RowKey, which
// contains the RowKey of the source. The target must exist when details are written to it, is
// changed in the same transaction by its ETag, and must have no derived rows of its own. A
// transaction that changes details cannot also contain an operation on the target: insert the
// target first.
//
// The target holds the details of one entity. Details of a second entity fail with table.ErrTaken
// until the first gives them up. Details of another type or definition under the same prefix fail
// with table.ErrForeignRow. In one transaction, put the operation that gives the details up first;
// two entities that swap targets need two transactions. If the target is deleted, or written whole
// by a value that lacks the details, they are gone until a copied field changes or verify.Repair
// repairs them.
//
// A write that does not change the details costs nothing; other writes read the target, 1 request,
// and 1 more if the target contains the details of another entity, and 1 more if the write is
// refused. No two details of a table may share a prefix. A new prefix, and a field that is no
// longer copied, need a new name.
type Details[T any] struct{ c *detailsCore }

// detailsCore are Details without their type parameter.
type detailsCore struct {
	name    string
	prefix  string
	target  func(v any) (keys.RowKey, bool)
	fields  []any // each a table.FieldIn
	invalid error

	definition any // as the program has it
}

// NewDetails defines details. target returns the RowKey of the target, and false for an entity
// whose details are not stored.
//
//	manager := index.NewDetails("manager", "Manager", func(e *Employee) (keys.RowKey, bool) {
//		return keys.RawRow("department"), e.IsManager
//	}, lastName, email) // in ManagerLastName, ManagerEmail, and ManagerRowKey
func NewDetails[T any](name, prefix string, target func(*T) (keys.RowKey, bool), fields ...table.FieldIn[T]) *Details[T] {
	d := &detailsCore{name: name, prefix: prefix, fields: untyped(fields)}
	if target != nil {
		d.target = func(v any) (keys.RowKey, bool) { return target(v.(*T)) }
	}
	d.check()
	of := &Details[T]{d}
	d.definition = of
	return of
}

func (d *detailsCore) check() {
	switch err := checkName(d.name); {
	case err != nil:
		d.invalid = err
	case d.target == nil:
		d.fail("target", "is nil")
	case len(d.fields) == 0:
		d.fail("fields", "are empty; give at least one")
	case d.prefix == "":
		d.fail("prefix", "is empty")
	}
}

func (d *detailsCore) fail(field, reason string) {
	if d.invalid == nil {
		d.invalid = &table.DefinitionError{Definition: d.name, Field: field, Reason: reason}
	}
}

// Name returns the name of the definition.
func (d *detailsCore) Name() string { return d.name }

// core returns the details; zero Details have some that are wrong.
func (d *Details[T]) core() *detailsCore {
	if d == nil || d.c == nil {
		return &detailsCore{}
	}
	return d.c
}

// Name returns the name of the definition.
func (d *Details[T]) Name() string { return d.core().name }

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (d *Details[T]) Define(to *extend.Declaration[T]) error {
	return define(to, d, d.core())
}

// detailsMaintainer writes the details of a Details.
type detailsMaintainer struct {
	*detailsCore
	schema engine.Schema
	copied []string // the properties that are copied
	tag    tag
	mode   derived.RepairMode
}

func (d *detailsCore) maintainer(t tabledoor.Untyped) (maintainer, error) {
	m := &detailsMaintainer{detailsCore: d, schema: door.Table(t).Mode.Schema, tag: tagOf(d.name, t)}
	if d.invalid != nil {
		return m, d.invalid
	}
	var err error
	if m.copied, err = m.schema.Properties(d.fields...); err != nil {
		return m, &table.DefinitionError{Definition: d.name, Field: "fields", Reason: err.Error(), Err: err}
	}
	for _, name := range append([]string{"RowKey"}, m.copied...) {
		if err := new(table.Row).Set(d.prefix+name, ""); err != nil {
			return m, &table.DefinitionError{Definition: d.name, Field: "prefix", Reason: err.Error(), Err: err}
		}
	}
	if len(m.copied) == 0 {
		return m, &table.DefinitionError{Definition: d.name, Field: "fields", Reason: "are all part of the key, which is always copied; add another field"}
	}
	return m, probeFunction(t, func(v any) error { _, err := m.targetOf(v); return err })
}

// MaxRows counts the target that loses the details and the target that gets them.
func (m *detailsMaintainer) MaxRows() int { return 2 }

func (m *detailsMaintainer) Ranges() []keys.RowRange { return nil }

func (m *detailsMaintainer) Owns(row *table.Row) bool { return m.tag.occursIn(row) }

func (m *detailsMaintainer) targetProperties() []string {
	all := []string{m.prefix + "RowKey"}
	for _, name := range m.copied {
		all = append(all, m.prefix+name)
	}
	return all
}

func (m *detailsMaintainer) Definition() any    { return m.definition }
func (m *detailsMaintainer) Form() string       { return "details, " + m.prefix }
func (m *detailsMaintainer) FormerForm() string { return "" }

func (m *detailsMaintainer) RowsPerWrite() int { return 0 }

func (m *detailsMaintainer) InRepairMode(mode derived.RepairMode) derived.Maintainer {
	c := *m
	c.mode = mode
	return &c
}

// targetOf returns the RowKey of the target of an entity, "" if it has none.
func (m *detailsMaintainer) targetOf(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	type result struct {
		e  keys.RowKey
		in bool
	}
	of := func() result { e, in := m.target(v); return result{e, in} }
	r, err := derived.CallUser(m.name, "target", of)
	if err != nil || !r.in {
		return "", err
	}
	rk, err := r.e.Result()
	if err != nil {
		return "", fmt.Errorf("index %s: %w", m.name, err)
	}
	if again, err := derived.CallUser(m.name, "target", of); err != nil || again != r {
		return "", &table.DefinitionError{Definition: m.name, Field: "target", Reason: fmt.Sprintf("is not pure: for one entity it returned %v, and then %v", r.e, again.e)}
	}
	return rk, nil
}

// targetsOf returns targetOf as a list.
func (m *detailsMaintainer) targetsOf(v any, _ keys.Key) ([]string, error) {
	rk, err := m.targetOf(v)
	if rk == "" {
		return nil, err
	}
	return []string{rk}, err
}

func (m *detailsMaintainer) Maintain(ctx context.Context, p *extend.Plan, c *engine.Change) error {
	want, err := m.targetOf(c.New)
	if err != nil {
		return err
	}
	had, content := stored.SplitState(c.State())
	if m.mode.ReleaseOnly && !slices.Contains(had, want) {
		want = ""
	}
	for _, rk := range slices.Concat(had, unrecordedRows(c, had, m.targetsOf)) {
		if rk != want {
			if err := m.setDetails(ctx, p, c.Key, rk, nil); err != nil {
				return err
			}
		}
	}
	if want == "" {
		return nil
	}
	as, err := c.Row()
	if err != nil {
		return err
	}
	row := m.upgraded((*table.Row)(as))
	digest := m.contentState(row)
	c.SetState(want, digest)
	was, err := c.OldRow()
	if err != nil {
		return err
	}
	old := m.upgraded((*table.Row)(was))
	if slices.Contains(had, want) && slices.Equal(content, []string{digest}) && old != nil && (*stored.Row)(old).Project(m.copied...).Same((*stored.Row)(row).Project(m.copied...)) && !m.mode.Rewrite {
		return nil
	}
	return m.setDetails(ctx, p, c.Key, want, row)
}

// upgraded returns a row of an older version as one of the schema's version, nil for nil: a reader
// of details cannot upgrade them.
func (m *detailsMaintainer) upgraded(row *table.Row) *table.Row {
	if row == nil {
		return nil
	}
	return (*table.Row)(m.schema.Upgraded((*stored.Row)(row)))
}

// contentState returns what the maintainer state contains behind the RowKey of the target: a digest
// of the details.
func (m *detailsMaintainer) contentState(row *table.Row) string {
	return "/" + digestOf(m.prefix+" "+projectionID(m.copied), derived.Project(row, m.copied...))
}

// setDetails writes an entity's details into a target, or deletes them there if from is nil.
func (m *detailsMaintainer) setDetails(
	ctx context.Context, p *extend.Plan, entity keys.Key, target string, from *table.Row,
) error {
	k := keys.Raw(entity.PartitionKey(), target)
	row, err := p.Load(ctx, k.Row())
	switch {
	case err != nil:
		return err
	case row == nil && from == nil:
		return nil
	case row == nil:
		return fmt.Errorf("%w: %v", ErrNoTarget, k)
	}
	if _, isCopy := (*stored.Row)(row).Primary(); isCopy || (*stored.Row)(row).Owner() != "" {
		if from == nil {
			return nil
		}
		return &table.ValueError{Field: "target", Reason: fmt.Sprintf("returns the key of a derived row, %v; it must return the key of an entity", k)}
	}
	owner, err := m.sourceOf(row)
	if err != nil && !m.mode.Active {
		return repairable(err)
	}
	switch {
	case from == nil && owner != entity.RowKey() && (owner != derived.NoEntity || !m.Owns(row)):
		return nil // the target holds the details of another entity by now
	case from != nil && owner != derived.NoEntity && !m.Owns(row) && !m.schema.Rows().Contains(owner):
		return m.foreignDetails(k) // details of another type
	case from != nil && owner != "" && owner != entity.RowKey():
		// The target names another entity. That counts only if that entity exists and its
		// maintainer state records the target: another program may have restored or copied the
		// target.
		theirs, err := p.Entity(ctx, keys.Raw(entity.PartitionKey(), owner).Row())
		switch {
		case err != nil:
			return err
		case theirs != nil && !m.Owns(row) && (!m.schema.Mine((*stored.Row)(theirs)) || recordsDetails(row, theirs)):
			return m.foreignDetails(k) // details of another type in the same range, or of another definition
		case theirs != nil && slices.Contains((*stored.Row)(theirs).MaintainerState(m.name), target):
			return &table.DerivedError{Maintainer: m.name, Key: k, Owner: keys.Raw(entity.PartitionKey(), owner), Err: derived.ErrTaken}
		}
	}
	if err := m.setColumns(row, entity.RowKey(), from); err != nil {
		return err
	}
	if err := p.Put(row); from != nil || !errors.Is(err, errs.ErrUnknownMaintainer) {
		return err
	}
	return nil // the target has derived rows by now, so that it cannot be written here; verify.Check reports the details
}

// foreignDetails returns the error for a target that holds foreign details. Its advice differs from
// the advice about a foreign row, because the target is an entity, which must not be deleted.
func (m *detailsMaintainer) foreignDetails(k keys.Key) error {
	err := fmt.Errorf("%w: the target holds details of another definition under the prefix %q; choose another prefix", table.ErrForeignRow, m.prefix)
	return &table.DerivedError{Maintainer: m.name, Key: k, Err: err}
}

// recordsDetails reports whether the maintainer state of an entity records that its details are in
// a target, for one of the target's tags.
func recordsDetails(target, entity *table.Row) bool {
	return slices.ContainsFunc((*stored.Row)(target).Tags(), func(tag string) bool {
		name, _, _ := strings.Cut(tag, ":")
		return slices.Contains((*stored.Row)(entity).MaintainerState(name), target.Key.RowKey())
	})
}

// sourceOf returns the RowKey of the entity whose details a target holds. Errors:
// *table.DecodeError.
func (m *detailsMaintainer) sourceOf(row *table.Row) (string, error) {
	return property.Text(row, m.prefix+"RowKey")
}

// setColumns writes the details of an entity into a row, or deletes all details if from is nil.
func (m *detailsMaintainer) setColumns(row *table.Row, owner string, from *table.Row) error {
	for _, name := range m.copied {
		var v any
		if from != nil {
			v, _ = from.Get(name)
		}
		if err := row.Set(m.prefix+name, v); err != nil {
			return err
		}
	}
	m.tag.set(row, from == nil)
	if from == nil {
		row.Delete(m.prefix + "RowKey")
		return nil
	}
	return row.Set(m.prefix+"RowKey", owner)
}

// The methods of derived.PerEntity and derived.Searched.

func (m *detailsMaintainer) WantedRows(entity any) ([]string, error) {
	return m.targetsOf(tabledoor.ValueOf(entity), tabledoor.KeyOf(entity))
}

func (m *detailsMaintainer) EntitiesIn(row *table.Row) []string {
	if m.Owns(row) {
		source, _ := m.sourceOf(row) // NoEntity if another program has deleted the property, or changed its type
		return []string{source}
	}
	return nil
}

// Condition selects the entities that hold details of any definition.
func (m *detailsMaintainer) Condition() table.Cond[table.Row] {
	tags := table.PropertyOf[string](reserved.Owner)
	return table.And(tags.Ge("/0"), tags.Lt("0")) // the owners of lists and summaries begin with //, which sorts before /0
}

func (m *detailsMaintainer) Content(row *table.Row) *table.Row {
	p := &table.Row{Key: row.Key}
	for name, v := range row.All() {
		if rest, ok := strings.CutPrefix(name, m.prefix); ok && (rest == "RowKey" || slices.Contains(m.copied, rest)) {
			_ = p.Set(name, v) // a stored property is valid
		}
	}
	return p
}

func (m *detailsMaintainer) WantedContent(entity *table.Row) *table.Row {
	p := &table.Row{Key: entity.Key}
	_ = m.setColumns(p, entity.Key.RowKey(), m.upgraded(entity))
	m.tag.set(p, true) // EntitiesIn compares the tag
	return p
}

func (m *detailsMaintainer) Shared() bool { return false }
func (m *detailsMaintainer) Unique() bool { return false } // the target names one entity, which setDetails compares

func (m *detailsMaintainer) Without(row *table.Row, _ ...string) (*table.Row, error) {
	r := row.At(row.Key)
	return r, m.setColumns(r, derived.NoEntity, nil)
}
