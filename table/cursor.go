package table

import "github.com/aztablekit/aztablekit/internal/engine"

// Cursor is the position of a list. A query with a cursor begins at the position, and moves it with each entity that it yields. The
// loop can end at any entity, by a limit or by an error; another query can continue there later, also in another process:
//
//	cursor := table.NewCursor(saved) // "" is the beginning
//	q.Cursor = cursor
//	for e, err := range staff.List(ctx, q) { … break … }
//	save(cursor.Token())
//
// Rows that exist all the time are yielded once each. A row that is inserted behind the position before the list continues may be
// left out: at the end of a page, the service's token names the first row of the next page, and a row that is inserted before that
// row is not found. To follow new rows, query the keys behind the last one instead.
//
// If the loop ends in the middle of a page, the page is read again later: 1 request, or more if its pages were larger
// (Query.PageSize).
//
// A Cursor is not for concurrent use. The zero Cursor is at the beginning.
type Cursor struct{ c engine.Cursor }

// NewCursor returns a cursor at the position of a token, or at the beginning for "". If the token cannot be used, the list fails
// with a *TokenError.
func NewCursor(token string) *Cursor { return &Cursor{*engine.NewCursor(token)} }

func (c *Cursor) engine() *engine.Cursor {
	if c == nil {
		return nil
	}
	return &c.c
}

// Copy returns another cursor at the same position.
func (c *Cursor) Copy() *Cursor { return &Cursor{*c.c.Copy()} }

// Done reports whether the list has ended.
func (c *Cursor) Done() bool { return c.c.Done() }

// Token returns the position as a text to be stored, "" at the end. It names the table and the query, and other queries refuse it.
// It contains keys of the table: keep it from people who may not see these.
func (c *Cursor) Token() string { return c.c.Token() }
