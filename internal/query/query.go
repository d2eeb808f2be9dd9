// Package query declares queries: how the service finds their rows, the filter that they send, and
// the place of a list in a cursor.
package query

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// The limits of a query ('Querying tables and entities', 'Query timeout and pagination').
const (
	maxComparisons = 15
	MaxPage        = 1000 // rows
)

// EveryKey is the range of every RowKey but the library's, and EveryPartition that of every
// PartitionKey.
var (
	EveryKey       = keys.RawRows("", "")
	EveryPartition = keys.RawPartitions("", "")
)

// Query is a list to be read; see table.Query.
type Query struct {
	Partition  keys.PartitionKey
	Partitions keys.PartitionRange
	Rows       keys.RowRange
	Where      Cond
	Codec      *edm.Codec // of the fields in Where

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
	Own           bool                // only its rows are asked for
	Type          string              // its name
	PartitionKeys keys.PartitionRange // of its PartitionKeys, unset if the schema binds none
	RowKeys       keys.RowRange       // of its RowKeys, unset if the schema binds none
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
	Over     int
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
	PartitionsScan
	TableScan
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
	case PartitionsScan:
		return "scan of a range of partitions"
	}
	return "table scan"
}

// Class returns how the service finds the rows, by the keys that the query names itself.
func (q *Query) Class() Class {
	switch {
	case !q.Partition.IsSet() && q.Partitions.IsSet() && !q.Partitions.IsPoint():
		return PartitionsScan
	case !q.Partition.IsSet() && !q.Partitions.IsSet():
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
	var f Filter
	if q.Partition.IsSet() {
		f.Key(edm.PartitionKey, "eq", q.Partition.String())
	} else {
		f.Keys(edm.PartitionKey, BoundsOf(q.Partitions))
	}
	f.Keys(edm.RowKey, BoundsOf(q.Rows))
	if err := f.Where(q.Codec, q.Where); err != nil {
		return ex, err
	}
	ex.Filter, ex.Comparisons = f.b.String(), f.n
	return ex, f.Check()
}

// Complete checks a query's keys and numbers, and fills in what the schema knows: the only
// partition, the range of rows.
func (q *Query) Complete() (Class, error) {
	if q.Limit < 0 {
		return 0, &errs.ValueError{Field: "Query.Limit", Reason: fmt.Sprintf("is %d; it must be 0, which is no limit, or more", q.Limit)}
	}
	if b := q.Budget; b.Requests < 0 || b.Rows < 0 || b.Time < 0 {
		return 0, &errs.ValueError{Field: "Query.Budget", Reason: fmt.Sprintf("is %+v; no bound may be negative, and 0 is none", b)}
	}
	if q.PageSize < 0 || q.PageSize > MaxPage {
		return 0, &errs.LimitError{Field: "Query.PageSize", Limit: "rows; the service requires 1 to 1000, and 0 is the default", Got: q.PageSize, Max: MaxPage}
	}
	if err := q.completePartitions(); err != nil {
		return 0, err
	}
	class := q.Class()
	if class == TableScan && !q.TableScan {
		return class, errs.ErrTableScan
	}
	if q.Partition.IsSet() && q.Partition.Err() != nil {
		return class, q.Partition.Err()
	}
	all, mine := EveryKey, keys.RowRange{}
	if q.Own {
		if mine = q.RowKeys; mine.IsSet() {
			all = mine
		}
		switch pk := q.PartitionKeys; {
		case !pk.IsSet():
		case q.Partition.IsSet() && !pk.Contains(q.Partition.String()):
			return class, &keys.KeyError{Key: edm.PartitionKey, Value: q.Partition.String(), Reason: "is no partition of this table's layout, " + pk.String()}
		case q.Partitions.IsSet() && !q.Partitions.IsEmpty() && !keyrange.PartitionsOverlap(q.Partitions, pk):
			return class, &keys.KeyError{Key: edm.PartitionKey, Value: q.Partitions.String(), Reason: "is a range without any partition of this table's layout, " + pk.String()}
		}
	}
	if !q.Partition.IsSet() && !q.Partitions.IsSet() {
		q.Partitions = EveryPartition
	}
	switch {
	case q.Rows.Err() != nil:
		return class, q.Rows.Err()
	case !q.Rows.IsSet():
		q.Rows = all
	case mine.IsSet() && !keyrange.RowsOverlap(q.Rows, mine):
		return class, &keys.KeyError{Key: edm.RowKey, Value: q.Rows.String(), Reason: "is a range without any key of this table's layout, " + all.String()}
	}
	return class, nil
}

// completePartitions checks the partitions of a query, and fills in the only one that its range or
// the schema leaves.
func (q *Query) completePartitions() error {
	if !q.Partitions.IsSet() {
		if !q.Partition.IsSet() && q.PartitionKeys.IsPoint() {
			q.Partition = keyrange.Partition(q.PartitionKeys)
		}
		return nil
	}
	if q.Partition.IsSet() {
		return &errs.ValueError{Field: "Query.Partitions", Reason: "is set, as is Query.Partition; set one of the two"}
	}
	if err := q.Partitions.Err(); err != nil {
		return err
	}
	if q.Partitions.IsPoint() {
		q.Partition, q.Partitions = keyrange.Partition(q.Partitions), keys.PartitionRange{}
	}
	return nil
}

// Cond is a condition on properties: a comparison, or conditions that are joined.
type Cond struct {
	Op      string // a comparison, "and", "or" or "not"; "" for the zero condition, which every row meets
	Path    []int  // of the field that is compared
	Element int    // of a list, counted from 1; 0 for the field
	Name    string // of the property, if there is no field
	Value   reflect.Value
	Conds   []Cond
	Err     error
}

// Filter writes an OData filter and counts its comparisons.
type Filter struct {
	b strings.Builder
	n int
}

// String returns the filter.
func (f *Filter) String() string { return f.b.String() }

func (f *Filter) addAnd() {
	if f.b.Len() > 0 {
		f.b.WriteString(" and ")
	}
}

// Key adds a comparison of a key.
func (f *Filter) Key(name, op, value string) {
	f.addAnd()
	f.compare(name, op, edm.Quote(value))
}

func (f *Filter) compare(name, op, literal string) {
	f.b.WriteString(name + " " + op + " " + literal)
	f.n++
}

// Bounds are the bounds of a range of keys; see keys.RowRange.
type Bounds struct {
	from, to              string
	closed, point, spread bool // spread: it spans the library's rows
}

// BoundsOf returns the bounds of a keys.RowRange or keys.PartitionRange.
func BoundsOf[R interface {
	Bounds() (from, to string, closed bool)
	IsPoint() bool
	SpansReserved() bool
}](r R) Bounds {
	from, to, closed := r.Bounds()
	return Bounds{from, to, closed, r.IsPoint(), r.SpansReserved()}
}

// Keys adds the keys of a range, with as many comparisons as that takes.
func (f *Filter) Keys(name string, r Bounds) {
	if r.point {
		f.Key(name, "eq", r.from)
		return
	}
	if r.from != "" {
		f.Key(name, "ge", r.from)
	}
	f.below(name, r)
}

// Behind adds the keys of a range behind the last one.
func (f *Filter) Behind(name string, r Bounds, last *string) {
	switch {
	case last != nil && keys.Compare(*last, r.from) >= 0:
		f.Key(name, "gt", *last)
	case r.from != "":
		f.Key(name, "ge", r.from)
	}
	f.below(name, r)
}

// below adds what a range leaves out above its first key: its end, and the library's rows.
func (f *Filter) below(name string, r Bounds) {
	if r.spread {
		f.addAnd()
		f.b.WriteString("(")
		f.compare(name, "lt", edm.Quote(reserved.First))
		f.b.WriteString(" or ")
		f.compare(name, "ge", edm.Quote(reserved.FirstAbove))
		f.b.WriteString(")")
	}
	switch {
	case r.to == "":
	case r.closed:
		f.Key(name, "le", r.to)
	default:
		f.Key(name, "lt", r.to)
	}
}

// Check returns an error for more comparisons than the service takes.
func (f *Filter) Check() error {
	if f.n > maxComparisons {
		return &errs.LimitError{Field: "Query.Where", Limit: "comparisons, those of the keys included", Got: f.n, Max: maxComparisons}
	}
	return nil
}

// Where adds a condition on properties.
func (f *Filter) Where(p *edm.Codec, c Cond) error {
	if c.Op == "" {
		return nil
	}
	var inner Filter
	if err := inner.tree(p, c); err != nil {
		return err
	}
	f.addAnd()
	f.b.WriteString("(" + inner.b.String() + ")")
	f.n += inner.n
	return nil
}

func (f *Filter) tree(p *edm.Codec, c Cond) error {
	switch c.Op {
	case "":
		return &errs.ValueError{Field: "Query.Where", Reason: "holds a zero condition inside And, Or or Not; leave it out"}
	case "and", "or", "not":
		if len(c.Conds) == 0 {
			return &errs.ValueError{Field: "Query.Where", Reason: "holds an And or Or without conditions; leave it out, or give it one"}
		}
		for i, part := range c.Conds {
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
		of  edm.Operand
		err error
	)
	if c.Name == "" {
		of, err = p.Operand(c.Path, c.Element)
	} else {
		of, err = edm.NamedOperand(c.Name, c.Value.Type())
	}
	if err != nil {
		return err
	}
	if p != nil && c.Name == "" && p.PartsOf(of.Name)[0] > 0 {
		return &errs.ValueError{Property: true, Field: of.Name, Reason: fmt.Sprintf("is stored in part %d of the entity; a condition can name only properties of the head, which is part 0", p.PartsOf(of.Name)[0])}
	}
	text, n, err := of.Compare(c.Op, c.Value)
	f.b.WriteString(text)
	f.n += n
	return err
}
