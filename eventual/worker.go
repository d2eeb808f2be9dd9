package eventual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Worker executes the effects of the writes that a queue names. Several workers may share a queue, in one process or in many. It is
// safe for concurrent use.
type Worker struct {
	env        environment
	dispatcher *dispatcher
	executor   executor

	mu       sync.Mutex
	running  bool
	receiver *receiver // of notifications, while the worker runs
}

// NewWorker returns a worker of a queue, with another queue for poison messages, and with handlers. The worker reads and writes
// only the tables of its handlers. It sends nothing. Errors: *table.ValueError and *table.LimitError for wrong arguments and
// options.
func NewWorker(queue, poison Queue, handlers []Handler, o *WorkerOptions) (*Worker, error) {
	fail := func(err error) (*Worker, error) { return nil, fmt.Errorf("eventual: NewWorker: %w", err) }
	opt := o.withDefaults()
	if err := opt.check(); err != nil {
		return fail(err)
	}
	registered, err := newRegistry(handlers)
	if err == nil {
		err = cmp.Or(checkQueue("queue", queue), checkQueue("poison", poison))
	}
	if err == nil && !wire.IsNil(opt.CleanUp) {
		err = checkQueue("WorkerOptions.CleanUp", opt.CleanUp)
	}
	switch {
	case err != nil:
		return fail(err)
	case isSameQueue(queue, poison):
		return fail(&table.ValueError{Field: "poison", Reason: "is the same client as queue; pass another queue"})
	case isSameQueue(queue, opt.CleanUp), isSameQueue(poison, opt.CleanUp):
		return fail(&table.ValueError{Field: "WorkerOptions.CleanUp", Reason: "is the same client as queue or poison; set another queue"})
	}
	timeout := opt.Retry.AttemptTimeout
	w := &Worker{dispatcher: newDispatcher(opt.PerPartition)}
	w.env.opt, w.env.handlers, w.env.tracer = opt, registered, wire.RedactSpans(opt.Tracing).NewTracer("aztablekit", "")
	for _, h := range handlers {
		w.env.stats.addKind(registered.of(h.Table.Name()).table.Name(), h.Kind, func(*KindStats) {})
	}
	w.env.notifications, w.env.poison = queueClient{queue, timeout, "Worker.Ensure"}, queueClient{poison, timeout, "Worker.Ensure"}
	if !wire.IsNil(opt.CleanUp) {
		w.env.cleanUps = queueClient{opt.CleanUp, timeout, "Worker.Ensure"}
	}
	w.executor = executor{env: &w.env, cleaner: &cleaner{env: &w.env}}
	return w, nil
}

// isSameQueue reports whether a and b are the same client.
func isSameQueue(a, b Queue) bool {
	return b != nil && reflect.ValueOf(a).Comparable() && a == b
}

// Ensure creates the worker's queues unless they exist. 1 request for each; idempotent.
func (w *Worker) Ensure(ctx context.Context) error {
	for _, q := range []queueClient{w.env.notifications, w.env.poison, w.env.cleanUps} {
		if q.client == nil {
			continue
		}
		if err := q.ensure(ctx, &w.env.opt.Options); err != nil {
			return fmt.Errorf("eventual: Ensure: %w", err)
		}
	}
	return nil
}

// ErrRunning: Run or Drain of the worker is already running.
var ErrRunning = errors.New("eventual: the worker is already running")

// Run receives and executes messages until ctx ends. Then it receives no more, returns messages that it has not begun to the queue,
// waits for running handlers, WorkerOptions.StopTimeout at most, ends the contexts of the others, and returns nil. No effect is
// lost, however Run ends. If a queue or table cannot be reached, Run logs the error and repeats the request, less and less often.
//
// Errors: ErrQueueNotFound, ErrRunning. Requests: 1 to receive up to 32 messages (see WorkerOptions.Concurrency); for each message 1
// to read its commit record, 1 to mark the commit record as done, and 1 to delete the message, besides the handlers' own; 1 for each
// renewal or return of a message; if the queue is empty, 1 every WorkerOptions.Idle; with a clean-up queue 1 a
// minute, and for each hour of a partition 3 to plan its clean-up, 1 for each other worker to see that it is planned, and 4 or more
// to clean up.
func (w *Worker) Run(ctx context.Context) error { return w.run(ctx, false) }

// Drain runs until no more messages are visible and all received messages are completed: for tests, and for programs that are
// started from time to time. It does not wait for hidden messages. It keeps the messages of a busy partition until they are
// executed. Requests and errors are those of Run, the first error of the queue, and that of ctx if it ends before.
func (w *Worker) Drain(ctx context.Context) error { return w.run(ctx, true) }

func (w *Worker) run(ctx context.Context, drain bool) error {
	if !w.begin() {
		return ErrRunning
	}
	defer w.end()

	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	handlers, endHandlers := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endHandlers(nil)

	newPool := func(size int, execute func(context.Context, *lease) outcome) *pool {
		return &pool{dispatcher: w.dispatcher, size: size, drain: drain, ctx: ctx, execute: execute}
	}
	newReceiver := func(queue queueClient, idle time.Duration, p *pool) *receiver {
		return &receiver{env: &w.env, queue: queue, pool: p, handlers: handlers, readable: newReadability(w.env.opt.Now()), drain: drain, idle: idle, lastShort: time.Now()}
	}
	receivers := []*receiver{newReceiver(w.env.notifications, w.env.opt.Idle, newPool(w.env.opt.Concurrency, w.executor.execute))}
	w.mu.Lock()
	w.receiver = receivers[0]
	w.mu.Unlock()
	if w.env.cleanUps.client != nil {
		receivers = append(receivers, newReceiver(w.env.cleanUps, time.Minute, newPool(1, w.executor.cleaner.execute)))
	}
	w.dispatcher.update(func() {
		for _, r := range receivers {
			w.dispatcher.pools = append(w.dispatcher.pools, r.pool)
		}
	})

	errs := make([]error, len(receivers))
	var receiving sync.WaitGroup
	for i, r := range receivers {
		receiving.Go(func() {
			if errs[i] = r.run(); errs[i] != nil {
				cancel()
			}
		})
	}
	receiving.Wait()
	err := errors.Join(errs...)
	if drain && err == nil {
		err = parent.Err()
	}

	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for _, r := range receivers {
			r.pool.unfinished.Wait()
		}
	}()
	if !drain || ctx.Err() != nil {
		late := time.NewTimer(w.env.opt.StopTimeout)
		defer late.Stop()
		select {
		case <-finished:
		case <-late.C:
			endHandlers(errStopped)
		}
	}
	<-finished
	return err
}

// begin reports whether the worker was not running.
func (w *Worker) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	began := !w.running
	w.running = true
	return began
}

func (w *Worker) end() {
	w.dispatcher.update(func() { w.dispatcher.pools = nil })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.receiver = false, nil
}

// Pause stops the worker from receiving messages until Resume. The worker still executes messages that it has received or
// requested.
func (w *Worker) Pause() { w.dispatcher.update(func() { w.dispatcher.paused = true }) }

// Resume ends a pause.
func (w *Worker) Resume() { w.dispatcher.update(func() { w.dispatcher.paused = false }) }

// Ready returns nil if Run or Drain is running, and the queue of notifications has responded to the latest request to receive
// messages. Handlers that take long, failed messages and a pause by Pause do not change the result. Call Ready in readiness probes:
//
//	http.HandleFunc("/readyz", func(rw http.ResponseWriter, _ *http.Request) {
//		if err := w.Ready(); err != nil {
//			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
//		}
//	})
//
// A liveness probe should fail only for ErrNotRunning: a new process does not repair a queue, and Run repeats failed requests.
//
// Errors: ErrNotRunning before Run, after Run, and while Run waits for handlers to stop; ErrNotReadable with the time of the first
// failed request since the last response, and the latest error of the queue (*azcore.ResponseError if the queue has sent one). Until
// the queue has responded once, Ready returns ErrNotReadable, too. The texts contain no signatures.
//
// Limits: Ready reports an outage of the queue after the worker's next request to receive messages, which takes Retry.AttemptTimeout
// at most. A worker without room for more messages sends no such request until handlers return, and a paused worker sends none until
// Resume. Tables, the poison queue and the clean-up queue do not count. Requests: none.
func (w *Worker) Ready() error {
	w.mu.Lock()
	r := w.receiver
	w.mu.Unlock()
	if r == nil || r.pool.ctx.Err() != nil {
		return ErrNotRunning
	}
	return r.readable.result()
}

// Stats returns the counters.
func (w *Worker) Stats() Stats { return w.env.stats.read() }

// StatsByKind returns the counters of the handlers, sorted by table and kind. A handler that was not called yet has zeros, so that
// the kinds of a metric are known from the start. Effects of kinds without a handler are not counted here; Stats.Deferred and
// Stats.Poisoned count their messages. Requests: none.
func (w *Worker) StatsByKind() []KindStats { return w.env.stats.readKinds() }

// Backlog returns the approximate number of messages in the queue, including hidden messages. Errors: ErrQueueNotFound. 1 request.
func (w *Worker) Backlog(ctx context.Context) (int, error) {
	n, err := w.env.notifications.length(ctx)
	if err != nil {
		return 0, fmt.Errorf("eventual: Backlog: %w", err)
	}
	return n, nil
}
