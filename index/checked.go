package index

import (
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/table"
)

// What Verify asks of an index.

func (m *indexMaintainer[T, K]) WantedRows(e *table.Entity[T]) ([]string, error) {
	return m.rowKeys(&e.Value, e.Key)
}

func (m *indexMaintainer[T, K]) EntitiesIn(row *table.Row) []string {
	if k, is := row.Primary(); is && m.Owns(row) {
		return []string{k.RowKey()}
	}
	return nil
}

func (m *indexMaintainer[T, K]) Content(row *table.Row) *table.Row { return row }

func (m *indexMaintainer[T, K]) WantedContent(entity *table.Row) *table.Row {
	entity = entity.WithoutSystemProperties()
	if !m.full() {
		entity = entity.Project(m.copied...)
	}
	return entity.Copy(entity.Key, projectionID(m.copied))
}

func (m *indexMaintainer[T, K]) Without(*table.Row, ...string) (*table.Row, error) { return nil, nil }

func (m *indexMaintainer[T, K]) Shared() bool { return false }
func (m *indexMaintainer[T, K]) Unique() bool { return m.opt.Unique != NotUnique }

// What Verify asks of lists.

func (m *listsMaintainer[T, K]) WantedRows(e *table.Entity[T]) ([]string, error) {
	return m.ix.rowKeys(&e.Value, e.Key)
}

func (m *listsMaintainer[T, K]) EntitiesIn(row *table.Row) []string {
	if !m.Owns(row) {
		return nil
	}
	all := m.members(row)
	if len(all) == 0 && (len(m.listProperties(row)) > 0 || isEmpty(row)) {
		return []string{noEntity} // a list of nobody
	}
	return all
}

// nobody is claimed by rows that are a definition's, and name no entity.
const noEntity = ""

func (m *listsMaintainer[T, K]) Content(*table.Row) *table.Row       { return nil }
func (m *listsMaintainer[T, K]) WantedContent(*table.Row) *table.Row { return nil }

func (m *listsMaintainer[T, K]) Shared() bool { return true }
func (m *listsMaintainer[T, K]) Unique() bool { return false }

func (m *listsMaintainer[T, K]) Without(row *table.Row, entities ...string) (*table.Row, error) {
	all := slices.DeleteFunc(m.members(row), func(s string) bool { return slices.Contains(entities, s) })
	left, err := m.row(row.Key, row, all)
	if err != nil || isEmpty(left) {
		return nil, err
	}
	return left, nil
}

// What Verify asks of details.

func (m *detailsMaintainer[T]) WantedRows(e *table.Entity[T]) ([]string, error) {
	return m.targetsOf(&e.Value, e.Key)
}

func (m *detailsMaintainer[T]) EntitiesIn(row *table.Row) []string {
	if m.Owns(row) {
		return []string{m.sourceOf(row)} // nobody, where others have deleted who it was
	}
	return nil
}

// held is what entities meet that hold details: of whatever definition.
func (m *detailsMaintainer[T]) Condition() table.Cond[table.Row] {
	marks := table.PropertyOf[string](reserved.Owner)
	return table.And(marks.Ge("/0"), marks.Lt("0")) // behind the marks of lists and summaries, which begin with //
}

func (m *detailsMaintainer[T]) Content(row *table.Row) *table.Row {
	p := &table.Row{Key: row.Key}
	for name, v := range row.All() {
		if rest, ok := strings.CutPrefix(name, m.prefix); ok && (rest == "RowKey" || slices.Contains(m.copied, rest)) {
			_ = p.Set(name, v) // which was stored
		}
	}
	return p
}

func (m *detailsMaintainer[T]) WantedContent(entity *table.Row) *table.Row {
	p := &table.Row{Key: entity.Key}
	_ = m.setColumns(p, entity.Key.RowKey(), entity)
	m.tag.set(p, true) // whose details they are is what claims is for
	return p
}

func (m *detailsMaintainer[T]) Shared() bool { return false }
func (m *detailsMaintainer[T]) Unique() bool { return false } // but of the other entity, which tells

func (m *detailsMaintainer[T]) Without(row *table.Row, _ ...string) (*table.Row, error) {
	r := row.At(row.Key)
	return r, m.setColumns(r, noEntity, nil)
}
