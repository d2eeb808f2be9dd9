package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// The limits of a query ('Querying tables and entities', 'Query timeout and pagination').
const (
	maxComparisons = 15
	maxPage        = 1000
)

// ErrTableScan is table.ErrTableScan.
var ErrTableScan = errors.New("the query would scan the table; set Query.Partition, or Query.TableScan if that is meant")

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
		return ex, &LimitError{Field: "Query.Where", Limit: "comparisons, those of the keys included", Got: f.n, Max: maxComparisons}
	}
	return ex, nil
}

// Complete checks a query's keys and numbers, and fills in what the schema knows: the only partition, the range of rows.
func (q *Query) Complete() (Class, error) {
	if q.Limit < 0 {
		return 0, &ValueError{Field: "Query.Limit", Reason: fmt.Sprintf("is %d; it must be 0, which is no limit, or more", q.Limit)}
	}
	if b := q.Budget; b.Requests < 0 || b.Rows < 0 || b.Time < 0 {
		return 0, &ValueError{Field: "Query.Budget", Reason: fmt.Sprintf("is %+v; no bound may be negative, and 0 is none", b)}
	}
	if q.PageSize < 0 || q.PageSize > maxPage {
		return 0, &LimitError{Field: "Query.PageSize", Limit: "rows; the service requires 1 to 1000, and 0 is the default", Got: q.PageSize, Max: maxPage}
	}
	if only := q.Partitions; !q.Partition.IsSet() && only.IsPoint() {
		q.Partition = only.Point()
	}
	class := q.Class()
	if class == TableScan && !q.TableScan {
		return class, ErrTableScan
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
