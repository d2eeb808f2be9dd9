package index

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/table"
)

// Page is [table.Table.Page] by the index: it reads the part of a query that begins at a token, "" for the first part. The token
// can be stored, and used by another process. It is behind the last entity of the page, although index rows and entities beyond it
// may have been read.
//
//	q := table.Query[Employee]{Partition: dept.Of("Sales"), Rows: byName.Value("Jones"), Limit: 20}
//	page, err := byName.Page(ctx, staff, q, token)
//
// A page has Query.Limit entities, 1,000 if it is 0, unless the query ends. Token is "" after the last page; the page before it may
// be full, so that the last one is empty.
//
// Errors: those of [Index.Query]; *table.TokenError for a token of another table, index, query or version, or a corrupt one;
// *table.ValueError for a query with a Cursor. With table.ErrBudget, the page is returned as far as it was read, with its Token.
// Requests are those of Query: 1 for each 1,000, with Pointer or ReadEntities 1 more for each entity; and 1 more if the token is in
// the middle of one of the service's pages, or if entities of index rows have changed.
func (ix *Index[T, K]) Page(ctx context.Context, t *table.Table[T], q table.Query[T], token string) (*table.Page[T], error) {
	if q.Cursor != nil {
		return nil, withDefinition(ix.name, errPageCursor)
	}
	if q.Limit == 0 {
		q.Limit = 1000
	}
	q.Cursor = table.NewCursor(token)
	entities, err := table.Collect(ix.Query(ctx, t, q))
	if err != nil && !errors.Is(err, table.ErrBudget) {
		return nil, err
	}
	return &table.Page[T]{Entities: entities, Token: q.Cursor.Token()}, err
}

var errPageCursor = &table.ValueError{Field: "Query.Cursor", Reason: "is set, but a page begins at its token; use Query for a cursor"}
