package logtail

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Cursor is the position of [Log.Follow]. It moves with each record that is yielded. Its token can be stored, and another process
// continues there:
//
//	cursor := logtail.NewCursor(saved) // "" is the beginning of the log
//	for r, err := range claims.Follow(ctx, cursor) {
//		…
//		save(cursor.Token()) // after each record, or from time to time
//	}
//
// A Cursor is not for concurrent use. The zero Cursor is at the beginning.
type Cursor struct {
	token  string
	from   time.Time // all records before it are yielded
	seen   seen      // the records from then on that are yielded
	opened bool
	log    string // the table and the source
}

// NewCursor returns a cursor at the position of a token, or at the beginning for "". If the token cannot be used, Follow fails with
// a *table.TokenError.
func NewCursor(token string) *Cursor { return &Cursor{token: token} }

// NewCursorAt returns a cursor that begins with the records of a time: those that are appended from now on, for example.
func NewCursorAt(from time.Time) *Cursor { return &Cursor{from: from.UTC().Truncate(tick)} }

// token is the text of a cursor.
type token struct {
	Version int    `json:"v"`
	Log     string `json:"g"`
	From    int64  `json:"f"` // ticks
	seen
}

const tokenVersion = 1

// Token returns the position as a text to be stored. It names the log, and another log refuses it. It has some 50 bytes for each
// writer whose records are read again, which are those of up to twice Options.Overlap, and for each record of AppendOnce or without a
// writer.
func (c *Cursor) Token() string {
	if !c.opened && c.from.IsZero() {
		return c.token
	}
	b, err := json.Marshal(token{tokenVersion, c.log, ticksOf(c.from), c.seen})
	if err != nil {
		panic(err) // strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// open reads the token, for a log of this name.
func (c *Cursor) open(log string) error {
	fail := func(reason string) error { return &table.TokenError{Reason: reason} }
	switch {
	case c.opened && c.log != log:
		return fail("is of another log")
	case c.opened:
		return nil
	case c.token == "": // also of NewCursorAt
		c.opened, c.log = true, log
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(c.token)
	var t token
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	from, terr := keys.FromTicks(t.From)
	switch {
	case err != nil || terr != nil:
		return fail("is corrupt")
	case t.Version != tokenVersion:
		return fail("is of another version of this library")
	case t.Log != log && t.Log != "": // "" of a cursor that was not used
		return fail("is of another log")
	}
	for _, spans := range t.Writers {
		for i, s := range spans {
			if s.First < 0 || s.Last < s.First || i > 0 && s.First <= spans[i-1].Last+1 {
				return fail("is corrupt")
			}
		}
	}
	c.opened, c.log, c.from, c.seen = true, log, from, t.seen
	return nil
}

// moveTo moves the cursor to a time before which all records are yielded.
func (c *Cursor) moveTo(from time.Time) {
	c.from = from
	c.seen.dropBefore(from)
}
