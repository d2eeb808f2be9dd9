package eventual

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/table"
)

// PoisonQueue lists, replays and drops poison messages. It is safe for concurrent use.
type PoisonQueue struct{ queue, worker queueClient }

// newPoisonQueue returns the poison messages of a worker, by its queue and its poison queue. It
// sends nothing. Errors: *table.ValueError for a queue that is nil, is given twice, or has a name
// that the service refuses.
func newPoisonQueue(queue, poison *azqueue.QueueClient, o *table.Common) (*PoisonQueue, error) {
	err := cmp.Or(checkQueue("queue", queue), checkQueue("poison", poison))
	if err == nil && isSameQueue(queue, poison) {
		err = &table.ValueError{Field: "poison", Reason: "is the same client as queue; pass another queue"}
	}
	if err != nil {
		return nil, fmt.Errorf("eventual: poison queue: %w", err)
	}
	if o == nil {
		o = &table.Common{}
	}
	wait := engine.WithDefaults(*o).Retry.AttemptTimeout
	return &PoisonQueue{queueClient{poison, wait, "Store.Ensure"}, queueClient{queue, wait, "Store.Ensure"}}, nil
}

// Backlog returns the approximate number of poison messages, including messages that List, Replay
// and Drop hide for a while. Errors: table.ErrNotCreated; *azcore.ResponseError. 1 request.
func (q *PoisonQueue) Backlog(ctx context.Context) (int, error) {
	n, err := q.queue.length(ctx)
	if err != nil {
		return 0, fmt.Errorf("eventual: Backlog: %w", err)
	}
	return n, nil
}

// poisonVisibility is how long List, Replay and Drop hide messages of a poison queue from other
// programs.
const poisonVisibility = 5 * time.Minute

// errIncomplete: hidden messages became visible again before all messages were seen.
var errIncomplete = errs.Of(errs.ErrIncomplete, "eventual: some messages of the poison queue may be missing")

// List yields each message of the poison queue once, and keeps the messages in the queue. While
// List runs, for 5 minutes at most, the messages are hidden from other programs. Errors:
// table.ErrNotCreated; table.ErrIncomplete; *azcore.ResponseError. 1 request for each 32 messages,
// and 1 for each message.
func (q *PoisonQueue) List(ctx context.Context) iter.Seq2[PoisonMessage, error] {
	return func(yield func(PoisonMessage, error) bool) {
		stopped := false
		err := q.each(ctx, func(_ context.Context, m PoisonMessage) (bool, error) {
			if stopped = !yield(m, nil); stopped {
				return false, errListStopped
			}
			return false, nil
		}, nil)
		if err != nil && !stopped {
			yield(PoisonMessage{}, err)
		}
	}
}

// Replay puts the messages that match, or all if match is nil, into the queue of the worker,
// deletes them from the poison queue, and returns their number. Messages that become poison again
// during the call stay, and so do further copies of one message. If Replay is interrupted, a
// message may be in both queues, which does no harm. The work of a day passes over the commit
// records until 7 days after the messages became poison, also those of a replayed message that is
// lost. Errors: table.ErrNotCreated; table.ErrIncomplete; *azcore.ResponseError. 2 requests for
// each message, besides the requests of List.
func (q *PoisonQueue) Replay(ctx context.Context, match func(PoisonMessage) bool) (n int, err error) {
	replayed := map[string]bool{}
	err = q.each(ctx, func(ctx context.Context, m PoisonMessage) (bool, error) {
		if match != nil && !match(m) || replayed[m.Text] {
			return false, nil
		}
		if _, err := q.worker.put(ctx, m.Text, 0); err != nil {
			return false, fmt.Errorf("eventual: Replay: %w", err)
		}
		replayed[m.Text] = true
		return true, nil
	}, &n)
	return n, err
}

// Drop deletes the messages that match, or all if match is nil, and returns their number. Their
// effects are not executed, and their commit records stay pending: the work of a day notifies
// workers again 7 days after the message became poison, and aztablekit.Store.NotifyPending with
// Grace below 0 does so at once. Errors: table.ErrNotCreated; table.ErrIncomplete;
// *azcore.ResponseError. 1 request for each message, besides the requests of List.
func (q *PoisonQueue) Drop(ctx context.Context, match func(PoisonMessage) bool) (n int, err error) {
	err = q.each(ctx, func(_ context.Context, m PoisonMessage) (bool, error) { return match == nil || match(m), nil }, &n)
	return n, err
}

// errListStopped: the caller left the loop over List.
var errListStopped = errors.New("eventual: the list was stopped")

// each calls f once for each message, and counts the messages that f reports as done and each
// deletes. In the end each makes the other messages visible again.
func (q *PoisonQueue) each(ctx context.Context, f func(context.Context, PoisonMessage) (done bool, err error), deleted *int) (err error) {
	kept := map[string]delivery{}
	defer func() {
		err = errors.Join(err, q.show(context.WithoutCancel(ctx), kept))
	}()
	seen, repeated := map[string]bool{}, false
	for {
		got, err := q.queue.receive(ctx, maxReceived, poisonVisibility)
		if err != nil {
			return fmt.Errorf("eventual: poison queue: %w", err)
		}
		news := false
		for _, d := range got {
			kept[d.id] = d
			repeated = repeated || seen[d.id]
		}
		for _, d := range got {
			if seen[d.id] {
				continue
			}
			seen[d.id], news = true, true
			done, err := f(ctx, decodePoison(d))
			if err != nil {
				return err
			}
			if !done {
				continue
			}
			if err := q.queue.delete(ctx, d); err != nil {
				return fmt.Errorf("eventual: poison queue: %w", err)
			}
			delete(kept, d.id)
			*deleted++
		}
		switch {
		case !news && repeated:
			return errIncomplete
		case !news:
			return nil
		}
	}
}

// show makes messages visible. After an error, the remaining messages become visible when
// poisonVisibility is over.
func (q *PoisonQueue) show(ctx context.Context, kept map[string]delivery) error {
	for _, d := range kept {
		if time.Now().After(d.visible) {
			continue
		}
		if _, err := q.queue.update(ctx, d, d.text, 0); err != nil && !isMessageGone(err) {
			return fmt.Errorf("eventual: poison queue: %w", err)
		}
	}
	return nil
}

// The classes of poison; see PoisonMessage.Class.
const (
	classUndecodable = "undecodable" // the text is not a message of this library
	classExpired     = "expired"     // the write is older than commit.Retention and has no commit record
	classAhead       = "ahead"       // the write's clock was more than a day ahead, and it had no commit record for WorkerOptions.UnknownKindTimeout
	classUnknown     = "unknown"     // no worker knew the table, kind or version for WorkerOptions.UnknownKindTimeout
	classAttempts    = "attempts"    // WorkerOptions.Attempts attempts failed
	classCrashes     = "deaths"      // the message crashed its workers: see WorkerOptions.Attempts
	classHandler     = "handler"     // a handler returned Poison
)

// PoisonMessage is a message in the poison queue.
type PoisonMessage struct {
	ID string

	// Class is why the message became poison: "handler" (a handler returned [Poison]), "attempts"
	// (so many as WorkerOptions.Attempts failed), "deaths" (it crashed its workers), "unknown" (no
	// worker knew its table, kind or version), "undecodable" (the text is no message of this
	// library), "expired" (the write is older than a day and has no commit record), "ahead" (its
	// clock was more than a day ahead, and it had no commit record), or "" for a message that no
	// worker has moved to the poison queue.
	Class string

	Kind     string // of the effect that failed, or ""
	Attempts int
	Time     time.Time // when the message became poison

	// The write that the message names, if the message can be decoded. Copies of one message have
	// the same OperationID.
	Table, Partition, OperationID string

	Text string // as in the queue of the worker
}

// poisonRecord is the stored form of a poison message. It contains no text of an error, which may
// contain secrets.
type poisonRecord struct {
	Version  int       `json:"v"`
	Class    string    `json:"class"`
	Kind     string    `json:"kind,omitempty"`
	Attempts int       `json:"attempts"`
	Time     time.Time `json:"time"`
	Message  string    `json:"message"`
}

// poisonRecordVersion is the version of the format of poison records.
const poisonRecordVersion = 1

// poisonText returns the text for the poison queue: a poison record, or the text of the message
// itself if that leaves no room for the record.
func poisonText(m *receivedMessage, class, effect string, now time.Time) string {
	r := poisonRecord{Version: poisonRecordVersion, Class: class, Kind: effect, Attempts: m.attempt(), Time: now.UTC(), Message: withHistory(m.text, history{})}
	b, err := json.Marshal(r)
	if s := asciiJSON(string(b)); err == nil && encodedLength(s) <= maxMessage {
		return s
	}
	if encodedLength(m.text) <= maxMessage+100 {
		return m.text
	}
	r.Message = "" // the text was stored by another client, in fewer bytes than this encoding needs
	b, _ = json.Marshal(r)
	return asciiJSON(string(b))
}

// decodePoison reads a message of the poison queue.
func decodePoison(d delivery) PoisonMessage {
	p := PoisonMessage{ID: d.id, Text: d.text, Time: d.inserted}
	var r poisonRecord
	if json.Unmarshal([]byte(plainText(d.text)), &r) == nil && r.Version == poisonRecordVersion && r.Class != "" {
		p.Class, p.Kind, p.Attempts, p.Time, p.Text = r.Class, r.Kind, r.Attempts, r.Time, r.Message
	}
	m, _ := parse(p.Text)
	p.Table, p.Partition, p.OperationID = m.Table, m.Partition, m.Op
	return p
}
