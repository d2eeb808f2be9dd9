package eventual

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// dispatcher decides which of the received messages a worker executes: at most perPartition of each
// partition at a time, and a message that needs isolation while no other message is executed.
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
	failures  failures // of Drain
}

// update changes the state of the dispatcher, executes the messages that can be executed then, and
// wakes up the receivers.
func (d *dispatcher) update(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	d.dispatch()
	close(d.changed)
	d.changed = make(chan struct{})
}

// isolates reports whether a message is executed in isolation, or waits for isolation. The caller
// holds mu.
func (d *dispatcher) isolates() bool {
	return d.isolating || slices.ContainsFunc(d.pools, func(p *pool) bool {
		return slices.ContainsFunc(p.waiting, func(x *lease) bool { return x.needsIsolation })
	})
}

// dispatch starts each waiting message that can be executed. A message that needs isolation waits
// until no message is running, and meanwhile receivers receive no messages. The caller holds mu.
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

// waitingPerHandler bounds the messages that wait in a worker, for each message that it executes at
// a time.
const waitingPerHandler = 4

// mostWaiting returns how many messages may wait. A pool that executes one message at a time takes
// none ahead: the requests of its messages follow one another.
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

// aheadTime is how long a message may be expected to wait for a handler: longer than a request
// takes, but so short that another worker would hardly be earlier.
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

// keeps returns how many messages may wait for a busy partition: as many as the partition is
// expected to begin before they are renewed, and as many as there are handlers even if that takes
// longer. The caller holds dispatcher.mu.
func (p *pool) keeps(now time.Time, untilRenewal time.Duration) int {
	return max(p.size, p.pace.expect(now, p.dispatcher.perPartition, untilRenewal, p.mostWaiting()))
}

// trim returns the latest of the waiting messages to the queue, and returns the number of the
// messages that the pool keeps.
func (p *pool) trim(untilRenewal time.Duration) int {
	p.dispatcher.mu.Lock()
	defer p.dispatcher.mu.Unlock()
	for keeps := p.keeps(time.Now(), untilRenewal); len(p.waiting) > keeps; {
		p.giveBack(len(p.waiting) - 1)
	}
	return len(p.waiting)
}

// release returns a waiting message to the queue instead of renewing it, and reports whether it
// did. Messages that wait for isolation are renewed, and as many messages of busy partitions as
// there are handlers.
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

// start executes and finishes a message in its own goroutine. With an outcome, the message is only
// finished. The caller holds dispatcher.mu.
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
		out = outcome{kind: retried, class: classAttempts, reason: errGoexit, failed: errGoexit}
		out = p.execute(x.traced, x)
	}
}

// leave makes room for the next execution. It does not wake up the receivers: the message is still
// to be finished.
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
	failed := x.finish(out)
	x.cancel(nil) // otherwise the worker's context would refer to the message's context until the worker ends
	p.dispatcher.update(func() {
		p.finishing--
		p.dispatcher.unfinished--
		if p.drain && context.Cause(x.ctx) != errLost {
			p.failures.note(x.id, failed)
		}
		if x.isolated {
			p.dispatcher.isolating = false
		}
	})
}

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
	overtaking  bool      // requests messages behind the messages of a busy partition
	kept        int       // messages that waited in the pool after that
	hidden      time.Time // until when a request of Drain without a response may have hidden messages
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
		// The request goes on if ctx ends: the messages in the response must be returned to the
		// queue.
		got, err := r.receive(context.WithoutCancel(ctx), free)
		r.readable.note(r.env.opt.now(), err)
		if err != nil {
			r.env.opt.Logger.Warn("no messages received", "error", wire.Redact(err))
			r.env.stats.add(func(s *Stats) { s.QueueFailures++ })
			if r.drain || errors.Is(err, errs.ErrQueueNotFound) || errors.Is(err, errs.ErrNoEndpoint) {
				return err
			}
		}
		r.accept(free, got)
		switch {
		case len(got) > 0:
			pause = r.idle / 16
			continue
		case r.drain && err == nil && empty && time.Now().Before(r.hidden):
			pause = time.Until(r.hidden)
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

// receive requests messages. Drain, which ends with the first error of a queue, repeats the request
// as long as a write may take.
func (r *receiver) receive(ctx context.Context, n int) (got []delivery, err error) {
	o := &r.env.opt
	if !r.drain {
		return r.queue.receive(ctx, n, o.Visibility)
	}
	ctx, cancel := engine.Bound(ctx, o.WriteTimeout)
	defer cancel()
	err = engine.Retry(o.Retry).Repeat(ctx, engine.Log{Logger: o.Logger, Method: "Drain"}, func() (again bool, err error) {
		until := time.Now().Add(o.Visibility)
		got, err = r.queue.receive(ctx, n, o.Visibility)
		if err == nil || !isTransient(err) {
			return false, err
		}
		r.hidden = until
		return r.pool.ctx.Err() == nil, err
	})
	return got, err
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

// awaitRoom waits until there is room for more messages, and returns for how many. ok is false if
// the context of the pool has ended.
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

// room returns the number of messages to request, or else 0 and the time after which to ask again,
// which is 0 if an update of the dispatcher is needed. The caller holds dispatcher.mu.
//
// While the queue has more messages, the receiver requests the next messages before handlers are
// free for them: pool.ahead. When three quarters of these are begun, it requests more, so that a
// response contains many messages.
//
// Messages of a busy partition wait in the pool, too, so that each starts as soon as its partition
// allows. While many of them wait and handlers are free, no messages are requested, because the
// next messages in the queue probably have the same partition. So that other partitions do not
// wait, the receiver then requests the messages behind them, and returns to the queue what the pool
// does not keep: after half of WorkerOptions.Idle if the handlers are slow, else every
// WorkerOptions.Defer.
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

// errLost: the visibility of a message ended and could not be renewed, so another worker may
// receive the message. It is the cause of the end of the handler's context.
var errLost = errors.New("eventual: the message is no longer the worker's")

// lease keeps a received message hidden from other workers. It renews the visibility at a third of
// its time, until the lease ends or is lost.
type lease struct {
	receivedMessage
	env   *environment
	queue queueClient

	release func(*lease) bool // returns a waiting message to the queue instead of a renewal, or reports false

	partition      string // counts to WorkerOptions.PerPartition; "" does not count
	needsIsolation bool   // must be executed while no other message is: see isolate
	isolated       bool   // is executed in isolation

	ctx         context.Context // of the handler; ends when the message is lost or finished
	traced      context.Context // ctx with the span of the message; only the goroutine that executes and finishes the message uses it
	cancel      context.CancelCauseFunc
	expiry      *time.Timer
	stopRenewal chan struct{}
	renewal     sync.WaitGroup
}

// newLease starts to renew a message. The handler's context is derived from ctx.
func newLease(ctx context.Context, env *environment, queue queueClient, release func(*lease) bool, d delivery) *lease {
	x := &lease{receivedMessage: newReceivedMessage(d, env.opt.Attempts), env: env, queue: queue, release: release}
	x.partition = env.handlers.partitionName(&x.receivedMessage)
	x.needsIsolation = x.mayBeDeadly() && !x.isDeadly()
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.traced = x.ctx
	x.expiry = time.AfterFunc(time.Until(d.visible), func() { x.cancel(errLost) })
	x.resumeRenewal()
	return x
}

// resumeRenewal starts the renewals, at first and after pauseRenewal.
func (x *lease) resumeRenewal() {
	x.stopRenewal = make(chan struct{})
	x.renewal.Go(x.keepRenewing)
}

// pauseRenewal stops the renewals until resumeRenewal. Each request for the message needs the
// receipt of the last renewal.
func (x *lease) pauseRenewal() {
	close(x.stopRenewal)
	x.renewal.Wait()
}

// keepRenewing renews the message until the renewals stop, the message is lost, or it is released.
// It repeats a failed request soon.
func (x *lease) keepRenewing() {
	third := x.env.untilRenewal()
	next := time.Until(x.visible) - 2*third
	for {
		timer := time.NewTimer(max(next, 0))
		select {
		case <-x.stopRenewal:
			timer.Stop()
			return
		case <-x.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if x.release(x) {
			return
		}
		switch err := x.renew(x.text); {
		case err == nil:
			next = third
			x.env.stats.add(func(s *Stats) { s.Renewed++ })
		case isMessageGone(err):
			x.cancel(errLost)
			return
		default:
			x.env.stats.add(func(s *Stats) { s.QueueFailures++ })
			x.env.opt.Logger.Warn("message not renewed", "error", wire.Redact(err))
			next = third / 8
		}
	}
}

// renew hides the message for WorkerOptions.Visibility from now, and stores a text. Calls must not
// overlap.
func (x *lease) renew(text string) error {
	visible := time.Now().Add(x.env.opt.Visibility)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(x.ctx), x.visible)
	defer cancel()
	receipt, err := x.queue.update(ctx, x.delivery, text, x.env.opt.Visibility)
	if err == nil {
		x.receipt, x.text, x.visible = receipt, text, visible
		if !x.expiry.Reset(time.Until(visible)) {
			x.cancel(errLost) // the visibility ended before the response
		}
	}
	return err
}

// end ends the renewals. The message is finished afterwards, with the last receipt.
func (x *lease) end() {
	x.pauseRenewal()
	x.expiry.Stop()
}
