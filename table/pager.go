package table

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// list is every list: it asks for pages until there are no more, and makes of each row what read makes of it. own tells that
// it asks for rows of T alone, and read whether a row is one.
func list[T, E any](t *Table[T], ctx context.Context, op string, q Query[T], choice string, own bool, read func(*edm.Reader, edm.Entity) (E, bool, error)) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var err error
		ctx, end := t.span(ctx, op)
		defer func() { end(err) }()
		var none E
		p, err := newPager(t, q, choice, own)
		if err != nil {
			err = t.opError(op, keys.Key{}, err)
			yield(none, err)
			return
		}
		for left := q.Limit; !p.at.done; {
			var body []byte
			if body, err = p.next(ctx, left); err != nil {
				err = t.readError(ctx, op, keys.Key{}, err)
				yield(none, err)
				return
			}
			stopped, bad := false, error(nil)
			r := edm.NewReader(body)
			broken := r.Page(func(in edm.Entity) bool {
				if bad = t.opError(op, keys.Key{}, p.strange(in)); bad != nil {
					return false
				}
				if !p.wants(in) {
					return !p.spent
				}
				e, mine, rerr := read(r, in)
				if !mine {
					p.foreign(in)
					return true
				}
				if rerr != nil {
					k := keys.Stored(in.PartitionKey, in.RowKey)
					if bad = t.opError(op, k, rerr); q.Skip != nil && q.Skip(k, bad) {
						bad = nil
						p.stats.Skipped++
						p.at.deliver(in)
						return true
					}
					return false
				}
				left--
				if p.at.deliver(in); r.AtEnd() {
					p.turn()
				}
				stopped = !yield(e, nil) || left == 0
				return !stopped
			})
			if broken != nil && !stopped && bad == nil {
				bad = t.opError(op, keys.Key{}, broken)
			}
			if p.spent {
				bad = t.readError(ctx, op, keys.Key{}, errRows)
			}
			switch {
			case stopped:
				return
			case bad != nil:
				err = bad
				yield(none, err)
				return
			}
			if p.turn(); q.onePage && q.Limit == 0 {
				return
			}
		}
	}
}

// pager asks for one page after another. Each has its own size, so each is a pager of the SDK of its own.
type pager[T any] struct {
	t              *Table[T]
	q              Query[T]
	filter, choice string
	stats          *Stats
	at             *position
	deadline       time.Time // of the budget, or zero

	passed         bool // a row behind at.last has come with this page
	spent          bool // more rows have come than the budget allows
	turned         bool // at is where the next page begins
	again          bool // this page may hold rows that were delivered
	nextPK, nextRK *string
}

func newPager[T any](t *Table[T], q Query[T], choice string, own bool) (*pager[T], error) {
	q, ex, err := t.explain(q, own)
	if err != nil {
		return nil, err
	}
	p := &pager[T]{t: t, q: q, filter: ex.Filter, choice: choice, stats: q.Stats, at: new(position)}
	if p.stats == nil {
		p.stats = new(Stats)
	}
	*p.stats = Stats{}
	if q.Budget.Time > 0 {
		p.deadline = time.Now().Add(q.Budget.Time)
	}
	if q.Cursor == nil {
		return p, nil
	}
	p.at, err = q.Cursor.begin(t.name, queryID(t.name, t.schema.Type, ex.Filter, q.Rows, own))
	return p, err
}

// rows asks for the rows of a filter, of whatever type, the library's own included.
func (c *core) rows(filter, choice string) *pager[Row] {
	return &pager[Row]{t: &Table[Row]{core: *c.plain()}, filter: filter, choice: choice, stats: new(Stats), at: new(position)}
}

// strange is the error of a page with a row that cannot be of the query: of another partition, or not the only row.
func (p *pager[T]) strange(in edm.Entity) error {
	pk, rk := in.PartitionKey, in.RowKey
	if p.q.Partition.IsSet() {
		pk = p.q.Partition.String()
	}
	if p.q.Rows.IsPoint() {
		rk, _, _ = p.q.Rows.Bounds()
	}
	return asked(keys.Stored(pk, rk), in)
}

// wants tells whether a row of a page is to be looked at: not one that was delivered before the list was taken up again, nor
// one that merely lies between the bounds.
func (p *pager[T]) wants(in edm.Entity) bool {
	if !p.passed && p.at.delivered(in) {
		return false
	}
	p.passed = true
	if b := p.q.Budget.Rows; b > 0 && p.stats.Rows == b {
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
func (p *pager[T]) foreign(in edm.Entity) {
	p.stats.Foreign++
	if p.again {
		p.at.deliver(in) // or a list with a budget might come no further than to the same rows again
	}
}

// size is how many rows the next request asks for: no more than are still wanted, unless some come in vain, and as many as
// may be where rows come that were delivered.
func (p *pager[T]) size(left int) int {
	n := p.q.PageSize
	if n == 0 {
		n = maxPage
	}
	if p.again = p.at.last != nil; p.again {
		return n
	}
	if p.q.Limit > 0 && p.stats.Foreign == 0 {
		n = min(n, left)
	}
	if b := p.q.Budget.Rows; b > 0 {
		n = min(n, b-p.stats.Rows)
	}
	return n
}

var (
	errRepeated = &DecodeError{Reason: "the service repeats its continuation token, so the list would never end"}
	errRows     = &condition{ErrBudget, errors.New("its rows are used up")}
	errTime     = errors.New("the time of the budget is over")
)

// next returns the body of the page at p.at, if the budget allows it.
func (p *pager[T]) next(ctx context.Context, left int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	size := p.size(left)
	switch b := p.q.Budget; {
	case b.Rows > 0 && p.stats.Rows >= b.Rows:
		return nil, errRows
	case b.Requests > 0 && p.stats.Requests >= b.Requests:
		return nil, &condition{ErrBudget, errors.New("its requests are used up")}
	case b.Time > 0:
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, p.deadline, errTime)
		defer cancel()
	}
	body, err := p.page(ctx, int32(size))
	if err != nil && context.Cause(ctx) == errTime {
		err = &condition{ErrBudget, errTime}
	}
	return body, err
}

func (p *pager[T]) page(ctx context.Context, size int32) ([]byte, error) {
	o := &aztables.ListEntitiesOptions{Top: &size, NextPartitionKey: p.at.pk, NextRowKey: p.at.rk}
	if p.filter != "" {
		o.Filter = &p.filter
	}
	if p.choice != "" {
		o.Select = &p.choice
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.stats.Requests++
	ctx, cancel := bound(ctx, p.t.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := p.t.client.NewListEntitiesPager(o).NextPage(call.Read(ctx))
	if err = call.Check(err); err != nil {
		return nil, unreadable(&call, err)
	}
	if call.SignedForPartitions() {
		p.t.shared.ranged.Store(true)
	}
	if _, _, rows := call.SignedRows(); rows {
		p.t.shared.rowsOnly.Store(true)
	}
	p.passed, p.turned, p.nextPK, p.nextRK = false, false, set(resp.NextPartitionKey), set(resp.NextRowKey)
	if p.more() && same(p.nextPK, p.at.pk) && same(p.nextRK, p.at.rk) {
		return nil, errRepeated
	}
	return call.Body()
}

// turn moves on to the next page.
func (p *pager[T]) turn() {
	if p.turned {
		return
	}
	p.turned = true
	p.at.pk, p.at.rk, p.at.done = p.nextPK, p.nextRK, !p.more()
	if p.passed {
		p.at.last = nil
	}
}

// more tells whether a token came: also one without a RowKey, which the service sends at boundaries of its own.
func (p *pager[T]) more() bool { return p.nextPK != nil || p.nextRK != nil }

func same(a, b *string) bool { return a != nil && b != nil && *a == *b || a == nil && b == nil }

// set turns an empty token into none, for the service refuses an empty one.
func set(s *string) *string {
	if s != nil && *s == "" {
		return nil
	}
	return s
}
