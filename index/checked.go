package index

import (
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/table"
)

// What Verify asks of an index.

func (m *copies[T, K]) wants(e *table.Entity[T]) ([]string, error) { return m.rows(&e.Value, e.Key) }

func (m *copies[T, K]) claims(row *table.Row) []string {
	if k, is := row.Primary(); is && m.mine(row) {
		return []string{k.RowKey()}
	}
	return nil
}

func (m *copies[T, K]) part(row *table.Row) *table.Row { return row }

func (m *copies[T, K]) expected(entity *table.Row) *table.Row {
	entity = entity.WithoutSystemProperties()
	if !m.full() {
		entity = entity.Project(m.only...)
	}
	return entity.Copy(entity.Key, form(m.only))
}

func (m *copies[T, K]) released(*table.Row, ...string) (*table.Row, error) { return nil, nil }

func (m *copies[T, K]) several() bool { return false }
func (m *copies[T, K]) unique() bool  { return m.opt.Unique != NotUnique }

// What Verify asks of lists.

func (m *lists[T, K]) wants(e *table.Entity[T]) ([]string, error) { return m.ix.rows(&e.Value, e.Key) }

func (m *lists[T, K]) claims(row *table.Row) []string {
	if !m.mine(row) {
		return nil
	}
	all := m.members(row)
	if len(all) == 0 && (len(m.chunks(row)) > 0 || empty(row)) {
		return []string{nobody} // a list of nobody
	}
	return all
}

// nobody is claimed by rows that are a definition's, and name no entity.
const nobody = ""

func (m *lists[T, K]) part(*table.Row) *table.Row     { return nil }
func (m *lists[T, K]) expected(*table.Row) *table.Row { return nil }

func (m *lists[T, K]) several() bool { return true }
func (m *lists[T, K]) unique() bool  { return false }

func (m *lists[T, K]) released(row *table.Row, entities ...string) (*table.Row, error) {
	all := slices.DeleteFunc(m.members(row), func(s string) bool { return slices.Contains(entities, s) })
	left, err := m.row(row.Key, row, all)
	if err != nil || empty(left) {
		return nil, err
	}
	return left, nil
}

// What Verify asks of details.

func (m *details[T]) wants(e *table.Entity[T]) ([]string, error) {
	return m.targets(&e.Value, e.Key)
}

func (m *details[T]) claims(row *table.Row) []string {
	if m.mine(row) {
		return []string{m.holds(row)} // nobody, where others have deleted who it was
	}
	return nil
}

// held is what entities meet that hold details: of whatever definition.
func (m *details[T]) held() table.Cond[table.Row] {
	marks := table.PropertyOf[string](reserved.Owner)
	return table.And(marks.Ge("/0"), marks.Lt("0")) // behind the marks of lists and summaries, which begin with //
}

func (m *details[T]) part(row *table.Row) *table.Row {
	p := &table.Row{Key: row.Key}
	for name, v := range row.All() {
		if rest, ok := strings.CutPrefix(name, m.prefix); ok && (rest == "RowKey" || slices.Contains(m.names, rest)) {
			_ = p.Set(name, v) // which was stored
		}
	}
	return p
}

func (m *details[T]) expected(entity *table.Row) *table.Row {
	p := &table.Row{Key: entity.Key}
	_ = m.fill(p, entity.Key.RowKey(), entity)
	m.owner.put(p, true) // whose details they are is what claims is for
	return p
}

func (m *details[T]) several() bool { return false }
func (m *details[T]) unique() bool  { return false } // but of the other entity, which tells

func (m *details[T]) released(row *table.Row, _ ...string) (*table.Row, error) {
	r := row.At(row.Key)
	return r, m.fill(r, nobody, nil)
}
