package eventual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// The classes of poison: why a message became poison.
const (
	ClassUndecodable = "undecodable" // it is no message of this library
	ClassExpired     = "expired"     // of a write that is too old and has left nothing
	ClassUnknown     = "unknown"     // nobody knew its table, kind or version for WorkerOptions.UnknownKindTimeout
	ClassAttempts    = "attempts"    // it failed WorkerOptions.Attempts times
	ClassCrashes      = "deaths"      // workers died of it: see WorkerOptions.Attempts
	ClassHandler     = "handler"     // a handler said Poison
)

// record is a message in the poison queue.
type record struct {
	Version  int       `json:"v"`
	Class    string    `json:"class"`
	Kind     string    `json:"kind,omitempty"`
	Attempts int       `json:"attempts"`
	Time     time.Time `json:"time"`
	Message  string    `json:"message"`
}

// buried is the text of the poison queue's copy: class and count, and nothing of the error's text, which may hold secrets. A
// message that leaves no room for them is copied as it is.
func (x *lease) buried(v verdict) string {
	r := record{Version: version, Class: v.class, Kind: v.of, Attempts: x.attempt(), Time: x.w.opt.Now().UTC(), Message: noted(x.d.text, notes{})}
	b, err := json.Marshal(r)
	if s := ascii(string(b)); err == nil && xmlLength(s) <= maxMessage {
		return s
	}
	if xmlLength(x.d.text) <= maxMessage+100 {
		return x.d.text
	}
	r.Message = "" // others have put it there in fewer bytes than it takes here
	b, _ = json.Marshal(r)
	return ascii(string(b))
}

// xmlLength is the length of a text as it is sent.
func xmlLength(s string) int {
	n := len(s) + 100 // with what is around it
	for i := range len(s) {
		switch s[i] {
		case '"', '\'':
			n += 4
		case '&', '\n', '\r', '\t':
			n += 4
		case '<', '>':
			n += 3
		}
	}
	return n
}

// PoisonMessage is a message in the poison queue.
type PoisonMessage struct {
	ID       string
	Class    string // one of the classes, or "" where somebody else has put it there
	Kind     string // of the effect that failed, or ""
	Attempts int
	Time     time.Time // of its burial

	// The write that the message names, as far as it can be read. Copies of one message have the same Op.
	Table, Partition, OperationID string

	Text string // as it was in the hint queue
}

// PoisonQueue lists, replays and drops poison messages. It is safe for concurrent use.
type PoisonQueue struct {
	box box
	opt table.Common
}

// NewPoisonQueue returns the poison messages of a queue. It sends nothing.
func NewPoisonQueue(queue Queue, o *table.Common) (*PoisonQueue, error) {
	if wire.Absent(queue) {
		return nil, fmt.Errorf("eventual: NewPoisonQueue: %w", &table.ValueError{Field: "queue", Reason: "is nil"})
	}
	if o == nil {
		o = &table.Common{}
	}
	opt := o.WithDefaults()
	return &PoisonQueue{box{queue, opt.Retry.AttemptTimeout}, opt}, nil
}

// hold is how long List, Replay and Drop hide messages of a poison queue from other programs.
const hold = 5 * time.Minute

// ErrIncomplete: the messages became visible again before all were seen, so some may be missing.
var ErrIncomplete = errors.New("eventual: not all messages may have been seen")

// List yields each message of the poison queue once, and leaves it there. While List runs, for 5 minutes at most, the messages are hidden from
// other programs. Errors: ErrQueueNotFound, ErrIncomplete. 1 request for each 32 messages, and 1 for each message.
func (q *PoisonQueue) List(ctx context.Context) iter.Seq2[PoisonMessage, error] {
	return func(yield func(PoisonMessage, error) bool) {
		stopped := false
		err := q.each(ctx, func(_ context.Context, m PoisonMessage) (bool, error) {
			if stopped = !yield(m, nil); stopped {
				return false, errEnough
			}
			return false, nil
		}, nil)
		if err != nil && !stopped {
			yield(PoisonMessage{}, err)
		}
	}
}

// Replay puts the messages that match, or all if match is nil, into the queue of notifications, deletes them from the poison queue, and
// returns how many. Messages that become poison again while it runs stay, and so do further copies of one message. If Replay is
// interrupted, a message may be in both queues, which does no harm. Errors are those of List, and *table.ValueError. 2 requests for each
// message, besides those of List.
func (q *PoisonQueue) Replay(ctx context.Context, hints Queue, match func(PoisonMessage) bool) (n int, err error) {
	if wire.Absent(hints) {
		return 0, fmt.Errorf("eventual: Replay: %w", &table.ValueError{Field: "hints", Reason: "is nil"})
	}
	to := box{hints, q.box.try}
	replayed := map[string]bool{}
	err = q.each(ctx, func(ctx context.Context, m PoisonMessage) (bool, error) {
		if match != nil && !match(m) || replayed[m.Text] {
			return false, nil
		}
		if _, err := to.put(ctx, m.Text, 0); err != nil {
			return false, fmt.Errorf("eventual: Replay: %w", queueError(err))
		}
		replayed[m.Text] = true
		return true, nil
	}, &n)
	return n, err
}

// Drop deletes the messages that match, or all if match is nil, and returns how many. Their effects are not executed, and their commit
// records stay pending: [Outbox.NotifyPending] notifies workers of them again. Errors are those of List. 1 request for each message,
// besides those of List.
func (q *PoisonQueue) Drop(ctx context.Context, match func(PoisonMessage) bool) (n int, err error) {
	err = q.each(ctx, func(_ context.Context, m PoisonMessage) (bool, error) { return match == nil || match(m), nil }, &n)
	return n, err
}

var errEnough = errors.New("eventual: enough")

// each calls f for every message once. Messages that f does not want to be deleted are returned to the queue when all were seen.
func (q *PoisonQueue) each(ctx context.Context, f func(context.Context, PoisonMessage) (drop bool, err error), deleted *int) (err error) {
	kept := map[string]delivery{}
	defer func() {
		if err == errEnough {
			err = nil
		}
		err = errors.Join(err, q.giveBack(context.WithoutCancel(ctx), kept))
	}()
	seen, back := map[string]bool{}, false
	for {
		got, err := q.box.get(ctx, maxGet, hold)
		if err != nil {
			return fmt.Errorf("eventual: poison queue: %w", queueError(err))
		}
		news := false
		for _, d := range got {
			kept[d.id] = d
			back = back || seen[d.id]
		}
		for _, d := range got {
			if seen[d.id] {
				continue
			}
			seen[d.id], news = true, true
			drop, err := f(ctx, unburied(d))
			if err != nil {
				return err
			}
			if !drop {
				continue
			}
			if err := q.box.delete(ctx, d); err != nil {
				return fmt.Errorf("eventual: poison queue: %w", queueError(err))
			}
			delete(kept, d.id)
			*deleted++
		}
		switch {
		case !news && back:
			return ErrIncomplete
		case !news:
			return nil
		}
	}
}

// giveBack makes messages visible again. A message for which that fails becomes visible when its time is over.
func (q *PoisonQueue) giveBack(ctx context.Context, kept map[string]delivery) error {
	for _, d := range kept {
		if time.Now().After(d.until) {
			continue
		}
		if _, err := q.box.update(ctx, d, d.text, 0); err != nil && !gone(err) {
			return fmt.Errorf("eventual: poison queue: %w", queueError(err))
		}
	}
	return nil
}

// unburied reads a message of the poison queue.
func unburied(d delivery) PoisonMessage {
	p := PoisonMessage{ID: d.id, Text: d.text, Time: d.inserted}
	var r record
	if json.Unmarshal([]byte(plain(d.text)), &r) == nil && r.Version == version && r.Class != "" {
		p.Class, p.Kind, p.Attempts, p.Time, p.Text = r.Class, r.Kind, r.Attempts, r.Time, r.Message
	}
	m, _ := parse(p.Text)
	p.Table, p.Partition, p.OperationID = m.Table, m.Partition, m.Op
	return p
}
