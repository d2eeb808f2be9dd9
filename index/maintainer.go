package index

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// indexMaintainer writes the rows of an index.
type indexMaintainer struct {
	*core
	table  tabledoor.Untyped
	schema engine.Schema // of the table
	copied []string      // the properties that the rows contain, if not all
	mode   derived.RepairMode
}

// MaxRows counts two rows for each value: the row that is deleted and the row that is inserted.
func (m *indexMaintainer) MaxRows() int { return 2 * m.maxValues }

func (m *indexMaintainer) Definition() any    { return m.definition }
func (m *indexMaintainer) Form() string       { return m.form("index") }
func (m *indexMaintainer) FormerForm() string { return m.formerForm("index") }

func (m *indexMaintainer) Ranges() []keys.RowRange    { return []keys.RowRange{m.all()} }
func (m *indexMaintainer) targetProperties() []string { return nil }

func (m *indexMaintainer) Owns(row *table.Row) bool {
	_, owns := m.ownerOf((*stored.Row)(row))
	return owns
}

// ownerOf returns the key of the entity of a row, if the definition has written the row.
func (m *indexMaintainer) ownerOf(row *stored.Row) (k keys.Key, owns bool) {
	k, isCopy := row.Primary()
	return k, isCopy && m.schema.Mine(row)
}

func (m *indexMaintainer) RowsPerWrite() int {
	if m.full() {
		return m.maxValues
	}
	return 0
}

func (m *indexMaintainer) InRepairMode(mode derived.RepairMode) derived.Maintainer {
	c := *m
	c.mode = mode
	return &c
}

// Maintain compares the RowKeys in the entity's maintainer state with the RowKeys that the entity
// should have.
func (m *indexMaintainer) Maintain(ctx context.Context, p *extend.Plan, c *engine.Change) error {
	want, err := m.rowKeys(c.New, c.Key)
	if err != nil {
		return err
	}
	had, contentWas := stored.SplitState(c.State())
	for i, rk := range slices.Concat(had, unrecordedRows(c, had, m.rowKeys)) {
		if !slices.Contains(want, rk) {
			if err := m.removeRow(ctx, p, c.Key, rk, len(had) > m.maxValues || i >= len(had)); err != nil {
				return err
			}
		}
	}
	if m.mode.ReleaseOnly {
		want = slices.DeleteFunc(want, func(rk string) bool { return !slices.Contains(had, rk) })
	}
	if len(want) == 0 {
		return nil
	}
	row, same, err := m.contents(c)
	if err != nil {
		return err
	}
	content := m.contentState(row)
	c.SetState(append(slices.Clip(want), content...)...)
	same = same && slices.Equal(contentWas, content)
	var taken error
	if m.opt.unique {
		taken = derived.ErrTaken
	}
	for _, rk := range want {
		copied := row.Copy(keys.Raw(c.Key.PartitionKey(), rk), projectionID(m.copied))
		if err := m.checkProjection(copied); err != nil {
			return err
		}
		switch {
		case !slices.Contains(had, rk):
			err = door.Insert(p, copied, taken)
		case same && !m.mode.Rewrite:
		case m.mode.Foreign[rk]:
			err = derived.ForeignRow(m.name, copied.Key)
		case taken != nil && (m.mode.Rewrite || m.mode.CheckUnique), m.mode.Active && !m.mode.RowsRead:
			err = m.putIfOwn(ctx, p, c, copied)
		case m.mode.Rewrite && m.mode.Absent[rk]:
			err = door.Insert(p, copied, nil)
		default:
			err = door.Put(p, copied)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeRow removes a row of an entity. It reads the row first, and keeps the row of another
// entity, in these cases:
//
//   - unproven is set: nothing proves that the entity has the row.
//   - The RowKey is not in the range of the index, or lacks the entity's key although the index is
//     not unique: another program has written it into the maintainer state.
//   - In a repair, the row is unique: another program may have deleted it, and another entity taken
//     its value.
//   - In a repair, the row is foreign or was not read.
func (m *indexMaintainer) removeRow(
	ctx context.Context, p *extend.Plan, entity keys.Key, rk string, unproven bool,
) error {
	k := keys.Raw(entity.PartitionKey(), rk)
	unread := m.mode.Active && (!m.mode.RowsRead || m.mode.Foreign[rk])
	ambiguous := m.mode.Active
	if !m.opt.unique {
		of, err := m.values.suffixOf(strings.TrimPrefix(rk, m.prefixed("")))
		ambiguous = err != nil || of != entity.RowKey()
	}
	if ambiguous || unread || unproven || !m.all().Contains(rk) {
		row, err := p.Entity(ctx, k.Row()) // also finds an entity that the same transaction writes
		if err != nil {
			return err
		}
		if owner, isCopy := copiedKey(row); !isCopy || owner != entity {
			return nil
		}
	}
	return p.Remove(k.Row())
}

// copiedKey returns the key of the entity that a row is a copy of, if the row exists and is one.
func copiedKey(row *table.Row) (k keys.Key, isCopy bool) {
	if row == nil {
		return keys.Key{}, false
	}
	return (*stored.Row)(row).Primary()
}

// putIfOwn puts a row, unless the stored row belongs to another entity or is foreign: another
// program may have deleted the row that the entity's maintainer state records.
func (m *indexMaintainer) putIfOwn(ctx context.Context, p *extend.Plan, c *engine.Change, copied *stored.Row) error {
	is, err := p.Load(ctx, copied.Key.Row())
	if err != nil {
		return err
	}
	want, _ := copied.Primary()
	owner, isCopy := copiedKey(is)
	stored, err := c.OldRow()
	switch {
	case err != nil:
		return err
	case is != nil && !m.Owns(is) && derived.SameWrite(is, (*table.Row)(stored)):
	case is != nil && !m.Owns(is):
		return derived.ForeignRow(m.name, copied.Key)
	case isCopy && owner != want:
		return fmt.Errorf("%w: %v belongs to %v", derived.ErrTaken, copied.Key, owner)
	}
	return door.Put(p, copied)
}

// projectionID identifies the properties that projected copies contain. It is "" for full copies,
// whose operation ID shows what they are, and for pointers.
func projectionID(copied []string) string {
	if len(copied) == 0 {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(strings.Join(slices.Sorted(slices.Values(copied)), "/")))
	return fmt.Sprintf("%08x", h.Sum32())
}

// contentState returns what the maintainer state contains behind the RowKeys: a text for the
// content of the rows, which begins with /, as no RowKey does. Full copies are always written and
// need none; pointers need only the sign.
func (m *indexMaintainer) contentState(row *stored.Row) []string {
	switch {
	case m.full():
		return nil
	case m.content == keyOnly:
		return []string{"/"}
	}
	return []string{"/" + digestOf(projectionID(m.copied), (*table.Row)(row))}
}

// contents returns what the rows of an entity should contain, and reports whether the entity's
// change leaves that as it was.
func (m *indexMaintainer) contents(c *engine.Change) (row *stored.Row, same bool, err error) {
	if row, err = c.Row(); err != nil || m.full() {
		return row, false, err // full copies contain the operation ID, which changes with every write
	}
	row = m.project(row)
	old, err := c.OldRow()
	return row, err == nil && old != nil && m.project(old).Same(row), err
}

// project returns the copied properties of an entity. A row of an older version is upgraded first,
// since a look-up can upgrade only whole rows. Full copies are of the version of their entity: a
// write of the copy compares both.
func (m *indexMaintainer) project(row *stored.Row) *stored.Row {
	if len(m.copied) == 0 {
		return row.Project()
	}
	return m.schema.Upgraded(row).Project(m.copied...)
}

// checkProjection fails if a projected copy lacks a field that its own key is made of: look-ups
// could not confirm the copy.
func (m *indexMaintainer) checkProjection(copied *stored.Row) error {
	if len(m.only) == 0 {
		return nil
	}
	e, err := m.table.Entity((*table.Row)(copied))
	if err != nil {
		return err
	}
	rows, err := m.rows(tabledoor.ValueOf(e), tabledoor.KeyOf(e))
	if err == nil && !slices.Contains(rows, copied.Key) {
		err = &table.DefinitionError{Definition: m.name, Field: "Only", Reason: fmt.Sprintf("lacks a field that the key function uses: the whole entity has the row %q, and the copied fields give %q", copied.Key.RowKey(), rowKeysOf(rows))}
	}
	return err
}

// The methods of derived.PerEntity.

func (m *indexMaintainer) WantedRows(entity any) ([]string, error) {
	return m.rowKeys(tabledoor.ValueOf(entity), tabledoor.KeyOf(entity))
}

func (m *indexMaintainer) EntitiesIn(row *table.Row) []string {
	if k, owns := m.ownerOf((*stored.Row)(row)); owns {
		return []string{k.RowKey()}
	}
	return nil
}

func (m *indexMaintainer) Content(row *table.Row) *table.Row { return row }

func (m *indexMaintainer) WantedContent(entity *table.Row) *table.Row {
	if !m.full() {
		entity = (*table.Row)(m.project((*stored.Row)(entity)))
	}
	entity = derived.WithoutSystemProperties(entity)
	return derived.Copy(entity, entity.Key, projectionID(m.copied))
}

// Copied is the method of derived.Copying.
func (m *indexMaintainer) Copied() (whole bool, properties []string, id string) {
	return m.full(), m.copied, projectionID(m.copied)
}

func (m *indexMaintainer) Without(*table.Row, ...string) (*table.Row, error) { return nil, nil }

func (m *indexMaintainer) Shared() bool { return false }
func (m *indexMaintainer) Unique() bool { return m.opt.unique }

func (ix *core) maintainer(t tabledoor.Untyped) (maintainer, error) {
	m := &indexMaintainer{core: ix, table: t, schema: door.Table(t).Mode.Schema}
	if ix.invalid != nil {
		return m, ix.invalid
	}
	if door.Table(t).Options.OmitOperationID && ix.full() {
		return m, &table.DefinitionError{Definition: ix.name, Field: "Only", Reason: "is not called, but with Common.OmitOperationID nothing shows whether a full copy is up to date: call it with the fields to copy, or with none"}
	}
	var err error
	if m.copied, err = m.schema.Properties(ix.only...); err != nil {
		return m, &table.DefinitionError{Definition: ix.name, Field: "Only", Reason: err.Error(), Err: err}
	}
	if err := ix.probe(t, m.copied...); err != nil || !ix.elsewhere {
		return m, err
	}
	e, err := newElsewhere(t, ix, m)
	switch {
	case err != nil:
		return e, err
	case ix.isUniqueElsewhere():
		return &uniqueElsewhere{e, 2 * ix.maxValues}, nil
	case ix.pointsElsewhere():
		e.formText, e.formerText = "pointers: "+e.formText, ""
		return &pointersElsewhere{e}, nil
	}
	return e, nil
}
