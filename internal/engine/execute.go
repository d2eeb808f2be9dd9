package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Send sends a write on its own.
func (op Op) Send(ctx context.Context) error {
	if err := op.Usable(); err != nil {
		return op.Table.OpError(op.Method, op.Key, err)
	}
	w := write{table: op.Table, ops: []Op{op}}
	_, err := w.execute(ctx, op.Method, op.Key)
	return err
}

// Commit applies operations, all or none of them.
func Commit(ctx context.Context, method string, k keys.Key, ops []Op) ([]azcore.ETag, error) {
	w := write{table: ops[0].Table, ops: ops, together: true}
	return w.execute(ctx, method, k)
}

// commitSome is Commit for the first of the operations: as many as fit into one transaction with what their maintainers derive. n is their
// number. pass is asked about each operation that cannot be planned, by its index among those that are left: true leaves it out.
func commitSome(ctx context.Context, method string, ops []Op, pass func(i int, err error) bool) (n int, err error) {
	w := write{table: ops[0].Table, ops: ops, together: true, pass: pass}
	w.some = w.table.Mode.Completes == nil // a completion is of one write
	if _, err = w.execute(ctx, method, keys.Key{}); errors.Is(err, errNothing) {
		return 0, nil
	}
	return len(w.ops), err
}

// execute runs the write, and tells the targets what became of their operations.
func (w *write) execute(ctx context.Context, method string, k keys.Key) (etags []azcore.ETag, err error) {
	t := w.table
	ctx, end := t.Span(ctx, method)
	defer func() {
		if errors.Is(err, errNothing) {
			end(nil)
		} else {
			end(err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, t.OpError(method, k, err) // nothing was sent, so nothing is unknown
	}
	for i := range w.ops {
		op := &w.ops[i]
		if w.exact = w.exact || op.Table.Mode.Exact; op.Table.Mode.Outbox != nil {
			w.table, w.outbox = op.Table, op.Table.Mode.Outbox // With has seen the options of this handle
		}
		if err := w.complete(op.Table.Mode.Completes); err != nil {
			return nil, t.OpError(method, k, err)
		}
	}
	ctx, cancel := Bound(ctx, w.table.Options.WriteTimeout)
	defer cancel()
	if w.id, err = w.table.Options.newOperationID(); err == nil {
		etags, err = w.run(ctx)
	}
	if err == nil {
		w.applied(etags)
		return etags, nil
	}
	if unknown(err) {
		w.tellTargets(true)
	}
	return nil, t.OpError(method, k, err)
}

// run leads the write from state to state.
func (w *write) run(ctx context.Context) ([]azcore.ETag, error) {
	conflicts := w.table.Options.Conflicts()
	for {
		switch w.state {
		case begun:
			w.state = w.planAnew(ctx)
		case planned:
			w.state = w.sendNotification(ctx)
		case ready:
			w.state = w.send(ctx)
		case refused:
			w.state = w.replan(ctx, conflicts)
		case givenUp:
			w.state = w.giveUp(ctx)
		case committed:
			return own(w, w.out.etags), nil
		default: // inDoubt, aborted
			return nil, w.out.err
		}
	}
}

// fail ends the attempts with an error of what was not sent.
func (w *write) fail(failed int, err error) state {
	if w.together && failed >= 0 {
		err = &BatchError{Index: failed, Key: readable(w.ops[failed].Key), Err: err}
	}
	w.out = outcome{verdict: wire.Refused, failed: -1, err: err}
	return givenUp
}

// planAnew makes a plan, and reads again while the service is busy. If it cannot, what is known of the write rests on what was sent before.
func (w *write) planAnew(ctx context.Context) state {
	var plan transaction
	var failed int
	err := w.table.Options.Retry.RepeatBusy(ctx, func() (err error) {
		plan, failed, err = w.makePlan(ctx)
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil && w.lost.err != nil:
		w.out = w.contended(w.lost, ctx.Err())
		return givenUp
	case err != nil:
		return w.fail(failed, err)
	case plan.record && w.sent.withoutRecord: // a commit record that comes too late says nothing of requests without one
		w.out = outcome{err: w.sent.doubt}
		return inDoubt
	}
	w.next, w.lost = plan, outcome{}
	return planned
}

// sendNotification stores the notification of a write with effects, unless it is stored.
func (w *write) sendNotification(ctx context.Context) state {
	if w.next.effects && w.notification == nil {
		if err := w.notify(ctx); err != nil {
			return w.fail(-1, err)
		}
	}
	w.plan, w.next = w.next, transaction{}
	w.sent.withRecord = w.sent.withRecord || w.plan.record
	return ready
}

// replan decides whether another plan may succeed after a refusal.
func (w *write) replan(ctx context.Context, conflicts *Conflicts) state {
	w.sent.mayEnd = w.sent.mayEnd || !w.final()
	repaired, again := w.again(ctx)
	if !again {
		return givenUp
	}
	w.lost = w.out
	if !repaired {
		if again, err := conflicts.Again(ctx); !again {
			w.out = w.contended(w.out, err)
			return givenUp
		}
	}
	if w.out.dead {
		if err := w.rename(ctx); err != nil {
			w.out.err = err
			return aborted
		}
	}
	return begun
}

// rename begins again with another operation ID: what was sent so far will never be applied.
func (w *write) rename(ctx context.Context) (err error) {
	w.withdraw(ctx)
	w.sent = history{}
	w.id, err = w.table.Options.newOperationID()
	return err
}

// giveUp ends a write that was not applied, as far as is known. If it has a commit record, that is made certain.
func (w *write) giveUp(ctx context.Context) state {
	out := w.out
	if out.verdict != wire.Unknown && w.sent.doubt == nil && (!w.plan.record || out.dead || !w.sent.mayEnd) {
		w.withdraw(ctx)
		return aborted
	}
	if !w.plan.record {
		if w.sent.doubt != nil {
			w.out.err = w.sent.doubt
		}
		return inDoubt
	}
	if w.sent.recordLost {
		w.out.err = w.sent.doubt
		return inDoubt
	}
	return w.abort(ctx, out)
}

// makePlan makes the transaction. failed is the caller's operation that cannot be planned.
func (w *write) makePlan(ctx context.Context) (plan transaction, failed int, err error) {
	p := &packing{write: w, steps: make([]step, len(w.ops))}
	for i := range w.ops {
		p.steps[i] = step{Op: w.ops[i], caller: i}
	}
	effects, derived, failed, err := p.derive(ctx)
	if err != nil {
		return transaction{}, failed, err
	}
	w.some = false // another plan is of the same operations, for this one may be applied
	plan = transaction{steps: p.steps, batch: w.together, effects: len(effects) > 0}
	var lead step
	switch {
	case w.completes != nil:
		plan.effects = false // the worker of the commit record executes them
		plan.lead = true
		lead, err = w.completion(effects)
	case plan.effects && w.outbox == nil:
		return transaction{}, -1, ErrNoOutbox
	// If the outbox was notified, there is a pending commit record, also if this plan has no effects any more: an earlier plan may have
	// been applied.
	case plan.effects || w.exact || w.sent.withRecord || w.notification != nil:
		plan.record, plan.lead = true, true
		state := RecordDone
		if plan.effects || w.notification != nil {
			state = RecordPending
		}
		lead, err = w.table.recordStep(w.partition(), w.id, state, effects)
	}
	if err != nil {
		return transaction{}, -1, err
	}
	if plan.lead {
		plan.steps = slices.Insert(plan.steps, 0, lead)
	}
	plan.batch = plan.batch || len(plan.steps) > 1
	if plan.batch && (plan.lead || derived) {
		if err := sized(plan.steps); err != nil {
			return transaction{}, -1, err
		}
	}
	plan.encode(w.id)
	return plan, -1, nil
}

// encode makes the JSON of the steps.
func (p *transaction) encode(id string) {
	named := idColumn(id)
	for i := range p.steps {
		s := &p.steps[i]
		if s.deletes() && !p.batch {
			continue
		}
		body := s.Body
		if s.deletes() {
			body = noProperties(s.Key)
		}
		if p.batch && !s.inserts() {
			// The SDK addresses the row by the keys of the body, and does not double the quotes in them. The body's own keys are then
			// wrong, but the service goes by the address.
			body.PartitionKey, body.RowKey = doubled(body.PartitionKey), doubled(body.RowKey)
		}
		b := make([]byte, 0, body.Length+8)
		if s.Named {
			s.json = body.Append(b, named)
		} else {
			s.json = body.Append(b)
		}
	}
}

// contended is the outcome if concurrent writers changed a row at every attempt, until ended, the error of the context if it has ended: a
// row that entities share, or the row of a write by key. It is not that the row exists, is missing, or has changed, for the caller did not
// ask that.
func (w *write) contended(out outcome, ended error) outcome {
	var re *azcore.ResponseError
	if out.failed < 0 || !errors.As(out.err, &re) {
		return out
	}
	cause := error(re)
	if ended != nil {
		cause = errors.Join(ended, re)
	}
	contended := &Condition{ErrContended, cause}
	var de *DerivedError
	var be *BatchError
	switch s := &w.plan.steps[out.failed]; {
	case s.derived == nil && !s.replannable, s.derived != nil && (!s.derived.shared || s.derived.taken != nil):
	case errors.As(out.err, &de):
		de.Err = contended
	case errors.As(out.err, &be):
		be.Err = contended
	default:
		out.err = contended
	}
	return out
}

// final reports whether a refusal is for ever: a version that is gone does not come back, but a row that is in the way may be deleted.
func (w *write) final() bool {
	if w.out.failed < 0 || errors.Is(w.out.err, ErrTableNotFound) {
		return true
	}
	match := w.plan.steps[w.out.failed].Match
	return match != "" && match != azcore.ETagAny
}

// again reports whether another plan may succeed. repaired reports that it will for a derived row that was not as the plan took it to be.
func (w *write) again(ctx context.Context) (repaired, again bool) {
	out := w.out
	if out.failed < 0 || out.dead {
		return false, out.dead
	}
	s := &w.plan.steps[out.failed]
	lost := errors.Is(out.err, ErrChanged) || errors.Is(out.err, ErrNotFound) || errors.Is(out.err, ErrExists)
	d := s.derived
	switch {
	case !lost:
		return false, false
	case d == nil:
		return false, s.replannable
	case d.taken != nil && errors.Is(out.err, ErrExists):
		return w.ownAfterAll(ctx, d, out.err)
	case d.shared:
		return false, true
	}
	f, err := w.find(ctx, d.key)
	if err != nil {
		return false, false
	}
	return w.note(d, f), true
}

// note keeps a derived row that was not as the plan took it to be, for the next plan. It reports whether that is news.
func (w *write) note(d *derivedRow, f found) bool {
	_, known := w.found[d.key.RowKey()]
	w.found[d.key.RowKey()] = f
	return !known
}

// ownAfterAll reads a row that is taken. If the row is a copy of the entity that wants it, or of an entity that this write deletes, or has
// gone meanwhile, the write is replanned. Otherwise the error says whose the row is. A row that does not say belongs to another owner.
func (w *write) ownAfterAll(ctx context.Context, d *derivedRow, refusal error) (repaired, again bool) {
	if !d.after.isCopy() {
		return false, false
	}
	f, err := w.find(ctx, d.key)
	switch {
	case err != nil:
		return false, false
	case f.row == nil || sameOwner(f.row, d.after) || w.deletes(f.row):
		return w.note(d, f), true
	}
	var de *DerivedError
	if errors.As(refusal, &de) {
		de.Owner, _ = f.row.Primary()
	}
	return false, false
}

// deletes reports whether a row is a copy of an entity that this write deletes, with its derived rows.
func (w *write) deletes(row *Row) bool {
	k, isCopy := row.Primary()
	return isCopy && slices.ContainsFunc(w.ops, func(op Op) bool { return op.derives && op.deletes() && op.Key == k })
}

// Transact applies operations, all or none of them; see table.Transact.
func Transact(ctx context.Context, ops []Op) ([]azcore.ETag, error) {
	if len(ops) == 0 || len(ops) > maxOperations {
		return nil, &OpError{Op: "Transact", Err: &LimitError{Limit: "operations of a transaction; the service requires 1 to 100", Got: len(ops), Max: maxOperations}}
	}
	if err := together(ops); err != nil {
		return nil, ops[0].Table.OpError("Transact", keys.Key{}, err)
	}
	return Commit(ctx, "Transact", keys.Key{}, ops)
}
