package eventual

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Worker executes the effects of the writes that a queue names. Several workers may share a queue, in one process or in many. It is safe
// for concurrent use.
type Worker struct {
	hints, poison, cleanUps box
	tables                  map[string]*known
	opt                     WorkerOptions
	planned                 hours

	mu        sync.Mutex
	runs      bool
	paused    bool
	changed   chan struct{} // closed and made anew when a message is settled, or Pause and Resume are called
	lanes     []*lane
	running   int            // messages that are worked on
	exclusive bool           // one of them, alone
	of        map[string]int // by partition
	stats     Stats
}

// NewWorker returns a worker of a queue, with another queue for poison messages, and with handlers. The worker reads and writes only the
// tables of its handlers. It sends nothing. Errors: *table.ValueError and *table.LimitError for wrong arguments and options.
func NewWorker(queue, poison Queue, handlers []Handler, o *WorkerOptions) (*Worker, error) {
	fail := func(err error) (*Worker, error) { return nil, fmt.Errorf("eventual: NewWorker: %w", err) }
	opt := o.withDefaults()
	if err := opt.check(); err != nil {
		return fail(err)
	}
	tables, err := sorted(handlers)
	switch {
	case err != nil:
		return fail(err)
	case wire.Absent(queue):
		return fail(&table.ValueError{Field: "queue", Reason: "is nil"})
	case wire.Absent(poison):
		return fail(&table.ValueError{Field: "poison", Reason: "is nil"})
	case sameQueue(queue, poison):
		return fail(&table.ValueError{Field: "poison", Reason: "is also the queue of the notifications; give another"})
	case sameQueue(queue, opt.CleanUp), sameQueue(poison, opt.CleanUp):
		return fail(&table.ValueError{Field: "WorkerOptions.CleanUp", Reason: "must be a queue of its own"})
	}
	try := opt.Retry.AttemptTimeout
	w := &Worker{hints: box{queue, try}, poison: box{poison, try}, tables: tables, opt: opt, changed: make(chan struct{}), of: map[string]int{}}
	if !wire.Absent(opt.CleanUp) {
		w.cleanUps = box{opt.CleanUp, try}
	}
	return w, nil
}

// Ensure creates the worker's queues unless they exist. 1 request for each; idempotent.
func (w *Worker) Ensure(ctx context.Context) error {
	for _, b := range []box{w.hints, w.poison, w.cleanUps} {
		if b.q == nil {
			continue
		}
		if err := b.ensure(ctx); err != nil {
			return fmt.Errorf("eventual: Ensure: %w", err)
		}
	}
	return nil
}

// ErrRunning: the worker is running already.
var ErrRunning = errors.New("eventual: the worker runs already")

// ErrQueueNotFound: a queue of the worker does not exist. See [Worker.Ensure].
var ErrQueueNotFound = errors.New("eventual: no such queue")

// ErrLost: the visibility of a message ended and could not be renewed, so another worker may receive it. It is the cause of the end of the
// handler's context.
var ErrLost = errors.New("eventual: the message is no longer the worker's")

// Run receives and executes messages until ctx ends. Then it receives no more, returns messages that it has not begun to the queue, waits
// for running handlers, WorkerOptions.Stop at most, ends the contexts of the others, and returns nil. No effect is lost, however Run ends. If
// a queue or table cannot be reached, Run logs that and tries again, less and less often.
//
// Errors: ErrQueueNotFound, ErrRunning. Requests: 1 to receive up to 32 messages, but no more than there are free handlers; for each message 1
// to read its commit record, 1 to close it, and 1 to delete the message, besides the handlers' own; 1 for each renewal or return of a
// message; if the queue is empty, 1 every WorkerOptions.Idle; with a clean-up queue 1 a minute, and for each hour of a partition 3 to plan
// its clean-up, 1 for each other worker to see that it is planned, and 4 or more to clean up.
func (w *Worker) Run(ctx context.Context) error { return w.run(ctx, false) }

// Drain runs until no more messages are visible and all received messages are completed: for tests, and for programs that are started from
// time to time. It does not wait for hidden messages. It keeps messages of a busy partition in hand. Requests and errors are those of
// Run, the first error of the queue, and that of ctx if it ends before.
func (w *Worker) Drain(ctx context.Context) error { return w.run(ctx, true) }

func (w *Worker) run(ctx context.Context, once bool) error {
	w.mu.Lock()
	was := w.runs
	w.runs = true
	w.mu.Unlock()
	if was {
		return ErrRunning
	}
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.runs, w.lanes = false, nil
	}()

	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	var failed error
	var both sync.WaitGroup
	lanes := []*lane{{w: w, box: w.hints, ctx: ctx, jobs: jobs, once: once, idle: w.opt.Idle, most: w.opt.Concurrency, work: w.work}}
	if w.cleanUps.q != nil {
		lanes = append(lanes, &lane{w: w, box: w.cleanUps, ctx: ctx, jobs: jobs, once: once, idle: time.Minute, most: 1, work: w.cleanUp})
	}
	w.signal(func() { w.lanes = lanes })
	for _, l := range lanes {
		l.seen = time.Now()
		both.Go(func() {
			if err := l.run(); err != nil {
				w.mu.Lock()
				failed = errors.Join(failed, err)
				w.mu.Unlock()
				cancel()
			}
		})
	}
	both.Wait()
	if once && failed == nil {
		failed = parent.Err()
	}
	all := make(chan struct{})
	go func() {
		for _, l := range lanes {
			l.busy.Wait()
		}
		close(all)
	}()
	if !once || ctx.Err() != nil {
		late := time.NewTimer(w.opt.StopTimeout)
		defer late.Stop()
		select {
		case <-all:
		case <-late.C:
			end(errStopped)
		}
	}
	<-all
	return failed
}

// errStopped is the cause of the end of a handler's context if the worker stops.
var errStopped = errors.New("eventual: the worker stops")

// Pause stops the worker from receiving messages until Resume. The worker goes on with messages that it has received or requested.
func (w *Worker) Pause() { w.signal(func() { w.paused = true }) }

// Resume ends a pause.
func (w *Worker) Resume() { w.signal(func() { w.paused = false }) }

// Backlog returns the approximate number of messages in the queue, with hidden ones. 1 request.
func (w *Worker) Backlog(ctx context.Context) (int, error) {
	n, err := w.hints.count(ctx)
	if err != nil {
		return 0, fmt.Errorf("eventual: Backlog: %w", queueError(err))
	}
	return n, nil
}

// signal changes what lanes wait for.
func (w *Worker) signal(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.dispatch()
	close(w.changed)
	w.changed = make(chan struct{})
}

// sameQueue tells whether two are one client.
func sameQueue(a, b Queue) bool {
	return b != nil && reflect.ValueOf(a).Comparable() && a == b
}

func queueError(err error) error {
	if queueerror.HasCode(err, queueerror.QueueNotFound) {
		return fmt.Errorf("%w (%w)", ErrQueueNotFound, err)
	}
	return err
}

func folded(name string) string { return strings.ToLower(name) }
