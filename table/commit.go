package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// commit carries out a write: one operation, or several as a transaction. It is the only way in which entities are written.
//
// A write is planned: what the maintainers of its tables derive from it stands in the same transaction, and so does an intent
// where there are effects or where it is to be exact. Then it is sent, under one name, until its outcome is known. Where that is
// a refusal which a new plan may avoid, since a concurrent writer was faster at a row that the plan itself has read, or since a derived row
// was not as it should have been, it is replanned.
func (c *core) commit(ctx context.Context, verb string, k keys.Key, ops []Op, together bool) (etags []azcore.ETag, err error) {
	return c.execute(ctx, verb, k, &write{core: c, ops: ops, together: together})
}

// commitSome is commit for the first of the operations, as many as go into one transaction with what their maintainers derive, and
// says how many these are. pass is asked of each that cannot be planned, by its index among those that are left: true leaves it out.
func (c *core) commitSome(ctx context.Context, verb string, ops []Op, pass func(i int, err error) bool) (n int, err error) {
	w := &write{core: c, ops: ops, together: true, pass: pass}
	w.some = ops[0].core.completes == nil // which is one write
	if _, err = c.execute(ctx, verb, keys.Key{}, w); errors.Is(err, errNothing) {
		return 0, nil
	}
	return len(w.ops), err
}

func (c *core) execute(ctx context.Context, verb string, k keys.Key, w *write) (etags []azcore.ETag, err error) {
	ctx, end := c.span(ctx, verb)
	defer func() {
		if errors.Is(err, errNothing) {
			end(nil)
		} else {
			end(err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, c.opError(verb, k, err) // nothing was sent, so nothing is unknown
	}
	for _, op := range w.ops {
		if w.exact = w.exact || op.core.exact; op.core.outbox != nil {
			w.core, w.outbox = op.core, op.core.outbox // its options are those that With has seen
		}
		if err := w.addCompletion(op.core.completes); err != nil {
			return nil, c.opError(verb, k, err)
		}
	}
	ctx, cancel := bound(ctx, w.core.opt.WriteTimeout)
	defer cancel()
	if etags, err = w.do(ctx); err == nil {
		w.renewEntities(etags)
		return etags, nil
	}
	for _, op := range w.ops {
		if unknown(err) && op.doubt != nil {
			op.doubt()
		}
	}
	return nil, c.opError(verb, k, err)
}

// write is one write on its way.
type write struct {
	core      *core
	ops       []Op // the caller's, as they were made
	together  bool // the caller asked for a transaction
	some      bool // of the first of them, as many as it holds, as long as nothing was sent
	pass      func(i int, err error) bool
	outbox    Outbox
	exact     bool
	completes *completion

	id           string // that its rows carry, and its intent
	notification SentNotification
	found        map[string]found       // derived rows that were not as a plan took them to be
	seen         map[string]azcore.ETag // the versions of primaries that they were found with

	// What was sent under the name.
	doubt             error // a request may have been carried out, or may still be
	refusalMayEnd     bool  // one that was refused could be carried out later
	blank             bool  // the intent was there and is gone, so that nothing can be said of the write
	sentWithoutRecord bool  // one without an intent is in doubt
	sentRecord        bool  // there was one with an intent

	planned

	resolving         sync.Mutex // by UnknownError.Resolve
	resolved, wasDone bool
}

// planned is what a write sends.
type planned struct {
	steps   []Op // the intent, if there is one, the caller's, and the derived
	batch   bool // they are one transaction
	record  bool
	lead    bool // the first step is of an intent: its own, or one of which it settles an effect
	effects bool
	derived bool // maintainers were asked
}

// settle makes the caller's entities what was stored.
func (w *write) renewEntities(etags []azcore.ETag) {
	for i, op := range own(w, w.steps) {
		if op.done != nil {
			var row []byte
			if op.left != nil {
				row = op.left(op.body)
			}
			op.done(etags[i], row)
		}
	}
}

// own are those of the caller's operations among what there is for each step.
func own[X any](w *write, all []X) []X {
	if w.lead {
		all = all[1:]
	}
	return all[:len(w.ops)]
}

// outcome is what has become of the steps.
type outcome struct {
	verdict wire.Verdict
	etags   []azcore.ETag // of the steps
	failed  int           // the step that was refused, -1 for none
	err     error
	dead    bool // what was sent under the name will never be done
}

// do plans and sends until the outcome is known, or nothing can be done about it.
func (w *write) do(ctx context.Context) (etags []azcore.ETag, err error) {
	if w.id, err = w.core.opt.newOp(); err != nil {
		return nil, err
	}
	rounds := w.core.opt.contention()
	var lost outcome // the last that a concurrent writer was to blame for
	for {
		sent := w.planned
		failed, err := w.plan(ctx)
		for tries := (attempts{retry: w.core.opt.Retry}); tries.busyAgain(ctx, err); {
			w.planned = sent
			failed, err = w.plan(ctx) // what it reads may be throttled as the write itself may be
		}
		if err != nil || w.record && w.sentWithoutRecord {
			// What is known of it rests on what was sent.
			w.planned = sent
			switch {
			case err == nil:
				return nil, w.doubt // an intent that comes too late says nothing of requests without one
			case ctx.Err() != nil && lost.err != nil:
				return w.giveUp(ctx, w.contended(lost, ctx.Err()))
			}
			return w.giveUp(ctx, outcome{verdict: wire.Refused, failed: -1, err: w.refusedOp(failed, err)})
		}
		if err := w.notify(ctx); err != nil {
			w.planned = sent
			return w.giveUp(ctx, outcome{verdict: wire.Refused, failed: -1, err: err})
		}
		w.sentRecord = w.sentRecord || w.record
		out := w.send(ctx)
		w.sentWithoutRecord = w.sentWithoutRecord || !w.record && w.doubt != nil
		switch {
		case out.verdict == wire.Done:
			return w.done(ctx, out)
		case out.verdict != wire.Refused:
			return w.giveUp(ctx, out)
		}
		w.refusalMayEnd = w.refusalMayEnd || !w.final(out)
		mended, again := w.again(ctx, out)
		if !again {
			return w.giveUp(ctx, out)
		}
		if lost = out; !mended {
			if again, err := rounds.again(ctx); !again {
				return w.giveUp(ctx, w.contended(out, err))
			}
		}
		if out.dead {
			if err := w.rename(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// contended says of a row that entities share, and of one that a verb does not know, that others were always faster, until the
// context ended where it has: not that it exists, or is not there, or has changed, for that is not what the caller has asked.
func (w *write) contended(out outcome, ended error) outcome {
	var re *azcore.ResponseError
	if out.failed < 0 || !errors.As(out.err, &re) {
		return out
	}
	cause := error(re)
	if ended != nil {
		cause = errors.Join(ended, re)
	}
	contended := &condition{ErrContended, cause}
	var de *DerivedError
	var be *BatchError
	switch step := w.steps[out.failed]; {
	case step.derived == nil && !step.replannable, step.derived != nil && (!step.derived.shared || step.derived.taken != nil):
	case errors.As(out.err, &de):
		de.Err = contended
	case errors.As(out.err, &be):
		be.Err = contended
	default:
		out.err = contended
	}
	return out
}

// rename begins anew: what was sent so far will never be done.
func (w *write) rename(ctx context.Context) (err error) {
	w.withdraw(ctx)
	w.doubt, w.refusalMayEnd, w.sentWithoutRecord, w.sentRecord = nil, false, false, false
	w.id, err = w.core.opt.newOp()
	return err
}

// done is the end of a write that was carried out.
func (w *write) done(ctx context.Context, out outcome) ([]azcore.ETag, error) {
	w.core.shared.repaired.Add(int64(len(w.found)))
	w.completed(out.etags)
	w.notifyAgain(ctx)
	w.show(ctx)
	return own(w, out.etags), nil
}

// giveUp is the end of a write that was not carried out, as far as is known. Where it has an intent, that is made certain.
func (w *write) giveUp(ctx context.Context, out outcome) ([]azcore.ETag, error) {
	if out.verdict != wire.Unknown && w.doubt == nil && (!w.record || out.dead || !w.refusalMayEnd) {
		w.withdraw(ctx)
		return nil, out.err
	}
	if !w.record {
		if w.doubt != nil {
			return nil, w.doubt
		}
		return nil, out.err
	}
	if w.blank {
		return nil, w.doubt
	}
	state, err := w.core.abort(ctx, w.partition(), w.id)
	switch {
	case err != nil && out.verdict == wire.Refused:
		// It is not told as a refusal, for it may be done.
		return nil, w.unknown(fmt.Errorf("%s, and the marker could not be stored: %w", brief(out.err), cause(err)))
	case err != nil:
		return nil, w.unknown(cause(either(w.doubt, out.err)))
	case state != CommitAborted:
		return w.done(ctx, outcome{etags: w.etags(ctx, -1, "")})
	}
	w.withdraw(ctx)
	if out.verdict == wire.Refused {
		return nil, out.err
	}
	return nil, &condition{ErrGivenUp, cause(either(w.doubt, out.err))}
}

// final tells whether a refusal will be one for ever: a version that is gone does not come back, but a row that is in the way
// may be deleted.
func (w *write) final(out outcome) bool {
	if out.failed < 0 || errors.Is(out.err, ErrTableNotFound) {
		return true
	}
	match := w.steps[out.failed].match
	return match != "" && match != azcore.ETagAny
}

func (w *write) partition() string { return w.ops[0].key.PartitionKey() }

// plan makes the steps. failed is the caller's operation that cannot be planned.
func (w *write) plan(ctx context.Context) (failed int, err error) {
	w.planned = planned{steps: slices.Clone(w.ops), batch: w.together}
	for i := range w.steps {
		w.steps[i].caller = i
	}
	effects, failed, err := w.derive(ctx)
	if err != nil {
		return failed, err
	}
	w.some = false // another plan is of the same operations, for this one may be done
	if w.completes != nil {
		return w.planCompletion(effects)
	}
	if w.effects = len(effects) > 0; w.effects && w.outbox == nil {
		return -1, ErrNoOutbox
	}
	// What was announced has a live intent, also where this plan has no effects any more: an earlier one may have been done.
	w.record = w.effects || w.exact || w.sentRecord || w.notification != nil
	if w.lead = w.record; w.record {
		state := CommitDone
		if w.effects || w.notification != nil {
			state = CommitPending
		}
		intent, err := w.core.recordOp(w.partition(), w.id, state, effects)
		if err != nil {
			return -1, err
		}
		w.steps = slices.Insert(w.steps, 0, intent)
	}
	return -1, w.ready()
}

// ready ends a plan.
func (w *write) ready() error {
	if w.batch = w.batch || len(w.steps) > 1; w.batch && (w.lead || w.derived) {
		if err := sized(w.steps); err != nil {
			return err
		}
	}
	for i, op := range w.steps {
		if op.room {
			w.steps[i].body, w.steps[i].marked = mark(op.body, w.id), true
		}
	}
	return nil
}

// again tells whether another plan may succeed where this one was refused. mended tells that it was for a derived row that was
// not as it should have been, and is known now.
func (w *write) again(ctx context.Context, out outcome) (mended, again bool) {
	if out.failed < 0 || out.dead {
		return false, out.dead
	}
	step := w.steps[out.failed]
	lost := errors.Is(out.err, ErrChanged) || errors.Is(out.err, ErrNotFound) || errors.Is(out.err, ErrExists)
	d := step.derived
	switch {
	case !lost:
		return false, false
	case d == nil:
		return false, step.replannable
	case d.taken != nil && errors.Is(out.err, ErrExists):
		return w.ownAfterAll(ctx, d, out.err)
	case d.shared:
		return false, true
	}
	f, err := w.find(ctx, d.key)
	if err != nil {
		return false, false
	}
	return w.mend(d, f), true
}

// mend notes a derived row that was not as it should have been. It is false where that is no news.
func (w *write) mend(d *derivedRow, f found) bool {
	_, known := w.found[d.key.RowKey()]
	w.found[d.key.RowKey()] = f
	return !known
}

// ownAfterAll looks whose a row is that is taken: where it is a copy of the very entity that wants it, or of one that is deleted
// with this, or has gone meanwhile, the write is replanned. Otherwise its error says whose it is. A row that does not say is somebody else's.
func (w *write) ownAfterAll(ctx context.Context, d *derivedRow, refusal error) (mended, again bool) {
	if _, is := d.after.Primary(); !is {
		return false, false
	}
	f, err := w.find(ctx, d.key)
	switch {
	case err != nil:
		return false, false
	case f.row == nil || sameOwner(f.row, d.after) || w.deletes(f.row):
		return w.mend(d, f), true
	}
	var de *DerivedError
	if errors.As(refusal, &de) {
		de.Owner, _ = f.row.Primary()
	}
	return false, false
}

// deletes tells whether a row is a copy of an entity that this write deletes, and plans to.
func (w *write) deletes(row *Row) bool {
	k, isCopy := row.Primary()
	return isCopy && slices.ContainsFunc(w.ops, func(op Op) bool {
		return op.maintain != nil && op.kind == aztables.TransactionTypeDelete && op.key == k
	})
}

// announce hands a write that has effects to the outbox.
func (w *write) notify(ctx context.Context) (err error) {
	if !w.effects || w.notification != nil {
		return nil
	}
	a := Notification{Table: w.core.name, Partition: w.partition(), OperationID: w.id, Hidden: 2 * w.core.opt.WriteTimeout}
	if w.notification, err = w.outbox.Notify(ctx, a); err == nil && wire.Absent(w.notification) {
		err = errors.New("it returned no hint")
	}
	if err != nil {
		w.notification = nil
		return &condition{ErrOutbox, foreign{wire.Redact(err)}}
	}
	return nil
}

// show lets the workers see the write. It has been done, so it does not fail any more: at worst they see it later.
func (w *write) show(ctx context.Context) {
	if w.notification == nil {
		return
	}
	ctx, cancel := bound(ctx, w.core.opt.Retry.AttemptTimeout)
	defer cancel()
	_ = w.notification.Show(ctx)
}

// withdraw takes the hint back. If it cannot, a worker finds that nothing is to be done.
func (w *write) withdraw(ctx context.Context) {
	if w.notification == nil {
		return
	}
	ctx, cancel := bound(ctx, w.core.opt.Retry.AttemptTimeout)
	defer cancel()
	_ = w.notification.Withdraw(ctx)
	w.notification = nil
}

// refusedOp is the error of an operation of the caller's that cannot be planned.
func (w *write) refusedOp(failed int, err error) error {
	if !w.together || failed < 0 {
		return err
	}
	return &BatchError{Index: failed, Key: readable(w.ops[failed].key), Err: public(err)}
}
