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

// Page reads the part of a list that begins at a token, "" for the first part: for programs that show a page and keep no state. The
// token can be stored, and used by another process; see [Cursor].
//
// With a limit, a page has that many entities unless the list ends. Without a limit, a page is what the service returns for 1 request,
// which may be empty although more follows. With ErrBudget, the page is returned as far as it was read, with its Token. Errors: those
// of List; *TokenError for a token of another table, query or version, or a corrupt one. 1 request, more if the service returns short
// pages or rows of other types are between.
func (t *Table[T]) Page(ctx context.Context, q Query[T], token string) (*Page[T], error) {
	if q.Cursor != nil {
		return nil, t.h.opError("Page", keys.Key{}, &ValueError{Field: "Query.Cursor", Reason: "is set, but a page begins at its token; use List for a cursor"})
	}
	cursor := NewCursor(token)
	q.Cursor, q.onePage = cursor, true
	all, err := Collect(t.List(ctx, q))
	if err != nil && !errors.Is(err, ErrBudget) {
		return nil, err
	}
	return &Page[T]{Entities: all, Token: cursor.Token()}, err
}
