package table

import (
	"net/url"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// Scope names T among the types of the table: by the text with which the RowKeys of its entities begin and, if there is one, a ? and
// Schema.Type, escaped as in a URL's path. A derived row that several entities share contains it; see [Row.Own] and [Row.Tag].
func (t *Table[T]) Scope() string {
	from, _, _ := t.Range().Bounds()
	if t.h.shape.name == "" {
		return from
	}
	return from + "?" + url.PathEscape(t.h.shape.name)
}

// Mine reports whether a row, or the entity that the row is a copy of, can be T's: by the RowKey and, where both have one, by the type.
func (t *Table[T]) Mine(row *Row) bool { return t.h.mine(row) }

func (h handle) mine(row *Row) bool {
	k, isCopy := row.Primary()
	if !isCopy {
		k = row.Key
	}
	if k.Err() != nil || !h.shape.rows().Contains(k.RowKey()) {
		return false
	}
	if v, typed := row.Get(reserved.Type); typed && h.shape.name != "" && v != any(h.shape.name) {
		return false
	}
	return h.shape.row.decode(h.shape.newValue(), k.RowKey()) == nil
}

// Own stores the owner of a derived row, any text that is not empty, in place of all tags of [Row.Tag].
func (r *Row) Own(owner string) {
	r.columns = engine.Own(r.columns, owner)
}

// Owner returns the owner that Own has stored, "" for none.
func (r *Row) Owner() string {
	return engine.Owner(r.columns)
}
