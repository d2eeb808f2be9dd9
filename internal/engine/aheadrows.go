package engine

// aheadRows are rows of one partition that were read before a plan needs them. They belong to one write at a time; bulk hands them
// from one transaction of a partition to the next. A row may have changed since it was read: it is written by its ETag, as every row
// that a plan has read.
type aheadRows struct {
	rows   map[string]aheadRow
	used   map[string]bool // the rows that the plans of this write have used, and may change
	sparse bool            // a query has found more other rows than wanted ones, so that the next rows are read one by one

	mean    float64 // derived rows of one operation of the last plan, on average
	counted bool    // mean is known
}

type aheadRow struct {
	readResult
	whole bool // with its parts
}

// has reports whether a row was read ahead, with its parts if whole is set, and without them otherwise.
func (a *aheadRows) has(rowKey string, whole bool) bool {
	r, is := a.rows[rowKey]
	return is && r.whole == whole
}

// use drops a row that a plan has used, and may change.
func (a *aheadRows) use(rowKey string) {
	delete(a.rows, rowKey)
	if a.used == nil {
		a.used = map[string]bool{}
	}
	a.used[rowKey] = true
}

// add adds a row.
func (a *aheadRows) add(rowKey string, row aheadRow) {
	if a.rows == nil {
		a.rows = map[string]aheadRow{}
	}
	a.rows[rowKey] = row
}
