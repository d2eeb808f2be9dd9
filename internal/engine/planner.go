package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// planner lets the maintainers derive rows from the operations of a write. If the write may leave out operations, planner finds out
// how many fit into one transaction with their derived rows.
type planner struct {
	write      *write
	steps      []step
	most       int // derived rows of one operation, so far
	alone      int // rows that were to be loaded together with others, and were alone
	operations int // of the transaction, by the last count
	after      afterCommit
	late       time.Time
	remotes    []*remote
}

func newPlanner(w *write) *planner {
	k := &planner{write: w, steps: make([]step, len(w.ops))}
	for i := range w.ops {
		k.steps[i].Op, k.steps[i].opIndex = w.ops[i], i
	}
	return k
}

var errNothing = errors.New("all operations were passed over")

// planAll adds the derived steps. failed is the caller's operation that cannot be planned, -1 for none.
func (k *planner) planAll(ctx context.Context) (effects []Effect, derived bool, failed int, err error) {
	w := k.write
	for i := range k.steps {
		derived = derived || k.steps[i].needsPlanning
	}
	if !derived && len(w.moved) == 0 {
		return nil, false, -1, nil
	}
	p := newPlan(w)
	all := &remotes{write: w, home: p}
	p.others = all
	for i := range w.moved {
		op := w.moved[i]
		all.of(op.Table, op.Key.PartitionKey()).plan.own[op.Key.RowKey()] = op.Table
	}
	for i := range k.steps {
		p.own[k.steps[i].Key.RowKey()] = k.steps[i].Table
	}
	k.operations = k.reservedForRecord()
	if p.ahead = w.ahead; p.ahead == nil {
		p.ahead = new(aheadRows)
	}
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
			if err := k.readAhead(ctx, p, i); err != nil {
				return nil, true, -1, withReadHint(err, s.adds())
			}
			p.lookAhead = func(ctx context.Context, row keys.Key) error { return k.lookAhead(ctx, p, i, row) }
			err = s.readAndMaintain(ctx, p)
		}
		others := p.others.(*remotes)
		if p.unread == nil {
			p.unread = others.unread()
		}
		if p.blamed < 0 {
			p.blamed = others.blamed()
		}
		if err != nil && p.unread == nil {
			p.unread = p.confirm(ctx, func(*derivedRow) bool { return true })
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
	if err := p.confirm(ctx, func(d *derivedRow) bool { return !p.writes(d) }); err != nil {
		return nil, true, -1, err
	}
	all = p.others.(*remotes)
	if err := w.planMoved(ctx, all); err != nil {
		return nil, true, -1, err
	}
	k.after, k.late = p.after, p.late
	k.used(p)
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
func (k *planner) cut(i int) {
	k.write.ops, k.write.later, k.steps = k.write.ops[:i], k.write.ops[i:], k.steps[:i]
}

// drop leaves an operation out.
func (k *planner) drop(i int) {
	w := k.write
	w.ops = slices.Delete(slices.Clone(w.ops), i, i+1)
	k.steps = slices.Delete(k.steps, i, i+1)
	for ; i < len(k.steps); i++ {
		k.steps[i].opIndex = i
	}
}

// readAhead reads the rows of the operations that follow, together, unless the row of this operation is known.
func (k *planner) readAhead(ctx context.Context, p *Plan, i int) error {
	if s := &k.steps[i]; !s.reads() || p.ahead.knows(s.wanted(p)) {
		return nil
	}
	var ahead []wantedRow
	for j := i; j < k.end(i); j++ {
		if s := &k.steps[j]; s.reads() && !p.ahead.knows(s.wanted(p)) {
			ahead = append(ahead, s.wanted(p))
		}
	}
	if len(ahead) < 2 {
		return nil
	}
	return p.ahead.read(ctx, ahead)
}

// mostAlone is how many rows may be alone before no others are sought any more.
const mostAlone = 4

// lookAhead reads a row that the plan of an operation loads, together with those that the operations after it load.
func (k *planner) lookAhead(ctx context.Context, p *Plan, i int, row keys.Key) error {
	end := k.end(i)
	if k.alone >= mostAlone || end <= i+1 {
		return nil
	}
	read, err := p.readTogether(ctx, k.write.table, row, k.steps[i+1:end])
	if !read {
		k.alone++
	}
	return err
}

// end returns the end of the operations, from i on, for which rows are read together: of those that go into this transaction, as far
// as is known, and of a few more. Rows that this transaction does not use stay known for the next one.
func (k *planner) end(i int) int {
	if !k.write.mayDropTail {
		return len(k.steps)
	}
	left := float64(maxOperations - k.operations)
	for begin := i; i < len(k.steps) && (left > 0 || i < begin+FanOut); i++ {
		left -= 1 + k.expected(begin, &k.steps[i])
	}
	return i
}

// expected returns how many derived rows an operation will have, after n operations: as many as those had, or those of the last
// plan, or as many as its maintainers may add.
func (k *planner) expected(n int, s *step) (rows float64) {
	known := k.write.ahead
	switch {
	case !s.needsPlanning:
		return 0
	case n > 0:
		return k.mean(n)
	case known != nil && known.counted:
		return known.mean
	}
	for _, m := range s.Table.Mode.Maintainers {
		rows += float64(m.MaxRows())
	}
	return rows + float64(s.Table.Mode.Parts)
}

// mean returns how many derived rows each of n planned operations has, on average.
func (k *planner) mean(n int) float64 {
	return float64(k.operations-k.reservedForRecord()-n) / float64(n)
}

// used drops the known rows that the plan has used, and notes for the next plan how many rows an operation has.
func (k *planner) used(p *Plan) {
	if k.write.ahead == nil { // no later plan asks
		return
	}
	for i := range k.steps {
		p.ahead.use(k.steps[i].Key.RowKey())
	}
	for rk := range p.rows {
		p.ahead.use(rk)
	}
	if k.write.mayDropTail {
		p.ahead.mean, p.ahead.counted = max(0, k.mean(len(k.steps))), true
	}
}
