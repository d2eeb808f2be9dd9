package eventual

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// cleaner schedules and executes the clean-up of commit records: one clean-up message for each partition and hour, and a note in
// the partition that the message was sent.
type cleaner struct {
	env       *environment
	scheduled hourSet
}

// schedule makes sure that the commit records that were written this hour in the message's partition are deleted a day later. It is
// called before a message is deleted. The clean-up message is sent before the note is written: a crash in between leads to a second
// message, which does no harm.
func (c *cleaner) schedule(ctx context.Context, t *tableHandlers, m message) {
	if c.env.cleanUps.client == nil {
		return
	}
	for {
		hour := c.env.opt.Now().UTC().Truncate(time.Hour)
		err := c.scheduled.once(m.partitionName()+"/"+hour.String(), func() error { return c.scheduleHour(ctx, t, m, hour) })
		switch {
		case err == errHourOver:
			continue
		case err != nil:
			c.env.opt.Logger.Warn("clean-up not scheduled", "table", m.Table, "partition", m.Partition, "error", wire.Redact(err))
		}
		return
	}
}

// errHourOver: the hour ended before its clean-up was scheduled, so the clean-up of the next hour has to be scheduled.
var errHourOver = errors.New("eventual: the hour is over")

func (c *cleaner) scheduleHour(ctx context.Context, t *tableHandlers, m message, hour time.Time) error {
	scheduled, err := door.Table(t.table).SweepScheduled(ctx, m.Partition, hour)
	if err != nil || scheduled {
		return err
	}
	due := hour.Add(time.Hour + extend.Retention + 2*time.Hour) // 2 h for the differences of clocks
	text := message{Version: messageVersion, Table: m.Table, Partition: m.Partition, Hour: hour.Format(time.RFC3339)}.text()
	if _, err := c.env.cleanUps.put(ctx, text, due.Sub(c.env.opt.Now())); err != nil {
		return err
	}
	if !c.env.opt.Now().Before(hour.Add(time.Hour)) {
		return errHourOver
	}
	return door.Table(t.table).ScheduleSweep(ctx, m.Partition, hour)
}

// execute deletes old commit records in the message's partition. Their age decides: the hour in the message is not trusted.
func (c *cleaner) execute(ctx context.Context, x *lease) outcome {
	t := c.env.handlers.tableHandlers(x.message.Table)
	switch {
	case x.err == errNewer, x.err == nil && t == nil:
		return outcome{kind: deferred, unknown: true, class: ClassUnknown, reason: "no handler is registered for its table or version"}
	case x.err != nil || x.message.Hour == "":
		return outcome{kind: poisoned, class: ClassUndecodable, reason: errUndecodable}
	}
	partition := x.message.partition()
	before := c.env.opt.Now().Add(-extend.Retention - time.Hour)
	for _, h := range t.byKind {
		if h.Sweep == nil {
			continue
		}
		sweep := func(ctx context.Context) error { return h.Sweep(ctx, partition, before) }
		if err := callHandler(ctx, c.env.opt.HandlerTimeout, h.Kind, sweep); err != nil {
			return handlerOutcome(ctx, h.Kind, c.env.opt.Defer, err)
		}
	}
	if _, err := t.records.Sweep(ctx, partition); err != nil { // after the handlers, which may look for old effects in the records
		return requestOutcome(ctx, err)
	}
	c.env.stats.add(func(s *Stats) { s.CleanUps++ })
	return outcome{}
}

// hourSet contains the hours of partitions whose clean-ups are scheduled, to save requests.
type hourSet struct {
	mu     sync.Mutex
	names  map[string]bool
	flight singleflight.Group // several messages of a partition are executed at the same time
}

const maxHours = 10_000

// once calls f, unless an earlier call for the name succeeded. It drops all names after maxHours.
func (s *hourSet) once(name string, f func() error) error {
	s.mu.Lock()
	known := s.names[name]
	s.mu.Unlock()
	if known {
		return nil
	}
	if _, err, _ := s.flight.Do(name, func() (any, error) { return nil, f() }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil || len(s.names) >= maxHours {
		s.names = map[string]bool{}
	}
	s.names[name] = true
	return nil
}

// NotifyOptions are the options of aztablekit.Store.NotifyPending. The zero value is ready for use.
type NotifyOptions struct {
	// Partitions restricts the call to a range of partitions. Defaults to the whole table.
	Partitions keys.PartitionRange

	// Grace is how old a write must be. For a younger write, the writer's own notification may still be hidden, for twice the
	// writer's WriteTimeout, or a worker may be about to execute the effects. A redundant notification does no harm, so Grace only
	// saves requests. Defaults to 10 min, or to 4 × WriteTimeout of the outbox if that is longer; negative means none: all pending
	// commit records are notified.
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
	def(&n.opt.Grace, max(10*time.Minute, 4*o.opt.WriteTimeout))
	def(&n.opt.Max, 10_000)
	n.before = o.opt.Now().Add(-n.opt.Grace)
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
	for id, err := range extend.RecordsOf(n.source).Pending(ctx, partition, after, n.before) {
		if err != nil {
			return err
		}
		if n.opt.Max >= 0 && n.result.Sent >= n.opt.Max {
			return errMaxSent
		}
		if _, err := n.outbox.Notify(ctx, extend.Notification{Table: n.source.Name(), Partition: pk, OperationID: id}); err != nil {
			return err
		}
		n.result.Sent++
		n.result.Token = position{pk, id}.String()
	}
	n.result.Token = position{Partition: pk}.String()
	return nil
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
