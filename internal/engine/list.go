package engine

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
)

// List is every list: it asks for pages until there are no more, and gives their rows to l. If Yield ends the list, the error is
// nil.
func (t *Table) List(ctx context.Context, method string, q Query, l Lister) (err error) {
	ctx, end := t.Span(ctx, method)
	defer func() { end(err) }()
	p, err := t.newPager(q)
	if err != nil {
		return t.OpError(method, keys.Key{}, err)
	}
	defer p.stop()
	d := &delivery{pager: p, lister: l, method: method, left: q.Limit}
	for !p.at.done {
		body, err := p.next(ctx, d.left)
		if err != nil {
			return t.ReadError(ctx, method, keys.Key{}, err)
		}
		if body, d.view, err = p.viewed(ctx, body); err != nil {
			return t.ReadError(ctx, method, keys.Key{}, err)
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
			d.err = t.ReadError(ctx, method, keys.Key{}, errRows)
		}
		switch {
		case d.stopped:
			return nil
		case d.err != nil:
			return d.err
		}
		if p.turn(); q.OnePage && q.Limit == 0 {
			return nil
		}
	}
	return nil
}
