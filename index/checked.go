package index

import (
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// What Verify asks of an index.

func (m *copies[T, K]) wants(e *table.Entity[T]) ([]string, error) { return m.rows(&e.Value, e.Key) }

func (m *copies[T, K]) claims(row *table.Row) []string {
	if k, is := row.Primary(); is {
		return []string{k.RowKey()}
	}
	return nil // not the index's
}

func (m *copies[T, K]) part(row *table.Row) *table.Row { return row }

func (m *copies[T, K]) expected(entity *table.Row) *table.Row {
	entity = entity.Bare()
	if !m.full() {
		entity = entity.Keep(m.only...)
	}
	return entity.Copy(entity.Key, form(m.only))
}

func (m *copies[T, K]) released(*table.Row, keys.Key) (*table.Row, error) { return nil, nil }

// What Verify asks of lists.

func (m *lists[T, K]) wants(e *table.Entity[T]) ([]string, error) { return m.ix.rows(&e.Value, e.Key) }

func (m *lists[T, K]) claims(row *table.Row) []string {
	all := m.members(row)
	if len(all) == 0 && row.Type(m.property) != "" {
		return []string{""} // a list of nobody
	}
	return all
}

func (m *lists[T, K]) part(*table.Row) *table.Row     { return nil }
func (m *lists[T, K]) expected(*table.Row) *table.Row { return nil }

func (m *lists[T, K]) released(row *table.Row, entity keys.Key) (*table.Row, error) {
	all := slices.DeleteFunc(m.members(row), func(s string) bool { return s == entity.RowKey() })
	left, err := m.row(row.Key, row, all)
	if err != nil || left.Bare().Len() == 0 || left.Bare().Len() == 1 && left.Type("_op") != "" {
		return nil, err
	}
	return left, nil
}

// What Verify asks of details.

func (m *details[T]) wants(e *table.Entity[T]) ([]string, error) {
	rk, err := m.to(&e.Value)
	if rk == "" {
		return nil, err
	}
	return []string{rk}, err
}

func (m *details[T]) claims(row *table.Row) []string {
	if owner := m.owner(row); owner != "" && row.Marked(m.name) {
		return []string{owner}
	}
	return nil
}

// held is what entities meet that hold details.
func (m *details[T]) held() table.Cond[table.Row] {
	return table.PropertyOf[string](m.prefix + "RowKey").Ge("")
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
	p.Mark(m.name, true) // whose details they are is what claims is for
	return p
}

func (m *details[T]) released(row *table.Row, entity keys.Key) (*table.Row, error) {
	r := row.At(row.Key)
	return r, m.fill(r, entity.RowKey(), nil)
}
