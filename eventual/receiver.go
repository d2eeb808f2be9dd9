package eventual

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// receiver receives the messages of one queue.
type receiver struct {
	env      *environment
	queue    queueClient
	pool     *pool
	handlers context.Context // of the handlers
	readable *readability
	drain    bool          // ends when the queue is empty
	idle     time.Duration // longest pause between two requests to an empty queue

	lastRequest time.Time // when the queue responded last
	lastShort   time.Time // when the queue responded last with fewer messages than requested
	more        bool      // the last response contained as many messages as requested
	overtaking  bool      // requests messages behind those of a busy partition
	kept        int       // messages that waited in the pool after that
}

// run receives messages until the context of the pool ends, and closes the pool.
func (r *receiver) run() error {
	defer r.pool.close()
	ctx, pause := r.pool.ctx, r.idle/16
	for {
		free, ok := r.awaitRoom()
		if !ok {
			return nil
		}
		empty := r.pool.isEmpty() // before the request: a running handler may put a message into the queue
		// The request goes on if ctx ends: the messages in the response must be returned to the queue.
		got, err := r.queue.receive(context.WithoutCancel(ctx), free, r.env.opt.Visibility)
		if err != nil {
			r.readable.failed(r.env.opt.Now(), err)
			r.env.opt.Logger.Warn("no messages received", "error", wire.Redact(err))
			r.env.stats.add(func(s *Stats) { s.QueueFailures++ })
			if r.drain || errors.Is(err, ErrQueueNotFound) {
				return err
			}
		} else {
			r.readable.succeeded()
		}
		r.accept(free, got)
		switch {
		case len(got) > 0:
			pause = r.idle / 16
			continue
		case r.drain && err == nil && empty:
			return nil
		case r.drain && err == nil:
			r.pool.awaitChange(ctx)
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		pause = min(2*pause, r.idle)
	}
}

// accept adds received messages to the pool.
func (r *receiver) accept(requested int, got []delivery) {
	r.lastRequest, r.more = time.Now(), len(got) == requested
	if !r.more {
		r.lastShort, r.kept = r.lastRequest, 0
	}
	leases := make([]*lease, len(got))
	for i, d := range got {
		r.env.stats.add(func(s *Stats) { s.Received++ })
		leases[i] = newLease(r.handlers, r.env, r.queue, r.pool.release, d)
	}
	r.pool.add(leases)
	if r.overtaking {
		r.kept = r.pool.trim(r.env.untilRenewal())
	}
	r.overtaking = r.overtaking && r.more
}

// awaitRoom waits until there is room for more messages, and returns for how many. ok is false if the context of the pool has
// ended.
func (r *receiver) awaitRoom() (free int, ok bool) {
	d, ctx := r.pool.dispatcher, r.pool.ctx
	for {
		d.mu.Lock()
		free, wait := r.room(time.Now())
		changed := d.changed
		d.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return 0, false
		case free > 0:
			return free, true
		}
		if wait <= 0 {
			wait = time.Hour // or until the next update
		}
		due := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-due.C:
		}
		due.Stop()
	}
}

// room returns the number of messages to request, or else 0 and the time after which to ask again, which is 0 if an update of the
// dispatcher is needed. The caller holds dispatcher.mu.
//
// While the queue has more messages, the receiver requests the next messages before handlers are free for them: pool.ahead. When
// three quarters of these are begun, it requests more, so that a response contains many messages.
//
// Messages of a busy partition wait in the pool, too, so that each starts as soon as its partition allows. While many of them wait
// and handlers are free, no messages are requested, because the next messages in the queue probably have the same partition. So that
// other partitions do not wait, the receiver then requests the messages behind them, and returns to the queue what the pool does not
// keep: after half of WorkerOptions.Idle if the handlers are slow, else every WorkerOptions.Defer.
func (r *receiver) room(now time.Time) (n int, wait time.Duration) {
	p := r.pool
	free, waiting, ahead := p.size-p.running, len(p.waiting), 0
	if r.more || free > 0 {
		ahead = p.ahead(now)
	}
	few, kept := ahead/4, max(p.size, min(r.kept, p.keeps(now, r.env.untilRenewal())))
	if free > 0 {
		few = max(few, kept-(p.size+1)/2)
	}
	switch {
	case p.dispatcher.paused, p.dispatcher.isolates(), p.closed:
		return 0, 0
	case waiting <= few:
		r.overtaking = false
		n = max(free+ahead-waiting, min(free, kept-waiting))
		return max(min(n, p.space(), maxReceived), 0), 0
	}
	n = min(free-p.finishing, maxReceived)
	switch {
	case n <= 0, r.drain:
		return 0, 0
	case r.overtaking:
		return n, 0
	}
	due := r.lastRequest.Add(r.idle / 2)
	if behind := r.lastShort.Add(r.env.opt.Defer); behind.Before(due) {
		due = behind
	}
	if wait = due.Sub(now); wait > 0 {
		return 0, wait
	}
	r.overtaking = true
	return n, 0
}
