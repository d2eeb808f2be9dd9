package table

import (
	"errors"
	"net/url"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

var (
	// ErrForeignRow: a derived row would take the place of a row of another type, definition or program. That row is neither
	// replaced nor deleted. The *DerivedError around it contains the row's key.
	ErrForeignRow = errors.New("the row belongs to another type, definition or program")
	// ErrRanged: the client's signature is for a range of keys, so that lists leave out rows without an error, and nothing can be
	// concluded from a row that is not in the list. See Grant.
	ErrRanged = errors.New("the signature is for a range of keys, so that part of the table is not seen")
)

// Scope names T among the types of the table: by the text with which the RowKeys of its entities begin and, if there is one, a ? and
// Schema.Type, escaped as in a URL's path. A derived row that several entities share contains it; see [Row.Own] and [Row.Tag].
func (t *Table[T]) Scope() string {
	from, _, _ := t.Range().Bounds()
	if t.schema.Type == "" {
		return from
	}
	return from + "?" + url.PathEscape(t.schema.Type)
}

// Mine reports whether a row, or the entity that the row is a copy of, can be T's: by the RowKey and, where both have one, by the type.
func (t *Table[T]) Mine(row *Row) bool {
	k, isCopy := row.Primary()
	if !isCopy {
		k = row.Key
	}
	if k.Err() != nil || !t.Range().Contains(k.RowKey()) {
		return false
	}
	if v, typed := row.Get(reserved.Type); typed && t.schema.Type != "" && v != any(t.schema.Type) {
		return false
	}
	var v T
	return t.schema.Row.Decode(&v, k.RowKey()) == nil
}

// Own stores the owner of a derived row, any text that is not empty, in place of all tags of [Row.Tag].
func (r *Row) Own(owner string) {
	r.put(reserved.Owner, edm.Value{Kind: edm.String, S: ownMark + owner})
}

// Owner returns the owner that Own has stored, "" for none.
func (r *Row) Owner() string {
	v, _ := r.Get(reserved.Owner)
	s, _ := v.(string)
	if owner, is := strings.CutPrefix(s, ownMark); is {
		return owner
	}
	return ""
}

// ownMark begins the mark of Own. The name of a maintainer, which follows the / of Mark, is not empty.
const ownMark = "//"

// hidden reports whether a row could exist although the call has not found it, since the signature is for other rows.
func hidden(call *wire.Call, k keys.Key) bool {
	first, last, ranged := call.SignedRows()
	return ranged && (keys.Compare(k.RowKey(), first) < 0 || last != "" && keys.Compare(k.RowKey(), last) > 0)
}
