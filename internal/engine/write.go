package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// write is one write: an operation, or several as a transaction. There is no other way in which
// entities are written.
//
// A write is planned: its transaction also contains what the maintainers derive, and a commit
// record if there are effects or if the write is exact. Then it is sent with one operation ID until
// its outcome is known. A refused write is replanned if another plan may succeed: a concurrent
// writer changed a row that the plan had read, or a derived row was not as the plan took it to be.
type write struct {
	table         *Table
	method        string
	ops           []*Op // the caller's, as they were made
	asTransaction bool  // the caller asked for a transaction
	bulkWrite
	overPartitions

	outbox    commit.Outbox
	exact     bool
	completes *Completion

	leases []heldLease // of the plan
	id     string      // the operation ID
	message
	outerRows
	knownRows

	state              state
	nextTransaction    transaction // to be sent
	currentTransaction transaction // sent last
	soFar

	prepared []string // the names of the work before the transaction that is done

	resolving sync.Mutex // by UnknownError.Resolve
}

// bulkWrite is what bulk work wants of a write; see commitSome.
type bulkWrite struct {
	mayDropTail bool                        // the first plan may leave out operations at the end that do not fit
	passOver    func(i int, err error) bool // reports whether a failed operation is left out
	later       []*Op                       // that it has left out
	ahead       *aheadRows                  // rows that were read ahead, for this write and those after it; nil for none
	meanwhile   func()                      // is called when the transaction is about to be sent; may be nil
}

// soFar is what has become of what a write has sent.
type soFar struct {
	begun        bool // something of a plan was done, or sent
	sent         history
	out          outcome // of what was sent last
	lastConflict outcome // the last one that a concurrent writer caused
	seen         seenRow // the row that was read last to learn the outcome
}

// seenRow is a row that was read; none, if its key is zero.
type seenRow struct {
	key keys.Key
	readResult
}

// state is how far a write has come. These are its ways:
//
//	state        function           next states
//	begun        planAnew           planned, givenUp, inDoubt
//	planned      sendNotification   notified, ready, givenUp
//	notified     prepare            ready, begun, aborted
//	ready        send               committed, refused, givenUp
//	refused      replan             begun, givenUp, aborted, committed
//	givenUp      giveUp             committed, aborted, inDoubt, begun
type state int

const (
	stateBegun     state = iota // next: make a plan
	statePlanned                // next: notify the outbox, if there are effects
	stateNotified               // next: prepare the other partitions
	stateReady                  // next: send it until its outcome is known
	stateRefused                // a step was refused; next: plan again, if that may help
	stateGivenUp                // no further attempt; next: make the outcome certain, if there is a commit record
	stateInDoubt                // it is unknown whether it was applied
	stateCommitted              // it was applied
	stateAborted                // it was not applied; with a commit record, it never will be
)

// history is what was sent with the operation ID.
type history struct {
	doubt         error // the error of a request that may have been applied, or may be later
	mayStillApply bool  // a request was refused, and its late duplicate could still be applied
	recordLost    bool  // the commit record existed and is gone, so nothing can be said of the write
	withoutRecord bool  // a request in doubt had none
}

// transaction is a write as it is sent.
type transaction struct {
	steps        []step // the commit record, if there is one; the caller's; the derived
	added        []step // behind them, by features
	batch        bool   // they are one transaction
	record       bool   // there is a commit record of this write
	lead         bool   // the first step is a commit record: the write's own, or one of which it completes an effect
	effects      bool
	participants []*participant
	own          bool // there are participants, and the commit record has no other effects: the write can end itself
	after        afterCommit
	before       []namedWork
	outer        outer
	late         time.Time // zero for a transaction that may be sent at any time
}

// callersItems returns the items of the caller's operations in a list with an item for each step.
func callersItems[X any](w *write, all []X) []X {
	if w.currentTransaction.lead {
		all = all[1:]
	}
	return all[:len(w.ops)]
}

func (w *write) partition() string {
	if w.only != "" {
		return w.only
	}
	return w.ops[0].Key.PartitionKey()
}

// opAt returns an operation of the caller's by its index: those of the home come first.
func (w *write) opAt(i int) *Op {
	if i < len(w.ops) {
		return w.ops[i]
	}
	return w.participantOps[i-len(w.ops)]
}

// readRow is Table.readRow for a write, whose time a repeated read may take.
func (w *write) readRow(ctx context.Context, k keys.Key) (f readResult, err error) {
	err = Retry(w.table.Options.Retry).RepeatRead(ctx, w.log(), func(ctx context.Context) error {
		f, err = w.table.readRow(ctx, k)
		return err
	})
	return f, err
}

// readStep reads the row of a step: of a step of the caller's, the whole entity.
func (w *write) readStep(ctx context.Context, s *step) (f readResult, err error) {
	if s.derived != nil || s.Table.Mode.Parts == 0 {
		return w.readRow(ctx, s.Key)
	}
	err = Retry(w.table.Options.Retry).RepeatRead(ctx, w.log(), func(ctx context.Context) error {
		f, err = s.Table.readEntity(ctx, s.Key)
		return err
	})
	return f, err
}

// stored returns the content of a step's row once the write is applied.
func (w *write) stored(s *step) edm.Stored {
	after, _ := s.contentAfter(idEnding(w.id)) // planning has seen it
	return after
}

// log returns the log of the write.
func (w *write) log() Log {
	l := w.table.Log(w.method, keys.Key{})
	switch len(w.ops) {
	case 0: // all were passed over, or the home has none
	case 1:
		l.Key = w.ops[0].Key
	default:
		l.Partition = w.partition()
	}
	return l
}

// execute runs the write, and gives its targets the outcomes of their operations.
func (w *write) execute(ctx context.Context, k keys.Key) (etags []azcore.ETag, err error) {
	t, method := w.table, w.method
	ctx, end := t.Span(ctx, method)
	defer func() {
		if errors.Is(err, errNothing) {
			end(nil)
		} else {
			end(err)
		}
	}()
	if err := cmp.Or(t.Fault, ctx.Err()); err != nil {
		return nil, t.OpError(method, k, err) // nothing was sent, so nothing is unknown
	}
	for i := range w.ops {
		op := w.ops[i]
		w.exact = w.exact || op.Table.Mode.Exact
		if op.Table.Mode.Outbox != nil {
			w.table, w.outbox = op.Table, op.Table.Mode.Outbox // With has seen the options of this handle
		}
		if err := w.setCompletion(op.Table.Mode.Completes); err != nil {
			return nil, t.OpError(method, k, err)
		}
	}
	w.table = w.table.patient(ctx)
	bounded, cancel := Bound(ctx, w.table.writeTimeout())
	defer cancel()
	defer w.awaitShow()
	if w.id, err = w.table.Options.newOperationID(); err == nil {
		w.outerID = w.id
		etags, err = w.run(bounded)
	}
	if isAnswer(ctx, err) {
		answered(ctx)
	}
	if err == nil {
		w.applied(etags)
		w.appliedParticipants()
		w.dropOuter(ctx, w.currentTransaction.outer)
		for _, c := range w.currentTransaction.after {
			c.call(ctx) // the write has ended, so that its own bound of time does not count
		}
		return etags, nil
	}
	if isUnknown(err) {
		w.tellTargets(true)
	}
	w.dropRefused(ctx)
	return nil, t.OpError(method, k, err)
}

// run leads the write from state to state.
func (w *write) run(ctx context.Context) ([]azcore.ETag, error) {
	conflicts := w.table.Options.NewConflicts()
	conflicts.late = w.table.lasts > 0
	for {
		switch w.state {
		case stateBegun:
			w.state = w.planAnew(ctx)
		case statePlanned:
			w.state = w.sendNotification(ctx)
		case stateNotified:
			w.state = w.prepare(ctx, &conflicts)
		case stateReady:
			if f := w.meanwhile; f != nil {
				w.meanwhile = nil
				f()
			}
			w.state = w.send(ctx)
		case stateRefused:
			w.state = w.replan(ctx, &conflicts)
		case stateGivenUp:
			w.state = w.giveUp(ctx)
		case stateCommitted:
			return callersItems(w, w.out.etags), nil
		default: // inDoubt, aborted
			w.overtaken(ctx)
			return nil, w.out.err
		}
	}
}

// fail ends the attempts with the error of a transaction that was not sent.
func (w *write) fail(failed int, err error) state {
	if w.asTransaction && failed >= 0 {
		err = &errs.BatchError{Index: failed, Key: readable(w.opAt(failed).Key), Err: err}
	}
	w.out = outcome{kind: wire.Refused, failed: -1, err: err}
	return stateGivenUp
}

// planAnew makes a plan, and reads again during an outage.
func (w *write) planAnew(ctx context.Context) state {
	var tx transaction
	var failed int
	err := Retry(w.table.Options.Retry).Repeat(ctx, w.log(), func() (again bool, err error) {
		if err = w.takeLeases(ctx); err != nil {
			failed = -1
			return Outage(err), err
		}
		tx, failed, err = w.makeTransaction(ctx)
		return Outage(err), err
	})
	switch {
	case err != nil && ctx.Err() != nil && w.lastConflict.err != nil:
		w.out = w.contended(w.lastConflict, ctx.Err())
		return stateGivenUp
	case errors.Is(err, errs.ErrNotFound) && errors.Is(w.lastConflict.err, errs.ErrNotFound) && w.lastConflict.failed == failed:
		w.out = w.lastConflict // the read says no more than the refusal, which may explain itself
		return stateGivenUp
	case err != nil:
		return w.fail(failed, err)
	case tx.record && w.sent.withoutRecord: // the new commit record would say nothing of the requests before it
		w.out = outcome{err: w.sent.doubt}
		return stateInDoubt
	}
	w.nextTransaction, w.lastConflict = tx, outcome{}
	return statePlanned
}

// workBefore returns what the plan wants done before the transaction is sent: also the note of the
// commit record, and the notification of a write with effects, unless they are stored.
func (w *write) workBefore() (all []namedWork) {
	tx := &w.nextTransaction
	for _, work := range tx.before {
		if !slices.Contains(w.prepared, work.name) {
			w.prepared = append(w.prepared, work.name)
			all = append(all, work)
		}
	}
	all = append(all, w.storeOuter()...)
	if tx.record && !w.table.noted(w.partition(), w.id) {
		all = append(all, namedWork{"note", func(ctx context.Context) error { return w.table.noteRecord(ctx, w.partition(), w.id) }})
	}
	if tx.effects && w.notification == nil {
		all = append(all, namedWork{"notification", w.notify})
	}
	return all
}

// sendNotification does what is to be done before the transaction is sent, all at the same time.
func (w *write) sendNotification(ctx context.Context) state {
	w.begun = true
	err := All(ctx, w.workBefore(), func(ctx context.Context, work namedWork) error { return work.do(ctx) })
	if err != nil {
		return w.fail(-1, err)
	}
	w.currentTransaction, w.nextTransaction = w.nextTransaction, transaction{}
	if len(w.currentTransaction.participants) == 0 {
		return stateReady
	}
	return stateNotified
}

// replan decides whether another plan may succeed after a refusal.
func (w *write) replan(ctx context.Context, conflicts *Conflicts) state {
	w.sent.mayStillApply = w.sent.mayStillApply || !w.final()
	repaired, again := w.canReplan(ctx)
	if !again {
		return stateGivenUp
	}
	w.lastConflict = w.out
	if err := w.renewOuter(); err != nil {
		w.out.err = err
		return stateGivenUp
	}
	if !repaired {
		if again, err := conflicts.Wait(ctx, w.log(), w.out.err); !again {
			w.out = w.contended(w.out, err)
			return stateGivenUp
		}
	}
	if len(w.currentTransaction.participants) > 0 {
		switch committed, err := w.abortAndRollBack(ctx); {
		case err != nil:
			return stateGivenUp
		case committed:
			return w.doneAsRead(ctx, w.etags(ctx, -1, ""))
		}
		w.out.neverApplies = true
	}
	if w.out.neverApplies {
		if err := w.restartWithNewID(ctx); err != nil {
			w.out.err = err
			return stateAborted
		}
	}
	return stateBegun
}

// giveUp ends a write that was not applied, as far as is known. If the write has a commit record,
// giveUp makes the outcome certain.
func (w *write) giveUp(ctx context.Context) state {
	out := w.out
	if len(w.currentTransaction.participants) == 0 && out.kind != wire.Unknown && w.sent.doubt == nil && (!w.currentTransaction.record || out.neverApplies || !w.sent.mayStillApply) {
		w.withdraw(ctx)
		return stateAborted
	}
	if !w.currentTransaction.record {
		if w.sent.doubt != nil {
			w.out.err = w.sent.doubt
		}
		return stateInDoubt
	}
	if w.sent.recordLost {
		w.out.err = w.sent.doubt
		return stateInDoubt
	}
	if ended := w.abort(ctx, out); ended != stateAborted || !w.catalogueChanged(ctx, out) || w.restartWithNewID(ctx) != nil {
		return ended
	}
	return stateBegun
}

// catalogueChanged reports whether a write was given up because the catalogue has changed while it
// was in doubt, and there is time for another plan. It is not for one whose other partitions may
// still have to be rolled back.
func (w *write) catalogueChanged(ctx context.Context, out outcome) bool {
	return out.kind == wire.Unknown && w.lateLease() != nil && len(w.currentTransaction.participants) == 0 && ctx.Err() == nil
}

// makeTransaction makes the transaction. failed is the caller's operation that cannot be planned.
func (w *write) makeTransaction(ctx context.Context) (tx transaction, failed int, err error) {
	p := newPlanner(w)
	failed, err = p.planAll(ctx)
	for err == errOutdated {
		w.mayDropTail = w.mayDropTail && len(w.later) == 0
		p = newPlanner(w)
		failed, err = p.planAll(ctx)
	}
	if err != nil {
		return transaction{}, failed, err
	}
	if err := w.makePreparations(p.participants); err != nil {
		return transaction{}, -1, err
	}
	w.mayDropTail = false // another plan has the same operations, because this plan may be applied
	tx = transaction{steps: p.steps, added: p.added, batch: w.asTransaction, effects: len(p.effects) > 0, after: p.after, before: p.before, participants: p.participants, late: p.late, outer: p.outer}
	tx.own = len(p.participants) > 0 && (len(p.effects) == 1 || w.completes != nil)
	if err := w.addLead(&tx, p.effects); err != nil {
		return transaction{}, -1, err
	}
	tx.batch = tx.batch || len(tx.steps)+len(tx.added) > 1
	if tx.batch && (tx.lead || p.derived || len(tx.added) > 0) {
		if err := sized(tx.steps, len(tx.added)); err != nil {
			return transaction{}, -1, err
		}
	}
	withID(tx.steps, w.id)
	withID(tx.added, w.id)
	return tx, -1, nil
}

// makePreparations makes the transactions that prepare the participants.
func (w *write) makePreparations(all []*participant) (err error) {
	size := 0
	for _, m := range all {
		size += placeLength(m.at)
		if size > mostOfMessage {
			return &errs.LimitError{Limit: "bytes of the names of the other partitions of a write", Got: size, Max: mostOfMessage}
		}
		m.prepare, err = m.prepareSteps(w.id, w.place())
		if err != nil {
			return err
		}
	}
	return nil
}

// addLead adds the step that leads the transaction, if it needs one: of the commit record of the
// write, or of the one that it completes.
func (w *write) addLead(tx *transaction, effects []commit.Effect) (err error) {
	var lead step
	w.exact = w.exact || tx.outer.record // from now on: a late duplicate of this transaction must be refused, also if another plan follows
	switch {
	case w.completes != nil && len(tx.participants) == 0:
		tx.effects = false // the worker of the commit record executes them
		lead, err = w.completionStep(effects)
	case tx.effects && w.outbox == nil:
		return &errs.ValueError{Field: "outbox", Reason: "is missing, and a maintainer adds effects: declare the table by aztablekit.Table"}
	case w.completes != nil: // the write has a commit record and a notification of its own, for its participants
		tx.record = true
		lead, err = w.completeWithParticipants(tx, effects)
	// If the outbox was notified, there is a pending commit record, also if this plan has no
	// effects any more: an earlier plan may have been applied.
	case tx.effects || w.notification != nil:
		tx.record = true
		lead, err = w.table.recordStep(w.partition(), w.id, commit.Pending, effects)
	case w.exact:
		tx.record = true
		lead, err = w.table.recordStep(w.partition(), w.id, commit.Done, effects)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	tx.lead = true
	tx.steps = slices.Insert(tx.steps, 0, lead)
	return nil
}

// completeWithParticipants adds the completion to the transaction, and returns the step of the
// commit record. The last effect is that of the participants.
func (w *write) completeWithParticipants(tx *transaction, effects []commit.Effect) (step, error) {
	last := len(effects) - 1
	completion, err := w.completionStep(effects[:last])
	if err != nil {
		return step{}, err
	}
	tx.steps = append(tx.steps, completion)
	return w.table.recordStep(w.partition(), w.id, commit.Pending, effects[last:])
}

// Transact applies operations, all or none of them; see table.Transact.
func Transact(ctx context.Context, ops []*Op) ([]azcore.ETag, error) {
	if len(ops) == 0 || len(ops) > maxOperations {
		return nil, &errs.OpError{Op: "Transact", Err: &errs.LimitError{Limit: "operations of a transaction; the service requires 1 to 100", Got: len(ops), Max: maxOperations}}
	}
	if err := checkTogether(ops); err != nil {
		return nil, ops[0].Table.OpError("Transact", keys.Key{}, err)
	}
	etags, _, err := Commit(ctx, Together{Method: "Transact", Ops: ops})
	return etags, err
}

// Move says that the writes of a handle move entities between the table and another place.
type Move struct {
	Away     bool   // deletes: the entity is stored in the other place
	Restored string // inserts: the incarnation that comes back from the other place
	Renewed  string // updates: the incarnation in whose place the entity gets a new one
}

// commitSome is Commit for the first of the operations: as many as fit into one transaction with
// what their maintainers derive. n is their number. passOver is asked about each operation that
// cannot be planned, by its index among those that are left: true leaves it out. ahead may contain
// rows that were read ahead, and takes rows for the operations behind the first ones. meanwhile is
// called with these operations when the transaction is about to be sent. The notification goes to
// showing.
func commitSome(ctx context.Context, method string, ops []*Op, ahead *aheadRows, showing *showing, meanwhile func(later []*Op), passOver func(i int, err error) bool) (n int, err error) {
	w := write{table: ops[0].Table, method: method, ops: ops, asTransaction: true}
	w.passOver, w.ahead, w.showing = passOver, ahead, showing
	w.meanwhile = func() { meanwhile(w.later) }
	ahead.used = nil
	ahead.writes++
	w.mayDropTail = w.table.Mode.Completes == nil // a completion is of one write
	if _, err = w.execute(ctx, keys.Key{}); errors.Is(err, errNothing) {
		return 0, nil
	}
	return len(w.ops), err
}

// Send sends a write on its own.
func (op *Op) Send(ctx context.Context) error {
	if err := op.Usable(); err != nil {
		return op.Table.OpError(op.Method, op.Key, err)
	}
	w := write{table: op.Table, method: op.Method, ops: []*Op{op}}
	_, err := w.execute(ctx, op.Key)
	return err
}
