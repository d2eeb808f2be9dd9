package engine

import (
	"errors"
	"sync/atomic"
)

// aheadRows are rows of one partition that were read before a plan needs them, or that an earlier write has written. They belong to
// one write at a time; bulk hands them from one transaction of a partition to the next. A row may have changed since: it is written
// by its ETag, as every row that a plan has read, and it is read again if a plan loads it without writing it.
type aheadRows struct {
	rows   map[string]aheadRow
	used   map[string]bool // the rows that the plans of this write have used, and may change
	sparse bool            // a query has found more other rows than wanted ones, so that the next rows are read one by one

	mean    float64 // derived rows of one operation of the last plan, on average
	counted bool    // mean is known

	writes int           // the number of the write that has the rows
	room   *atomic.Int64 // the bytes of rows that bulk work may still keep; nil if no rows are kept
}

type aheadRow struct {
	readResult
	whole bool // with its parts
	write int  // the number of the write during which the row was added
	kept  int  // bytes of room that the row takes
}

// has reports whether a row was read ahead, with its parts if whole is set, and without them otherwise.
func (a *aheadRows) has(rowKey string, whole bool) bool {
	r, is := a.rows[rowKey]
	return is && r.whole == whole
}

// beginWrite takes the rows over for the next write.
func (a *aheadRows) beginWrite() {
	a.used = nil
	a.writes++
}

// isOlder reports whether a row was added before this write began.
func (a *aheadRows) isOlder(rowKey string) bool {
	r, is := a.rows[rowKey]
	return is && r.write < a.writes
}

// use drops a row that a plan has used, and may change.
func (a *aheadRows) use(rowKey string) {
	a.drop(rowKey)
	if a.used == nil {
		a.used = map[string]bool{}
	}
	a.used[rowKey] = true
}

func (a *aheadRows) drop(rowKey string) {
	if r, is := a.rows[rowKey]; is && r.kept > 0 {
		a.room.Add(int64(r.kept))
	}
	delete(a.rows, rowKey)
}

// add adds a row.
func (a *aheadRows) add(rowKey string, row aheadRow) {
	if a.rows == nil {
		a.rows = map[string]aheadRow{}
	}
	a.drop(rowKey)
	row.write = a.writes
	a.rows[rowKey] = row
}

// release drops all rows, and gives their room back.
func (a *aheadRows) release() {
	for rk := range a.rows {
		a.drop(rk)
	}
}

// keep adds a row that a write has written, if there is room for its bytes.
func (a *aheadRows) keep(row *Row, bytes int) {
	if a.room.Add(-int64(bytes)) < 0 {
		a.room.Add(int64(bytes))
		return
	}
	a.add(row.Key.RowKey(), aheadRow{readResult: readResult{row: row}, kept: bytes})
}

// errOutdated means that a plan loads a row, without writing it, that has changed since an earlier write.
var errOutdated = errors.New("a row has changed since an earlier write")
