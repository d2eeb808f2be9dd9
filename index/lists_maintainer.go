package index

import (
	"context"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// listsMaintainer writes the rows of a Lists.
type listsMaintainer[T, K any] struct {
	*Lists[T, K]
	tag  tag
	mode derived.RepairMode
}

// MaxRows counts the list that the entity leaves and the list that it joins.
func (m *listsMaintainer[T, K]) MaxRows() int { return 2 }

func (m *listsMaintainer[T, K]) Ranges() []keys.Range       { return []keys.Range{m.ix.All()} }
func (m *listsMaintainer[T, K]) targetProperties() []string { return nil }

func (m *listsMaintainer[T, K]) Owns(row *table.Row) bool { return m.tag.matches(row.Engine().Owner()) }

func (m *listsMaintainer[T, K]) Definition() any { return m.Lists }

func (m *listsMaintainer[T, K]) RowsPerWrite() int { return 0 }

func (m *listsMaintainer[T, K]) InRepairMode(mode derived.RepairMode) maintain.Maintainer[T] {
	c := *m
	c.mode = mode
	return &c
}

// Maintain removes the entity from the list in its maintainer state, and adds it to the list that it should be in.
func (m *listsMaintainer[T, K]) Maintain(ctx context.Context, p *maintain.Plan, c *maintain.Change[T]) error {
	want, err := m.ix.rowKeys(c.New, c.Key)
	if err != nil {
		return err
	}
	had, content := derived.SplitState(c.State())
	rewrite := !slices.Equal(content, m.contentState()) || m.mode.Rewrite
	for _, rk := range slices.Concat(had, unrecordedRows(c, had, m.ix.rowKeys)) {
		if !slices.Contains(want, rk) {
			if err := m.setMember(ctx, p, c.Key, rk, false); err != nil {
				return err
			}
		}
	}
	if len(want) == 0 {
		return nil
	}
	c.SetState(append(slices.Clone(want), m.contentState()...)...)
	for _, rk := range want {
		if !slices.Contains(had, rk) || rewrite {
			if err := m.setMember(ctx, p, c.Key, rk, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// contentState returns what the maintainer state contains behind the RowKeys: the property of the list, if that is not the default.
func (m *listsMaintainer[T, K]) contentState() []string {
	if m.property == defaultListProperty {
		return nil
	}
	return []string{"/" + m.property}
}

// setMember adds the entity to a list, or removes it.
func (m *listsMaintainer[T, K]) setMember(ctx context.Context, p *maintain.Plan, entity keys.Key, list string, member bool) error {
	k := keys.Stored(entity.PartitionKey(), list)
	row, err := p.Load(ctx, k.Row())
	switch {
	case err != nil:
		return err
	case row == nil || m.Owns(row):
	case member:
		return derived.ForeignRow(m.ix.name, k)
	default:
		return nil // the entity is not in a foreign row
	}
	all, err := m.members(row)
	if err != nil && !m.mode.Active {
		return repairable(err)
	}
	i, is := slices.BinarySearchFunc(all, entity.RowKey(), keys.Compare)
	switch {
	case member && !is:
		all = slices.Insert(all, i, entity.RowKey())
	case !member && is:
		all = slices.Delete(all, i, i+1)
	case !member:
		return nil
	}
	// A list that contains the member already is written too, so that a repair that is about to remove the member fails by the list's
	// ETag.
	if member && lengthOf(all) > maxListUnits {
		return &ListFullError{Definition: m.ix.name, Row: k, Members: len(all)}
	}
	if row, err = m.row(k, row, all); err != nil {
		return err
	}
	if isEmpty(row) {
		return p.Remove(k.Row())
	}
	return p.Put(row)
}

// The limits of a list in UTF-16 units. A property has 32 Ki at most. All properties together leave room for keys and names in 1
// MiB.
const (
	maxListProperty = 30 << 10
	maxListUnits    = 500 << 10
)

// row returns the row of a list with these members, and with the other properties of the row before.
func (l *listsMaintainer[T, K]) row(k keys.Key, before *table.Row, all []string) (*table.Row, error) {
	r := &table.Row{Key: k}
	if before != nil {
		r = before.At(k)
	}
	derived.Own(r, l.tag.text)
	derived.KeepType(before, r)
	for _, name := range l.listProperties(r) {
		r.Delete(name)
	}
	var chunk strings.Builder
	n, inChunk := 1, 0
	for i, member := range all {
		units := lengthOf(all[i : i+1])
		if inChunk+units > maxListProperty {
			if err := r.Set(l.listProperty(n), chunk.String()); err != nil {
				return nil, err
			}
			chunk.Reset()
			n, inChunk = n+1, 0
		}
		if inChunk > 0 {
			chunk.WriteByte('/')
		}
		chunk.WriteString(member)
		if inChunk += units; i == len(all)-1 {
			return r, r.Set(l.listProperty(n), chunk.String())
		}
	}
	return r, nil
}

// isEmpty reports whether a row contains no property, except perhaps an operation ID.
func isEmpty(row *table.Row) bool {
	row = derived.WithoutSystemProperties(row)
	n := len(row.Engine().Columns)
	return n == 0 || n == 1 && row.Type(reserved.OperationID) != ""
}

// lengthOf returns the length of the members in a list, in UTF-16 units.
func lengthOf(all []string) (n int) {
	for _, member := range all {
		n += len(utf16.Encode([]rune(member))) + 1
	}
	return n
}

// The methods of derived.PerEntity.

func (m *listsMaintainer[T, K]) WantedRows(e *table.Entity[T]) ([]string, error) {
	return m.ix.rowKeys(&e.Value, e.Key)
}

func (m *listsMaintainer[T, K]) EntitiesIn(row *table.Row) []string {
	if !m.Owns(row) {
		return nil
	}
	all, _ := m.members(row) // a list without a readable member contains no entity
	if len(all) == 0 && (len(m.listProperties(row)) > 0 || isEmpty(row)) {
		return []string{derived.NoEntity}
	}
	return all
}

func (m *listsMaintainer[T, K]) Content(*table.Row) *table.Row       { return nil }
func (m *listsMaintainer[T, K]) WantedContent(*table.Row) *table.Row { return nil }

func (m *listsMaintainer[T, K]) Shared() bool { return true }
func (m *listsMaintainer[T, K]) Unique() bool { return false }

func (m *listsMaintainer[T, K]) Without(row *table.Row, entities ...string) (*table.Row, error) {
	members, _ := m.members(row)
	all := slices.DeleteFunc(members, func(s string) bool { return slices.Contains(entities, s) })
	left, err := m.row(row.Key, row, all)
	if err != nil || isEmpty(left) {
		return nil, err
	}
	return left, nil
}
