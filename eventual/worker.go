package eventual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// worker executes the effects of the writes that a queue names. Several workers may share a queue,
// in one process or in many. It is safe for concurrent use.
type worker struct {
	env        environment
	dispatcher *dispatcher
	executor   executor

	mu       sync.Mutex
	running  bool
	receiver *receiver // of notifications, while the worker runs
}

func init() { door.Workers = doors{} }

// doors makes what a store has, for other packages of this module; see package door.
type doors struct{}

func (doors) Outbox(queue, o any) (any, error) {
	q, _ := queue.(*azqueue.QueueClient)
	return newOutbox(q, o.(*table.Common))
}

func (doors) Worker(queue, poison, handlers, o any) (any, error) {
	q, _ := queue.(*azqueue.QueueClient)
	p, _ := poison.(*azqueue.QueueClient)
	return newWorker(q, p, handlers.([]host.Handler), o.(*WorkerOptions))
}

func (doors) PoisonQueue(queue, poison, o any) (any, error) {
	return newPoisonQueue(queue.(*azqueue.QueueClient), poison.(*azqueue.QueueClient), o.(*table.Common))
}

func (doors) Clean(ctx context.Context, w, t any, partition string, through time.Time) (left int, err error) {
	return w.(*worker).clean(ctx, t.(table.Handle), partition, through)
}

// newWorker returns a worker of a queue, with another queue for poison messages, and with handlers.
// The worker reads and writes only the tables of its handlers. It sends nothing. Errors:
// *table.ValueError and *table.LimitError for wrong arguments and options.
func newWorker(queue, poison *azqueue.QueueClient, handlers []host.Handler, o *WorkerOptions) (*worker, error) {
	fail := func(err error) (*worker, error) { return nil, fmt.Errorf("eventual: worker: %w", err) }
	opt := o.withDefaults()
	if err := opt.check(); err != nil {
		return fail(err)
	}
	registered, err := newRegistry(handlers)
	if err == nil {
		err = cmp.Or(checkQueue("queue", queue), checkQueue("poison", poison))
	}
	switch {
	case err != nil:
		return fail(err)
	case isSameQueue(queue, poison):
		return fail(&table.ValueError{Field: "poison", Reason: "is the same client as queue; pass another queue"})
	}
	timeout := opt.Retry.AttemptTimeout
	w := &worker{dispatcher: &dispatcher{perPartition: opt.PerPartition, changed: make(chan struct{}), byPartition: map[string]int{}}}
	w.env.opt, w.env.handlers, w.env.tracer = opt, registered, wire.RedactSpans(opt.Tracing).NewTracer("aztablekit", "")
	for _, h := range handlers {
		w.env.stats.addKind(registered.tableHandlers(h.Table.Name()).table.Name(), h.Kind, func(*KindStats) {})
	}
	w.env.notifications, w.env.poison = queueClient{queue, timeout, "Store.Ensure"}, queueClient{poison, timeout, "Store.Ensure"}
	w.executor = executor{env: &w.env}
	return w, nil
}

// isSameQueue reports whether a and b are the same client.
func isSameQueue(a, b *azqueue.QueueClient) bool {
	return b != nil && a == b
}

// Ensure creates the worker's queues unless they exist. 1 request for each, at the same time;
// idempotent.
func (w *worker) Ensure(ctx context.Context) error {
	var g errgroup.Group
	queues := []queueClient{w.env.notifications, w.env.poison}
	names := []string{"the queue of notifications", "the poison queue"}
	failed := make([]error, len(queues))
	for i, q := range queues {
		g.Go(func() error {
			if err := q.ensure(ctx, &w.env.opt.Common); err != nil {
				failed[i] = fmt.Errorf("%s: %w", names[i], err)
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in failed
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("eventual: Ensure: %w", err)
	}
	return nil
}

var errRunning = &table.ValueError{Field: "the worker", Reason: "is already running"}

// Run receives and executes messages until ctx ends. Then it receives no more, returns messages
// that it has not begun to the queue, waits for running handlers, WorkerOptions.StopTimeout at
// most, ends the contexts of the others, and returns nil. No effect is lost, however Run ends. If a
// queue or table cannot be reached, Run logs the error and repeats the request, less and less
// often.
//
// Errors: table.ErrNotCreated; *table.ValueError for a worker that runs.
//
// Requests:
//   - 1 to receive up to 32 messages (see WorkerOptions.Concurrency)
//   - for each message 1 to read its commit record, 1 to mark the commit record as done, and 1 to
//     delete the message, besides the handlers' own
//   - 1 for each renewal or return of a message, and 1 more if its effects wait for longer than the
//     repair of lost messages does
//   - 2 more for poison
//   - if the queue is empty, 1 every WorkerOptions.Idle
func (w *worker) Run(ctx context.Context) error { return w.run(ctx, false) }

// Drain runs until no more messages are visible, and each received message is completed or waits
// for its next attempt: for tests, and for programs that are started from time to time. It does not
// wait for hidden messages. It keeps the messages of a busy partition until they are executed. A
// failed request for messages is repeated until WriteTimeout; Drain then waits for the messages
// that it may have hidden.
//
// Errors:
//   - table.ErrNotCreated
//   - *table.ValueError for a worker that runs
//   - the error of a queue, such as *azcore.ResponseError
//   - the error of ctx if ctx ends before
//   - the errors of handlers, and of the requests for commit records, joined, at most 100: each
//     with the table and the partition of the message
//
// An effect that failed, and succeeded at a later attempt of the same Drain, has none, nor has an
// effect that waits on purpose: [RetryAfter], or a kind or version that this worker does not know.
// A message that becomes poison before a handler is called is only logged. Requests are those of
// Run.
func (w *worker) Drain(ctx context.Context) error { return w.run(ctx, true) }

func (w *worker) run(ctx context.Context, drain bool) error {
	if !w.begin() {
		return errRunning
	}
	defer w.end()

	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	handlers, endHandlers := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endHandlers(nil)

	p := &pool{dispatcher: w.dispatcher, size: w.env.opt.Concurrency, drain: drain, ctx: ctx, execute: w.executor.execute}
	readable := &readability{since: w.env.opt.now(), err: errors.New("no response yet")}
	r := &receiver{env: &w.env, queue: w.env.notifications, pool: p, handlers: handlers, readable: readable, drain: drain, idle: w.env.opt.Idle, lastShort: time.Now()}
	w.mu.Lock()
	w.receiver = r
	w.mu.Unlock()
	w.dispatcher.update(func() { w.dispatcher.pools = append(w.dispatcher.pools, p) })

	err := r.run()
	if err != nil {
		cancel()
	}
	if drain && err == nil {
		err = parent.Err()
	}

	finished := make(chan struct{})
	go func() {
		defer close(finished)
		p.unfinished.Wait()
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
	return errors.Join(err, p.failures.err())
}

// begin reports whether the worker was not running.
func (w *worker) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	began := !w.running
	w.running = true
	return began
}

func (w *worker) end() {
	w.dispatcher.update(func() { w.dispatcher.pools = nil })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.receiver = false, nil
}

// Pause stops the worker from receiving messages until Resume. The worker still executes messages
// that it has received or requested.
func (w *worker) Pause() { w.dispatcher.update(func() { w.dispatcher.paused = true }) }

// Resume ends a pause.
func (w *worker) Resume() { w.dispatcher.update(func() { w.dispatcher.paused = false }) }

// Ready returns nil if Run or Drain is running, and the queue of notifications has responded to the
// latest request to receive messages. Handlers that take long, failed messages and a pause by Pause
// do not change the result. Call Ready in readiness probes:
//
//	http.HandleFunc("/readyz", func(rw http.ResponseWriter, _ *http.Request) {
//		if err := w.Ready(); err != nil {
//			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
//		}
//	})
//
// A liveness probe should fail only for ErrNotRunning: a new process does not repair a queue, and
// Run repeats failed requests.
//
// Errors:
//   - ErrNotRunning before Run, after Run, and while Run waits for handlers to stop
//   - ErrNotReadable until the queue has responded once, and during an outage, with the time of the
//     first failed request since the last response, and the latest error of the queue
//     (*azcore.ResponseError if the queue has sent one)
//
// The texts contain no signatures.
//
// Limits: Ready reports an outage of the queue after the worker's next request to receive messages,
// which takes Retry.AttemptTimeout at most. A worker without room for more messages sends no such
// request until handlers return, and a paused worker sends none until Resume. Tables and the poison
// queue do not count. Requests: none.
func (w *worker) Ready() error {
	w.mu.Lock()
	r := w.receiver
	w.mu.Unlock()
	if r == nil || r.pool.ctx.Err() != nil {
		return ErrNotRunning
	}
	return r.readable.result()
}

// Stats returns the counters but those of the handlers.
func (w *worker) Stats() Stats { return w.env.stats.read() }

// StatsByKind returns Stats.Kinds.
func (w *worker) StatsByKind() []KindStats { return w.env.stats.readKinds() }

// Backlog returns the approximate number of messages in the queue, including hidden messages.
// Errors: table.ErrNotCreated; *azcore.ResponseError. 1 request.
func (w *worker) Backlog(ctx context.Context) (int, error) {
	n, err := w.env.notifications.length(ctx)
	if err != nil {
		return 0, fmt.Errorf("eventual: Backlog: %w", err)
	}
	return n, nil
}

// WorkerOptions are the options of a worker. The zero value of each field is its default.
type WorkerOptions struct {
	// Common bounds the requests of the worker. Retry.ConflictAttempts, with the pauses of
	// Retry.ConflictWait and MaxConflictWait, bounds how often the worker starts again because a
	// concurrent worker has changed the commit record; then the attempt of the message has failed.
	// Logger also receives completed messages at Debug, returned and lost messages at Warn, and
	// poison at Error.
	//
	// Tracing receives a span for each message that the worker executes, aztablekit.Worker.Execute.
	// Its children are the requests of the worker for the message, and the spans of the methods
	// that the handlers call. The attributes are messaging.system, messaging.operation.type,
	// messaging.message.id, db.collection.name (the table of the write), aztablekit.operation_id
	// (of the write), aztablekit.attempt and aztablekit.outcome (the text of the log); and after a
	// failure aztablekit.class (of the poison that follows) and aztablekit.effect (the kind). The
	// span has the status error if the log's level is Warn or Error. It contains no text of an
	// error. Requests to receive and to renew messages belong to no message.
	table.Common

	// Concurrency is how many messages the worker executes at a time. Defaults to 16.
	//
	// While handlers are fast, the worker receives the next messages before handlers are free for
	// them, up to 32 in one request: as many as it expects to execute within 250 ms, and at most 4
	// × Concurrency. It deletes a message while it executes the next. So it contains at most 5 ×
	// Concurrency messages. With Concurrency 1, it receives a message after it has deleted the
	// previous one. If handlers become slow, the worker returns the messages that wait for them to
	// the queue after a third of Visibility.
	Concurrency int

	// PerPartition is how many messages of one partition the worker executes at a time, so that
	// other partitions need not wait for a busy partition. Further messages of a busy partition
	// wait in the worker, which renews them, and starts each as soon as the partition allows: as
	// many as it expects to start within a third of Visibility, at least Concurrency and at most 4
	// × Concurrency. To find messages of other partitions behind them, the worker requests more
	// messages after half of Idle if the handlers are slow, else every Defer, and returns the
	// messages that it has no room for to the queue, for 1 s at first and up to Defer. Drain
	// returns no messages. Defaults to half of Concurrency, and at least 1.
	PerPartition int

	// Visibility is how long the queue hides a message that the worker has received, in whole
	// seconds. The worker renews it at a third of that while handlers run. The messages of a
	// crashed worker stay hidden for that long. Defaults to 1 min, at most 7 days.
	Visibility time.Duration

	// HandlerTimeout bounds one call of a handler. A call that it ends counts as an attempt, even
	// if the handler waited for a service that did not respond: set it longer than the handler's
	// own requests may take. Defaults to 5 min; negative means no bound.
	HandlerTimeout time.Duration

	// Attempts is how often a message fails before it becomes poison. A delivery that does not end,
	// because the worker crashes or loses the message, is no attempt. After Attempts such
	// deliveries, the worker executes the message in isolation, while it executes nothing else, for
	// 1 request more; after Attempts of those, the message becomes poison of class "deaths": at
	// most 2 × Attempts crashes. Defaults to 10.
	Attempts int

	// Wait is the pause before the second attempt, in whole seconds. It doubles with each attempt
	// up to MaxWait, and is shortened by up to a half. Default to 1 s and 5 min.
	Wait, MaxWait time.Duration

	// UnknownKindTimeout is how long messages of unknown tables, kinds and versions are returned to
	// the queue, for Defer each time, for workers of another release. Then they become poison. So
	// do messages of writes without a commit record whose clock was more than a day ahead. Default
	// to 1 h and 30 s.
	UnknownKindTimeout, Defer time.Duration

	// Idle is the longest pause between two requests to an empty queue; the first pause is a 16th
	// of it. Defaults to 4 s.
	Idle time.Duration

	// StopTimeout is how long Run waits for running handlers after its context has ended, before it
	// ends their contexts. Defaults to 30 s.
	StopTimeout time.Duration
}

// settings are the options of a worker with their defaults.
type settings struct {
	WorkerOptions
	now func() time.Time
}

func (o *WorkerOptions) withDefaults() settings {
	var out settings
	if o != nil {
		out.WorkerOptions = *o
	}
	common := engine.WithDefaults(out.Common)
	out.Common, out.now = common.Common, common.Now
	out.Concurrency = cmp.Or(out.Concurrency, 16)
	out.PerPartition = cmp.Or(out.PerPartition, max(out.Concurrency/2, 1))
	out.Visibility = cmp.Or(out.Visibility, time.Minute)
	out.HandlerTimeout = cmp.Or(out.HandlerTimeout, 5*time.Minute)
	out.Attempts = cmp.Or(out.Attempts, 10)
	out.Wait = cmp.Or(out.Wait, time.Second)
	out.MaxWait = cmp.Or(out.MaxWait, 5*time.Minute)
	out.UnknownKindTimeout = cmp.Or(out.UnknownKindTimeout, time.Hour)
	out.Defer = cmp.Or(out.Defer, 30*time.Second)
	out.Idle = cmp.Or(out.Idle, 4*time.Second)
	out.StopTimeout = cmp.Or(out.StopTimeout, 30*time.Second)
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return out
}

// check returns an error for the first option with a wrong value.
func (o *WorkerOptions) check() error {
	wrong := func(field string, value any, least string) error {
		return &table.ValueError{Field: "WorkerOptions." + field, Reason: fmt.Sprintf("is %v; it must be %s or more", value, least)}
	}
	for _, c := range []struct {
		field string
		n     int
	}{{"Concurrency", o.Concurrency}, {"PerPartition", o.PerPartition}, {"Attempts", o.Attempts}} {
		if c.n < 0 {
			return wrong(c.field, c.n, "0")
		}
	}
	for _, c := range []struct {
		field string
		d     time.Duration
	}{{"Wait", o.Wait}, {"MaxWait", o.MaxWait}, {"UnknownKindTimeout", o.UnknownKindTimeout}, {"Defer", o.Defer}, {"Idle", o.Idle}, {"StopTimeout", o.StopTimeout}} {
		if c.d < 0 {
			return wrong(c.field, c.d, "0")
		}
	}
	if o.Visibility < time.Second {
		return wrong("Visibility", o.Visibility, "1s")
	}
	for _, c := range []struct {
		field string
		d     time.Duration
	}{{"Visibility", o.Visibility}, {"MaxWait", o.MaxWait}, {"Defer", o.Defer}} {
		if c.d > maxVisibility {
			return &table.LimitError{Field: "WorkerOptions." + c.field, Limit: "seconds", Got: int(c.d / time.Second), Max: int(maxVisibility / time.Second)}
		}
	}
	return nil
}

// Stats counts what the worker of a store has done since it was made; see aztablekit.Store.
type Stats struct {
	Received      int // messages received
	Completed     int // messages completed: their effects were executed, or nothing was due
	Retried       int // messages returned to the queue for another attempt
	Deferred      int // messages returned without counting an attempt: unknown kind, busy partition or handlers, outage, RetryAfter, stop
	Poisoned      int // messages moved to the poison queue
	Lost          int // messages whose visibility ended before they were completed
	Renewed       int // renewals of messages
	Effects       int // handler calls that succeeded
	QueueFailures int // requests to queues that failed

	// Kinds are the counters of the handlers, sorted by table and kind. A handler that was not
	// called yet has zeros. Effects of kinds without a handler are not counted here; Deferred and
	// Poisoned count their messages.
	Kinds []KindStats
}

// KindStats counts the calls of one handler since it was made.
type KindStats struct {
	Table, Kind string // of the handler

	Executed int // calls that succeeded
	Failed   int // calls that count as a failed attempt
	Deferred int // calls that do not count: RetryAfter, outage of storage, newer version, stop of the worker, conflict
	Poisoned int // calls that returned Poison
}

// counters are the Stats and KindStats of a worker.
type counters struct {
	mu     sync.Mutex
	stats  Stats
	byKind []*KindStats // sorted by table and kind
}

func (c *counters) add(f func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.stats)
}

func (c *counters) read() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// addKind changes the counters of a handler. The handlers bound the number of counters: other
// kinds, which only commit records name, have none.
func (c *counters) addKind(table, kind string, f func(*KindStats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, found := slices.BinarySearchFunc(c.byKind, KindStats{Table: table, Kind: kind}, func(s *KindStats, other KindStats) int {
		return cmp.Or(cmp.Compare(s.Table, other.Table), cmp.Compare(s.Kind, other.Kind))
	})
	if !found {
		c.byKind = slices.Insert(c.byKind, i, &KindStats{Table: table, Kind: kind})
	}
	f(c.byKind[i])
}

// readKinds returns a copy of the counters of the handlers.
func (c *counters) readKinds() []KindStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]KindStats, len(c.byKind))
	for i, s := range c.byKind {
		all[i] = *s
	}
	return all
}

// environment is what the receivers, leases and handlers of one worker share.
type environment struct {
	opt      settings
	tracer   tracing.Tracer
	stats    counters
	handlers registry

	notifications, poison queueClient
}

// untilRenewal returns the time between two renewals of a message.
func (e *environment) untilRenewal() time.Duration { return e.opt.Visibility / 3 }

// The attributes of spans, by OpenTelemetry's conventions for messages and databases, and own
// names.
const (
	attrSystem     = "messaging.system"
	attrOperation  = "messaging.operation.type"
	attrMessageID  = "messaging.message.id"
	attrCollection = "db.collection.name"

	attrWrite   = "aztablekit.operation_id"
	attrAttempt = "aztablekit.attempt"
	attrOutcome = "aztablekit.outcome"
	attrClass   = "aztablekit.class"
	attrEffect  = "aztablekit.effect"
)

// startSpan begins the span of a message: x.traced contains the span. The kind of the span is
// consumer, because the SDK suppresses the spans of methods below a span of kind internal or
// client.
func (x *lease) startSpan() (end func()) {
	tracer := x.env.tracer
	if !tracer.Enabled() {
		return func() {}
	}
	const name = "aztablekit.Worker.Execute"
	attributes := []tracing.Attribute{
		{Key: attrSystem, Value: "azure.queues"}, {Key: attrOperation, Value: "process"}, {Key: attrMessageID, Value: x.id},
		{Key: attrAttempt, Value: x.attempt()},
	}
	if x.err == nil {
		attributes = append(attributes, tracing.Attribute{Key: attrCollection, Value: x.message.Table})
	}
	if x.message.Op != "" {
		attributes = append(attributes, tracing.Attribute{Key: attrWrite, Value: x.message.Op})
	}
	ctx, finish := runtime.StartSpan(x.ctx, name, tracer, &runtime.StartSpanOptions{Kind: tracing.SpanKindConsumer, Attributes: attributes})
	x.traced = ctx
	return func() { finish(nil) }
}

// noteOutcome notes the outcome of a message in its span, in the words of the log. The text of an
// error, which may be a handler's, stays out of the span. A message that was not executed has no
// span.
func (x *lease) noteOutcome(text string, failed bool, out outcome) {
	if x.traced == x.ctx {
		return
	}
	attributes := []tracing.Attribute{{Key: attrOutcome, Value: text}}
	if out.class != "" {
		attributes = append(attributes, tracing.Attribute{Key: attrClass, Value: out.class})
	}
	if out.effect != "" {
		attributes = append(attributes, tracing.Attribute{Key: attrEffect, Value: out.effect})
	}
	span := x.env.tracer.SpanFromContext(x.traced)
	span.SetAttributes(attributes...)
	if failed {
		span.SetStatus(tracing.SpanStatusError, text)
	}
}
