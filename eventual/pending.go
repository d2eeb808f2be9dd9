package eventual

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// NotifyOptions are those of [Outbox.NotifyPending]. The zero value is ready for use.
type NotifyOptions struct {
	// Partition is the only partition to look at. Defaults to all of the table.
	Partition keys.Enc

	// Grace is how old a write must be. A younger one may still be on its way to its own notification, which is hidden for
	// twice the writers' WriteTimeout unless the writer shows it, and a worker may be about to execute its effects. A
	// notification too many does no harm, so Grace only saves requests. Defaults to 10 min, or to 4 × WriteTimeout of the outbox if that is
	// longer; negative means none: all pending commit records are notified.
	Grace time.Duration

	// Max is how many notifications are sent at most. Defaults to 10,000; negative means no bound.
	Max int

	// Resume is where to go on: NotifyResult.Resume of the call before. Defaults to the beginning.
	Resume string
}

// NotifyResult is what [Outbox.NotifyPending] has done.
type NotifyResult struct {
	Partitions int    // that were looked at
	Sent       int    // notifications, one for each pending commit record
	Resume     string // where the next call goes on, "" when the table is done
}

// NotifyPending sends a notification for each write of a table whose effects are still to be done: for each pending commit record that
// is older than NotifyOptions.Grace. That repairs what a queue has lost, by its deletion, its clearing or its failover, and brings
// back what was dropped from the poison queue. It can be run at any time, beside writers and workers: a worker finds nothing to do for a
// notification too many, and no effect is executed that is not due. A message that is still in the poison queue stays there, so
// its effects are tried again and may become poison once more; replay or drop it first.
//
// It is bounded by NotifyOptions.Max, and by ctx. What it has done is returned with every error, and Resume says where to go on;
// all before it were notified.
//
// Requests: 1 for each partition to find it, and 1 more to see that there are no more; 1 for each 1,000 rows of a partition's commit records,
// at least 1; 1 for each notification, and up to Retry.Attempts where the queue does not answer. Errors: *table.ValueError for a table
// that is nil and for a Resume that is not from this method; table.ErrTableNotFound and those of any read; table.ErrRanged if the
// table's client has a signature for a range of keys, unless NotifyOptions.Partition names a partition of which it sees all rows; those
// of the queue.
func (o *Outbox) NotifyPending(ctx context.Context, of Source, opt *NotifyOptions) (r NotifyResult, err error) {
	if opt == nil {
		opt = &NotifyOptions{}
	}
	n := notifier{o: o, opt: *opt}
	def(&n.opt.Grace, max(10*time.Minute, 4*o.opt.WriteTimeout))
	def(&n.opt.Max, 10_000)
	fail := func(err error) (NotifyResult, error) {
		return n.result, fmt.Errorf("eventual: NotifyPending: %w", err)
	}
	if wire.IsNil(of) {
		return fail(&table.ValueError{Field: "of", Reason: "is nil"})
	}
	n.result.Resume = opt.Resume
	at, err := resumed(opt.Resume)
	if err != nil {
		return fail(err)
	}
	n.of, n.before = of, o.opt.Now().Add(-n.opt.Grace)
	if n.opt.Grace < 0 {
		n.before = o.opt.Now().Add(2 * table.CommitRecordRetention) // also of writers whose clocks are ahead
	}
	for partition, err := range n.partitions(ctx, at) {
		if err == nil {
			err = n.notify(ctx, partition, at)
		}
		if err == errEnough {
			return n.result, nil
		}
		if err != nil {
			return fail(err)
		}
	}
	n.result.Resume = ""
	return n.result, nil
}

// place is where NotifyPending stands: behind an operation of a partition, or behind the partition where there is none.
type place struct {
	Partition string `json:"p"`
	Op        string `json:"o,omitempty"`
}

func (p place) String() string {
	b, _ := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(b)
}

// resumed reads a place; the zero place is the beginning.
func resumed(text string) (p place, err error) {
	if text == "" {
		return p, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.Partition == "" {
		return p, &table.ValueError{Field: "NotifyOptions.Resume", Reason: "is not from NotifyPending; use NotifyResult.Resume of a call for the same table"}
	}
	return p, nil
}

// notifier is one call of NotifyPending.
type notifier struct {
	o      *Outbox
	opt    NotifyOptions
	of     Source
	before time.Time
	result NotifyResult
}

// partitions yields those that are to be looked at.
func (n *notifier) partitions(ctx context.Context, at place) iter.Seq2[keys.Enc, error] {
	return func(yield func(keys.Enc, error) bool) {
		begun := keys.Stored(at.Partition, "").Partition()
		switch {
		case n.opt.Partition.IsSet():
			yield(n.opt.Partition, nil)
			return
		case at.Partition == "":
			begun = keys.Enc{}
		case at.Op != "" && !yield(begun, nil):
			return
		}
		for partition, err := range n.of.CommitRecords().PartitionsAfter(ctx, begun) {
			if !yield(partition, err) {
				return
			}
		}
	}
}

// notify sends the notifications of a partition.
func (n *notifier) notify(ctx context.Context, partition keys.Enc, at place) error {
	pk, err := partition.Result()
	if err != nil {
		return err
	}
	after := ""
	if at.Partition == pk {
		after = at.Op
	}
	n.result.Partitions++
	for op, err := range n.of.CommitRecords().Pending(ctx, partition, after, n.before) {
		if err != nil {
			return err
		}
		if n.opt.Max >= 0 && n.result.Sent >= n.opt.Max {
			return errEnough
		}
		if _, err := n.o.Notify(ctx, table.Notification{Table: n.of.Name(), Partition: pk, OperationID: op}); err != nil {
			return queueError(err)
		}
		n.result.Sent++
		n.result.Resume = place{pk, op}.String()
	}
	n.result.Resume = place{Partition: pk}.String()
	return nil
}
