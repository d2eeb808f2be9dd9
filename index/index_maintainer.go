package index

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// indexMaintainer writes the rows of an index.
type indexMaintainer[T, K any] struct {
	*Index[T, K]
	table  *table.Table[T]
	schema engine.Schema // of the table
	copied []string      // the properties that the rows contain, if not all
	mode   derived.RepairMode
}

// MaxRows counts two rows for each value: the row that is deleted and the row that is inserted.
func (m *indexMaintainer[T, K]) MaxRows() int { return 2 * m.maxValues }

func (m *indexMaintainer[T, K]) Definition() any { return m.Index }

func (m *indexMaintainer[T, K]) Ranges() []keys.Range       { return []keys.Range{m.All()} }
func (m *indexMaintainer[T, K]) targetProperties() []string { return nil }

func (m *indexMaintainer[T, K]) Owns(row *table.Row) bool {
	_, owns := m.entityOf(row.Engine())
	return owns
}

// entityOf returns the entity of a row, if the definition has written the row.
func (m *indexMaintainer[T, K]) entityOf(row *engine.Row) (k keys.Key, owns bool) {
	k, isCopy := row.Primary()
	return k, isCopy && m.schema.Mine(row)
}

func (m *indexMaintainer[T, K]) RowsPerWrite() int {
	if m.full() {
		return m.maxValues
	}
	return 0
}

func (m *indexMaintainer[T, K]) InRepairMode(mode derived.RepairMode) maintain.Maintainer[T] {
	c := *m
	c.mode = mode
	return &c
}

// Maintain compares the RowKeys in the entity's maintainer state with those that the entity should have.
func (m *indexMaintainer[T, K]) Maintain(ctx context.Context, p *maintain.Plan, c *maintain.Change[T]) error {
	want, err := m.rowKeys(c.New, c.Key)
	if err != nil {
		return err
	}
	had, contentWas := derived.SplitState(c.State())
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
	if m.opt.Unique != NotUnique {
		taken = ErrTaken
	}
	for _, rk := range want {
		copied := row.Copy(keys.Stored(c.Key.PartitionKey(), rk), projectionID(m.copied))
		if err := m.checkProjection(copied); err != nil {
			return err
		}
		switch {
		case !slices.Contains(had, rk):
			err = p.InsertRow(copied, taken)
		case same && !m.mode.Rewrite:
		case m.mode.Foreign[rk]:
			err = derived.ForeignRow(m.name, copied.Key)
		case taken != nil && (m.mode.Rewrite || m.mode.CheckUnique), m.mode.Active && !m.mode.RowsRead:
			err = m.putIfOwn(ctx, p, c, copied)
		case m.mode.Rewrite && m.mode.Absent[rk]:
			err = p.InsertRow(copied, nil)
		default:
			err = p.PutRow(copied)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeRow removes a row of an entity. It reads the row first, and keeps the row of another entity, in these cases:
//
//   - unproven is set: nothing proves that the entity has the row.
//   - The RowKey is not in the range of the index, or lacks the entity's key although the index is not unique: another program has
//     written it into the maintainer state.
//   - In a repair, the row is unique: another program may have deleted it, and another entity taken its value.
//   - In a repair, the row is foreign or was not read.
func (m *indexMaintainer[T, K]) removeRow(ctx context.Context, p *maintain.Plan, entity keys.Key, rk string, unproven bool) error {
	k := keys.Stored(entity.PartitionKey(), rk)
	unread := m.mode.Active && (!m.mode.RowsRead || m.mode.Foreign[rk])
	ambiguous := m.mode.Active
	if m.opt.Unique == NotUnique {
		_, of, err := m.byValueAndKey.Decode(strings.TrimPrefix(rk, m.prefixed("")))
		ambiguous = err != nil || of != entity.RowKey()
	}
	if ambiguous || unread || unproven || !m.All().Contains(rk) {
		row, err := p.Entity(ctx, k.Row()) // also finds an entity that the same transaction writes
		if err != nil {
			return err
		}
		if owner, isCopy := entityOfCopy(row); !isCopy || owner != entity {
			return nil
		}
	}
	return p.Remove(k.Row())
}

// entityOfCopy returns the entity of a copy, if the row exists and is one.
func entityOfCopy(row *table.Row) (k keys.Key, isCopy bool) {
	if row == nil {
		return keys.Key{}, false
	}
	return row.Engine().Primary()
}

// putIfOwn puts a row, unless the stored row belongs to another entity or is foreign: another program may have deleted the row that
// the entity's maintainer state records.
func (m *indexMaintainer[T, K]) putIfOwn(ctx context.Context, p *maintain.Plan, c *maintain.Change[T], copied *engine.Row) error {
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
	case is != nil && !m.Owns(is) && derived.SameWrite(is, stored):
	case is != nil && !m.Owns(is):
		return derived.ForeignRow(m.name, copied.Key)
	case isCopy && owner != want:
		return fmt.Errorf("%w: %v belongs to %v", ErrTaken, copied.Key, owner)
	}
	return p.PutRow(copied)
}

// projectionID identifies the properties that projected copies contain. It is "" for full copies, whose operation ID shows what
// they are, and for pointers.
func projectionID(copied []string) string {
	if len(copied) == 0 {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(strings.Join(slices.Sorted(slices.Values(copied)), "/")))
	return fmt.Sprintf("%08x", h.Sum32())
}

// contentState returns what the maintainer state contains behind the RowKeys: a text for the content of the rows, which begins with
// /, as no RowKey does. Full copies are always written and need none; pointers need only the sign.
func (m *indexMaintainer[T, K]) contentState(row *engine.Row) []string {
	switch {
	case m.full():
		return nil
	case m.opt.Pointer:
		return []string{"/"}
	}
	return []string{"/" + digestOf(projectionID(m.copied), table.RowOf(row))}
}

// contents returns what the rows of an entity should contain, and reports whether the entity's change leaves that as it was.
func (m *indexMaintainer[T, K]) contents(c *maintain.Change[T]) (row *engine.Row, same bool, err error) {
	if row, err = c.EngineRow(); err != nil || m.full() {
		return row, false, err // full copies contain the operation ID, which changes with every write
	}
	row = m.project(row)
	old, err := c.OldRow()
	return row, err == nil && old != nil && m.project(old.Engine()).Same(row), err
}

// project returns the copied properties of an entity. A row of an older version is upgraded first, since a look-up can upgrade only
// whole rows. Full copies are of the version of their entity: a write of the copy compares both.
func (m *indexMaintainer[T, K]) project(row *engine.Row) *engine.Row {
	if len(m.copied) == 0 {
		return row.Project()
	}
	return m.schema.Upgraded(row).Project(m.copied...)
}

// checkProjection fails if a projected copy lacks a field that its own key is made of: look-ups could not confirm the copy.
func (m *indexMaintainer[T, K]) checkProjection(copied *engine.Row) error {
	if len(m.opt.Only) == 0 {
		return nil
	}
	e, err := m.table.Entity(table.RowOf(copied))
	if err != nil {
		return err
	}
	rows, err := m.rows(&e.Value, e.Key)
	if err == nil && !slices.Contains(rows, copied.Key) {
		err = &DefinitionError{Definition: m.name, Field: "Only", Reason: fmt.Sprintf("lacks a field that the key function uses: the whole entity has the row %q, and the copied fields give %q", copied.Key.RowKey(), rowKeysOf(rows))}
	}
	return err
}

// The methods of derived.PerEntity.

func (m *indexMaintainer[T, K]) WantedRows(e *table.Entity[T]) ([]string, error) {
	return m.rowKeys(&e.Value, e.Key)
}

func (m *indexMaintainer[T, K]) EntitiesIn(row *table.Row) []string {
	if k, owns := m.entityOf(row.Engine()); owns {
		return []string{k.RowKey()}
	}
	return nil
}

func (m *indexMaintainer[T, K]) Content(row *table.Row) *table.Row { return row }

func (m *indexMaintainer[T, K]) WantedContent(entity *table.Row) *table.Row {
	if !m.full() {
		entity = table.RowOf(m.project(entity.Engine()))
	}
	entity = derived.WithoutSystemProperties(entity)
	return derived.Copy(entity, entity.Key, projectionID(m.copied))
}

// Copied is the method of derived.Copying.
func (m *indexMaintainer[T, K]) Copied() (whole bool, properties []string, id string) {
	return m.full(), m.copied, projectionID(m.copied)
}

func (m *indexMaintainer[T, K]) Without(*table.Row, ...string) (*table.Row, error) { return nil, nil }

func (m *indexMaintainer[T, K]) Shared() bool { return false }
func (m *indexMaintainer[T, K]) Unique() bool { return m.opt.Unique != NotUnique }
