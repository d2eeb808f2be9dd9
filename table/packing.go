package table

import (
	"context"
	"errors"
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
	p := &Plan{core: w.core, partition: w.partition(), own: map[string]bool{}, planned: map[string][]byte{}, found: w.found, seen: w.seen, rows: map[string]*derivedRow{}, asked: map[string]bool{}, blamed: -1}
	for _, op := range w.steps {
		p.own[op.key.RowKey()] = true
	}
	pack := packing{write: w}
	if w.exact || w.outbox != nil {
		pack.used = 1 // the intent
	}
	p.readAhead(ctx, w.steps[:min(len(w.steps), maxOperations-pack.used)], w.some)
	for i := 0; i < len(w.ops); {
		op := &w.steps[i]
		if op.maintain == nil && !w.some {
			i++
			continue
		}
		if !pack.fits(i) {
			w.cut(i)
			break
		}
		var before *Plan
		if w.some {
			before = p.copy()
		}
		var err error
		if op.maintain != nil {
			err = op.maintain(ctx, p, op)
		}
		switch {
		case p.unread != nil:
			return nil, -1, p.unread
		case err == nil && !pack.over(p, i):
			i++
			continue
		case w.some && err != nil && w.pass(i, err):
			delete(p.own, op.key.RowKey()) // of which before has the same
			w.drop(i)
		case w.some && i > 0:
			// It goes into the next transaction: what speaks against it here may itself be refused, and what was read for the others
			// is not read again.
			w.cut(i)
		case p.blamed >= 0:
			return nil, p.blamed, err
		default:
			return nil, i, err
		}
		p = before
	}
	if len(w.ops) == 0 {
		return nil, -1, errNothing
	}
	more, failed, err := p.steps()
	w.steps = append(w.steps, more...)
	return p.effects, failed, err
}

// packing finds out, while a transaction is planned, how many of the operations go into it with what their maintainers add.
type packing struct {
	*write
	most int // derived rows of one operation, so far
	used int // operations of the transaction, by the last look
}

// fits is asked before an operation is planned. It is false where those before it have left too little room for one like them: so
// nothing is read for an operation that is not sent.
func (k *packing) fits(i int) bool {
	need := 1
	if k.steps[i].maintain != nil {
		need += k.most
	}
	return !k.some || i == 0 || k.used+need <= maxOperations
}

// over tells whether the operations so far are too many.
func (k *packing) over(p *Plan, i int) bool {
	if !k.some {
		return false
	}
	used := i + 1
	if k.exact || k.outbox != nil {
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

// drop leaves an operation out.
func (w *write) drop(i int) {
	w.ops = slices.Delete(slices.Clone(w.ops), i, i+1)
	w.steps = slices.Delete(w.steps, i, i+1)
	for ; i < len(w.steps); i++ {
		w.steps[i].caller = i
	}
}

var errNothing = errors.New("all operations were passed over")

// copy is the plan as it is now.
func (p *Plan) copy() *Plan {
	c := *p
	c.planned, c.order, c.effects, c.asked = maps.Clone(p.planned), slices.Clone(p.order), slices.Clone(p.effects), maps.Clone(p.asked)
	c.rows = make(map[string]*derivedRow, len(p.rows))
	for rk, d := range p.rows {
		row := *d
		c.rows[rk] = &row
	}
	return &c
}
