package eventual

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// dispatcher decides which of the received messages a worker executes: at most perPartition of each partition at a time, and a
// message that needs isolation while no other message is executed.
type dispatcher struct {
	perPartition int

	mu          sync.Mutex
	paused      bool
	changed     chan struct{} // closed and replaced by each update
	pools       []*pool
	running     int            // messages that are executed or being finished
	isolating   bool           // one message is executed in isolation
	byPartition map[string]int // messages that are executed
}

func newDispatcher(perPartition int) *dispatcher {
	return &dispatcher{perPartition: perPartition, changed: make(chan struct{}), byPartition: map[string]int{}}
}

// pool contains the received messages of one queue until they are finished.
type pool struct {
	dispatcher *dispatcher
	size       int             // messages that are executed at a time
	ctx        context.Context // when it ends, no further message is executed
	execute    func(context.Context, *lease) outcome
	unfinished sync.WaitGroup

	// dispatcher.mu guards the other fields.
	running int
	waiting []*lease // for a busy partition, or for isolation, in the order of their arrival
	closed  bool     // no further message is executed
}

// update changes the state of the dispatcher, executes the messages that can be executed then, and wakes up the receivers.
func (d *dispatcher) update(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	d.dispatch()
	close(d.changed)
	d.changed = make(chan struct{})
}

// isolates reports whether a message is executed in isolation, or waits for isolation. The caller holds mu.
func (d *dispatcher) isolates() bool {
	return d.isolating || slices.ContainsFunc(d.pools, func(p *pool) bool {
		return slices.ContainsFunc(p.waiting, func(x *lease) bool { return x.needsIsolation })
	})
}

// dispatch starts each waiting message that can be executed. A message that needs isolation waits until no message is running, and
// meanwhile receivers receive no messages. The caller holds mu.
func (d *dispatcher) dispatch() {
	for _, p := range d.pools {
		p.waiting = slices.DeleteFunc(p.waiting, func(x *lease) bool {
			if x.ctx.Err() != nil { // lost
				p.start(x, &outcome{kind: deferred, expected: true, reason: context.Cause(x.ctx)})
				return true
			}
			if d.isolating || x.needsIsolation || p.running >= p.size || x.partition != "" && d.byPartition[x.partition] >= d.perPartition {
				return false
			}
			p.start(x, nil)
			return true
		})
	}
	if d.running > 0 {
		return
	}
	for _, p := range d.pools {
		if i := slices.IndexFunc(p.waiting, func(x *lease) bool { return x.needsIsolation }); i >= 0 {
			x := p.waiting[i]
			p.waiting = slices.Delete(p.waiting, i, i+1)
			d.isolating, x.isolated = true, true
			p.start(x, nil)
			return
		}
	}
}

// leave makes room for the next message of a partition. It does not wake up the receivers: the message is still to be finished.
func (d *dispatcher) leave(partition string) {
	if partition == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byPartition[partition]--; d.byPartition[partition] == 0 {
		delete(d.byPartition, partition)
	}
	d.dispatch()
}

// add adds received messages, executes the messages that can be executed, and returns to the queue the latest of the waiting
// messages that the pool has no room for.
func (p *pool) add(received []*lease) {
	d := p.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	p.unfinished.Add(len(received))
	p.waiting = append(p.waiting, received...)
	d.dispatch()
	for len(p.waiting) > p.size {
		last := len(p.waiting) - 1
		x := p.waiting[last]
		p.waiting = p.waiting[:last]
		p.start(x, &outcome{kind: deferred, busy: true, expected: true, reason: "its partition is busy"})
	}
}

// close returns the waiting messages to the queue.
func (p *pool) close() {
	p.dispatcher.mu.Lock()
	defer p.dispatcher.mu.Unlock()
	p.closed = true
	for _, x := range p.waiting {
		p.start(x, nil)
	}
	p.waiting = nil
}

// isEmpty reports whether all received messages are finished.
func (p *pool) isEmpty() bool {
	p.dispatcher.mu.Lock()
	defer p.dispatcher.mu.Unlock()
	return p.running == 0 && len(p.waiting) == 0
}

// awaitChange waits until the next update of the dispatcher, unless the pool is empty.
func (p *pool) awaitChange(ctx context.Context) {
	p.dispatcher.mu.Lock()
	open, changed := p.running+len(p.waiting), p.dispatcher.changed
	p.dispatcher.mu.Unlock()
	if open == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-changed:
	}
}

// start executes and finishes a message in its own goroutine. With an outcome, the message is only finished. The caller holds
// dispatcher.mu.
func (p *pool) start(x *lease, out *outcome) {
	p.running++
	p.dispatcher.running++
	executes := out == nil && !p.closed
	if executes && x.partition != "" {
		p.dispatcher.byPartition[x.partition]++
	}
	go func() {
		defer p.unfinished.Done()
		if executes {
			p.run(x)
			return
		}
		if out == nil {
			out = &outcome{kind: deferred, expected: true, reason: errStopped}
		}
		p.finish(x, *out)
	}()
}

// errGoexit: a handler called runtime.Goexit.
var errGoexit = errors.New("eventual: the handler ended its goroutine")

// run executes and finishes a message.
func (p *pool) run(x *lease) {
	out := outcome{kind: deferred, expected: true, reason: errStopped}
	defer func() { // deferred, because a handler may end the goroutine
		p.dispatcher.leave(x.partition)
		p.finish(x, out)
	}()
	if p.ctx.Err() != nil {
		return
	}
	var ready bool
	if out, ready = x.isolate(); ready {
		out = outcome{kind: retried, class: ClassAttempts, reason: errGoexit}
		out = p.execute(x.ctx, x)
	}
}

// finish ends the lease of a message and requests its outcome.
func (p *pool) finish(x *lease, out outcome) {
	x.end()
	x.finish(out)
	x.cancel(nil) // otherwise the worker's context would refer to the message's context until the worker ends
	p.dispatcher.update(func() {
		p.running--
		p.dispatcher.running--
		if x.isolated {
			p.dispatcher.isolating = false
		}
	})
}
