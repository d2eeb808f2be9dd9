package eventual

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// A pending commit record says nothing of its message: the message may be lost, or may wait on
// purpose, because a handler has asked for a delay, no worker knows the kind, or it became poison.
// Before a worker lets such a message wait, it stores that in the record, so that the repair of
// lost messages passes the record over. docs/protocols.md has the protocol.

// passes is for how long a record is passed over: a day and an hour for a message that comes back
// earlier, since the repair runs once a day, and 7 days for poison.
const (
	passes       = 25 * time.Hour
	passesPoison = 7 * 24 * time.Hour
)

// early returns the outcome of a message whose effects are not due yet: the message that waits for
// them is hidden until then, and any other is deleted.
func (e *executor) early(record *commit.Record, x *lease) (out outcome, is bool) {
	wait := commit.WaitOf(record)
	left := wait.NotBefore.Sub(commit.NowBy(record, e.env.opt.now()))
	switch {
	case record.State != commit.Pending || left <= time.Second: // the times of responses are whole seconds
		return outcome{}, false
	case wait.Message != x.id:
		return outcome{kind: completed, reason: "its effects are not due yet, and another message waits for them"}, true
	}
	return outcome{kind: deferred, requested: true, expected: true, delay: min(left, maxVisibility), reason: "its effects are not due yet"}, true
}

// storeWait stores in the commit record of a message that the message waits, if the repair of lost
// messages would find the record before the message comes back. If conflict is true, the record has
// changed.
func (e *executor) storeWait(ctx context.Context, t *tableHandlers, record *commit.Record, x *lease, out outcome) (conflict bool) {
	out = x.limited(out)
	if record.State != commit.Pending || out.kind != deferred && out.kind != retried || out.outage || out.expected {
		return false
	}
	now, wait := commit.NowBy(record, e.env.opt.now()), commit.WaitOf(record)
	delay, _ := x.delay(out)
	found := record.Time().Add(grace(e.env.opt.WriteTimeout)) // from when on the repair finds the record
	later := out.kind == deferred && out.requested && !out.unknown && delay > grace(e.env.opt.WriteTimeout)
	switch {
	case later:
		wait = commit.Wait{NotBefore: now.Add(delay), Message: x.id, Until: now.Add(delay).Add(grace(e.env.opt.WriteTimeout))}
	case now.Add(delay).Before(found), now.Add(delay).Before(wait.Until):
		return false
	default:
		wait = commit.Wait{Until: now.Add(max(passes, delay+grace(e.env.opt.WriteTimeout)))}
	}
	err := door.Table(t.table).StoreWait(context.WithoutCancel(ctx), record, wait)
	return errors.Is(err, table.ErrChanged) // after any other error, the repair sends one more message
}

// storePoison stores in the commit record of a message that it becomes poison.
func (x *lease) storePoison(ctx context.Context) {
	t := x.env.handlers.tableHandlers(x.message.Table)
	if x.err != nil || x.message.Op == "" || t == nil {
		return
	}
	for range 3 { // a record that changes is being executed
		record, err := door.Table(t.table).Record(ctx, x.message.Partition, x.message.Op)
		if err != nil || record == nil || record.State != commit.Pending {
			return
		}
		wait := commit.Wait{Until: commit.NowBy(record, x.env.opt.now()).Add(passesPoison)}
		if err := door.Table(t.table).StoreWait(ctx, record, wait); !errors.Is(err, table.ErrChanged) {
			return // without it, the repair sends one more message
		}
	}
}

// clean deletes what is old in a partition: the rows of the handlers, and then the commit records,
// by which the handlers find them. It returns how many records of writes before a time are left.
func (w *worker) clean(ctx context.Context, of table.Handle, partition string, through time.Time) (left int, err error) {
	before := w.env.opt.now().Add(-commit.Retention - time.Hour)
	if t := w.env.handlers.tableHandlers(of.Name()); t != nil {
		for _, h := range t.byKind {
			if h.Sweep == nil {
				continue
			}
			err := callHandler(ctx, w.env.opt.HandlerTimeout, h.Kind, func(ctx context.Context) error {
				return h.Sweep(ctx, keys.Raw(partition, "").Partition(), before)
			})
			if err != nil {
				return 0, err
			}
		}
	}
	_, left, err = door.Table(of).Sweep(ctx, partition, through)
	return left, err
}
