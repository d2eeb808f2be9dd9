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
	jobs context.Context // of the handlers
	once bool            // it ends with the queue
	idle time.Duration
	most int
	work func(context.Context, *lease) verdict

	busy sync.WaitGroup
	hand int
}

// run takes messages until ctx is over, never more than can be worked on at once: a message that waits in a worker's hands is
// kept from all others.
func (l *lane) run(ctx context.Context) error {
	pause := l.idle / 16
	for {
		free, ok := l.slots(ctx)
		if !ok {
			return nil
		}
		idle := l.idles() // before it looks: what is worked on now may put a message there
		// Also where ctx ends meanwhile: what the queue has given must go back.
		got, err := l.box.get(context.WithoutCancel(ctx), free, l.w.opt.Visibility)
		if err != nil {
			err = queueError(err)
			l.w.opt.Logger.Warn("the queue cannot be read", "error", wire.Redact(err))
			l.w.count(func(s *Stats) { s.Failures++ })
			if l.once || errors.Is(err, ErrQueueNotFound) {
				return err
			}
		}
		for _, d := range got {
			l.begin(ctx, d)
		}
		switch {
		case len(got) > 0:
			pause = l.idle / 16
			continue
		case l.once && err == nil && idle:
			return nil
		case l.once && err == nil:
			l.rest(ctx)
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		pause = min(2*pause, l.idle)
	}
}

// slots waits until there are slots, and tells how many. It is false when ctx is over.
func (l *lane) slots(ctx context.Context) (free int, ok bool) {
	for {
		l.w.mu.Lock()
		free, paused, changed := l.most-l.hand, l.w.paused, l.w.changed
		l.w.mu.Unlock()
		if ctx.Err() != nil {
			return 0, false
		}
		if free > 0 && !paused {
			return free, true
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// idles tells whether nothing is worked on.
func (l *lane) idles() bool {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.hand == 0
}

// rest waits until something that is worked on is settled, if anything is.
func (l *lane) rest(ctx context.Context) {
	l.w.mu.Lock()
	hand, changed := l.hand, l.w.changed
	l.w.mu.Unlock()
	if hand == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-changed:
	}
}

// errEnded is a handler that ends its goroutine.
var errEnded = errors.New("eventual: the handler has ended its goroutine")

// begin works on a message.
func (l *lane) begin(ctx context.Context, d delivery) {
	l.w.mu.Lock()
	l.hand++
	l.w.stats.Received++
	l.w.mu.Unlock()
	l.busy.Go(func() {
		defer l.w.signal(func() { l.hand-- })
		x := newLease(l.jobs, l.w, l.box, d)
		x.waits = l.once
		v := verdict{kind: later, quiet: true, why: errStopped}
		defer func() { // also where a handler ends the goroutine
			x.end()
			x.settle(v)
		}()
		if ctx.Err() == nil {
			v = verdict{kind: again, class: ClassAttempts, why: errEnded}
			v = l.work(x.ctx, x)
		}
	})
}
