package eventual

import (
	"context"
	"errors"
	"slices"
	"time"
)

// take puts the messages in hand that the queue has given, of which it was asked for so many.
func (l *lane) take(asked int, got []delivery) {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if l.fetched = now; len(got) < asked {
		l.seen = now
	}
	for _, d := range got {
		w.stats.Received++
		l.busy.Add(1)
		l.held = append(l.held, newLease(l, d))
	}
	w.dispatch()
	// More are in hand than may wait there when the lane looks behind a busy partition.
	l.deep = l.deep && len(got) == asked
	for len(l.held) > l.most {
		x := l.held[len(l.held)-1]
		l.held = l.held[:len(l.held)-1]
		l.start(x, &verdict{kind: later, own: true, quiet: true, why: "its partition is busy"})
	}
}

// release gives back the messages that wait.
func (l *lane) release() {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.over = true
	for _, x := range l.held {
		l.start(x, nil)
	}
	l.held = nil
}

// alone reports whether a message is worked on alone, or waits for that. w.mu is held.
func (w *Worker) alone() bool {
	return w.exclusive || slices.ContainsFunc(w.lanes, func(l *lane) bool {
		return slices.ContainsFunc(l.held, func(x *lease) bool { return x.lone })
	})
}

// dispatch begins with the messages in hand that can be begun with. One that is to be worked on alone waits until nothing else is
// running, and nothing more is taken meanwhile. w.mu is held.
func (w *Worker) dispatch() {
	for _, l := range w.lanes {
		l.held = slices.DeleteFunc(l.held, func(x *lease) bool {
			if x.ctx.Err() != nil { // lost
				l.start(x, &verdict{kind: later, quiet: true, why: context.Cause(x.ctx)})
				return true
			}
			if w.exclusive || x.lone || l.running >= l.most || x.partition != "" && w.of[x.partition] >= w.opt.PerPartition {
				return false
			}
			l.start(x, nil)
			return true
		})
	}
	if w.running > 0 {
		return
	}
	for _, l := range w.lanes {
		if i := slices.IndexFunc(l.held, func(x *lease) bool { return x.lone }); i >= 0 {
			x := l.held[i]
			l.held = slices.Delete(l.held, i, i+1)
			w.exclusive, x.sole = true, true
			l.start(x, nil)
			return
		}
	}
}

// errEnded is a handler that ends its goroutine.
var errEnded = errors.New("eventual: the handler has ended its goroutine")

// start begins with a message, or gives it a verdict at once. w.mu is held.
func (l *lane) start(x *lease, v *verdict) {
	l.running++
	l.w.running++
	works := v == nil && !l.over
	if works && x.partition != "" {
		l.w.of[x.partition]++
	}
	go func() {
		defer l.busy.Done()
		if works {
			l.handle(x)
			return
		}
		if v == nil {
			v = &verdict{kind: later, quiet: true, why: errStopped}
		}
		l.settle(x, *v)
	}()
}

// handle works on a message and settles it.
func (l *lane) handle(x *lease) {
	v := verdict{kind: later, quiet: true, why: errStopped}
	defer func() { // also where a handler ends the goroutine
		l.w.leave(x.partition)
		l.settle(x, v)
	}()
	if l.ctx.Err() != nil {
		return
	}
	var ready bool
	if v, ready = x.prepare(); ready {
		v = verdict{kind: again, class: ClassAttempts, why: errEnded}
		v = l.work(x.ctx, x)
	}
}

// leave makes room for the next message of a partition. What waits for the queue is not woken: that is for the settled message.
func (w *Worker) leave(partition string) {
	if partition == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[partition]--; w.of[partition] == 0 {
		delete(w.of, partition)
	}
	w.dispatch()
}

// settle ends the work on a message.
func (l *lane) settle(x *lease, v verdict) {
	x.end()
	x.settle(v)
	x.cancel(nil) // or its context would stay with the worker's for as long as that runs
	l.w.signal(func() {
		l.running--
		l.w.running--
		if x.sole {
			l.w.exclusive = false
		}
	})
}
