package table

import "github.com/aztablekit/aztablekit/internal/engine"

// Cursor is the place of a list. A query with a cursor begins there and moves it on with each entity that is yielded, so
// that a list can be left at any point, also in the middle of a page, by its limit or by an error, and be resumed
// later, by another process too:
//
//	cursor := table.NewCursor(saved) // "" begins at the beginning
//	q.Cursor = cursor
//	for e, err := range staff.List(ctx, q) { … break … }
//	save(cursor.Token())
//
// A resumed list may or may not show rows that were inserted behind its place meanwhile: the service's own token names
// the row with which the next page begins, so a cursor that was left at the end of a page does not show rows that were inserted
// between that page and this row. Rows that were there all the time are shown once each. The page in whose middle a list was left is
// read once more: 1 request, unless its pages were larger (Query.PageSize). To follow rows as they come, range over the keys behind
// the last one instead.
//
// It is not for concurrent use. The zero Cursor is at the beginning.
type Cursor struct{ c engine.Cursor }

// NewCursor returns a cursor at the place of a token, or at the beginning for "". The list reports what is wrong with the token.
func NewCursor(token string) *Cursor { return &Cursor{*engine.NewCursor(token)} }

func (c *Cursor) engine() *engine.Cursor {
	if c == nil {
		return nil
	}
	return &c.c
}

// Copy returns a cursor at the same place, which does not move with this one.
func (c *Cursor) Copy() *Cursor { return &Cursor{*c.c.Copy()} }

// Done reports whether the list has come to its end.
func (c *Cursor) Done() bool { return c.c.Done() }

// Token returns the place in a form to be stored, or "" at the end. It names the table and the query and is refused for others.
// It contains keys of the table: keep it from people who may not see those.
func (c *Cursor) Token() string { return c.c.Token() }
