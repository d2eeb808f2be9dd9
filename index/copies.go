package index

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// copies keeps the rows of an index.
type indexMaintainer[T, K any] struct {
	*Index[T, K]
	table  *table.Table[T]
	copied []string // the properties that they hold, if not all
}

// maintainer is the index of a table.
func (ix *Index[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	m := &indexMaintainer[T, K]{Index: ix, table: t}
	if ix.invalid != nil {
		return m, ix.invalid
	}
	if t.Common().OmitOperationID && ix.full() {
		return m, &DefinitionError{Definition: ix.name, Field: "Only", Reason: "must say which fields are copied, or Pointer be set: on a table with Common.OmitOperationID nothing tells whether a full copy is as its entity"}
	}
	var err error
	if m.copied, err = t.Properties(ix.opt.Only...); err != nil {
		return m, &DefinitionError{Definition: ix.name, Field: "Only", Reason: err.Error(), Err: err}
	}
	return m, ix.probe(t, m.copied...)
}

// MaxRows is a row that goes and a row that comes for each value.
func (m *indexMaintainer[T, K]) MaxRows() int { return 2 * m.maxValues }

func (m *indexMaintainer[T, K]) Ranges() []keys.Range { return []keys.Range{m.All()} }
func (m *indexMaintainer[T, K]) columns() []string    { return nil }

func (m *indexMaintainer[T, K]) Owns(row *table.Row) bool {
	_, isCopy := row.Primary()
	return isCopy && m.table.Mine(row)
}

func (m *indexMaintainer[T, K]) is(d Definition[T]) bool { return d == Definition[T](m.Index) }

// Maintain makes the rows of an entity what they should be: by the set of RowKeys that it has, as it remembers, and the set that
// it should have.
func (m *indexMaintainer[T, K]) Maintain(ctx context.Context, p *table.Plan, c *table.Change[T]) error {
	want, err := m.rowKeys(c.New, c.Key)
	if err != nil {
		return err
	}
	had, formWas := splitState(c.State())
	for i, rk := range slices.Concat(had, unrecordedRows(c, had, m.rowKeys)) {
		if !slices.Contains(want, rk) {
			if err := m.removeRow(ctx, p, c.Key, rk, len(had) > m.maxValues || i >= len(had)); err != nil {
				return err
			}
		}
	}
	r, verifying := repairModeOf(ctx)
	if r.yields == m.name {
		want = slices.DeleteFunc(want, func(rk string) bool { return !slices.Contains(had, rk) })
	}
	if len(want) == 0 {
		return nil
	}
	row, same, err := m.contents(c)
	if err != nil {
		return err
	}
	holds := m.stateSuffix(row)
	c.SetState(slices.Concat(want, holds)...)
	same = same && slices.Equal(formWas, holds)
	var taken error
	if m.opt.Unique != NotUnique {
		taken = ErrTaken
	}
	anew := mustRewrite(ctx, m.name)
	for _, rk := range want {
		copied := row.Copy(keys.Stored(c.Key.PartitionKey(), rk), projectionID(m.copied))
		if err := m.checkProjection(copied); err != nil {
			return err
		}
		switch {
		case !slices.Contains(had, rk):
			err = p.Insert(copied, taken)
		case same && !anew:
		case r.foreign[rk]:
			err = foreignRowError(m.name, copied.Key)
		case taken != nil && (anew || r.owners), verifying && !r.verified[m.name]:
			err = m.putUnlessForeign(ctx, p, c, copied)
		case anew && r.absent[rk]:
			err = p.Insert(copied, nil)
		default:
			err = p.Put(copied)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveUp removes a row of an entity, but not one that is another's: whose it is must be looked at where its name does not tell. Of
// unique rows Verify looks, for somebody may have deleted one by hand, and another taken it; and of all rows where it has not seen them,
// or has seen that they are others'. doubtful tells that the entity may not have the row.
func (m *indexMaintainer[T, K]) removeRow(ctx context.Context, p *table.Plan, entity keys.Key, rk string, doubtful bool) error {
	k := keys.Stored(entity.PartitionKey(), rk)
	r, looks := repairModeOf(ctx)
	unseen := looks && (!r.verified[m.name] || r.foreign[rk])
	if m.opt.Unique == NotUnique {
		_, of, err := m.byValueAndKey.Decode(strings.TrimPrefix(rk, m.prefixed("")))
		looks = err != nil || of != entity.RowKey()
	}
	if looks || unseen || doubtful || !m.All().Contains(rk) {
		row, err := p.Entity(ctx, k.Row()) // also where it is an entity of this transaction's
		if err != nil {
			return err
		}
		if owner, isCopy := entityOfCopy(row); !isCopy || owner != entity {
			return nil
		}
	}
	return p.Remove(k.Row())
}

// primary is the entity of a copy, if there is a row and it is one.
func entityOfCopy(row *table.Row) (k keys.Key, isCopy bool) {
	if row == nil {
		return keys.Key{}, false
	}
	return row.Primary()
}

// putOwn is Put for a row that may be another's by now, for somebody has deleted it by hand.
func (m *indexMaintainer[T, K]) putUnlessForeign(ctx context.Context, p *table.Plan, c *table.Change[T], copied *table.Row) error {
	is, err := p.Load(ctx, copied.Key.Row())
	if err != nil {
		return err
	}
	want, _ := copied.Primary()
	owner, isCopy := entityOfCopy(is)
	stored, err := c.OldRow()
	switch {
	case err != nil:
		return err
	case is != nil && !m.Owns(is) && sameWrite(is, stored):
	case is != nil && !m.Owns(is):
		return foreignRowError(m.name, copied.Key)
	case isCopy && owner != want:
		return fmt.Errorf("%w: %v is of %v", ErrTaken, copied.Key, owner)
	}
	return p.Put(copied)
}

// form tells copies that hold some properties from those that hold others: "" for full copies, which name their write, and pointers.
func projectionID(only []string) string {
	if len(only) == 0 {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(strings.Join(slices.Sorted(slices.Values(only)), "/")))
	return fmt.Sprintf("%08x", h.Sum32())
}

// holding is what an entity remembers of what its rows hold, behind their RowKeys, of which it is none for its sign. Full copies, which
// are always written, need none, and pointers only the sign.
func (m *indexMaintainer[T, K]) stateSuffix(row *table.Row) []string {
	switch {
	case m.full():
		return nil
	case m.opt.Pointer:
		return []string{"/"}
	}
	return []string{"/" + digestOf(projectionID(m.copied), row)}
}

// remembered are the RowKeys that an entity remembers, and the form of the rows. What no row can be called was written by others.
func splitState(texts []string) (rows, form []string) {
	rows = texts
	if i := slices.IndexFunc(texts, func(s string) bool { return strings.HasPrefix(s, "/") }); i >= 0 {
		rows, form = texts[:i], texts[i:]
	}
	if wrong := func(s string) bool { return keys.Stored("p", s).Err() != nil }; slices.ContainsFunc(rows, wrong) {
		rows = slices.DeleteFunc(slices.Clone(rows), wrong)
	}
	return rows, form
}

// contents are what the rows of an entity hold, and whether they hold it already.
func (m *indexMaintainer[T, K]) contents(c *table.Change[T]) (row *table.Row, same bool, err error) {
	if row, err = c.Row(); err != nil || m.full() {
		return row, false, err // with the operation ID
	}
	row = row.Project(m.copied...)
	old, err := c.OldRow()
	return row, err == nil && old != nil && old.Project(m.copied...).Same(row), err
}

// selfContained tells whether a projected copy holds what its key is made of.
func (m *indexMaintainer[T, K]) checkProjection(copied *table.Row) error {
	if len(m.opt.Only) == 0 {
		return nil
	}
	e, err := m.table.Entity(copied)
	if err != nil {
		return err
	}
	rows, err := m.rowKeys(&e.Value, e.Key)
	if err == nil && !slices.Contains(rows, copied.Key.RowKey()) {
		err = &DefinitionError{Definition: m.name, Field: "Only", Reason: fmt.Sprintf("lacks a field that the key is made of: the whole entity makes %q, and the projection %q", copied.Key.RowKey(), rows)}
	}
	return err
}
