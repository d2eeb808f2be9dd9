package engine

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// pageRequest asks for one page of a query.
type pageRequest struct {
	table          *Table
	filter, choice string
	pk, rk         *string // the token at which the page begins
	size           int32
	deadline       time.Time // of the budget, or zero
}

// pageResponse is a page.
type pageResponse struct {
	body   []byte
	pk, rk *string   // the token of the next page
	date   time.Time // by the service's clock; zero if the response does not say
}

var (
	errRepeated = &errs.DecodeError{Reason: "the service repeats its continuation token, so the list would never end"}
	errTime     = errors.New("the time of the budget is over")
)

// send sends the request.
func (r *pageRequest) send(ctx context.Context) (p pageResponse, err error) {
	if !r.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, r.deadline, errTime)
		defer cancel()
	}
	if enduringOf(ctx) == nil {
		p, err = r.respond(ctx)
	} else {
		p, err = r.endure(ctx)
	}
	if err != nil && context.Cause(ctx) == errTime {
		err = errs.With(errs.ErrBudget, errTime)
	}
	return p, err
}

// endure is respond for work that endures.
func (r *pageRequest) endure(ctx context.Context) (p pageResponse, err error) {
	err = Retry(r.table.Options.Retry).Endure(ctx, r.table.Log("List", keys.Key{}), func() (err error) {
		p, err = r.respond(ctx)
		return r.table.conditioned(ctx, err)
	})
	return p, err
}

// respond sends the request, as often as a look-up needs.
func (r *pageRequest) respond(ctx context.Context) (p pageResponse, err error) {
	if r.table.Mode.LookUp == nil {
		return r.respondOnce(ctx)
	}
	return r.lookUp(ctx)
}

func (r *pageRequest) lookUp(ctx context.Context) (p pageResponse, err error) {
	err = r.table.Mode.LookUp.read(ctx, func() (err error) {
		p, err = r.respondOnce(ctx)
		return err
	})
	return p, err
}

func (r *pageRequest) respondOnce(ctx context.Context) (p pageResponse, err error) {
	t := r.table
	if t.Fault != nil {
		return p, t.Fault
	}
	ctx, cancel := Bound(ctx, t.Options.ReadTimeout)
	defer cancel()
	var call wire.Call
	if t.tapped() {
		err = t.exchange(ctx, &call, &wire.Request{Method: http.MethodGet, Target: wire.List, Query: r.query()})
	} else {
		_, err = t.client.NewListEntitiesPager(r.options()).NextPage(call.Read(ctx))
	}
	t.responded(ctx, &call)
	if err = checkRead(&call, err); err != nil {
		return p, err
	}
	if call.SignedForPartitions() {
		t.shared.ranged.Store(true)
	}
	if _, _, rows := call.SignedRows(); rows {
		t.shared.rowsOnly.Store(true)
	}
	p.pk, p.rk = set(call.Header("X-Ms-Continuation-NextPartitionKey")), set(call.Header("X-Ms-Continuation-NextRowKey"))
	if (p.pk != nil || p.rk != nil) && same(p.pk, r.pk) && same(p.rk, r.rk) {
		return p, errRepeated
	}
	p.date = call.Date()
	t.shared.listed.Store(max(p.date.Unix(), 0))
	p.body, err = call.Body()
	return p, err
}

// options are the options of the SDK's call.
func (r *pageRequest) options() *aztables.ListEntitiesOptions {
	o := &aztables.ListEntitiesOptions{Top: &r.size, NextPartitionKey: r.pk, NextRowKey: r.rk}
	if r.filter != "" {
		o.Filter = &r.filter
	}
	if r.choice != "" {
		o.Select = &r.choice
	}
	return o
}

// query is what the SDK makes of options.
func (r *pageRequest) query() url.Values {
	q := url.Values{"$top": {strconv.Itoa(int(r.size))}}
	if r.filter != "" {
		q.Set("$filter", r.filter)
	}
	if r.choice != "" {
		q.Set("$select", r.choice)
	}
	if r.pk != nil {
		q.Set("NextPartitionKey", *r.pk)
	}
	if r.rk != nil {
		q.Set("NextRowKey", *r.rk)
	}
	return q
}

// pageAhead is a page that is requested while the caller works on the one before it.
type pageAhead struct {
	cancel   context.CancelFunc
	done     chan struct{} // closed when the response is there
	response pageResponse
	err      error
}

// begin sends the request in a goroutine, which ends with the response or is cancelled.
func (r *pageRequest) begin(ctx context.Context) *pageAhead {
	ctx, cancel := context.WithCancel(ctx)
	a := &pageAhead{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.response, a.err = r.send(ctx)
	}()
	return a
}

func same(a, b *string) bool { return a != nil && b != nil && *a == *b || a == nil && b == nil }

// set returns a token, nil for an empty one, which the service refuses.
func set(token string) *string {
	if token == "" {
		return nil
	}
	return &token
}

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

// read reads rows of one partition together: by range queries if they lie close together, and else
// FanOut at a time. A row that is not there is no error. An error is about the first row; another
// row that cannot be read stays unknown, so that it is read again when it is needed. Requests: no
// more than there are rows.
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

// query reads rows by one query of the range in which they lie, for as many rows as twice the
// wanted ones. It returns the rows that are still to be read: those behind the page, those with a
// mark, which their own read resolves, those that cannot be decoded, and entities with parts. 1
// request.
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
	body, err := p.page(ctx, int32(min(query.MaxPage, 2*len(single))))
	if err != nil {
		return nil, t.conditioned(ctx, err)
	}
	rows := make(map[string]*stored.Row, len(single))
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
			unread = row.Columns() == nil
		}
		covered++
		switch {
		case unread:
			left = append(left, r)
		case row == nil:
			a.add(r.key.RowKey(), aheadRow{readResult: readResult{gone: errs.With(errs.ErrNotFound, errNotInRange)}})
		default:
			a.add(r.key.RowKey(), aheadRow{readResult: readResult{row: row, date: p.date}})
		}
	}
	a.sparse = p.more() && n >= 2*covered
	return left, nil
}

var errNotInRange = errors.New("the query for a range of rows did not return the row")

// readPage reads the wanted rows of a page, which are those that rows contains. A row with a mark,
// or whose properties cannot be read, has no columns. n is the number of all rows of the page, and
// end the last RowKey.
func readPage(body []byte, partition string, rows map[string]*stored.Row) (n int, end string, err error) {
	r := edm.NewReader(body)
	var bad error
	err = r.Page(func(in edm.Entity) bool {
		n, end = n+1, in.RowKey
		_, wanted := rows[in.RowKey]
		bad = checkKey(keys.Raw(partition, in.RowKey), in)
		if bad != nil || !wanted {
			return bad == nil
		}
		row := stored.Of(in, nil)
		row.SetJSON(r.Keep())
		if columns, err := r.Columns(); err == nil {
			if _, marked := stored.MarkIn(columns); !marked {
				row.SetColumns(columns)
			}
		}
		rows[in.RowKey] = row
		return true
	})
	return n, end, cmp.Or(bad, err)
}

// Partitions calls f for the distinct PartitionKeys of a range, until f returns false. It jumps
// from one partition to the next: 1 request for each, and 1 to find that there are no more.
func (t *Table) Partitions(ctx context.Context, all keys.PartitionRange, f func(string) bool) (err error) {
	ctx, end := t.Span(ctx, "Partitions")
	defer func() { end(err) }()
	if t.Fault != nil {
		return t.OpError("Partitions", keys.Key{}, t.Fault)
	}
	for last := (*string)(nil); ; {
		var filter query.Filter
		filter.Behind(edm.PartitionKey, query.BoundsOf(all), last)
		first, found, err := t.pages(filter.String(), edm.PartitionKey+","+edm.RowKey).firstKey(ctx)
		pk := first.PartitionKey()
		if err == nil && found && last != nil && keys.Compare(pk, *last) <= 0 {
			err = errBackwards
		}
		if err != nil {
			return t.readError(ctx, "Partitions", keys.Key{}, err)
		}
		if !found || !f(pk) {
			return nil
		}
		last = &pk
	}
}

var errBackwards = &errs.DecodeError{Field: edm.PartitionKey, Reason: "is not behind the one that the request begins behind, so the list would never end"}

// firstKey returns the key of the first row that comes, if one does. Empty pages are followed by
// the next.
func (p *pager) firstKey(ctx context.Context) (k keys.Key, found bool, err error) {
	for !p.at.Done {
		body, err := p.page(ctx, 1)
		if err != nil {
			return k, false, err
		}
		err = edm.NewReader(body).Page(func(in edm.Entity) bool {
			k, found = keys.Raw(in.PartitionKey, in.RowKey), true
			return false
		})
		if err != nil || found {
			return k, found, err
		}
		p.turn()
	}
	return k, false, nil
}
