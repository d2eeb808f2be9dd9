package eventual

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// The classes of poison: why a message was given up.
const (
	ClassUndecodable = "undecodable" // it is no message of this library
	ClassExpired     = "expired"     // of a write that is too old and has left nothing
	ClassUnknown     = "unknown"     // nobody knew its table, kind or version for WorkerOptions.Patience
	ClassAttempts    = "attempts"    // it failed WorkerOptions.Attempts times
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
	r := record{Version: version, Class: v.class, Kind: v.of, Attempts: x.attempt(), Time: x.w.opt.Now().UTC(), Message: noted(x.d.text, 0, nil)}
	b, err := json.Marshal(r)
	if s := ascii(string(b)); err == nil && xmlLength(s) <= maxMessage {
		return s
	}
	return x.d.text
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

// PoisonMessage is a message that workers have given up.
type PoisonMessage struct {
	ID       string
	Class    string // one of the classes, or "" where somebody else has put it there
	Kind     string // of the effect that failed, or ""
	Attempts int
	Time     time.Time // of its burial

	// What it announced, as far as it can be read. Copies of one message have the same Op.
	Table, Partition, Op string

	Text string // as it was in the hint queue
}

// PoisonQueue looks after poison messages. It is safe for concurrent use.
type PoisonQueue struct {
	box box
	opt table.Common
}

// NewPoisonQueue makes one of a queue. It sends nothing.
func NewPoisonQueue(queue Queue, o *table.Common) (*PoisonQueue, error) {
	if wire.Absent(queue) {
		return nil, fmt.Errorf("eventual: NewPoisonQueue: %w", &table.ValueError{Field: "queue", Reason: "is nil"})
	}
	if o == nil {
		o = &table.Common{}
	}
	opt := o.WithDefaults()
	return &PoisonQueue{box{queue, opt.Retry.TryTimeout}, opt}, nil
}

// List yields the messages that there are, once each, and leaves them where they are; they are hidden from others for a minute
// while it runs, and again visible when it ends. 1 request for each 32 messages, and 1 for each message.
func (q *PoisonQueue) List(ctx context.Context) iter.Seq2[PoisonMessage, error] {
	return func(yield func(PoisonMessage, error) bool) {
		err := q.each(ctx, func(_ context.Context, m PoisonMessage) (bool, error) {
			if !yield(m, nil) {
				return false, errEnough
			}
			return false, nil
		})
		if err != nil {
			yield(PoisonMessage{}, err)
		}
	}
}

// Replay puts the messages that match back into the queue of hints, and deletes them here then; it returns how many. If it is
// interrupted, a message may be in both queues, which does no harm. 2 requests for each, besides those of List.
func (q *PoisonQueue) Replay(ctx context.Context, hints Queue, match func(PoisonMessage) bool) (n int, err error) {
	to := box{hints, q.box.try}
	err = q.each(ctx, func(ctx context.Context, m PoisonMessage) (bool, error) {
		if !match(m) {
			return false, nil
		}
		if _, err := to.put(ctx, m.Text, 0); err != nil {
			return false, err
		}
		n++
		return true, nil
	})
	return n, err
}

// Drop deletes the messages that match, and returns how many. Their effects are never carried out, and their intents stay. 1 request
// for each, besides those of List.
func (q *PoisonQueue) Drop(ctx context.Context, match func(PoisonMessage) bool) (n int, err error) {
	err = q.each(ctx, func(_ context.Context, m PoisonMessage) (bool, error) {
		if match(m) {
			n++
			return true, nil
		}
		return false, nil
	})
	return n, err
}

var errEnough = fmt.Errorf("eventual: enough")

// each shows every message once. Those that f does not want to be deleted are given back when all were seen.
func (q *PoisonQueue) each(ctx context.Context, f func(context.Context, PoisonMessage) (drop bool, err error)) (err error) {
	var kept []delivery
	seen := map[string]bool{}
	defer func() {
		for _, d := range kept {
			if _, uerr := q.box.update(context.WithoutCancel(ctx), d, d.text, 0); err == nil && uerr != nil && !gone(uerr) {
				err = fmt.Errorf("eventual: poison queue: %w", uerr)
			}
		}
		if err == errEnough {
			err = nil
		}
	}()
	for {
		got, err := q.box.get(ctx, maxGet, time.Minute)
		if err != nil {
			return fmt.Errorf("eventual: poison queue: %w", queueError(err))
		}
		if len(got) == 0 {
			return nil
		}
		kept = append(kept, got...)
		for _, d := range got {
			if seen[d.id] {
				return nil // it took so long that they come back
			}
			seen[d.id] = true
			drop, err := f(ctx, unburied(d))
			if err != nil {
				return err
			}
			if !drop {
				continue
			}
			kept = removed(kept, d.id)
			if err := q.box.delete(ctx, d); err != nil && !gone(err) {
				return fmt.Errorf("eventual: poison queue: %w", err)
			}
		}
	}
}

func removed(all []delivery, id string) (rest []delivery) {
	for _, d := range all {
		if d.id != id {
			rest = append(rest, d)
		}
	}
	return rest
}

// unburied reads a message of the poison queue.
func unburied(d delivery) PoisonMessage {
	p := PoisonMessage{ID: d.id, Text: d.text, Time: d.inserted}
	var r record
	if json.Unmarshal([]byte(plain(d.text)), &r) == nil && r.Version == version && r.Class != "" {
		p.Class, p.Kind, p.Attempts, p.Time, p.Text = r.Class, r.Kind, r.Attempts, r.Time, r.Message
	}
	m, _ := parse(p.Text)
	p.Table, p.Partition, p.Op = m.Table, m.Partition, m.Op
	return p
}
