package table

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Query says which entities to read, and how the service finds them. It is a plain value: copy and change it.
type Query[T any] struct {
	// Partition is the PartitionKey. If it is unset, the query reads every partition, which is a table scan; but if the schema
	// binds the partition to a constant, the query reads that one.
	Partition keys.Enc

	// Rows is the range of RowKeys. If it is unset, it is the range of the schema's layout, so that rows of other types and of the
	// library are not read. A range that contains the prefix ~ in its middle takes 1 comparison more, to leave out the library's
	// rows.
	Rows keys.Range

	// Where is a condition on properties. The service reads the rows that it then leaves out, and the query costs as much.
	Where Cond[T]

	// Limit ends the list after that many entities; 0 means no limit.
	Limit int

	// PageSize is the most rows of one request, 1 to 1,000. Defaults to 1,000, or to a smaller Limit.
	PageSize int

	// ReadAhead requests the next page while the loop works on the current one, so that the two take no longer than the slower one.
	// One page at most is read ahead, and none that a Limit or a Budget may make unnecessary: the list sends the same requests as
	// without ReadAhead. A loop that ends early cancels the request under way, which is 1 request in vain. The rows of the next
	// page are as they were before the loop worked on the current one. A query of an index with a Limit, or of pointers with
	// Budget.Requests, reads nothing ahead.
	ReadAhead bool

	// TableScan allows a query without a partition. It reads the whole table.
	TableScan bool

	// Stats, if set, counts while the list is read.
	Stats *Stats

	// Cursor, if set, is the position at which the list begins, and moves with the list.
	Cursor *Cursor

	// Budget ends the list with ErrBudget when it costs too much. With a Cursor, another query can continue it.
	Budget Budget

	// Skip, if set, decides about each row that is one of T but cannot be read as T, for example because another program has stored
	// a property with another type. It receives the key and the *OpError that would end the list. If it returns true, the row is
	// left out and counted in Stats.Skipped. If it returns false, or is not set, the row ends the list. If it is not set, the error names
	// it. Count, and DeleteOps of a handle without maintainers, read keys alone: they do not call Skip, and count or delete such rows.
	Skip func(k keys.Key, err error) bool
}

// Budget bounds the cost of one list. A zero field is no bound. A bound is compared before each page: entities of which a page does not
// contain all parts may exceed it.
type Budget struct {
	Requests int           // requests for pages, and of a query by an index also for entities
	Rows     int           // rows that are read, those of other types included, and parts of entities
	Time     time.Duration // from the start of the loop, the time of its body included
}

// Stats counts the cost of a list so far.
type Stats struct {
	Requests int // for pages, and of a query by an index also for entities, without repeated attempts
	Rows     int // that were read
	Foreign  int // rows of other types, which were left out
	Skipped  int // rows that could not be read, and that Query.Skip left out
	Damaged  int // rows with a mark of a write in a table that the handle does not know (Options.MovedFrom): they are as before it
}

// Class is how the service finds the rows of a query. It decides what the query costs.
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

// Class returns how the service finds the rows, by the keys that the query names.
func (q Query[T]) Class() Class {
	return Class((&engine.Query{Partition: q.Partition, Rows: q.Rows}).Class())
}

// Explanation is what a query sends to the service.
type Explanation struct {
	Class       Class
	Filter      string
	Comparisons int    // a filter may have 15
	Select      string // the properties to be returned; "" means all
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
		Partition: q.Partition, Rows: q.Rows, Where: q.Where.c, Limit: q.Limit, PageSize: q.PageSize, ReadAhead: q.ReadAhead, TableScan: q.TableScan,
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
