package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// List is every list: it asks for pages until there are no more, and gives their rows to l. If
// Yield ends the list, the error is nil.
func (t *Table) List(ctx context.Context, method string, q query.Query, l Lister) (err error) {
	ctx, end := t.Span(ctx, method)
	defer func() { end(err) }()
	if t.Fault != nil {
		return t.OpError(method, keys.Key{}, t.Fault)
	}
	p, err := t.newPager(q)
	if err != nil {
		return t.OpError(method, keys.Key{}, err)
	}
	defer p.stop()
	d := &delivery{pager: p, lister: l, method: method, left: q.Limit}
	for !p.at.Done {
		body, err := p.next(ctx, d.left)
		if err != nil {
			return t.readError(ctx, method, keys.Key{}, err)
		}
		if body, d.view, err = p.viewed(ctx, body); err != nil {
			return t.readError(ctx, method, keys.Key{}, err)
		}
		p.readAhead(ctx, d.left)
		r := t.shared.shapes.Reader(body)
		var broken error
		if t.Mode.Parts > 0 {
			broken = d.widePage(ctx, r)
		} else {
			broken = d.page(r)
		}
		if broken != nil && !d.stopped && d.err == nil {
			d.err = t.OpError(method, keys.Key{}, broken)
		}
		if p.spent && !d.stopped {
			d.err = t.readError(ctx, method, keys.Key{}, errRows)
		}
		switch {
		case d.stopped:
			return nil
		case d.err != nil:
			return d.err
		}
		p.turn()
		if q.OnePage && q.Limit == 0 {
			return nil
		}
	}
	return nil
}

// Scanned is a row of a scan. It is decoded as far as its methods need, and valid until the next
// row. Its texts are sections of larger ones: clone those that are kept.
type Scanned struct {
	Key       keys.Key
	ETag      azcore.ETag
	Timestamp time.Time

	schema Schema
	hasher *stored.Hasher
	reader *edm.Reader
	in     edm.Entity

	part   stored.Row // with the system properties
	names  []string   // of all properties
	hashes []uint64   // of all properties
	within bool       // all properties are within the limits of the service
}

// Row returns the whole row.
func (s *Scanned) Row() (*stored.Row, error) {
	columns, err := s.reader.Columns()
	return (&stored.Row{Key: s.Key, ETag: s.ETag, Timestamp: s.Timestamp}).With(columns), err
}

// System returns the row with its system properties alone. It is valid until the next row, too.
func (s *Scanned) System() *stored.Row { return &s.part }

// State returns the row's maintainer state.
func (s *Scanned) State() (map[string][]string, error) {
	return stored.StateIn(stored.Find(s.part.Columns(), reserved.MaintainerState), s.Key.RowKey())
}

// Sum returns Hasher.Sum of the row.
func (s *Scanned) Sum() (sum uint64) {
	for _, n := range s.hashes {
		sum += n
	}
	return sum
}

// SumOfCopy returns Hasher.Sum of a copy of the row in its partition: of a full copy, without the
// system properties of an entity, if whole is set, and otherwise of a copy of some properties
// (Row.Project).
func (s *Scanned) SumOfCopy(whole bool, properties []string, projectionID string) (sum uint64) {
	for i, name := range s.names {
		copied := whole || slices.Contains(properties, name)
		if strings.HasPrefix(name, "_") {
			copied = copied && !whole && name != reserved.Owner || stored.InCopy(name, whole, properties)
		}
		if copied {
			sum += s.hashes[i]
		}
	}
	return s.hasher.SumOfCopy(sum, s.Key.RowKey(), projectionID)
}

// The limits within which a row is decoded without a look at the limits of the service.
const (
	smallJSON     = 16 << 10 // bytes
	fewProperties = 200
)

// Entity returns the *table.Entity[T] of the row, of the table's schema. It returns nil for a row
// that needs a closer look, as table.Table.Entity takes: a copy, a row that is no entity of T, or
// one that may exceed a limit.
func (s *Scanned) Entity() any {
	if _, isCopy := s.part.Primary(); isCopy || !s.within || len(s.names) > fewProperties || s.in.JSON.Len() == 0 || s.in.JSON.Len() > smallJSON {
		return nil
	}
	e, _, err := s.schema.Read(s.reader, s.in)
	if err != nil {
		return nil
	}
	return e
}

// Scan gives the rows of a query to yield, whatever their type, until yield returns false. h makes
// the numbers of their properties. If Query.WithoutJSON is set, Scanned.Entity returns nil.
func (t *Table) Scan(ctx context.Context, q query.Query, h *stored.Hasher, yield func(*Scanned) bool) error {
	t = t.WithoutEnds()
	l := &scanLister{yield: yield}
	l.row.schema, l.row.hasher, l.add = t.Mode.Schema, h, l.property
	return t.List(ctx, "Rows", q, l)
}

// scanLister is the Lister of a scan.
type scanLister struct {
	row   Scanned
	add   func(name string, v *edm.Value)
	yield func(*Scanned) bool
}

func (l *scanLister) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	s := &l.row
	s.Key, s.ETag, s.Timestamp = keys.Raw(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), in.Timestamp
	s.reader, s.in, s.within = r, in, true
	columns := s.part.Columns()[:0]
	s.part = stored.Row{Key: s.Key, ETag: s.ETag, Timestamp: s.Timestamp}
	s.part.SetColumns(columns)
	s.names, s.hashes = s.names[:0], s.hashes[:0]
	return true, r.Each(l.add)
}

func (l *scanLister) property(name string, v *edm.Value) {
	s := &l.row
	s.names, s.hashes = append(s.names, name), append(s.hashes, s.hasher.Number(name, v))
	if edm.IsSystem(name) {
		s.part.SetColumns(append(s.part.Columns(), edm.Column{Name: name, Value: *v}))
	}
	s.within = s.within && edm.CheckValue(name, v) == nil
}

func (l *scanLister) Yield() bool { return l.yield(&l.row) }

// each calls f for the rows of a filter, of any type, the library's own included, until f returns
// false. The rows have the properties in choice, all if it is "". 1 request for each 1,000.
func (t *Table) each(ctx context.Context, filter, choice string, f func(*stored.Row) bool) error {
	return t.eachPhysical(ctx, filter, choice, func(in edm.Entity, columns []edm.Column) bool {
		return f(stored.Of(in, columns))
	})
}

// eachPhysical is each without the rows. A row that a write over several partitions has prepared
// comes as it is committed.
func (t *Table) eachPhysical(ctx context.Context, filter, choice string, f func(edm.Entity, []edm.Column) bool) error {
	return t.eachStored(ctx, filter, choice, true, f)
}

// eachStored is eachPhysical for the rows as they are stored, unless committed is set.
func (t *Table) eachStored(ctx context.Context, filter, choice string, committed bool, f func(edm.Entity, []edm.Column) bool) error {
	return t.eachPage(ctx, filter, choice, committed, f, nil)
}

// eachPage is eachStored that calls turn behind each page; see Physical.
func (t *Table) eachPage(ctx context.Context, filter, choice string, committed bool, f func(edm.Entity, []edm.Column) bool, turn func(more bool) bool) error {
	for p := t.pages(filter, choice); !p.at.Done; {
		body, err := p.next(ctx, 0)
		if err != nil {
			return t.conditioned(ctx, err)
		}
		var view *markView
		if committed {
			if body, view, err = p.viewed(ctx, body); err != nil {
				return t.conditioned(ctx, err)
			}
		}
		stopped, bad := false, error(nil)
		r := edm.NewReader(body)
		err = r.Page(func(in edm.Entity) bool {
			columns, cerr := r.Columns()
			if bad = cerr; bad != nil {
				return false
			}
			exists := true
			in.Date = p.date
			if view != nil {
				in, columns, exists = view.row(in, columns)
			}
			stopped = exists && !f(in, columns)
			return !stopped
		})
		if err = cmp.Or(bad, err); err != nil || stopped {
			return err
		}
		p.turn()
		if turn != nil && !turn(!p.at.Done) {
			return nil
		}
	}
	return nil
}

// pager asks for one page after another. Each has its own size, so each is a pager of the SDK of
// its own.
type pager struct {
	table    *Table
	q        query.Query
	filter   string
	stats    *query.Stats
	at       *query.Position
	deadline time.Time // of the budget, or zero

	passed         bool      // a row behind at.last has come with this page
	date           time.Time // of the response, by the service's clock; zero if it says none
	spent          bool      // more rows have come than the budget allows
	turned         bool      // at is where the next page begins
	again          bool      // this page may contain rows that were delivered
	asked          int32     // the rows of the page
	nextPK, nextRK *string
	ahead          *pageAhead // the page after the current one, if it is requested already
}

func (t *Table) newPager(q query.Query) (*pager, error) {
	ex, err := q.Explain()
	if err != nil {
		return nil, err
	}
	if t.Mode.Parts > 0 && q.Select != "" {
		q.Select += "," + reserved.Parts + "," + reserved.Part
	}
	if q.Select != "" {
		q.Select += "," + reserved.Mark
	}
	for _, f := range t.Mode.Chain {
		if name, _ := f.property(); q.Select != "" && name != "" {
			q.Select += "," + name
		}
	}
	p := &pager{table: t, q: q, filter: ex.Filter, stats: q.Stats, at: new(query.Position)}
	if p.stats == nil {
		p.stats = new(query.Stats)
	}
	*p.stats = query.Stats{}
	if q.Budget.Time > 0 {
		p.deadline = time.Now().Add(q.Budget.Time)
	}
	if q.Cursor == nil {
		return p, nil
	}
	p.at, err = q.Cursor.Begin(t.Name, query.ID(t.Name, q.Type, ex.Filter, q.Rows, q.Own))
	return p, err
}

// pages asks for the rows of a filter, of any type, the library's own included.
func (t *Table) pages(filter, choice string) *pager {
	return &pager{table: t, q: query.Query{Select: choice}, filter: filter, stats: new(query.Stats), at: new(query.Position)}
}

// unasked returns a *DecodeError for a page with a row that cannot be of the query: of another
// partition, or not the only row.
func (p *pager) unasked(in edm.Entity) error {
	pk, rk := in.PartitionKey, in.RowKey
	if p.q.Partition.IsSet() {
		pk = p.q.Partition.String()
	}
	if p.q.Rows.IsPoint() {
		rk, _, _ = p.q.Rows.Bounds()
	}
	return checkKey(keys.Raw(pk, rk), in)
}

// wants reports whether a row of a page is to be looked at: not one that was delivered before the
// list was taken up again, nor one that merely lies between the bounds.
func (p *pager) wants(in edm.Entity) bool {
	if !p.passed && p.at.Delivered(in) {
		return false
	}
	p.passed = true
	if b := p.q.Budget.Rows; b > 0 && p.stats.Rows >= b {
		p.spent = true
		return false
	}
	p.stats.Rows++
	if !p.q.Rows.Contains(in.RowKey) {
		p.foreign(in)
		return false
	}
	return true
}

// foreign passes over a row that is none of the query's.
func (p *pager) foreign(in edm.Entity) {
	p.stats.Foreign++
	if p.again {
		p.at.Deliver(in) // or a list with a budget might come no further than to the same rows again
	}
}

// absent passes over a row that a write over several partitions has prepared, and that is not
// there.
func (p *pager) absent(in edm.Entity) {
	if p.again {
		p.at.Deliver(in)
	}
}

// most returns the most rows of a request.
func (p *pager) most() int {
	if p.q.PageSize > 0 {
		return p.q.PageSize
	}
	return query.MaxPage
}

// size returns how many rows the next request asks for: no more than are still wanted, unless some
// come in vain, and as many as possible if rows come that were delivered.
func (p *pager) size(left int) int {
	n := p.most()
	p.again = p.at.Inside
	if p.again {
		return n
	}
	if p.q.Limit > 0 && p.stats.Foreign == 0 {
		n = min(n, left*(1+p.parts()))
	}
	if b := p.q.Budget.Rows; b > 0 {
		n = min(n, b-p.stats.Rows)
	}
	return n
}

// parts returns how many rows more than its head an entity may have that the query asks for.
func (p *pager) parts() int {
	if p.q.HeadsOnly || p.q.Rows.IsPoint() || p.q.Where.Op != "" {
		return 0
	}
	return p.table.Mode.Parts
}

var errRows = errs.With(errs.ErrBudget, errors.New("its rows are used up"))

// next returns the body of the page at p.at, if the budget allows it.
func (p *pager) next(ctx context.Context, left int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	size := p.size(left)
	switch b := p.q.Budget; {
	case b.Rows > 0 && p.stats.Rows >= b.Rows:
		return nil, errRows
	case b.Requests > 0 && p.stats.Requests >= b.Requests && p.ahead == nil:
		return nil, errs.With(errs.ErrBudget, errors.New("its requests are used up"))
	case p.late():
		return nil, errs.With(errs.ErrBudget, errTime)
	}
	if a := p.ahead; a != nil {
		p.ahead = nil
		<-a.done
		a.cancel()
		return p.take(int32(p.most()), a.response, a.err)
	}
	r := p.request(p.at.PK, p.at.RK, int32(size))
	r.deadline = p.deadline
	p.stats.Requests++
	response, err := r.send(ctx)
	return p.take(r.size, response, err)
}

// late reports whether the time of the budget is over.
func (p *pager) late() bool { return !p.deadline.IsZero() && !time.Now().Before(p.deadline) }

// readAhead requests the page after the current one, if Query.ReadAhead is set and the list needs
// that page in full unless the caller ends the loop. So the list sends the same requests as without
// ReadAhead.
func (p *pager) readAhead(ctx context.Context, left int) {
	n, b, rows := p.most(), p.q.Budget, int(p.asked) // the current page contains no more rows than asked
	switch {
	case !p.q.ReadAhead, !p.more(), p.q.OnePage && p.q.Limit == 0, ctx.Err() != nil, p.late():
		return
	case p.q.Limit > 0 && (left-rows)*(1+p.parts()) < n, b.Rows > 0 && b.Rows-p.stats.Rows-rows < n:
		return
	case b.Requests > 0 && (p.stats.Requests >= b.Requests || p.table.Mode.Parts > 0): // parts of the current page may be read, too
		return
	}
	r := p.request(p.nextPK, p.nextRK, int32(n))
	r.deadline = p.deadline
	p.stats.Requests++
	p.ahead = r.begin(ctx)
}

// stop ends the request of a page ahead, if there is one.
func (p *pager) stop() {
	if a := p.ahead; a != nil {
		p.ahead = nil
		a.cancel()
		<-a.done
	}
}

func (p *pager) request(pk, rk *string, size int32) *pageRequest {
	return &pageRequest{table: p.table, filter: p.filter, choice: p.q.Select, pk: pk, rk: rk, size: size}
}

// page reads the page at p.at, whatever the budget.
func (p *pager) page(ctx context.Context, size int32) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.stats.Requests++
	response, err := p.request(p.at.PK, p.at.RK, size).send(ctx)
	return p.take(size, response, err)
}

// take makes a response the current page.
func (p *pager) take(size int32, r pageResponse, err error) ([]byte, error) {
	p.asked = size
	if err != nil {
		return nil, err
	}
	p.passed, p.turned, p.nextPK, p.nextRK, p.date = false, false, r.pk, r.rk, r.date
	return r.body, nil
}

// turn moves on to the next page.
func (p *pager) turn() {
	if p.turned {
		return
	}
	p.turned = true
	p.at.PK, p.at.RK, p.at.Done = p.nextPK, p.nextRK, !p.more()
	if p.passed {
		p.at.Inside = false
	}
}

// more reports whether a token came: also one without a RowKey, which the service sends at
// boundaries of its own.
func (p *pager) more() bool { return p.nextPK != nil || p.nextRK != nil }

// viewed returns the body of a page of which the marks are known, and reads the page again if need
// be. Requests: none for a page without marks, else 1 for each write that has made them, for each
// new content, and for each time that the page is read again.
func (p *pager) viewed(ctx context.Context, body []byte) (_ []byte, v *markView, err error) {
	for range mostResolutions {
		if !bytes.Contains(body, markName) {
			return body, nil, nil
		}
		if v == nil {
			v = &markView{table: p.table, stats: p.stats, known: map[commitPlace]bool{}, ended: map[marked]bool{}, void: map[marked]bool{}, torn: map[marked]bool{}}
		}
		again, err := v.look(ctx, body)
		if err != nil || !again {
			return body, v, err
		}
		if body, err = p.page(ctx, p.asked); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, errs.With(errs.ErrContended, errPrepared)
}

// rowsFilter is the filter for the rows of a partition between two keys, both included.
func rowsFilter(partition, from, to string) string {
	var f query.Filter
	f.Key(edm.PartitionKey, "eq", partition)
	f.Key(edm.RowKey, "ge", from)
	f.Key(edm.RowKey, "le", to)
	return f.String()
}

// Physical calls f for the rows of a filter as they are stored, of any type, the library's and
// those with a mark included, with the properties in choice, all if it is "". turn, if it is not
// nil, is called behind each page with whether more may follow. Either ends the list by false. 1
// request for each 1,000 rows. Errors: errors of a read (see package table), without an OpError.
func (t *Table) Physical(ctx context.Context, filter, choice string, f func(edm.Entity, []edm.Column) bool, turn func(more bool) bool) error {
	return t.eachPage(ctx, filter, choice, false, f, turn)
}

// FirstKey returns the key of the first row of a filter. 1 request, and 1 for each empty page.
func (t *Table) FirstKey(ctx context.Context, filter string) (k keys.Key, found bool, err error) {
	k, found, err = t.pages(filter, edm.PartitionKey+","+edm.RowKey).firstKey(ctx)
	return k, found, t.conditioned(ctx, err)
}
