package table

import (
	"fmt"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// The limits of a query ('Querying tables and entities', 'Query timeout and pagination').
const (
	maxComparisons = 15
	maxPage        = 1000
)

// Query says which entities to read, and in which way the service finds them. It is a plain value: copy and change it.
type Query[T any] struct {
	// Partition is the PartitionKey. Unset means every partition, which is a table scan; where the schema binds the
	// partition to a constant, unset means that one.
	Partition keys.Enc

	// Rows is the range of RowKeys. Unset means the range of the schema's layout, so that rows of other types and of the
	// library are not read. A range without a layout that is open or ends above ~ takes 1 comparison more, because the
	// library's rows lie in its middle.
	Rows keys.Range

	// Where filters on properties. The service reads and pays for rows that it then filters out.
	Where Cond[T]

	// Limit ends the list after that many entities; 0 means no limit.
	Limit int

	// PageSize is how many rows one request asks for, 1 to 1000. Defaults to 1000, or to Limit where that is smaller.
	PageSize int

	// TableScan allows a query without a partition. It reads the whole table.
	TableScan bool

	// Stats, if set, is filled while the list is ranged over.
	Stats *Stats

	// Cursor, if set, is where the list begins, and where it stands at any time.
	Cursor *Cursor

	// Budget ends the list with ErrBudget when it costs too much. With a Cursor it can be taken up again.
	Budget Budget

	// Skip, if set, is asked about each row that is T's and cannot be read as T, such as one of another shape that another program has
	// written, with its key and the *OpError that would end the list: true leaves the row out and counts it in Stats.Skipped, false ends
	// the list. By default such a row ends the list. Count, and DeleteQuery by a handle without maintainers, read keys alone: they do not
	// ask Skip, and count or delete such rows.
	Skip func(k keys.Key, err error) bool

	onePage bool // without a limit, one request
}

// Budget bounds what one list may cost. Zero is no bound.
type Budget struct {
	Requests int           // pages asked for, and of a query by an index entities
	Rows     int           // rows that come, those of other types included
	Time     time.Duration // from the beginning, with the time that the caller takes between entities
}

// Stats is what a list has cost so far.
type Stats struct {
	Requests int // pages, and of a query by an index entities, each of which is a request, not counting repeated tries
	Rows     int // rows that came with them
	Foreign  int // rows of other types among them, which were skipped
	Skipped  int // rows that could not be read, and that Query.Skip left out
}

// Class is how the service finds the rows of a query: what decides its cost.
type Class int

// The classes, from the cheapest to the dearest ('Azure Table storage table design guide', design for querying).
const (
	PointQuery    Class = iota + 1 // both keys given
	RangeQuery                     // a partition and a range of RowKeys
	PartitionScan                  // a partition
	TableScan                      // no partition: every row of the table is read
)

// String returns the class in words.
func (c Class) String() string {
	switch c {
	case PointQuery:
		return "point query"
	case RangeQuery:
		return "range query"
	case PartitionScan:
		return "partition scan"
	case TableScan:
		return "table scan"
	}
	return fmt.Sprintf("Class(%d)", int(c))
}

// Class tells how the service will find the rows, by the keys that the query names itself.
func (q Query[T]) Class() Class {
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
	Comparisons int    // of the 15 that a filter may hold
	Select      string // the properties that are asked for; "" means all
}

// Explain returns what List would send, and the errors that it would return before it sent anything. No requests.
func (t *Table[T]) Explain(q Query[T]) (Explanation, error) {
	_, ex, err := t.explain(q, true)
	return ex, t.opError("Explain", keys.Key{}, err)
}

// everyRow is the range of every row but the library's.
var everyRow = keys.RawBetween("", "")

// explain checks a query, fills in what it leaves to the table, and writes its filter. own tells that it asks for rows of T
// alone.
func (t *Table[T]) explain(q Query[T], own bool) (_ Query[T], ex Explanation, err error) {
	if q, ex.Class, err = t.completed(q, own); err != nil {
		return q, ex, err
	}
	var f filter[T]
	if q.Partition.IsSet() {
		f.key(edm.PartitionKey, "eq", q.Partition.String())
	} else {
		f.keys(edm.PartitionKey, everyRow)
	}
	f.keys(edm.RowKey, q.Rows)
	if err := f.cond(t.plan, q.Where); err != nil {
		return q, ex, err
	}
	ex.Filter, ex.Comparisons = f.b.String(), f.n
	if f.n > maxComparisons {
		return q, ex, &LimitError{Field: "Query.Where", Limit: "comparisons, those of the keys included", Got: f.n, Max: maxComparisons}
	}
	return q, ex, nil
}

// completed checks a query's keys and numbers, and fills in what the schema knows: the only partition, the range of rows.
func (t *Table[T]) completed(q Query[T], own bool) (Query[T], Class, error) {
	if q.Limit < 0 {
		return q, 0, &ValueError{Field: "Query.Limit", Reason: fmt.Sprintf("is %d; it must be 0, which is no limit, or more", q.Limit)}
	}
	if b := q.Budget; b.Requests < 0 || b.Rows < 0 || b.Time < 0 {
		return q, 0, &ValueError{Field: "Query.Budget", Reason: fmt.Sprintf("is %+v; no bound may be negative, and 0 is none", b)}
	}
	if q.PageSize < 0 || q.PageSize > maxPage {
		return q, 0, &LimitError{Field: "Query.PageSize", Limit: "rows; the service requires 1 to 1000, and 0 is the default", Got: q.PageSize, Max: maxPage}
	}
	if only := t.schema.Partition.Range(); !q.Partition.IsSet() && only.IsPoint() {
		q.Partition = only.Point()
	}
	class := q.Class()
	if class == TableScan && !q.TableScan {
		return q, class, ErrTableScan
	}
	if q.Partition.IsSet() && q.Partition.Err() != nil {
		return q, class, q.Partition.Err()
	}
	all, mine := everyRow, keys.Range{}
	if own {
		if mine = t.schema.Row.Range(); mine.IsSet() {
			all = mine
		}
		if pk := t.schema.Partition.Range(); q.Partition.IsSet() && pk.IsSet() && !pk.Contains(q.Partition.String()) {
			return q, class, &keys.KeyError{Key: edm.PartitionKey, Value: q.Partition.String(), Reason: "is no partition of this table's layout, " + pk.String()}
		}
	}
	switch {
	case q.Rows.Err() != nil:
		return q, class, q.Rows.Err()
	case !q.Rows.IsSet():
		q.Rows = all
	case mine.IsSet() && !q.Rows.Overlaps(mine):
		return q, class, &keys.KeyError{Key: edm.RowKey, Value: q.Rows.String(), Reason: "is a range without any key of this table's layout, " + all.String()}
	}
	return q, class, nil
}

// filter writes an OData filter and counts its comparisons.
type filter[T any] struct {
	b strings.Builder
	n int
}

func (f *filter[T]) and() {
	if f.b.Len() > 0 {
		f.b.WriteString(" and ")
	}
}

func (f *filter[T]) key(name, op, value string) {
	f.and()
	f.compare(name, op, edm.Quote(value))
}

func (f *filter[T]) compare(name, op, literal string) {
	f.b.WriteString(name + " " + op + " " + literal)
	f.n++
}

// keys asks for the keys of a range, with as many comparisons as it needs.
func (f *filter[T]) keys(name string, r keys.Range) {
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

// below writes what a range leaves out above its first key: its end, and the library's rows.
func (f *filter[T]) below(name string, r keys.Range, to string, closed bool) {
	if r.SpansReserved() {
		f.and()
		f.b.WriteString("(")
		f.compare(name, "lt", edm.Quote(reserved.First))
		f.b.WriteString(" or ")
		f.compare(name, "ge", edm.Quote(keys.FirstAboveReserved))
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

// cond writes a condition on properties behind what is there.
func (f *filter[T]) cond(p *edm.Plan, c Cond[T]) error {
	if c.op == "" {
		return nil
	}
	var inner filter[T]
	if err := inner.tree(p, c); err != nil {
		return err
	}
	f.and()
	f.b.WriteString("(" + inner.b.String() + ")")
	f.n += inner.n
	return nil
}

func (f *filter[T]) tree(p *edm.Plan, c Cond[T]) error {
	switch c.op {
	case "":
		return &ValueError{Field: "Query.Where", Reason: "holds a zero condition inside And, Or or Not; leave it out"}
	case "and", "or", "not":
		if len(c.parts) == 0 {
			return &ValueError{Field: "Query.Where", Reason: "holds an And or Or without conditions; leave it out, or give it one"}
		}
		for i, part := range c.parts {
			switch {
			case c.op == "not":
				f.b.WriteString("not ")
			case i > 0:
				f.b.WriteString(" " + c.op + " ")
			}
			f.b.WriteString("(")
			if err := f.tree(p, part); err != nil {
				return err
			}
			f.b.WriteString(")")
		}
		return nil
	}
	if c.err != nil {
		return c.err
	}
	var (
		name  = c.name
		value edm.Value
		err   error
	)
	if name == "" {
		name, value, err = p.Operand(c.path, c.value)
	} else {
		value, err = edm.NamedOperand(name, c.value)
	}
	if err != nil {
		return err
	}
	text, n, err := edm.Compare(name, c.op, value)
	f.b.WriteString(text)
	f.n += n
	return err
}
