package engine

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// The limits of a query ('Querying tables and entities', 'Query timeout and pagination').
const (
	maxComparisons = 15
	maxPage        = 1000
)

// EveryKey is the range of every key but the library's.
var EveryKey = keys.RawBetween("", "")

// Query is a list to be read; see table.Query.
type Query struct {
	Partition keys.Enc
	Rows      keys.Range
	Where     Cond
	Plan      *edm.Plan // of the fields in Where

	Limit, PageSize int
	TableScan       bool
	Select          string // the properties that are asked for; "" for all
	HeadsOnly       bool   // the parts of wide entities are not read
	OnePage         bool   // without a limit, one request
	ReadAhead       bool   // the next page is requested while the caller works on one
	Budget          Budget
	Skip            func(k keys.Key, err error) bool
	Stats           *Stats
	WithoutJSON     bool // the Lister needs no Entity.JSON
	Cursor          *Cursor

	// The schema of the entities.
	Own        bool       // only its rows are asked for
	Type       string     // its name
	Partitions keys.Range // of its PartitionKeys, unset if the schema binds none
	RowKeys    keys.Range // of its RowKeys, unset if the schema binds none
}

// Budget is table.Budget.
type Budget struct {
	Requests int
	Rows     int
	Time     time.Duration
}

// Stats is table.Stats.
type Stats struct {
	Requests int
	Rows     int
	Foreign  int
	Skipped  int
	Damaged  int
}

// Class is how the service finds the rows of a query.
type Class int

// The classes, from the cheapest to the most expensive.
const (
	PointQuery Class = iota + 1
	RangeQuery
	PartitionScan
	TableScan
)

// Class returns how the service finds the rows, by the keys that the query names itself.
func (q *Query) Class() Class {
	switch {
	case !q.Partition.IsSet():
		return TableScan
	case q.Rows.IsPoint():
		return PointQuery
	case q.Rows.IsSet():
		return RangeQuery
	}
	return PartitionScan
}

// Explanation is what a query sends.
type Explanation struct {
	Class       Class
	Filter      string
	Comparisons int
}

// Explain checks a query, fills in what it leaves to the schema, and writes its filter.
func (q *Query) Explain() (ex Explanation, err error) {
	if ex.Class, err = q.Complete(); err != nil {
		return ex, err
	}
	var f filter
	if q.Partition.IsSet() {
		f.key(edm.PartitionKey, "eq", q.Partition.String())
	} else {
		f.keys(edm.PartitionKey, EveryKey)
	}
	f.keys(edm.RowKey, q.Rows)
	if err := f.cond(q.Plan, q.Where); err != nil {
		return ex, err
	}
	ex.Filter, ex.Comparisons = f.b.String(), f.n
	if f.n > maxComparisons {
		return ex, &errs.LimitError{Field: "Query.Where", Limit: "comparisons, those of the keys included", Got: f.n, Max: maxComparisons}
	}
	return ex, nil
}

// Complete checks a query's keys and numbers, and fills in what the schema knows: the only partition, the range of rows.
func (q *Query) Complete() (Class, error) {
	if q.Limit < 0 {
		return 0, &errs.ValueError{Field: "Query.Limit", Reason: fmt.Sprintf("is %d; it must be 0, which is no limit, or more", q.Limit)}
	}
	if b := q.Budget; b.Requests < 0 || b.Rows < 0 || b.Time < 0 {
		return 0, &errs.ValueError{Field: "Query.Budget", Reason: fmt.Sprintf("is %+v; no bound may be negative, and 0 is none", b)}
	}
	if q.PageSize < 0 || q.PageSize > maxPage {
		return 0, &errs.LimitError{Field: "Query.PageSize", Limit: "rows; the service requires 1 to 1000, and 0 is the default", Got: q.PageSize, Max: maxPage}
	}
	if only := q.Partitions; !q.Partition.IsSet() && only.IsPoint() {
		q.Partition = only.Point()
	}
	class := q.Class()
	if class == TableScan && !q.TableScan {
		return class, errs.ErrTableScan
	}
	if q.Partition.IsSet() && q.Partition.Err() != nil {
		return class, q.Partition.Err()
	}
	all, mine := EveryKey, keys.Range{}
	if q.Own {
		if mine = q.RowKeys; mine.IsSet() {
			all = mine
		}
		if pk := q.Partitions; q.Partition.IsSet() && pk.IsSet() && !pk.Contains(q.Partition.String()) {
			return class, &keys.KeyError{Key: edm.PartitionKey, Value: q.Partition.String(), Reason: "is no partition of this table's layout, " + pk.String()}
		}
	}
	switch {
	case q.Rows.Err() != nil:
		return class, q.Rows.Err()
	case !q.Rows.IsSet():
		q.Rows = all
	case mine.IsSet() && !q.Rows.Overlaps(mine):
		return class, &keys.KeyError{Key: edm.RowKey, Value: q.Rows.String(), Reason: "is a range without any key of this table's layout, " + all.String()}
	}
	return class, nil
}

// Cond is a condition on properties: a comparison, or conditions that are joined.
type Cond struct {
	Op      string // a comparison, "and", "or" or "not"; "" for the zero condition, which every row meets
	Path    []int  // of the field that is compared
	Element int    // of a list, counted from 1; 0 for the field
	Name    string // of the property, if there is no field
	Value   reflect.Value
	Parts   []Cond
	Err     error
}

// filter writes an OData filter and counts its comparisons.
type filter struct {
	b strings.Builder
	n int
}

func (f *filter) and() {
	if f.b.Len() > 0 {
		f.b.WriteString(" and ")
	}
}

func (f *filter) key(name, op, value string) {
	f.and()
	f.compare(name, op, edm.Quote(value))
}

func (f *filter) compare(name, op, literal string) {
	f.b.WriteString(name + " " + op + " " + literal)
	f.n++
}

// keys adds the keys of a range, with as many comparisons as that takes.
func (f *filter) keys(name string, r keys.Range) {
	from, to, closed := r.Bounds()
	if r.IsPoint() {
		f.key(name, "eq", from)
		return
	}
	if from != "" {
		f.key(name, "ge", from)
	}
	f.below(name, r, to, closed)
}

// behind adds the keys of a range behind the last one.
func (f *filter) behind(name string, r keys.Range, last *string) {
	from, to, closed := r.Bounds()
	switch {
	case last != nil && keys.Compare(*last, from) >= 0:
		f.key(name, "gt", *last)
	case from != "":
		f.key(name, "ge", from)
	}
	f.below(name, r, to, closed)
}

// below adds what a range leaves out above its first key: its end, and the library's rows.
func (f *filter) below(name string, r keys.Range, to string, closed bool) {
	if r.SpansReserved() {
		f.and()
		f.b.WriteString("(")
		f.compare(name, "lt", edm.Quote(reserved.First))
		f.b.WriteString(" or ")
		f.compare(name, "ge", edm.Quote(reserved.FirstAbove))
		f.b.WriteString(")")
	}
	switch {
	case to == "":
	case closed:
		f.key(name, "le", to)
	default:
		f.key(name, "lt", to)
	}
}

// cond adds a condition on properties.
func (f *filter) cond(p *edm.Plan, c Cond) error {
	if c.Op == "" {
		return nil
	}
	var inner filter
	if err := inner.tree(p, c); err != nil {
		return err
	}
	f.and()
	f.b.WriteString("(" + inner.b.String() + ")")
	f.n += inner.n
	return nil
}

func (f *filter) tree(p *edm.Plan, c Cond) error {
	switch c.Op {
	case "":
		return &errs.ValueError{Field: "Query.Where", Reason: "holds a zero condition inside And, Or or Not; leave it out"}
	case "and", "or", "not":
		if len(c.Parts) == 0 {
			return &errs.ValueError{Field: "Query.Where", Reason: "holds an And or Or without conditions; leave it out, or give it one"}
		}
		for i, part := range c.Parts {
			switch {
			case c.Op == "not":
				f.b.WriteString("not ")
			case i > 0:
				f.b.WriteString(" " + c.Op + " ")
			}
			f.b.WriteString("(")
			if err := f.tree(p, part); err != nil {
				return err
			}
			f.b.WriteString(")")
		}
		return nil
	}
	if c.Err != nil {
		return c.Err
	}
	var (
		name  = c.Name
		value edm.Value
		err   error
	)
	if name == "" {
		name, value, err = p.Operand(c.Path, c.Element, c.Value)
	} else {
		value, err = edm.NamedOperand(name, c.Value)
	}
	if err != nil {
		return err
	}
	if p != nil && c.Name == "" && p.PartsOf(name)[0] > 0 {
		return &errs.ValueError{Property: true, Field: name, Reason: fmt.Sprintf("is stored in part %d of the entity; a condition can name only properties of the head, which is part 0", p.PartsOf(name)[0])}
	}
	text, n, err := edm.Compare(name, c.Op, value)
	f.b.WriteString(text)
	f.n += n
	return err
}

// Cursor is table.Cursor.
type Cursor struct {
	token string // as given, until a list has begun
	at    *position
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
func (c *Cursor) Done() bool { return c.at != nil && c.at.done }

// Token returns the place in a form to be stored, "" at the end.
func (c *Cursor) Token() string {
	switch {
	case c.at == nil:
		return c.token
	case c.at.done:
		return ""
	}
	return c.at.token()
}

// position is the place of a list: a page, by the service's own token, and the last row that was delivered, if rows up to
// it may still come. A page that is read again may be shorter than it was, so they may come with later pages too.
type position struct {
	table  string
	query  [8]byte
	pk, rk *string
	inside bool // of a page: last was delivered
	last   keys.Key
	done   bool
}

// begin returns the place at which a list begins.
func (c *Cursor) begin(table string, query [8]byte) (*position, error) {
	at := c.at
	switch {
	case at == nil && c.token == "":
		at = &position{table: table, query: query}
	case at == nil:
		var err error
		if at, err = parseToken(c.token); err != nil {
			return nil, err
		}
	}
	switch {
	case !strings.EqualFold(at.table, table):
		return nil, &errs.TokenError{Reason: fmt.Sprintf("is of the table %.63q", at.table)}
	case at.query != query:
		return nil, &errs.TokenError{Reason: "is of another query"}
	}
	c.at = at
	return at, nil
}

// deliver moves on behind a row.
func (p *position) deliver(in edm.Entity) {
	p.inside, p.last = true, keys.Stored(in.PartitionKey, in.RowKey)
}

// delivered reports whether a row comes before the place. Rows that were deleted or inserted since do not matter.
func (p *position) delivered(in edm.Entity) bool {
	if !p.inside {
		return false
	}
	n := keys.Compare(in.PartitionKey, p.last.PartitionKey())
	return n < 0 || n == 0 && keys.Compare(in.RowKey, p.last.RowKey()) <= 0
}

// queryID names a query by the conditions that decide which rows it finds: not by projections, limits and sizes of pages.
func queryID(table, typ, filter string, rows keys.Range, own bool) (id [8]byte) {
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
func (p *position) token() string {
	b := []byte{tokenVersion, 0}
	b = append(b, p.query[:]...)
	put := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	put(p.table)
	if p.pk != nil {
		b[1] |= hasPK
		put(*p.pk)
	}
	if p.rk != nil {
		b[1] |= hasRK
		put(*p.rk)
	}
	if p.inside {
		b[1] |= hasLast
		put(p.last.PartitionKey())
		put(p.last.RowKey())
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseToken reads what token writes, and nothing else.
func parseToken(s string) (*position, error) {
	damaged := &errs.TokenError{Reason: "is damaged or was made by something else"}
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
		return nil, &errs.TokenError{Reason: fmt.Sprintf("is of version %d, and this library knows version %d", b[0], tokenVersion)}
	case b[1] >= hasLast<<1:
		return nil, damaged
	}
	p := &position{query: [8]byte(b[2:head])}
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
	p.pk, p.rk = optional(hasPK), optional(hasRK)
	if has&hasLast != 0 {
		pk := take()
		p.inside, p.last = true, keys.Stored(pk, take())
	}
	if !ok || len(rest) > 0 || p.token() != s {
		return nil, damaged
	}
	return p, nil
}
