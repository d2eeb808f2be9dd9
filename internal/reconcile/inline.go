package reconcile

import (
	"context"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Inline returns an outbox around another one: once a write is committed, and before it returns, the writer executes the effects of
// h itself, marks the commit record as done, and withdraws the notification. If anything fails, or if the write has effects of other
// kinds, the notification is shown as by the outbox itself, and a worker executes all effects. An Inline around an Inline executes the
// effects of both handlers, or of the new one if they are of one kind.
//
// Of each hour and partition, one notification is shown all the same, so that a worker plans the clean-up of the commit records.
//
// Requests of a write: 1 to read the commit record, those of h, 1 to mark the commit record, besides those of the outbox.
func Inline(outbox engine.Outbox, h eventual.Handler) engine.Outbox {
	o := &inline{outbox: engine.InnerOutbox(outbox), handlers: []eventual.Handler{h}, shown: map[partitionHour]bool{}}
	if around, is := outbox.(*inline); is {
		for _, other := range around.handlers {
			if other.Kind != h.Kind {
				o.handlers = append(o.handlers, other)
			}
		}
	}
	return o
}

type inline struct {
	outbox   engine.Outbox
	handlers []eventual.Handler // of one table

	mu    sync.Mutex
	shown map[partitionHour]bool
}

type partitionHour struct {
	partition string
	hour      int64
}

var _ engine.AroundOutbox = (*inline)(nil)

func (o *inline) table() commit.Table { return o.handlers[0].Table }

// handlerOf returns the handler of an effect, if there is one.
func (o *inline) handlerOf(e commit.Effect) (h eventual.Handler, known bool) {
	for _, h := range o.handlers {
		if e.Kind == h.Kind && e.Version <= h.Version && isOf(e, h.Table) {
			return h, true
		}
	}
	return h, false
}

// Inner returns the outbox itself.
func (o *inline) Inner() engine.Outbox { return o.outbox }

// Notify stores a notification.
func (o *inline) Notify(ctx context.Context, n engine.Notification) (engine.SentNotification, error) {
	sent, err := o.outbox.Notify(ctx, n)
	if err != nil || sent == nil {
		return nil, err
	}
	return &inlineNotification{SentNotification: sent, outbox: o, of: n}, nil
}

type inlineNotification struct {
	engine.SentNotification
	outbox *inline
	of     engine.Notification
}

// Show executes the effects, or shows the notification.
func (n *inlineNotification) Show(ctx context.Context) error {
	if n.execute(ctx) && !n.outbox.mustShow(n.of) {
		return n.Withdraw(ctx) // otherwise a worker finds the commit record done
	}
	ctx, cancel := engine.Bound(context.WithoutCancel(ctx), n.outbox.table().Engine().Options.Retry.AttemptTimeout)
	defer cancel()
	return n.SentNotification.Show(ctx)
}

// execute executes the effects of the write, and reports whether nothing is left for a worker to do.
func (n *inlineNotification) execute(ctx context.Context) (done bool) {
	defer func() {
		if recover() != nil { // a function of the program's panics; a worker reports it
			done = false
		}
	}()
	records := commit.Of(n.outbox.table())
	record, err := records.Get(ctx, keys.Stored(n.of.Partition, "").Partition(), n.of.OperationID)
	if err != nil || record.State == commit.Aborted {
		return false
	}
	others := false
	for i, e := range record.Effects {
		h, known := n.outbox.handlerOf(e)
		if !known {
			others = true
			continue
		}
		j := eventual.Job{Table: h.Table.Name(), Partition: partitionOf(e, record.Partition), OperationID: record.OperationID, Effect: e, Attempt: 1, CommitRecord: record, Index: i}
		if record.State != commit.Pending || h.Handle(ctx, j) != nil {
			return false
		}
	}
	return !others && records.MarkDone(ctx, record) == nil
}

// maxShown bounds the memory of an outbox.
const maxShown = 10_000

// mustShow reports whether the notification is the first of its hour and partition.
func (o *inline) mustShow(n engine.Notification) bool {
	hour := o.table().Engine().Options.Now().Unix() / int64(time.Hour/time.Second)
	o.mu.Lock()
	defer o.mu.Unlock()
	k := partitionHour{n.Partition, hour}
	if o.shown[k] {
		return false
	}
	if len(o.shown) >= maxShown {
		clear(o.shown)
	}
	o.shown[k] = true
	return true
}
