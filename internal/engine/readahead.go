package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// wantedRow is a row that is to be read ahead.
type wantedRow struct {
	table *Table
	key   keys.Key
	whole bool // with its parts
}

// wanted returns the row of an operation.
func (s *step) wanted(p *Plan) wantedRow {
	return wantedRow{s.Table, s.Key, s.Table.wide() && !s.headSuffices(p)}
}

func (a *aheadRows) knows(r wantedRow) bool { return a.has(r.key.RowKey(), r.whole) }

// read reads rows of one partition together: by range queries if they lie close together, and else FanOut at a time. A row that is
// not there is no error. An error is that of the first row; another row that cannot be read stays unknown, so that it is read again
// when it is needed. Requests: no more than there are rows.
func (a *aheadRows) read(ctx context.Context, wanted []wantedRow) (err error) {
	first := wanted[0]
	for len(wanted) > FanOut && !a.sparse && !first.table.RangedRows() {
		n := len(wanted)
		if wanted, err = a.query(ctx, wanted); err != nil {
			return err
		}
		if len(wanted) == n { // only rows that a query does not show
			break
		}
	}
	i := 0
	InOrder(ctx, wanted, func(ctx context.Context, r wantedRow) (readResult, error) {
		if r.whole {
			return r.table.readEntity(ctx, r.key)
		}
		return r.table.readRow(ctx, r.key)
	}, func(f readResult, e error) bool {
		if err = e; err == nil {
			a.add(wanted[i].key.RowKey(), aheadRow{readResult: f, whole: wanted[i].whole})
		}
		i++
		return err == nil
	})
	if a.knows(first) {
		return nil
	}
	return err
}

// query reads rows by one query of the range in which they lie, for as many rows as twice the wanted ones. It returns the rows that
// are still to be read: those behind the page, those with a mark, which their own read resolves, those that cannot be decoded, and
// entities with parts. 1 request.
func (a *aheadRows) query(ctx context.Context, wanted []wantedRow) (left []wantedRow, err error) {
	var single []wantedRow
	for _, r := range wanted {
		if r.whole {
			left = append(left, r)
		} else {
			single = append(single, r)
		}
	}
	if len(single) <= FanOut {
		return wanted, nil
	}
	slices.SortStableFunc(single, func(r, s wantedRow) int { return keys.Compare(r.key.RowKey(), s.key.RowKey()) })
	t, first, last := single[0].table, single[0].key, single[len(single)-1].key
	p := t.pages(rowsFilter(first.PartitionKey(), first.RowKey(), last.RowKey()), "")
	body, err := p.page(ctx, int32(min(maxPage, 2*len(single))))
	if err != nil {
		return nil, t.conditioned(ctx, err)
	}
	rows := make(map[string]*Row, len(single))
	for _, r := range single {
		rows[r.key.RowKey()] = nil
	}
	n, end, err := readPage(body, first.PartitionKey(), rows)
	if err != nil { // perhaps because of another row
		a.sparse = true
		return wanted, nil
	}
	covered := 0
	for _, r := range single {
		row, unread := rows[r.key.RowKey()], false
		switch {
		case p.more() && (n == 0 || keys.Compare(r.key.RowKey(), end) > 0):
			left = append(left, r)
			continue
		case row == nil:
			unread = t.RangedRows() // it may be hidden by the client's signature
		default:
			unread = row.Columns == nil
		}
		covered++
		switch {
		case unread:
			left = append(left, r)
		case row == nil:
			a.add(r.key.RowKey(), aheadRow{readResult: readResult{gone: &Condition{ErrNotFound, errNotInRange}}})
		default:
			a.add(r.key.RowKey(), aheadRow{readResult: readResult{row: row}})
		}
	}
	a.sparse = p.more() && n >= 2*covered
	return left, nil
}

var errNotInRange = errors.New("the query for a range of rows did not return the row")

// readPage reads the wanted rows of a page, which are those that rows contains. A row with a mark, or whose properties cannot be read,
// has no columns. n is the number of all rows of the page, and end the last RowKey.
func readPage(body []byte, partition string, rows map[string]*Row) (n int, end string, err error) {
	r := edm.NewReader(body)
	var bad error
	err = r.Page(func(in edm.Entity) bool {
		n, end = n+1, in.RowKey
		_, wanted := rows[in.RowKey]
		if bad = checkKey(keys.Stored(partition, in.RowKey), in); bad != nil || !wanted {
			return bad == nil
		}
		row := &Row{Key: keys.Stored(partition, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, JSON: r.Keep()}
		if columns, err := r.Columns(); err == nil {
			if _, marked := markIn(columns); !marked {
				row.Columns = columns
			}
		}
		rows[in.RowKey] = row
		return true
	})
	return n, end, firstError(bad, err)
}
