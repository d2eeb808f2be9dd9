package table

import (
	"context"
	"maps"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// derive adds the steps that the maintainers derive.
func (w *write) derive(ctx context.Context) (effects []Effect, failed int, err error) {
	if w.derived = slices.ContainsFunc(w.steps, func(op Op) bool { return op.maintain != nil }); !w.derived {
		return nil, -1, nil
	}
	if w.found == nil {
		w.found, w.seen = map[string]found{}, map[string]azcore.ETag{}
	}
	p := &Plan{core: w.core, partition: w.partition(), own: map[string]bool{}, planned: map[string][]byte{}, found: w.found, seen: w.seen, rows: map[string]*derivedRow{}, blamed: -1}
	for _, op := range w.steps {
		p.own[op.key.RowKey()] = true
	}
	pack := packing{write: w}
	for i := range w.steps {
		before, fits := pack.before(p, i)
		if !fits {
			w.cut(i)
			break
		}
		var err error
		if maintain := w.steps[i].maintain; maintain != nil {
			err = maintain(ctx, p, &w.steps[i])
		}
		if p.unread != nil {
			return nil, -1, p.unread
		}
		if over := pack.over(p, i); before != nil && (over || err != nil) {
			p = before // without this one, which is the first of the next transaction
			w.cut(i)
			break
		}
		switch {
		case err != nil && p.blamed >= 0:
			return nil, p.blamed, err
		case err != nil:
			return nil, i, err
		}
	}
	derived, failed, err := p.steps()
	w.steps = append(w.steps, derived...)
	return p.effects, failed, err
}

// packing finds out, while a transaction is planned, how many of the operations go into it with what their maintainers add.
type packing struct {
	*write
	most int // derived rows of one operation, so far
	used int // operations of the transaction, by the last look
}

// before is asked before an operation is planned. It does not fit where those before it have left too little room for one like them:
// so nothing is read for an operation that is not sent. Where it may not fit, or may be refused when much has been read for the
// others, the plan as it is without it is kept.
func (k *packing) before(p *Plan, i int) (kept *Plan, fits bool) {
	if !k.some || i == 0 {
		return nil, true
	}
	op, left := k.steps[i], maxOperations-k.used
	need, most := 1, 1
	if op.maintain != nil {
		need, most = 1+k.most, 1+op.core.derived
	}
	switch {
	case left < need:
		return nil, false
	case left < most || p.reads > 0:
		return p.copy(), true
	}
	return nil, true
}

// over tells whether the operations so far are too many.
func (k *packing) over(p *Plan, i int) bool {
	if !k.some {
		return false
	}
	used := i + 1
	if k.exact || k.outbox != nil || k.settles != nil {
		used++ // the intent
	}
	for _, d := range p.rows {
		if p.writes(d) {
			used++
		}
	}
	k.most = max(k.most, used-k.used-1)
	k.used = used
	return used > maxOperations
}

// cut leaves an operation and those behind it to another transaction.
func (w *write) cut(i int) { w.ops, w.steps = w.ops[:i], w.steps[:i] }

// copy is the plan as it is now.
func (p *Plan) copy() *Plan {
	c := *p
	c.planned, c.order, c.effects = maps.Clone(p.planned), slices.Clone(p.order), slices.Clone(p.effects)
	c.rows = make(map[string]*derivedRow, len(p.rows))
	for rk, d := range p.rows {
		row := *d
		c.rows[rk] = &row
	}
	return &c
}
