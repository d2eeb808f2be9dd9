package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Page is a part of a list.
type Page[T any] struct {
	Entities []*Entity[T]
	Token    string // of the next page, "" if there is none
}

// Page reads the part of a list that begins at a token, "" for the first part. It is for programs that show a page and keep no
// state: the token can be stored, and used by another process; see [Cursor].
//
// If the query has a limit, a page has that many entities unless the list ends. Without a limit, a page is what the service returns
// for 1 request, which may be empty although more follows. With ErrBudget, Page returns the entities that were read, and the Token
// behind them.
//
// Errors: those of List; *TokenError for a corrupt token, and for a token of another table, query or version. Requests: 1, and more
// if pages are short or contain rows of other types.
func (t *Table[T]) Page(ctx context.Context, q Query[T], token string) (*Page[T], error) {
	p := &Page[T]{}
	var err error
	p.Token, err = t.h.page(ctx, q.engine(), token, func(e entity) bool { p.Entities = append(p.Entities, e.(*Entity[T])); return true })
	if err != nil && !errors.Is(err, ErrBudget) {
		return nil, err
	}
	return p, err
}

// page gives the entities of a page to yield, and returns the token of the next page, also after ErrBudget.
func (h handle) page(ctx context.Context, q engine.Query, token string, yield func(entity) bool) (next string, err error) {
	if q.Cursor != nil {
		return "", h.opError("Page", keys.Key{}, &ValueError{Field: "Query.Cursor", Reason: "is set, but a page begins at its token; use List for a cursor"})
	}
	q.Cursor, q.OnePage = engine.NewCursor(token), true
	if err = h.listAll(ctx, q, yield); err != nil && !errors.Is(err, ErrBudget) {
		return "", err
	}
	return q.Cursor.Token(), err
}
