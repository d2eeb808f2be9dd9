package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// planner lets the maintainers derive rows from the operations of a write. If the write may leave out operations, planner finds out
// how many fit into one transaction with their derived rows.
type planner struct {
	write      *write
	steps      []step
	most       int // derived rows of one operation, so far
	operations int // of the transaction, by the last count
	after      afterCommit
	late       time.Time
}

var errNothing = errors.New("all operations were passed over")

// planAll adds the derived steps. failed is the caller's operation that cannot be planned, -1 for none.
func (k *planner) planAll(ctx context.Context) (effects []Effect, derived bool, failed int, err error) {
	if derived = slices.ContainsFunc(k.steps, func(s step) bool { return s.needsPlanning }); !derived {
		return nil, false, -1, nil
	}
	w := k.write
	if w.corrections == nil {
		w.corrections, w.entityVersions = map[string]readResult{}, map[string]azcore.ETag{}
	}
	p := &Plan{table: w.table, partition: w.partition(), own: map[string]rowReader{}, planned: map[string]edm.Stored{}, corrections: w.corrections, entityVersions: w.entityVersions, rows: map[string]*derivedRow{}, first: map[string]bool{}, blamed: -1}
	for i := range k.steps {
		p.own[k.steps[i].Key.RowKey()] = k.steps[i].Table
	}
	k.operations = k.reservedForRecord()
	p.readAhead(ctx, k.steps[:min(len(k.steps), maxOperations-k.operations)], w.mayDropTail)
	for i := 0; i < len(w.ops); {
		s := &k.steps[i]
		if !s.needsPlanning && !w.mayDropTail {
			i++
			continue
		}
		if !k.fits(i) {
			k.cut(i)
			break
		}
		var before *Plan
		if w.mayDropTail {
			before = p.copy()
		}
		var err error
		if s.needsPlanning {
			err = s.readAndMaintain(ctx, p)
		}
		switch {
		case p.unread != nil:
			return nil, true, -1, p.unread
		case err == nil && !k.over(p, i):
			i++
			continue
		case w.mayDropTail && err != nil && w.skip(i, err):
			delete(p.own, s.Key.RowKey()) // before has the same map
			k.drop(i)
		case w.mayDropTail && i > 0:
			// Its error may come from an operation before it, which may itself fail. So it is tried again in the next transaction.
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
	k.after, k.late = p.after, p.late
	more, failed, err := p.steps(w.table)
	k.steps = append(k.steps, more...)
	return p.effects, true, failed, err
}

// reservedForRecord is the number of operations that the commit record takes, 0 or 1.
func (k *planner) reservedForRecord() int {
	if k.write.exact || k.write.outbox != nil {
		return 1
	}
	return 0
}

// fits reports, before an operation is planned, whether the operations before it have left room for one like them: nothing is read
// for an operation that is not sent.
func (k *planner) fits(i int) bool {
	need := 1
	if k.steps[i].needsPlanning {
		need += k.most
	}
	return !k.write.mayDropTail || i == 0 || k.operations+need <= maxOperations
}

// over reports whether the operations so far are too many.
func (k *planner) over(p *Plan, i int) bool {
	if !k.write.mayDropTail {
		return false
	}
	used := i + 1 + k.reservedForRecord()
	for _, d := range p.rows {
		if p.writes(d) {
			used++
		}
	}
	k.most = max(k.most, used-k.operations-1)
	k.operations = used
	return used > maxOperations
}

// cut leaves an operation and those behind it to another transaction.
func (k *planner) cut(i int) { k.write.ops, k.steps = k.write.ops[:i], k.steps[:i] }

// drop leaves an operation out.
func (k *planner) drop(i int) {
	w := k.write
	w.ops = slices.Delete(slices.Clone(w.ops), i, i+1)
	k.steps = slices.Delete(k.steps, i, i+1)
	for ; i < len(k.steps); i++ {
		k.steps[i].opIndex = i
	}
}

// steps returns the operations on a table that make the derived rows what they are to be. failed is the caller's operation that has
// the derived row of err.
func (p *Plan) steps(t *Table) (steps []step, failed int, err error) {
	for _, rk := range p.order {
		d := p.rows[rk]
		if !p.writes(d) {
			continue
		}
		exists, match := p.exists(d)
		s := step{Op: Op{Table: t, Key: d.key, Match: match}, opIndex: d.op, derived: d}
		switch {
		case exists && d.after == nil:
			s.Kind = aztables.TransactionTypeDelete
		case exists && d.merge != nil:
			s.Kind = aztables.TransactionTypeUpdateMerge
		case exists:
			s.Kind = aztables.TransactionTypeUpdateReplace
		default:
			s.Kind, s.Match = aztables.TransactionTypeAdd, ""
		}
		if d.after != nil {
			after := &Row{Key: d.key, Columns: d.after.Columns}
			if s.merges() {
				after.Columns = d.merge
			}
			if s.Body, s.StoresID, err = after.body(d.has(reserved.OperationID) && !d.after.isCopy(), d.has(reserved.Incarnation), d.has(reserved.Parts)); err != nil {
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
	var ahead []*step
	for i := range steps {
		if s := &steps[i]; s.reads() && (!some || !s.adds()) {
			ahead = append(ahead, s)
		} else if some && s.adds() {
			break
		}
	}
	if len(ahead) < 2 {
		return
	}
	p.ahead = map[string]aheadRow{}
	i := 0
	InOrder(ctx, ahead, func(ctx context.Context, s *step) (readResult, error) {
		if s.headSuffices(p) {
			return s.Table.readRow(ctx, s.Key)
		}
		return s.Table.readEntity(ctx, s.Key)
	}, func(f readResult, err error) bool {
		p.ahead[ahead[i].Key.RowKey()] = aheadRow{f, err}
		i++
		return err == nil
	})
}
