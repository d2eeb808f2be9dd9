package engine

import (
	"context"
	"errors"
	"slices"
	"time"
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
	remotes    []*remote
}

var errNothing = errors.New("all operations were passed over")

// planAll adds the derived steps. failed is the caller's operation that cannot be planned, -1 for none.
func (k *planner) planAll(ctx context.Context) (effects []Effect, derived bool, failed int, err error) {
	w := k.write
	if derived = slices.ContainsFunc(k.steps, func(s step) bool { return s.needsPlanning }); !derived && len(w.moved) == 0 {
		return nil, false, -1, nil
	}
	p := newPlan(w)
	all := &remotes{write: w, home: p}
	p.others = all
	for i := range w.moved {
		op := &w.moved[i]
		all.of(op.Table, op.Key.PartitionKey()).plan.own[op.Key.RowKey()] = op.Table
	}
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
		others := p.others.(*remotes)
		if p.unread == nil {
			p.unread = others.unread()
		}
		if p.blamed < 0 {
			p.blamed = others.blamed()
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
	all = p.others.(*remotes)
	if err := w.planMoved(ctx, all); err != nil {
		return nil, true, -1, err
	}
	k.after, k.late = p.after, p.late
	more, failed, err := p.steps(w.table)
	k.steps = append(k.steps, more...)
	if err != nil || len(all.all) == 0 {
		return p.effects, true, failed, err
	}
	effects = append(p.effects, all.effects()...)
	for _, m := range all.all {
		k.after = append(k.after, m.plan.after...)
		if late := m.plan.late; !late.IsZero() && (k.late.IsZero() || late.Before(k.late)) {
			k.late = late
		}
	}
	if err := all.planned(ctx); err != nil {
		return nil, true, -1, err
	}
	if k.remotes = all.all; len(k.remotes) > 0 {
		e, err := remoteEffect(placesOf(k.remotes))
		if err != nil {
			return nil, true, -1, err
		}
		effects = append(effects, e)
	}
	return effects, true, -1, nil
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
	return used > maxOperations || i > 0 && p.others.(*remotes).over()
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
