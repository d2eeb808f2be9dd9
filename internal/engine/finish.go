package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// done ends a write that was applied.
func (w *write) done(ctx context.Context, etags []azcore.ETag) state {
	ends := w.endsItself()
	w.out = outcome{kind: wire.Done, etags: etags}
	if n := len(w.corrections); n > 0 {
		w.table.shared.repaired.Add(int64(n))
		w.log().Repaired(ctx, n)
	}
	w.updateCompleted(etags)
	w.notifyAgain(ctx)
	if finished := w.finish(ctx); ends && finished {
		w.end(ctx, etags[0])
	} else {
		w.show(lasting(ctx))
	}
	return stateCommitted
}

// lasting returns a context that has not ended: the write is committed, and its workers are told,
// also if the time is used up.
func lasting(ctx context.Context) context.Context {
	if ctx.Err() != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// endsItself reports whether the write leaves nothing to the workers once its participants are
// finished: it has no other effects, and the response of the transaction has told the ETag of the
// commit record, by which it is marked as done.
func (w *write) endsItself() bool {
	return w.currentTransaction.own && w.out.responded && w.notification != nil && !w.stale()
}

// end marks the commit record as done, and then withdraws the notification. If it cannot, a worker
// ends the write. After a crash between the two, a notification is left with nothing to do; in the
// other order, it would be a pending commit record.
func (w *write) end(ctx context.Context, record azcore.ETag) {
	n, t := w.notification, w.table
	in := keys.Raw(w.partition(), "").Partition()
	rec := &commit.Record{Partition: in, OperationID: w.id, State: commit.Pending}
	commit.SetETag(rec, record)
	w.doBeside(ctx, func(ctx context.Context) {
		if t.MarkDone(ctx, rec) != nil {
			show(ctx, n, &t.Options)
			return
		}
		withdraw(ctx, n, &t.Options)
	})
}

// doneAsRead is done for a write of which the stored rows show that it was applied. They do not
// show which transaction was: if it may be an earlier one, the calls of the current transaction may
// delete what another writer still needs.
func (w *write) doneAsRead(ctx context.Context, etags []azcore.ETag) state {
	if w.sent.mayStillApply {
		w.currentTransaction.after, w.currentTransaction.outer, w.outerStored = nil, outer{}, nil
	}
	return w.done(ctx, etags)
}

// tellTargets sets the targets in doubt, or ends their doubt.
func (w *write) tellTargets(inDoubt bool) {
	for _, op := range slices.Concat(w.ops, w.participantOps) {
		if op.Target != nil {
			op.Target.SetInDoubt(inDoubt)
		}
	}
}

// applied gives the targets what is stored now.
func (w *write) applied(etags []azcore.ETag) {
	steps := callersItems(w, w.currentTransaction.steps)
	for i := range steps {
		steps[i].applied(etags[i], steps[i].id)
	}
}

// keepLoaded keeps the rows that the write has loaded and written, as they are now, for the next
// transaction of the partition.
func (w *write) keepLoaded(etags []azcore.ETag) {
	if w.ahead == nil || w.ahead.room == nil {
		return
	}
	for i := range w.currentTransaction.steps {
		s := &w.currentTransaction.steps[i]
		if s.derived == nil || !s.derived.loaded || s.deletes() {
			continue
		}
		columns, err := w.stored(s).Decoded()
		if err == nil && columns != nil {
			w.ahead.keep((&stored.Row{Key: s.Key, ETag: etags[i]}).With(columns), s.sent().Length)
		}
	}
}

// rollBack rolls back what the write has prepared, or may have, so that it never commits. If it
// fails, programs that read a prepared row, or a worker, do that.
func (w *write) rollBack(ctx context.Context) (failed error) {
	home := w.place()
	for _, m := range w.currentTransaction.participants {
		if err := m.table.believing(home).endPrepared(ctx, m.at.Partition, w.id, ender{home: &home, exclude: true}); err != nil {
			failed = err
		}
	}
	return failed
}

// abortAndRollBack makes sure that a refused write never commits, and rolls back what it has
// prepared. committed reports that it has committed before.
func (w *write) abortAndRollBack(ctx context.Context) (committed bool, err error) {
	record, err := w.table.abort(ctx, w.partition(), w.id, placesOf(w.currentTransaction.participants)...)
	if err != nil || record != commit.Aborted {
		return err == nil, err
	}
	if w.rollBack(ctx) != nil {
		w.notification = nil // it stays, and a worker rolls back
	}
	return false, nil
}

// finish finishes the participants of a committed write, all at the same time. If it fails,
// programs that read a prepared row, or a worker, do that.
func (w *write) finish(ctx context.Context) (finished bool) {
	if len(w.currentTransaction.participants) == 0 {
		return true
	}
	return All(ctx, w.currentTransaction.participants, w.finishParticipant) == nil
}

func (w *write) finishParticipant(ctx context.Context, m *participant) error {
	if m.etags != nil {
		if t, err := m.finishTransaction(w.id, w.place()); err == nil {
			withID(t.steps, w.id)
			withID(t.added, w.id)
			etags, _, verdict, _ := m.table.transactWith(ctx, t.steps, t.added)
			if verdict == wire.Done {
				m.finished(etags)
				return nil
			}
		}
	}
	home := w.place()
	m.finished(nil)
	return m.table.believing(home).endPrepared(ctx, m.at.Partition, w.id, ender{home: &home})
}

// finished keeps the ETags that the rows of the caller's operations have now.
func (m *participant) finished(etags []azcore.ETag) {
	m.write.out.etags = make([]azcore.ETag, len(m.steps))
	n := 0
	for i := range m.steps {
		m.write.out.etags[i] = stored.UnknownETag
		if etags == nil || fateOf(&m.steps[i]) == stored.FatePart {
			continue
		}
		n++
		m.write.out.etags[i] = etags[n]
	}
}

// appliedParticipants gives the targets of the operations in the participants their stored rows.
func (w *write) appliedParticipants() {
	for _, m := range w.currentTransaction.participants {
		for i := range m.steps {
			if s := &m.steps[i]; s.derived == nil {
				s.applied(m.write.out.etags[i], idEnding(w.id))
			}
		}
	}
}

// finishTransaction makes the transaction that finishes, by the ETags of the preparation.
func (m *participant) finishTransaction(id string, home commit.Place) (transaction, error) {
	p := &preparation{key: preparationKey(m.at.Partition, id), home: home, etag: m.etags[0]}
	first, err := p.end(m.table)
	if err != nil {
		return transaction{}, err
	}
	steps := []step{first}
	for i := range m.steps {
		s := m.steps[i]
		etag := m.etags[1+i]
		switch fateOf(&s) {
		case stored.FatePart:
			continue
		case stored.FateInsert, stored.FateReplace:
			s.own()
			s.Kind, s.Match = aztables.TransactionTypeUpdateReplace, etag
		case stored.FateDelete, stored.FateReserve:
			s.own()
			s.Kind, s.Match = aztables.TransactionTypeDelete, etag
		case stored.FatePin:
			if s, err = m.unpin(&m.steps[i], etag); err != nil {
				return transaction{}, err
			}
		}
		steps = append(steps, s)
	}
	for n := range m.images {
		s, err := libraryStep(m.table, aztables.TransactionTypeDelete, imageKey(m.at.Partition, id, n+1), azcore.ETagAny, nil)
		if err != nil {
			return transaction{}, err
		}
		steps = append(steps, s)
	}
	return transaction{steps: steps, added: m.prepare.added, batch: true}, nil
}

// unpin is the step that takes the mark off a row that has stayed as it was. The mark of a row that
// is large, or not wholly known, becomes empty.
func (m *participant) unpin(pinned *step, etag azcore.ETag) (step, error) {
	kind, columns := aztables.TransactionTypeUpdateMerge, []edm.Column{{Name: reserved.Mark, Value: edm.Value{Kind: edm.String}}}
	if pinned.Known && !pinned.Upgraded && pinned.Before.JSON.Len() <= largeRow && !pinned.Table.wide() {
		all, err := pinned.Before.Decoded()
		if err != nil {
			return step{}, err
		}
		kind, columns = aztables.TransactionTypeUpdateReplace, all
	}
	s, err := libraryStep(m.table, kind, pinned.Key, etag, columns)
	s.opIndex, s.Target = pinned.opIndex, pinned.Target
	return s, err
}

// notify stores the notification of a write with effects.
func (w *write) notify(ctx context.Context) (err error) {
	n := commit.Notification{Table: w.table.Name, Partition: w.partition(), OperationID: w.id, Hidden: 2 * w.table.Options.WriteTimeout, Participants: placesOf(w.nextTransaction.participants)}
	if w.notification, err = w.outbox.Notify(ctx, n); err == nil && wire.IsNil(w.notification) {
		err = errors.New("it returned no SentNotification")
	}
	if err != nil {
		w.notification = nil
		return errs.With(errs.ErrOutbox, errs.UserCodeError{Err: wire.Redact(err)})
	}
	return nil
}

// notifyAgain stores another notification of a committed write that is stale by now. The machine
// was suspended while the write was sent: meanwhile, a worker may have received the first
// notification, and its abort record may have been swept. The commit record is pending, also if
// only an earlier plan had effects.
func (w *write) notifyAgain(ctx context.Context) {
	first := w.notification
	if first == nil || !w.stale() {
		return
	}
	if w.notify(ctx) != nil {
		w.notification = first
	}
}

// show makes the notification visible to the workers. The write is committed, so it does not fail
// any more: at worst they see it later. The caller gets the result when the notification is shown:
// a program that ends at once, or whose context does, would otherwise often leave it hidden, and
// nothing that the library has begun goes on.
//
// If Show executes effects, these are the program's own functions, like the calls after the commit,
// which come behind them.
func (w *write) show(ctx context.Context) {
	n, o := w.notification, &w.table.Options
	_, executes := w.outbox.(AroundOutbox)
	switch {
	case n == nil:
	case executes:
		show(ctx, n, o)
	default:
		w.doBeside(ctx, func(ctx context.Context) { show(ctx, n, o) })
	}
}

// doBeside does the work of a notification: in bulk work beside the transactions that follow,
// otherwise beside the calls after the commit. Nothing depends on it.
func (w *write) doBeside(ctx context.Context, f func(context.Context)) {
	switch {
	case w.showing != nil:
		w.showing.begin(&w.table.Options, f)
	case len(w.currentTransaction.after) > 0:
		w.showing, w.awaitsShow = newShowing(ctx, 1), true
		w.showing.begin(&w.table.Options, f)
	default:
		f(ctx)
	}
}

// awaitShow waits until the notification is shown, unless bulk work does.
func (w *write) awaitShow() {
	if w.awaitsShow {
		w.showing.end()
	}
}

// withdraw deletes the notification. If it cannot, a worker finds that nothing is to be done.
func (w *write) withdraw(ctx context.Context) {
	if w.notification == nil {
		return
	}
	withdraw(ctx, w.notification, &w.table.Options)
	w.notification = nil
}

func withdraw(ctx context.Context, n commit.SentNotification, o *Options) {
	ctx, cancel := Bound(ctx, o.Retry.AttemptTimeout)
	defer cancel()
	_ = n.Withdraw(ctx)
}

// message is the notification of a write with effects.
type message struct {
	notification commit.SentNotification
	showing      *showing // of the bulk work, or begun by show
	awaitsShow   bool     // show has begun it
}

// showing is the notifications of committed writes that are made visible, or withdrawn, beside
// other work.
type showing struct {
	ctx      context.Context
	slots    chan struct{} // full when the work is on as many as may be
	panicked atomic.Pointer[string]
}

// newShowing works on so many notifications at a time. They end with ctx.
func newShowing(ctx context.Context, most int) *showing {
	return &showing{ctx: ctx, slots: make(chan struct{}, most)}
}

// begin begins the work on a notification, once it is on fewer than the most.
func (s *showing) begin(o *Options, f func(context.Context)) {
	s.slots <- struct{}{}
	go func() {
		defer func() {
			if v := recover(); v != nil {
				text := fmt.Sprintf("%v\n\n%s", v, debug.Stack())
				s.panicked.CompareAndSwap(nil, &text)
			}
			<-s.slots
		}()
		ctx, cancel := Bound(s.ctx, o.WriteTimeout)
		defer cancel()
		f(ctx)
	}()
}

// end waits until the work on all notifications is done. None can begin any more. What panics in an
// outbox panics here.
func (s *showing) end() {
	for range cap(s.slots) {
		s.slots <- struct{}{}
	}
	if text := s.panicked.Load(); text != nil {
		panic(*text)
	}
}

// show makes a notification visible.
func show(ctx context.Context, n commit.SentNotification, o *Options) {
	ctx, cancel := Bound(ctx, o.Retry.AttemptTimeout)
	defer cancel()
	_ = n.Show(ctx)
}

// AroundOutbox is an outbox that does something besides for the same queue.
type AroundOutbox interface {
	commit.Outbox
	Inner() commit.Outbox
}

// InnerOutbox returns an outbox without what is around it.
func InnerOutbox(o commit.Outbox) commit.Outbox {
	if around, is := o.(AroundOutbox); is {
		return around.Inner()
	}
	return o
}

// SameOutbox compares two outboxes, as far as they can be compared, without what is around them.
func SameOutbox(a, b commit.Outbox) bool {
	a, b = InnerOutbox(a), InnerOutbox(b)
	return reflect.ValueOf(a).Comparable() && a == b
}

// afterCommit is what is called once a write is known to be committed. It is never changed, but
// replaced.
type afterCommit []namedCall

type namedCall struct {
	name string
	call func(context.Context)
}
