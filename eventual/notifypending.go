package eventual

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// NotifyOptions are the options of aztablekit.Store.NotifyPending. The zero value is ready for use.
type NotifyOptions struct {
	// Partitions restricts the call to a range of partitions. Defaults to the whole table.
	Partitions keys.PartitionRange

	// Grace is how old a write must be. For a younger write, the writer's own notification may still be hidden, for twice the
	// writer's WriteTimeout, or a worker may be about to execute the effects. A redundant notification does no harm, so Grace only
	// saves requests. Defaults to 10 min, or to 4 × WriteTimeout of the outbox if that is longer. Negative means none: all pending
	// commit records are notified, also those whose effects wait on purpose or became poison in the last 7 days.
	Grace time.Duration

	// Max is how many notifications are sent at most. Defaults to 10,000; negative means no bound.
	Max int

	// Token is where to resume: NotifyResult.Token of the call before. Defaults to the beginning.
	Token string
}

// NotifyResult is what aztablekit.Store.NotifyPending has done.
type NotifyResult struct {
	Partitions int    // partitions that were searched
	Sent       int    // notifications, one for each pending commit record
	Token      string // where the next call resumes, "" if the table is done
}

// NotifyPending is aztablekit.Store.NotifyPending.
func (o *outbox) NotifyPending(ctx context.Context, source table.AnyTable, opt *NotifyOptions) (NotifyResult, error) {
	if wire.IsNil(source) || door.Table(source) == nil {
		return NotifyResult{}, fmt.Errorf("eventual: NotifyPending: %w", engine.CheckHandle("source", nil))
	}
	if opt == nil {
		opt = &NotifyOptions{}
	}
	n := notifier{outbox: o, opt: *opt, source: source}
	def(&n.opt.Grace, grace(o.opt.WriteTimeout))
	def(&n.opt.Max, 10_000)
	n.now = o.opt.Now()
	n.before = n.now.Add(-n.opt.Grace)
	if n.opt.Grace < 0 {
		n.before = o.opt.Now().Add(2 * extend.Retention) // also of writers whose clocks are ahead
	}
	if err := n.run(ctx); err != nil {
		return n.result, fmt.Errorf("eventual: NotifyPending: %w", err)
	}
	return n.result, nil
}

// notifier is one call of NotifyPending.
type notifier struct {
	outbox *outbox
	source table.AnyTable
	opt    NotifyOptions
	start  position
	now    time.Time
	before time.Time // only writes that are older are notified
	result NotifyResult
}

// errMaxSent: NotifyOptions.Max notifications were sent.
var errMaxSent = errors.New("eventual: enough notifications")

func (n *notifier) run(ctx context.Context) (err error) {
	if wire.IsNil(n.source) {
		return &table.ValueError{Field: "source", Reason: "is nil; pass a *table.Table"}
	}
	n.result.Token = n.opt.Token
	if n.start, err = parsePosition(n.opt.Token); err != nil {
		return err
	}
	for partition, err := range n.partitions(ctx) {
		if err == nil {
			err = n.notify(ctx, partition)
		}
		if err == errMaxSent {
			return nil
		}
		if err != nil {
			return err
		}
	}
	n.result.Token = ""
	return nil
}

// partitions yields the partitions to search.
func (n *notifier) partitions(ctx context.Context) iter.Seq2[keys.PartitionKey, error] {
	return func(yield func(keys.PartitionKey, error) bool) {
		if one := n.opt.Partitions; one.IsPoint() {
			yield(one.Key(), nil)
			return
		}
		in := keys.RawPartitions("", "")
		if n.opt.Partitions.IsSet() {
			in = n.opt.Partitions
		}
		if n.start.Partition != "" {
			begun := keys.Stored(n.start.Partition, "").Partition()
			if n.start.OperationID != "" && in.Contains(n.start.Partition) && !yield(begun, nil) {
				return
			}
			in = in.Behind(begun)
		}
		t := door.Table(n.source)
		for partition, err := range door.Rows[table.Table[table.Row]](t, false).PartitionsIn(ctx, in) {
			if err == nil && t.Ranged() {
				break
			}
			if !yield(partition, err) {
				return
			}
		}
		if t.Ranged() { // partitions would be left out
			yield(keys.PartitionKey{}, &table.OpError{Op: "Partitions", Table: t.Name, Err: table.ErrRanged})
		}
	}
}

// notify sends the notifications of a partition.
func (n *notifier) notify(ctx context.Context, partition keys.PartitionKey) error {
	pk, err := partition.Result()
	if err != nil {
		return err
	}
	after := ""
	if n.start.Partition == pk {
		after = n.start.OperationID
	}
	n.result.Partitions++
	t := door.Table(n.source)
	var failed error
	err = t.Pending(ctx, pk, after, n.before, func(id string, w commit.Wait) bool {
		if n.opt.Grace >= 0 && n.now.Before(w.Until) {
			return true
		}
		failed = n.send(ctx, pk, id)
		return failed == nil
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return t.OpError("Pending", keys.Key{}, err)
	}
	n.result.Token = position{Partition: pk}.String()
	return nil
}

// send sends a notification of an operation.
func (n *notifier) send(ctx context.Context, pk, id string) error {
	if n.opt.Max >= 0 && n.result.Sent >= n.opt.Max {
		return errMaxSent
	}
	if _, err := n.outbox.Notify(ctx, extend.Notification{Table: n.source.Name(), Partition: pk, OperationID: id}); err != nil {
		return err
	}
	n.result.Sent++
	n.result.Token = position{pk, id}.String()
	return nil
}

// grace is the default of NotifyOptions.Grace.
func grace(writeTimeout time.Duration) time.Duration { return max(10*time.Minute, 4*writeTimeout) }

// Behind reports whether a message has waited in the queue for longer than the default of NotifyOptions.Grace: workers are paused, or
// have more to do than they can, so that a pending commit record does not tell whether its message was lost. 1 request; none for a queue
// without the method PeekMessage.
func (o *outbox) Behind(ctx context.Context) (bool, error) {
	m, err := o.queue.first(ctx)
	if err != nil {
		return false, fmt.Errorf("eventual: the queue of notifications: %w", err)
	}
	return o.isOld(m), nil
}

func (o *outbox) isOld(m firstMessage) bool {
	return !m.inserted.IsZero() && m.age() > grace(o.opt.WriteTimeout)
}

// Unreceived returns when the first visible message was inserted if it has waited as long as for Behind,
// and no worker has ever received it; else the zero time. Requests: those of Behind.
func (o *outbox) Unreceived(ctx context.Context) (since time.Time, err error) {
	m, err := o.queue.first(ctx)
	switch {
	case err != nil:
		return since, fmt.Errorf("eventual: the queue of notifications: %w", err)
	case m.deliveries > 0 || !o.isOld(m):
		return since, nil
	}
	return m.inserted, nil
}

// firstMessage is the first visible message of a queue: when it was inserted (the zero time if
// there is none, or if the response has no date), when it was peeked, and how often it was
// received.
type firstMessage struct {
	inserted, peeked time.Time // by the clock of the service
	deliveries       int64
}

func (m firstMessage) age() time.Duration { return m.peeked.Sub(m.inserted) }

// first returns the first visible message.
func (q queueClient) first(ctx context.Context) (m firstMessage, err error) {
	of, is := q.client.(interface {
		PeekMessage(context.Context, *azqueue.PeekMessageOptions) (azqueue.PeekMessagesResponse, error)
	})
	if !is {
		return m, nil
	}
	ctx, cancel, check := q.call(ctx)
	defer cancel()
	resp, err := of.PeekMessage(ctx, nil)
	if err = check(err); err != nil {
		return m, err
	}
	if len(resp.Messages) == 0 || resp.Messages[0] == nil || resp.Messages[0].InsertionTime == nil || resp.Date == nil {
		return m, nil
	}
	first := resp.Messages[0]
	if first.DequeueCount != nil {
		m.deliveries = *first.DequeueCount
	}
	m.inserted, m.peeked = *first.InsertionTime, *resp.Date
	return m, nil
}

// position is where NotifyPending resumes: after an operation of a partition, or after the partition if there is no operation.
type position struct {
	Partition   string `json:"p"`
	OperationID string `json:"o,omitempty"`
}

func (p position) String() string {
	b, _ := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(b)
}

// parsePosition decodes a position. An empty text is the beginning, the zero position.
func parsePosition(text string) (p position, err error) {
	if text == "" {
		return p, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.Partition == "" {
		return p, &table.ValueError{Field: "NotifyOptions.Token", Reason: "is not from NotifyPending; use NotifyResult.Token of a call for the same table"}
	}
	return p, nil
}
