package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/keys"
)

// Page is a part of a list.
type Page[T any] struct {
	Entities []*Entity[T]
	Token    string // of the next page, "" if there is none
}

// Page reads the part of a list that begins at a token, "" being the beginning: for programs that show a page and keep no state.
// The token may be stored and be used by another process; see [Cursor].
//
// With a limit, a page holds that many entities unless the list ends: 1 request, more where the service sends short pages
// or rows of other types lie between. Without one, it is what the service gives in 1 request, which may be nothing although
// more follows. Errors are those of List, and *TokenError for a token of another table, query or version, or a damaged one.
// With ErrBudget comes the page as far as it was read, and its Token.
func (t *Table[T]) Page(ctx context.Context, q Query[T], token string) (*Page[T], error) {
	if q.Cursor != nil {
		return nil, t.h.opError("Page", keys.Key{}, &ValueError{Field: "Query.Cursor", Reason: "is set, but a page begins at its token; use List for a cursor"})
	}
	cursor := NewCursor(token)
	q.Cursor, q.onePage = cursor, true
	p := &Page[T]{}
	for e, err := range t.List(ctx, q) {
		if errors.Is(err, ErrBudget) {
			p.Token = cursor.Token()
			return p, err
		}
		if err != nil {
			return nil, err
		}
		p.Entities = append(p.Entities, e)
	}
	p.Token = cursor.Token()
	return p, nil
}
