package eventual

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// NotifyPending is aztablekit.Store.NotifyPending.
func (o *outbox) NotifyPending(ctx context.Context, source table.Handle, age time.Duration, p *table.Pass) (table.Progress, error) {
	n := notifier{outbox: o, source: source, all: age < 0}
	if p != nil {
		n.pass = *p
	}
	n.now = o.opt.Now()
	n.before = n.now.Add(-cmp.Or(age, grace(o.opt.WriteTimeout)))
	if n.all {
		n.before = n.now.Add(2 * commit.Retention) // also of writers whose clocks are ahead
	}
	if err := n.run(engine.Enduring(ctx)); err != nil {
		return n.done, fmt.Errorf("eventual: NotifyPending: %w", err)
	}
	return n.done, nil
}

// notifier is one call of NotifyPending.
type notifier struct {
	outbox *outbox
	source table.Handle
	pass   table.Pass
	all    bool // also the records that wait on purpose, or whose message became poison
	start  position
	now    time.Time
	before time.Time // only writes that are older are notified
	done   table.Progress
}

func (n *notifier) run(ctx context.Context) (err error) {
	if err := door.CheckPass(&n.pass, "Partitions", "Token", "DryRun"); err != nil {
		return err
	}
	if wire.IsNil(n.source) {
		return engine.CheckHandle("source", nil)
	}
	if err := engine.CheckHandle("source", door.Table(n.source)); err != nil {
		return err
	}
	n.done.Token, n.done.Counts = n.pass.Token, map[string]int{}
	if n.start, err = parsePosition(n.pass.Token); err != nil {
		return err
	}
	for partition, err := range n.partitions(ctx) {
		if err == nil {
			err = n.notify(ctx, partition)
		}
		if err != nil {
			return err
		}
	}
	n.done.Token = ""
	return nil
}

// partitions yields the partitions to search.
func (n *notifier) partitions(ctx context.Context) iter.Seq2[keys.PartitionKey, error] {
	return func(yield func(keys.PartitionKey, error) bool) {
		in := n.pass.Partitions
		if !in.IsSet() {
			in = keys.RawPartitions("", "")
		}
		if n.start.Partition != "" && !in.IsPoint() {
			begun := keys.Raw(n.start.Partition, "").Partition()
			if n.start.OperationID != "" && in.Contains(n.start.Partition) && !yield(begun, nil) {
				return
			}
			in = in.Behind(begun)
		}
		for partition, err := range tabledoor.Partitions(ctx, n.source, in) {
			if !yield(partition, err) {
				return
			}
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
	n.done.Counts["partitions"]++
	t := door.Table(n.source)
	var failed error
	err = t.Pending(ctx, pk, after, n.before, func(id string, w commit.Wait) bool {
		if !n.all && n.now.Before(w.Until) {
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
	n.done.Token, n.done.Through = position{Partition: pk}.String(), keys.Raw(pk, "")
	if n.pass.Progress != nil {
		n.pass.Progress(n.done)
	}
	return nil
}

// send sends a notification of an operation.
func (n *notifier) send(ctx context.Context, pk, id string) error {
	n.done.Rows++
	if !n.pass.DryRun {
		if _, err := n.outbox.Notify(ctx, commit.Notification{Table: n.source.Name(), Partition: pk, OperationID: id}); err != nil {
			return err
		}
	}
	n.done.Changed++
	n.done.Token = position{pk, id}.String()
	return nil
}

// grace is the default age of the writes that NotifyPending notifies.
func grace(writeTimeout time.Duration) time.Duration { return max(10*time.Minute, 4*writeTimeout) }

// Behind reports whether a message has waited in the queue for longer than the default age of
// NotifyPending: workers are paused, or have more to do than they can, so that a pending commit
// record does not tell whether its message was lost. 1 request.
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

// Unreceived returns when the first visible message was inserted if it has waited as long as for
// Behind, and no worker has ever received it; else the zero time. Requests: those of Behind.
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
	ctx, cancel, check := q.call(ctx)
	defer cancel()
	resp, err := q.client.PeekMessage(ctx, nil)
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

// position is where NotifyPending resumes: after an operation of a partition, or after the
// partition if there is no operation.
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
		return p, &table.ValueError{Field: "Pass.Token", Reason: "is not from NotifyPending; use NotifyResult.Token of a call for the same table"}
	}
	return p, nil
}
