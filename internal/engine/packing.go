package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// packing lets the maintainers derive rows from the operations of a write. If the write is of some of its operations, packing finds out how
// many fit into one transaction with their derived rows.
type packing struct {
	write *write
	steps []step
	most  int // derived rows of one operation, so far
	used  int // operations of the transaction, by the last count
}

var errNothing = errors.New("all operations were passed over")

// derive adds the derived steps. failed is the caller's operation that cannot be planned, -1 for none.
func (k *packing) derive(ctx context.Context) (effects []Effect, derived bool, failed int, err error) {
	if derived = slices.ContainsFunc(k.steps, func(s step) bool { return s.derives }); !derived {
		return nil, false, -1, nil
	}
	w := k.write
	if w.found == nil {
		w.found, w.seen = map[string]found{}, map[string]azcore.ETag{}
	}
	p := &Plan{table: w.table, partition: w.partition(), own: map[string]bool{}, planned: map[string]edm.Stored{}, found: w.found, seen: w.seen, rows: map[string]*derivedRow{}, first: map[string]bool{}, blamed: -1}
	for i := range k.steps {
		p.own[k.steps[i].Key.RowKey()] = true
	}
	k.used = k.records()
	p.readAhead(ctx, k.steps[:min(len(k.steps), maxOperations-k.used)], w.some)
	for i := 0; i < len(w.ops); {
		s := &k.steps[i]
		if !s.derives && !w.some {
			i++
			continue
		}
		if !k.fits(i) {
			k.cut(i)
			break
		}
		var before *Plan
		if w.some {
			before = p.copy()
		}
		var err error
		if s.derives {
			err = s.derive(ctx, p)
		}
		switch {
		case p.unread != nil:
			return nil, true, -1, p.unread
		case err == nil && !k.over(p, i):
			i++
			continue
		case w.some && err != nil && w.pass(i, err):
			delete(p.own, s.Key.RowKey()) // before has the same map
			k.drop(i)
		case w.some && i > 0:
			// It goes into the next transaction: what speaks against it here may itself be refused, and what was read for the others
			// is not read again.
			k.cut(i)
		case p.blamed >= 0:
			return nil, true, p.blamed, err
		default:
			return nil, true, i, err
		}
		p = before
	}
	if len(w.ops) == 0 {
		return nil, true, -1, errNothing
	}
	more, failed, err := p.steps(w.table)
	k.steps = append(k.steps, more...)
	return p.effects, true, failed, err
}

// records is the number of commit records in the transaction.
func (k *packing) records() int {
	if k.write.exact || k.write.outbox != nil {
		return 1
	}
	return 0
}

// fits reports, before an operation is planned, whether the operations before it have left room for one like them: nothing is read for an
// operation that is not sent.
func (k *packing) fits(i int) bool {
	need := 1
	if k.steps[i].derives {
		need += k.most
	}
	return !k.write.some || i == 0 || k.used+need <= maxOperations
}

// over reports whether the operations so far are too many.
func (k *packing) over(p *Plan, i int) bool {
	if !k.write.some {
		return false
	}
	used := i + 1 + k.records()
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
func (k *packing) cut(i int) { k.write.ops, k.steps = k.write.ops[:i], k.steps[:i] }

// drop leaves an operation out.
func (k *packing) drop(i int) {
	w := k.write
	w.ops = slices.Delete(slices.Clone(w.ops), i, i+1)
	k.steps = slices.Delete(k.steps, i, i+1)
	for ; i < len(k.steps); i++ {
		k.steps[i].caller = i
	}
}

// steps returns the operations on a table that make the derived rows what they are to be. failed is the caller's operation that has the derived row
// of err.
func (p *Plan) steps(t *Table) (steps []step, failed int, err error) {
	for _, rk := range p.order {
		d := p.rows[rk]
		if !p.writes(d) {
			continue
		}
		exists, match := p.exists(d)
		s := step{Op: Op{Table: t, Key: d.key, Match: match}, caller: d.op, derived: d}
		switch {
		case exists && d.after == nil:
			s.Kind = aztables.TransactionTypeDelete
		case exists:
			s.Kind = aztables.TransactionTypeUpdateReplace
		default:
			s.Kind, s.Match = aztables.TransactionTypeAdd, ""
		}
		if d.after != nil {
			after := &Row{Key: d.key, Columns: d.after.Columns}
			if s.Body, s.Named, err = after.body(d.has(reserved.OperationID) && !d.after.isCopy(), d.has(reserved.Incarnation)); err != nil {
				return nil, d.op, &DerivedError{Maintainer: d.by, Key: d.key, Err: err}
			}
		}
		steps = append(steps, s)
	}
	return steps, -1, nil
}

// readAhead reads the rows of operations that must know them, several at a time. If some of the operations may be left to another
// transaction, it reads only for those that surely go into this one: whose maintainers add nothing.
func (p *Plan) readAhead(ctx context.Context, steps []step, some bool) {
	var ks []keys.Key
	for i := range steps {
		if s := &steps[i]; s.reads() && (!some || !s.adds()) {
			ks = append(ks, s.Key)
		} else if some && s.adds() {
			break
		}
	}
	if len(ks) < 2 {
		return
	}
	p.ahead = map[string]aheadRow{}
	i := 0
	InOrder(ctx, ks, p.table.find, func(f found, err error) bool {
		p.ahead[ks[i].RowKey()] = aheadRow{f, err}
		i++
		return err == nil
	})
}
