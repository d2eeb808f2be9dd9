package table

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Query says which entities to read, and how the service finds them. It is an ordinary value: copy
// and change it.
type Query[T any] struct {
	// Partition is the PartitionKey. If it is unset, the query reads every partition, which is a
	// table scan; but if the schema binds the partition to a constant, the query reads that one.
	Partition keys.PartitionKey

	// Partitions is a range of PartitionKeys, such as those of all orders before a day; set it
	// instead of Partition. The query reads every row of the range whose RowKey is in Rows, and
	// scans the others.
	Partitions keys.PartitionRange

	// Rows is the range of RowKeys. If it is unset, it is the range of the schema's layout, so that
	// rows of other types and of the library are not read. A range that contains the prefix ~ in
	// its middle takes 1 comparison more, to leave out the library's rows.
	Rows keys.RowRange

	// Where is a condition on properties. The service reads the rows that it then leaves out, and
	// the query costs as much.
	Where Cond[T]

	// Limit ends the list after that many entities; 0 means no limit.
	Limit int

	// PageSize is the most rows of one request, 1 to 1,000. Defaults to 1,000, or to a smaller
	// Limit.
	PageSize int

	// ReadAhead requests the next page while the loop works on the current one, so that the two
	// take no longer than the slower one. One page at most is read ahead, and none that a Limit or
	// a Budget may make unnecessary: the list sends the same requests as without ReadAhead. A loop
	// that ends early cancels the request under way, which is 1 request in vain. The rows of the
	// next page are as they were before the loop worked on the current one. A query of an index
	// with a Limit, or of pointers with Budget.Requests, reads nothing ahead.
	ReadAhead bool

	// TableScan allows a query without a partition and without a range of them. It reads the whole
	// table.
	TableScan bool

	// Stats, if set, counts while the list is read.
	Stats *Stats

	// Cursor, if set, is the position at which the list begins, and moves with the list.
	Cursor *Cursor

	// Budget ends the list with ErrBudget when it costs too much. With a Cursor, another query can
	// continue it.
	Budget Budget

	// Skip, if set, decides about each row that is one of T but cannot be read as T, for example
	// because another program has stored a property with another type. It receives the key and the
	// *OpError that would end the list. If it returns true, the row is left out and counted in
	// Stats.Skipped. If it returns false, or is not set, the row ends the list. If it is not set,
	// the error names it. Count, and BulkDelete by a handle without maintainers, read keys alone:
	// they do not call Skip, and count or delete such rows.
	Skip func(k keys.Key, err error) bool
}

// Budget bounds the cost of one list. A zero field is no bound. A bound is compared before each
// page: entities of which a page does not contain all parts may exceed it.
type Budget struct {
	Requests int           // requests for pages, and of a query by an index also for entities
	Rows     int           // rows that are read, those of other types included, and parts of entities
	Time     time.Duration // from the start of the loop, the time of its body included
}

// Stats counts the cost of a list so far.
type Stats struct {
	Requests int // for pages, and of a query by an index also for entities, without repeated attempts
	Rows     int // that were read
	Foreign  int // rows of other types, which were left out, and rows of entities that are over
	Over     int // of them, rows of entities that are over (package expire)
	Skipped  int // rows that could not be read, and that Query.Skip left out
	Damaged  int // rows with a mark of a write in a table that is none of the store: they are as before it
}

// Explanation is what a query sends to the service.
type Explanation struct {
	// Class is how the service finds the rows, which decides what the query costs, from the
	// cheapest to the most expensive: "point query" (both keys are given), "range query" (a
	// partition and a range of RowKeys), "partition scan", "scan of a range of partitions", "table
	// scan" ('Azure Table storage table design guide', design for querying).
	Class string

	Filter      string
	Comparisons int    // a filter may have 15
	Select      string // the properties to be returned; "" means all
}

// Explain returns what List would send, and the errors that it would return before it sent
// anything. No requests.
func (t *Table[T]) Explain(q Query[T]) (Explanation, error) {
	return t.h.explain(q.engine())
}

func (h handle) explain(q query.Query) (Explanation, error) {
	if h.engine.Fault != nil {
		return Explanation{}, h.engine.OpError("Explain", keys.Key{}, h.engine.Fault)
	}
	ex, err := h.schema.query(q, true).Explain()
	return Explanation{Class: ex.Class.String(), Filter: ex.Filter, Comparisons: ex.Comparisons}, h.engine.OpError("Explain", keys.Key{}, err)
}

// engine returns the query as the engine takes it, without the schema.
//
//go:noinline
func (q *Query[T]) engine() query.Query {
	return query.Query{
		Partition: q.Partition, Partitions: q.Partitions, Rows: q.Rows, Where: q.Where.c, Limit: q.Limit, PageSize: q.PageSize, ReadAhead: q.ReadAhead, TableScan: q.TableScan,
		Stats: (*query.Stats)(q.Stats), Cursor: q.Cursor.engine(), Budget: query.Budget(q.Budget), Skip: q.Skip,
	}
}

// query adds the schema to a query. own reports that it asks for rows of T alone.
func (s *schema) query(q query.Query, own bool) *query.Query {
	q.Own, q.Type, q.Codec, q.PartitionKeys, q.RowKeys = own, s.name, s.codec, s.partitions, s.rows
	return &q
}

// List yields the entities of a query in the order of their keys:
//
//	for e, err := range staff.List(ctx, table.Query[Employee]{Partition: dept.Of("Sales")}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(e.Value.LastName)
//	}
//
// An error is yielded once, and ends the list. The loop sends the requests, and each loop over the
// list starts from the beginning, unless the query has a [Cursor]. Rows whose key belongs to
// another layout are left out, and counted in Query.Stats. A row whose RowKey begins with the name
// of the layout, and that the layout cannot read, ends the list with a *keys.KeyError.
//
// Errors:
//   - ErrTableScan for a query without a partition
//   - *LimitError for more than 15 comparisons
//   - *ValueError for values that cannot be compared
//   - *DecodeError and *keys.KeyError for a row that does not fit T
//   - ErrBudget
//   - *ValueError for a Cursor of another query
//   - errors of a read (see package table)
//
// Requests: 1 for each page, which is 1,000 rows or Query.PageSize. The service may return shorter
// pages, also empty ones. With Query.ReadAhead, the next page travels while the loop works on one.
func (t *Table[T]) List(ctx context.Context, q Query[T]) iter.Seq2[*Entity[T], error] {
	query := q.engine()
	return func(yield func(*Entity[T], error) bool) {
		if err := t.h.listAll(ctx, query, func(e entity) bool { return yield(e.(*Entity[T]), nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// listAll gives the entities of a query to yield, until yield returns false.
func (h handle) listAll(ctx context.Context, q query.Query, yield func(entity) bool) error {
	return h.list(ctx, "List", *h.schema.query(q, true), h.schema.read, yield)
}

// list gives the entities of a query to yield, as read makes them, until yield returns false.
func (h handle) list(ctx context.Context, method string, q query.Query, read func(*edm.Reader, edm.Entity) (entity, bool, error), yield func(entity) bool) error {
	return h.engine.List(ctx, method, q, &entities{read: read, yield: yield})
}

// entities is the engine's Lister of entities.
type entities struct {
	read  func(*edm.Reader, edm.Entity) (entity, bool, error)
	yield func(entity) bool
	last  entity
}

func (l *entities) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	l.last, mine, err = l.read(r, in)
	return mine, err
}

func (l *entities) Yield() bool { return l.yield(l.last) }

// rowLister is the engine's Lister of rows.
type rowLister struct {
	yield func(*Row, error) bool
	last  *Row
}

func (l *rowLister) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	columns, err := r.Columns()
	l.last = (*Row)(stored.Of(in, columns))
	return true, err
}

func (l *rowLister) Yield() bool { return l.yield(l.last, nil) }

// Rows yields the rows of a query as they are stored, whatever their type, in the order of their
// keys. Without Query.Rows, it reads the whole partition except the library's own rows. Requests
// are those of List. Errors: ErrTableScan for a query without a partition; *LimitError and
// *ValueError for conditions, as in List; ErrBudget; *ValueError; errors of a read (see package
// table).
func (t *Table[T]) Rows(ctx context.Context, q Query[T]) iter.Seq2[*Row, error] {
	return t.h.listRows(ctx, q.engine())
}

//go:noinline
func (h handle) listRows(ctx context.Context, q query.Query) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if err := h.engine.List(ctx, "Rows", *h.schema.query(q, false), &rowLister{yield: yield}); err != nil {
			yield(nil, err)
		}
	}
}

// Page contains some entities of a list, in their order.
type Page[T any] struct {
	Entities []*Entity[T]
	Token    string // of the next page, "" if there is none
}

// Page reads entities of a list from the position of a token on, "" for the beginning. It is for
// programs that show a page and keep no state: the token can be stored, and used by another
// process; see [Cursor].
//
// If the query has a limit, a page has that many entities unless the list ends. Without a limit, a
// page is what the service returns for 1 request, which may be empty although more follows. With
// ErrBudget, Page returns the entities that were read, and the Token behind them.
//
// Errors:
//   - *ValueError for a corrupt token, and for a token of another table, query or version
//   - *ValueError for a query with a Cursor
//   - ErrTableScan for a query without a partition
//   - *LimitError and *ValueError for conditions, as in List
//   - *DecodeError for a row that does not fit T
//   - ErrBudget
//   - errors of a read (see package table)
//
// Requests: 1, and more if pages are short or contain rows of other types.
func (t *Table[T]) Page(ctx context.Context, q Query[T], token string) (*Page[T], error) {
	p := &Page[T]{}
	var err error
	p.Token, err = t.h.page(ctx, q.engine(), token, func(e entity) bool { p.Entities = append(p.Entities, e.(*Entity[T])); return true })
	if err != nil && !errors.Is(err, ErrBudget) {
		return nil, err
	}
	return p, err
}

// page gives the entities of a page to yield, and returns the token of the next page, also after
// ErrBudget.
func (h handle) page(ctx context.Context, q query.Query, token string, yield func(entity) bool) (next string, err error) {
	if q.Cursor != nil {
		return "", h.engine.OpError("Page", keys.Key{}, &ValueError{Field: "Query.Cursor", Reason: "is set, but a page begins at its token; use List for a cursor"})
	}
	q.Cursor, q.OnePage = query.NewCursor(token), true
	if err = h.listAll(ctx, q, yield); err != nil && !errors.Is(err, ErrBudget) {
		return "", err
	}
	return q.Cursor.Token(), err
}

func (h handle) exists(ctx context.Context, k keys.Key) (bool, error) {
	if err := engine.QueryErr(k); err != nil {
		return false, h.engine.OpError("Exists", k, err)
	}
	q := query.Query{Partition: k.Partition(), Rows: k.Row().Point(), Limit: 1, Select: edm.PartitionKey + "," + edm.RowKey}
	q.Stats = new(query.Stats)
	n, err := h.count(ctx, "Exists", q, false, func(*edm.Reader, edm.Entity) (bool, error) { return true, nil })
	if err != nil || n > 0 || q.Stats.Over == 0 {
		return n > 0, err
	}
	return h.engine.StillThere(ctx, "Exists", k)
}

// Count returns the number of entities of a query, up to the query's limit. The service sends keys
// only, but reads and bills every row: for a number that is often asked for, use a summary. If the
// RowKey is computed from fields ([keys.RowFunc]), every row in the range of keys counts as T's.
// Errors: ErrTableScan for a query without a partition; *LimitError and *ValueError for conditions,
// as in List; ErrBudget; *ValueError; errors of a read (see package table). 1 request for each
// 1,000 rows.
func (t *Table[T]) Count(ctx context.Context, q Query[T]) (int, error) {
	return t.h.countAll(ctx, q.engine())
}

func (h handle) countAll(ctx context.Context, q query.Query) (int, error) {
	q.Select = h.schema.Select()
	return h.count(ctx, "Count", q, true, h.schema.ownsAny)
}

// count returns the number of rows that are mine.
func (h handle) count(ctx context.Context, method string, q query.Query, own bool, mine func(*edm.Reader, edm.Entity) (bool, error)) (int, error) {
	q.HeadsOnly = true
	c := &counted{mine: mine}
	err := h.engine.List(ctx, method, *h.schema.query(q, own), c)
	return c.n, err
}

// counted is the engine's Lister that counts.
type counted struct {
	mine func(*edm.Reader, edm.Entity) (bool, error)
	n    int
}

func (c *counted) Read(r *edm.Reader, in edm.Entity) (bool, error) { return c.mine(r, in) }
func (c *counted) Yield() bool                                     { c.n++; return true }

// Collect reads a list into a slice:
//
//	jones, err := table.Collect(byName.List(ctx, staff, dept.Of("Sales"), "Jones"))
//
// It ends at the first error, and returns the values before it with that error; of a list with a
// [Cursor], the rest can be read later. [Table.GetMany] yields ErrNotFound for each missing row, so
// Collect ends at the first missing row. The slice is nil if the list yields nothing. All values
// are in memory at the same time: if the list may be long, set Query.Limit or Query.Budget, or use
// a loop. Requests are those of the list.
func Collect[V any](list iter.Seq2[V, error]) ([]V, error) {
	if list == nil {
		return nil, nilArgument("list")
	}
	var all []V
	for v, err := range list {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Cursor is the position of a list. A query with a cursor begins at the position, and moves it with
// each entity that it yields. The loop can end at any entity, by a limit or by an error; another
// query can continue there later, also in another process:
//
//	cursor := table.NewCursor(saved) // "" is the beginning
//	q.Cursor = cursor
//	for e, err := range staff.List(ctx, q) { … break … }
//	save(cursor.Token())
//
// Rows that exist all the time are yielded once each. A row that is inserted behind the position
// before the list continues may be left out: at the end of a page, the service's token names the
// first row of the next page, and a row that is inserted before that row is not found. To follow
// new rows, query the keys behind the last one instead.
//
// If the loop ends in the middle of a page, the page is read again later: 1 request, or more if its
// pages were larger (Query.PageSize).
//
// A Cursor is not for concurrent use. The zero Cursor is at the beginning.
type Cursor struct{ c query.Cursor }

// NewCursor returns a cursor at the position of a token, or at the beginning for "". If the token
// cannot be used, the list fails with a *ValueError.
func NewCursor(token string) *Cursor { return &Cursor{*query.NewCursor(token)} }

func (c *Cursor) engine() *query.Cursor {
	if c == nil {
		return nil
	}
	return &c.c
}

// Done reports whether the list has ended.
func (c *Cursor) Done() bool { return c.c.Done() }

// Token returns the position as a text to be stored, "" at the end. It names the table and the
// query, and other queries refuse it. It contains keys of the table: keep it from people who may
// not see these.
func (c *Cursor) Token() string { return c.c.Token() }

// Partitions yields the distinct PartitionKeys of a range in their order, whatever types of rows
// they contain; the zero range has those of the schema's layout. It jumps from one partition to the
// next without reading the rows between. To continue work on a table, give it the range behind the
// last one ([keys.PartitionRange.Behind]).
//
// Errors: *keys.KeyError for an invalid range; ErrNotCreated and the other errors of a read (see
// package table). 1 request for each partition, and 1 to find that there are no more.
func (t *Table[T]) Partitions(ctx context.Context, in keys.PartitionRange) iter.Seq2[keys.PartitionKey, error] {
	return t.h.partitionsIn(ctx, in)
}

//go:noinline
func (h handle) partitionsIn(ctx context.Context, in keys.PartitionRange) iter.Seq2[keys.PartitionKey, error] {
	return func(yield func(keys.PartitionKey, error) bool) {
		all := h.schema.partitions
		if !all.IsSet() {
			all = query.EveryPartition
		}
		if in.IsSet() {
			all = all.Intersect(in)
		}
		if err := all.Err(); err != nil {
			yield(keys.PartitionKey{}, h.engine.OpError("Partitions", keys.Key{}, err))
			return
		}
		err := h.engine.Partitions(ctx, all, func(pk string) bool {
			return yield(keys.Raw(pk, "").Partition(), nil)
		})
		if err != nil {
			yield(keys.PartitionKey{}, err)
		}
	}
}
