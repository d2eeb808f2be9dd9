package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
)

// Cursor is table.Cursor.
type Cursor struct {
	token string // as given, until a list has begun
	at    *Position
}

// NewCursor returns a cursor at the place of a token.
func NewCursor(token string) *Cursor { return &Cursor{token: token} }

// Copy returns a cursor at the same place, which does not move with this one.
func (c *Cursor) Copy() *Cursor {
	at := *c
	if c.at != nil {
		place := *c.at
		at.at = &place
	}
	return &at
}

// Done reports whether the list has come to its end.
func (c *Cursor) Done() bool { return c.at != nil && c.at.Done }

// Token returns the place in a form to be stored, "" at the end.
func (c *Cursor) Token() string {
	switch {
	case c.at == nil:
		return c.token
	case c.at.Done:
		return ""
	}
	return c.at.token()
}

// Position is the place of a list: a page, by the service's own token, and the last row that was
// delivered, if rows up to it may still come. A page that is read again may be shorter than it was,
// so they may come with later pages too.
type Position struct {
	table  string
	query  [8]byte
	PK, RK *string // of the page; nil for the first one
	Inside bool    // of a page: last was delivered
	last   keys.Key
	Done   bool
}

// Begin returns the place at which a list begins.
func (c *Cursor) Begin(table string, query [8]byte) (*Position, error) {
	at := c.at
	switch {
	case at == nil && c.token == "":
		at = &Position{table: table, query: query}
	case at == nil:
		var err error
		if at, err = parseToken(c.token); err != nil {
			return nil, err
		}
	}
	switch {
	case !strings.EqualFold(at.table, table):
		return nil, &errs.ValueError{Field: "token", Reason: fmt.Sprintf("is of the table %.63q", at.table)}
	case at.query != query:
		return nil, &errs.ValueError{Field: "token", Reason: "is of another query"}
	}
	c.at = at
	return at, nil
}

// Deliver moves on behind a row.
func (p *Position) Deliver(in edm.Entity) {
	p.Inside, p.last = true, keys.Raw(in.PartitionKey, in.RowKey)
}

// Delivered reports whether a row comes before the place. Rows that were deleted or inserted since
// do not matter.
func (p *Position) Delivered(in edm.Entity) bool {
	if !p.Inside {
		return false
	}
	n := keys.Compare(in.PartitionKey, p.last.PartitionKey())
	return n < 0 || n == 0 && keys.Compare(in.RowKey, p.last.RowKey()) <= 0
}

// ID names a query by the conditions that decide which rows it finds: not by projections, limits
// and sizes of pages.
func ID(table, typ, filter string, rows keys.RowRange, own bool) (id [8]byte) {
	if !own {
		typ = ""
	}
	h := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v", strings.ToLower(table), typ, filter, rows, own))
	copy(id[:], h[:])
	return id
}

const tokenVersion = 1

// What a token holds besides the table's name and the query.
const (
	hasPK = 1 << iota
	hasRK
	hasLast
)

// token writes a position: version, what it holds, query, texts with their lengths, check sum.
func (p *Position) token() string {
	b := []byte{tokenVersion, 0}
	b = append(b, p.query[:]...)
	put := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	put(p.table)
	if p.PK != nil {
		b[1] |= hasPK
		put(*p.PK)
	}
	if p.RK != nil {
		b[1] |= hasRK
		put(*p.RK)
	}
	if p.Inside {
		b[1] |= hasLast
		put(p.last.PartitionKey())
		put(p.last.RowKey())
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseToken reads what token writes, and nothing else.
func parseToken(s string) (*Position, error) {
	damaged := &errs.ValueError{Field: "token", Reason: "is damaged or was made by something else"}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	const head = 2 + 8
	if err != nil || len(b) < head+4 {
		return nil, damaged
	}
	b, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	switch {
	case crc32.ChecksumIEEE(b) != sum:
		return nil, damaged
	case b[0] != tokenVersion:
		return nil, &errs.ValueError{Field: "token", Reason: fmt.Sprintf("is of version %d, and this library knows version %d", b[0], tokenVersion)}
	case b[1] >= hasLast<<1:
		return nil, damaged
	}
	p := &Position{query: [8]byte(b[2:head])}
	has, rest, ok := b[1], b[head:], true
	take := func() string {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			ok = false
			return ""
		}
		s := string(rest[used : used+int(n)])
		rest = rest[used+int(n):]
		return s
	}
	optional := func(bit byte) *string {
		if has&bit == 0 {
			return nil
		}
		s := take()
		return &s
	}
	p.table = take()
	p.PK, p.RK = optional(hasPK), optional(hasRK)
	if has&hasLast != 0 {
		pk := take()
		p.Inside, p.last = true, keys.Raw(pk, take())
	}
	if !ok || len(rest) > 0 || p.token() != s {
		return nil, damaged
	}
	return p, nil
}
