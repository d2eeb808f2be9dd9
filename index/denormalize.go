package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ErrNoTarget: the entity that is to hold a copy does not exist. Insert it first; see [Details].
var ErrNoTarget = errors.New("the entity that is to hold the copy does not exist")

// Details are copies of some fields of one entity in another entity of the partition: the manager's name and address in the
// department, so that one read returns both.
//
// The other entity, the target, is of another type, which may have fields for the copied properties: they are named after the prefix,
// as is one more, the prefix and RowKey, which contains the RowKey of the source. The target must exist when details are written to
// it, is changed in the same transaction by its ETag, and must have no derived rows of its own. A transaction that changes details
// cannot also contain an operation on the target: insert the target first.
//
// The target holds the details of one entity. Details of a second entity fail with ErrTaken until the first gives them up. Details of
// another type or definition under the same prefix fail with ErrForeignRow. In one transaction, put the operation that gives the
// details up first; two entities that swap targets need two transactions. If the target is deleted, or written whole by a value that
// lacks the details, they are gone until a copied field changes or Verify repairs them.
//
// A write that does not change the details costs nothing; other writes read the target, 1 request, and 1 more if the target contains
// the details of another entity. No two details of a table may share a prefix. A new prefix, and a field that is no longer copied,
// need a new name.
type Details[T any] struct {
	name    string
	prefix  string
	target  func(*T) (keys.Enc, bool)
	fields  []table.AnyField[T]
	invalid error
}

// NewDetails defines details. target returns the RowKey of the target, and false for an entity whose details are nowhere.
//
//	manager := index.NewDetails("manager", "Manager", func(e *Employee) (keys.Enc, bool) {
//		return keys.Raw("department"), e.IsManager
//	}, lastName, email) // in ManagerLastName, ManagerEmail, and ManagerRowKey
func NewDetails[T any](name, prefix string, target func(*T) (keys.Enc, bool), fields ...table.AnyField[T]) *Details[T] {
	d := &Details[T]{name: name, prefix: prefix, target: target, fields: slices.Clone(fields)}
	switch err := checkName(name); {
	case err != nil:
		d.invalid = err
	case target == nil:
		d.fail("target", "is nil")
	case len(fields) == 0:
		d.fail("fields", "there are none")
	case prefix == "":
		d.fail("prefix", "is empty")
	}
	return d
}

func (d *Details[T]) fail(field, reason string) {
	if d.invalid == nil {
		d.invalid = &DefinitionError{Definition: d.name, Field: field, Reason: reason}
	}
}

// Name is the name of the definition.
func (d *Details[T]) Name() string { return d.name }

// details keeps a Details.
type detailsMaintainer[T any] struct {
	*Details[T]
	table  *table.Table[T]
	copied []string // of the properties that are copied
	tag    tag
}

func (d *Details[T]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	m := &detailsMaintainer[T]{Details: d, table: t, tag: tagOf(d.name, t)}
	if d.invalid != nil {
		return m, d.invalid
	}
	var err error
	if m.copied, err = t.Properties(d.fields...); err != nil {
		return m, &DefinitionError{Definition: d.name, Field: "fields", Reason: err.Error(), Err: err}
	}
	for _, name := range append([]string{"RowKey"}, m.copied...) {
		if err := new(table.Row).Set(d.prefix+name, ""); err != nil {
			return m, &DefinitionError{Definition: d.name, Field: "prefix", Reason: err.Error(), Err: err}
		}
	}
	if len(m.copied) == 0 {
		return m, &DefinitionError{Definition: d.name, Field: "fields", Reason: "are all part of the key, which is copied anyway"}
	}
	return m, probeFunction(func(v *T) error { _, err := m.targetOf(v); return err })
}

// MaxRows is the entity that loses the details and the one that gets them.
func (m *detailsMaintainer[T]) MaxRows() int { return 2 }

func (m *detailsMaintainer[T]) Ranges() []keys.Range { return nil }

func (m *detailsMaintainer[T]) Owns(row *table.Row) bool { return m.tag.tags(row) }

func (m *detailsMaintainer[T]) columns() []string {
	all := []string{m.prefix + "RowKey"}
	for _, name := range m.copied {
		all = append(all, m.prefix+name)
	}
	return all
}

func (m *detailsMaintainer[T]) is(d Definition[T]) bool { return d == Definition[T](m.Details) }

// to is the RowKey of the entity that holds the details, "" for none.
func (m *detailsMaintainer[T]) targetOf(v *T) (string, error) {
	if v == nil {
		return "", nil
	}
	type result struct {
		e  keys.Enc
		in bool
	}
	of := func(v *T) result { e, in := m.target(v); return result{e, in} }
	r, err := callUser(m.name, "target", of, v)
	if err != nil || !r.in {
		return "", err
	}
	rk, err := r.e.Result()
	if err != nil {
		return "", fmt.Errorf("index %s: %w", m.name, err)
	}
	if again, err := callUser(m.name, "target", of, v); err != nil || again != r {
		return "", &DefinitionError{Definition: m.name, Field: "target", Reason: fmt.Sprintf("is not pure: of one entity it made %v, and then %v", r.e, again.e)}
	}
	return rk, nil
}

// targets is to as a set.
func (m *detailsMaintainer[T]) targetsOf(v *T, _ keys.Key) ([]string, error) {
	rk, err := m.targetOf(v)
	if rk == "" {
		return nil, err
	}
	return []string{rk}, err
}

func (m *detailsMaintainer[T]) Maintain(ctx context.Context, p *table.Plan, c *table.Change[T]) error {
	want, err := m.targetOf(c.New)
	if err != nil {
		return err
	}
	had, form := splitState(c.State())
	if r, _ := repairModeOf(ctx); r.yields == m.name && !slices.Contains(had, want) {
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
	row, err := c.Row()
	if err != nil {
		return err
	}
	holds := m.stateDigest(row)
	c.SetState(want, holds)
	old, err := c.OldRow()
	if err != nil {
		return err
	}
	if slices.Contains(had, want) && slices.Equal(form, []string{holds}) && old != nil && old.Project(m.copied...).Same(row.Project(m.copied...)) && !mustRewrite(ctx, m.name) {
		return nil
	}
	return m.setDetails(ctx, p, c.Key, want, row)
}

// holding is what an entity remembers of its details; see copies.holding.
func (m *detailsMaintainer[T]) stateDigest(row *table.Row) string {
	return "/" + digestOf(m.prefix+" "+projectionID(m.copied), row.Project(m.copied...))
}

// edit puts an entity's details into another one, or takes them out where from is nil.
func (m *detailsMaintainer[T]) setDetails(ctx context.Context, p *table.Plan, entity keys.Key, target string, from *table.Row) error {
	k := keys.Stored(entity.PartitionKey(), target)
	row, err := p.Load(ctx, k.Row())
	switch {
	case err != nil:
		return err
	case row == nil && from == nil:
		return nil
	case row == nil:
		return fmt.Errorf("%w: %v", ErrNoTarget, k)
	}
	if _, isCopy := row.Primary(); isCopy || row.Owner() != "" {
		if from == nil {
			return nil
		}
		return &table.ValueError{Field: "target", Reason: fmt.Sprintf("%v is no entity, but derived from others", k)}
	}
	switch owner := m.sourceOf(row); {
	case from == nil && owner != entity.RowKey() && (owner != noEntity || !m.Owns(row)):
		return nil // they are somebody else's by now
	case from != nil && owner != noEntity && !m.Owns(row) && !m.table.Range().Contains(owner):
		return m.foreignDetails(k) // details of another type
	case from != nil && owner != "" && owner != entity.RowKey():
		// It may be a row that was written back as it was before, or that came to be called otherwise.
		theirs, err := p.Entity(ctx, keys.Stored(entity.PartitionKey(), owner).Row())
		switch {
		case err != nil:
			return err
		case theirs != nil && !m.Owns(row) && (!m.table.Mine(theirs) || recordsDetails(row, theirs)):
			return m.foreignDetails(k) // of another type in the same range, or of another definition
		case theirs != nil && slices.Contains(theirs.MaintainerState(m.name), target):
			return &table.DerivedError{Maintainer: m.name, Key: k, Owner: keys.Stored(entity.PartitionKey(), owner), Err: ErrTaken}
		}
	}
	if err := m.setColumns(row, entity.RowKey(), from); err != nil {
		return err
	}
	if err := p.Put(row); from != nil || !errors.Is(err, table.ErrUnknownMaintainer) {
		return err
	}
	return nil // the other entity has come to have derived rows; what it holds is for Verify to tell
}

// foreign is the error of an entity that holds details of others: it is not to be deleted, as a foreign row in a list's place may be.
func (m *detailsMaintainer[T]) foreignDetails(k keys.Key) error {
	err := fmt.Errorf("%w: it holds details of another definition under the prefix %q; choose another prefix", ErrForeignRow, m.prefix)
	return &table.DerivedError{Maintainer: m.name, Key: k, Err: err}
}

// held reports whether the entity that a row names remembers, for one of the row's marks, that its details are there.
func recordsDetails(row, entity *table.Row) bool {
	return slices.ContainsFunc(row.Tags(), func(mark string) bool {
		name, _, _ := strings.Cut(mark, ":")
		return slices.Contains(entity.MaintainerState(name), row.Key.RowKey())
	})
}

// holds is the RowKey of the entity whose details a row holds.
func (m *detailsMaintainer[T]) sourceOf(row *table.Row) string {
	v, _ := row.Get(m.prefix + "RowKey")
	owner, _ := v.(string)
	return owner
}

// fill makes the details of a row those of an entity, or none.
func (m *detailsMaintainer[T]) setColumns(row *table.Row, owner string, from *table.Row) error {
	for _, name := range m.copied {
		var v any
		if from != nil {
			v, _ = from.Get(name)
		}
		if err := row.Set(m.prefix+name, v); err != nil {
			return err
		}
	}
	if m.tag.set(row, from == nil); from == nil {
		row.Delete(m.prefix + "RowKey")
		return nil
	}
	return row.Set(m.prefix+"RowKey", owner)
}
