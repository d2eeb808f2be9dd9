package eventual

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// lane takes messages from a queue and works on several at a time.
type lane struct {
	w    *Worker
	box  box
	ctx  context.Context // of the worker: when it has ended, nothing more is begun
	jobs context.Context // of the handlers
	once bool            // it ends with the queue
	idle time.Duration
	most int
	work func(context.Context, *lease) verdict

	busy sync.WaitGroup // a message each, from its arrival until it is settled

	// The rest is read and changed with w.mu held.
	running int
	held    []*lease  // waiting for their partition, or to be worked on alone, in the order in which they came
	over    bool      // nothing more is begun
	fetched time.Time // when the queue was asked last
	seen    time.Time // when the queue had no more messages to be seen than it was asked for
	deep    bool      // it looks behind the messages of busy partitions
}

// run takes messages until its context has ended, and gives back what it has not begun with then.
func (l *lane) run() error {
	defer l.release()
	pause := l.idle / 16
	for {
		free, ok := l.slots()
		if !ok {
			return nil
		}
		idle := l.idles() // before it looks: what is worked on now may put a message there
		// Also where ctx ends meanwhile: what the queue has given must go back.
		got, err := l.box.get(context.WithoutCancel(l.ctx), free, l.w.opt.Visibility)
		if err != nil {
			err = queueError(err)
			l.w.opt.Logger.Warn("the queue cannot be read", "error", wire.Redact(err))
			l.w.count(func(s *Stats) { s.QueueFailures++ })
			if l.once || errors.Is(err, ErrQueueNotFound) {
				return err
			}
		}
		l.take(free, got)
		switch {
		case len(got) > 0:
			pause = l.idle / 16
			continue
		case l.once && err == nil && idle:
			return nil
		case l.once && err == nil:
			l.rest()
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-l.ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		pause = min(2*pause, l.idle)
	}
}

// slots waits until there is room for more messages, and returns for how many. ok is false when the context has ended.
func (l *lane) slots() (free int, ok bool) {
	for {
		l.w.mu.Lock()
		free, wait := l.room(time.Now())
		changed := l.w.changed
		l.w.mu.Unlock()
		switch {
		case l.ctx.Err() != nil:
			return 0, false
		case free > 0:
			return free, true
		}
		if wait <= 0 {
			wait = time.Hour // until something changes
		}
		due := time.NewTimer(wait)
		select {
		case <-l.ctx.Done():
		case <-changed:
		case <-due.C:
		}
		due.Stop()
	}
}

// room returns how many messages there is room for, never more than can be worked on at once; or else after which time to ask again,
// 0 where something else must happen first. w.mu is held.
//
// Messages of a busy partition wait in hand, as many as there are handlers, so that they are worked on as soon as their partition
// allows. While half as many wait, no more are taken, for those in front of the queue are probably of that partition too. So that its
// messages do not keep all others waiting, the lane looks behind them after a while, and what is in the way goes back: after half of
// WorkerOptions.Idle where the handlers are slow, and every WorkerOptions.Defer where they are not.
func (l *lane) room(now time.Time) (free int, wait time.Duration) {
	w := l.w
	free = l.most - l.running
	switch {
	case free <= 0, w.paused, w.alone(), l.over:
		return 0, 0
	case len(l.held) <= l.most/2:
		l.deep = false
		return min(free, l.most-len(l.held), maxGet), 0
	case l.once:
		return 0, 0
	case l.deep:
		return min(free, maxGet), 0
	}
	due := l.fetched.Add(l.idle / 2)
	if behind := l.seen.Add(w.opt.Defer); behind.Before(due) {
		due = behind
	}
	if wait = due.Sub(now); wait > 0 {
		return 0, wait
	}
	l.deep = true
	return min(free, maxGet), 0
}

// idles reports whether nothing is in hand.
func (l *lane) idles() bool {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.running == 0 && len(l.held) == 0
}

// rest waits until something that is in hand is settled, if anything is.
func (l *lane) rest() {
	l.w.mu.Lock()
	hand, changed := l.running+len(l.held), l.w.changed
	l.w.mu.Unlock()
	if hand == 0 {
		return
	}
	select {
	case <-l.ctx.Done():
	case <-changed:
	}
}
