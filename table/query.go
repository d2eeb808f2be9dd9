package table

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
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
	// the list. By default such a row ends the list. Count, and DeleteOps by a handle without maintainers, read keys alone: they do not
	// ask Skip, and count or delete such rows.
	Skip func(k keys.Key, err error) bool
}

// Budget bounds what one list may cost. Zero is no bound.
type Budget struct {
	Requests int           // pages asked for, and of a query by an index entities
	Rows     int           // rows that come, those of other types included
	Time     time.Duration // from the beginning, with the time that the caller takes between entities
}

// Stats is what a list has cost so far.
type Stats struct {
	Requests int // pages, and of a query by an index entities, each of which is a request, not counting repeated attempts
	Rows     int // rows that came with them
	Foreign  int // rows of other types among them, which were skipped
	Skipped  int // rows that could not be read, and that Query.Skip left out
}

// Class is how the service finds the rows of a query: what decides its cost.
type Class int

// The classes, from the cheapest to the most expensive ('Azure Table storage table design guide', design for querying).
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

// Class returns how the service will find the rows, by the keys that the query names itself.
func (q Query[T]) Class() Class {
	return Class((&engine.Query{Partition: q.Partition, Rows: q.Rows}).Class())
}

// Explanation is what a query sends.
type Explanation struct {
	Class       Class
	Filter      string
	Comparisons int    // of the 15 that a filter may have
	Select      string // the properties that are asked for; "" means all
}

// Explain returns what List would send, and the errors that it would return before it sent anything. No requests.
func (t *Table[T]) Explain(q Query[T]) (Explanation, error) {
	return t.h.explain(q.engine())
}

func (h handle) explain(q engine.Query) (Explanation, error) {
	ex, err := h.shape.query(q, true).Explain()
	return Explanation{Class: Class(ex.Class), Filter: ex.Filter, Comparisons: ex.Comparisons}, h.opError("Explain", keys.Key{}, err)
}

// engine returns the query as the engine takes it, without the schema.
//
//go:noinline
func (q *Query[T]) engine() engine.Query {
	return engine.Query{
		Partition: q.Partition, Rows: q.Rows, Where: q.Where.c, Limit: q.Limit, PageSize: q.PageSize, TableScan: q.TableScan,
		Stats: (*engine.Stats)(q.Stats), Cursor: q.Cursor.engine(), Budget: engine.Budget(q.Budget), Skip: publicSkip(q.Skip),
	}
}

// publicSkip returns a Skip that is asked about errors of this package.
func publicSkip[X any](skip func(X, error) bool) func(X, error) bool {
	if skip == nil {
		return nil
	}
	return func(x X, err error) bool { return skip(x, public(err)) }
}

// query adds the schema to a query. own reports that it asks for rows of T alone.
func (s *shape) query(q engine.Query, own bool) *engine.Query {
	q.Own, q.Type, q.Plan, q.Partitions, q.RowKeys = own, s.name, s.plan, s.partition.all, s.row.all
	return &q
}
