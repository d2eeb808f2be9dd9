package eventual

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// dispatcher decides which of the received messages a worker executes: at most perPartition of each partition at a time, and a
// message that needs isolation while no other message is executed.
type dispatcher struct {
	perPartition int

	mu          sync.Mutex
	paused      bool
	changed     chan struct{} // closed and replaced by each update
	pools       []*pool
	unfinished  int            // messages that are executed or being finished
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
	drain      bool            // waiting messages stay until they are executed
	ctx        context.Context // when it ends, no further message is executed
	execute    func(context.Context, *lease) outcome
	unfinished sync.WaitGroup

	// dispatcher.mu guards the other fields.
	running   int
	finishing int      // messages that are being deleted or returned to the queue
	waiting   []*lease // for a handler, a busy partition or isolation, in the order of their arrival
	closed    bool     // no further message is executed
	pace      pace
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
			if d.isolating || x.needsIsolation || p.running >= p.size || d.isBusy(x.partition) {
				return false
			}
			p.start(x, nil)
			return true
		})
	}
	if d.unfinished > 0 {
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

// isBusy reports whether no further message of a partition can be executed. The caller holds mu.
func (d *dispatcher) isBusy(partition string) bool {
	return partition != "" && d.byPartition[partition] >= d.perPartition
}

// waitingPerHandler bounds the messages that wait in a worker, for each message that it executes at a time.
const waitingPerHandler = 4

// mostWaiting returns how many messages may wait. A pool that executes one message at a time takes none ahead: the requests of its
// messages follow one another.
func (p *pool) mostWaiting() int {
	if p.size == 1 {
		return 0
	}
	return waitingPerHandler * p.size
}

// space returns how many more messages the pool may contain. The caller holds dispatcher.mu.
func (p *pool) space() int {
	return p.size + p.mostWaiting() - p.running - p.finishing - len(p.waiting)
}

// aheadTime is how long a message may be expected to wait for a handler: longer than a request takes, but so short that another
// worker would hardly be earlier.
const aheadTime = 250 * time.Millisecond

// ahead returns how many messages should wait for handlers. The caller holds dispatcher.mu.
func (p *pool) ahead(now time.Time) int {
	return p.pace.expect(now, p.size, aheadTime, p.mostWaiting())
}

// add adds received messages and executes the messages that can be executed.
func (p *pool) add(received []*lease) {
	d := p.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	p.unfinished.Add(len(received))
	p.waiting = append(p.waiting, received...)
	d.dispatch()
}

// keeps returns how many messages may wait for a busy partition: as many as the partition is expected to begin before they are
// renewed, and as many as there are handlers even if that takes longer. The caller holds dispatcher.mu.
func (p *pool) keeps(now time.Time, untilRenewal time.Duration) int {
	return max(p.size, p.pace.expect(now, p.dispatcher.perPartition, untilRenewal, p.mostWaiting()))
}

// trim returns to the queue the latest of the waiting messages that the pool does not keep, and returns the number of the others.
func (p *pool) trim(untilRenewal time.Duration) int {
	p.dispatcher.mu.Lock()
	defer p.dispatcher.mu.Unlock()
	for keeps := p.keeps(time.Now(), untilRenewal); len(p.waiting) > keeps; {
		p.giveBack(len(p.waiting) - 1)
	}
	return len(p.waiting)
}

// release returns a waiting message to the queue instead of renewing it, and reports whether it did. Messages that wait for
// isolation are renewed, and as many messages of busy partitions as there are handlers.
func (p *pool) release(x *lease) bool {
	d := p.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(p.waiting, x)
	if i < 0 || p.drain || x.needsIsolation || d.isBusy(x.partition) && i < p.size {
		return false
	}
	p.giveBack(i)
	return true
}

// giveBack returns a waiting message to the queue. The caller holds dispatcher.mu.
func (p *pool) giveBack(i int) {
	x, out := p.waiting[i], outcome{kind: deferred, expected: true, reason: "the handlers are busy"}
	if p.dispatcher.isBusy(x.partition) {
		out.busy, out.reason = true, "its partition is busy"
	}
	p.waiting = slices.Delete(p.waiting, i, i+1)
	p.start(x, &out)
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
	return p.open() == 0
}

// open returns the number of messages in the pool. The caller holds dispatcher.mu.
func (p *pool) open() int { return p.running + p.finishing + len(p.waiting) }

// awaitChange waits until the next update of the dispatcher, unless the pool is empty.
func (p *pool) awaitChange(ctx context.Context) {
	p.dispatcher.mu.Lock()
	open, changed := p.open(), p.dispatcher.changed
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
	p.dispatcher.unfinished++
	if out == nil && p.closed {
		out = &outcome{kind: deferred, expected: true, reason: errStopped}
	}
	if out == nil {
		p.running++
		if x.partition != "" {
			p.dispatcher.byPartition[x.partition]++
		}
	} else {
		p.finishing++
	}
	go func() {
		defer p.unfinished.Done()
		if out == nil {
			p.run(x)
			return
		}
		p.finish(x, *out)
	}()
}

// errGoexit: a handler called runtime.Goexit.
var errGoexit = errors.New("eventual: the handler ended its goroutine")

// run executes and finishes a message.
func (p *pool) run(x *lease) {
	began := time.Now()
	endSpan := func() {}
	out := outcome{kind: deferred, expected: true, reason: errStopped}
	defer func() { // deferred, because a handler may end the goroutine
		p.leave(x, time.Since(began))
		p.finish(x, out)
		endSpan()
	}()
	if p.ctx.Err() != nil {
		return
	}
	endSpan = x.startSpan()
	var ready bool
	if out, ready = x.isolate(); ready {
		out = outcome{kind: retried, class: ClassAttempts, reason: errGoexit}
		out = p.execute(x.traced, x)
	}
}

// leave makes room for the next execution. It does not wake up the receivers: the message is still to be finished.
func (p *pool) leave(x *lease, took time.Duration) {
	d := p.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	p.running--
	p.finishing++
	p.pace.add(time.Now(), took)
	if x.partition != "" {
		if d.byPartition[x.partition]--; d.byPartition[x.partition] == 0 {
			delete(d.byPartition, x.partition)
		}
	}
	d.dispatch()
}

// finish ends the lease of a message and requests its outcome.
func (p *pool) finish(x *lease, out outcome) {
	x.end()
	x.finish(out)
	x.cancel(nil) // otherwise the worker's context would refer to the message's context until the worker ends
	p.dispatcher.update(func() {
		p.finishing--
		p.dispatcher.unfinished--
		if x.isolated {
			p.dispatcher.isolating = false
		}
	})
}
