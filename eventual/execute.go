package eventual

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// executor executes the effects of the writes that messages name.
type executor struct{ env *environment }

// execute executes what is due for a message of the queue of notifications.
func (e *executor) execute(ctx context.Context, x *lease) (out outcome) {
	switch {
	case errors.Is(x.err, errNewer):
		return outcome{kind: deferred, unknown: true, class: classUnknown, reason: x.err}
	case x.err == nil && x.message.Hour != "":
		return outcome{} // of an older release, whose clean-ups had messages
	case x.err != nil:
		return outcome{kind: poisoned, class: classUndecodable, reason: errUndecodable}
	}
	t := e.env.handlers.tableHandlers(x.message.Table)
	if t == nil {
		return outcome{kind: deferred, unknown: true, class: classUnknown, reason: "no handler is registered for its table"}
	}
	return e.executeRecord(ctx, t, x)
}

// errConflict: a concurrent worker changed the commit record.
var errConflict = errors.New("eventual: the commit record has changed")

// executeRecord executes the effects of a commit record. After a conflict it starts again,
// Retry.ConflictAttempts times at most.
func (e *executor) executeRecord(ctx context.Context, t *tableHandlers, x *lease) (out outcome) {
	log := x.engineLog("Execute")
	log.Conflicts = true
	err := engine.Retry(e.env.opt.Retry).ForConflicts().Repeat(ctx, log, func() (again bool, err error) {
		var conflict bool
		if out, conflict = e.tryRecord(ctx, t, x); conflict {
			return true, errConflict
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil { // the worker stops or has lost the message, which is no failed attempt
		return requestOutcome(ctx, context.Cause(ctx))
	}
	return out
}

// tryRecord reads a commit record, executes its effects and marks the record as done. If conflict
// is true, the record has changed meanwhile.
func (e *executor) tryRecord(ctx context.Context, t *tableHandlers, x *lease) (out outcome, conflict bool) {
	record, err := e.resolve(ctx, t, x)
	var newer *table.VersionError
	switch {
	case errors.Is(err, errs.ErrExpired):
		return outcome{kind: poisoned, class: classExpired, reason: err}, false
	case errors.Is(err, engine.ErrAhead): // the write may still commit
		return outcome{kind: deferred, unknown: true, class: classAhead, reason: err}, false
	case errors.As(err, &newer):
		return outcome{kind: deferred, unknown: true, class: classUnknown, reason: err}, false
	case err != nil:
		return requestOutcome(ctx, err), false
	case record.State == commit.Aborted:
		return e.rollBack(ctx, t, x), false
	}
	if out, is := e.early(record, x); is {
		return out, false
	}
	out, conflict = e.executeEffects(ctx, t, record, x)
	if !conflict && out.kind != completed {
		conflict = e.storeWait(ctx, t, record, x, out)
	}
	if conflict || out.kind != completed || record.State != commit.Pending {
		return out, conflict
	}
	// The effects were executed, even if the worker stops: so this context does not end.
	switch err := t.records.MarkDone(context.WithoutCancel(ctx), record); {
	case errors.Is(err, table.ErrChanged):
		return outcome{kind: retried, class: classAttempts, reason: err, failed: err}, true
	case err != nil:
		return requestOutcome(ctx, err), false
	}
	return out, false
}

// executeEffects executes the effects of a commit record. If conflict is true, a concurrent worker
// has changed the record.
func (e *executor) executeEffects(ctx context.Context, t *tableHandlers, record *commit.Record, x *lease) (out outcome, conflict bool) {
	for n := 0; record.State == commit.Pending && n < len(record.Effects); {
		effect := record.Effects[n]
		of, job := t, host.JobOf(t.table.Name(), record, n, x.attempt())
		if effect.Table != "" { // of an entity in another partition
			of = e.env.handlers.tableHandlers(effect.Table)
		}
		h, known := of.handler(effect.Kind)
		if !known || effect.Version > h.Version {
			out = out.merge(outcome{kind: deferred, unknown: true, delay: e.env.opt.Defer, class: classUnknown, effect: effect.Kind,
				reason: "no handler is registered for its kind and version"})
			n++
			continue
		}
		before := record.Version()
		err := callHandler(ctx, e.env.opt.HandlerTimeout, h.Kind, func(ctx context.Context) error {
			return h.Handle(ctx, job)
		})
		if err == nil {
			e.env.stats.add(func(s *Stats) { s.Effects++ })
			e.env.stats.addKind(of.table.Name(), h.Kind, func(s *KindStats) { s.Executed++ })
			if record.Version() == before {
				n++ // otherwise the handler completed the effect itself, and the next effect has its position
			}
			continue
		}
		failed := handlerOutcome(ctx, effect.Kind, e.env.opt.Defer, err)
		if failed.kind == retried && errors.Is(err, table.ErrChanged) && ctx.Err() == nil {
			// The commit record has changed, or another row that only the handler knows.
			if now, err := t.records.Get(ctx, record.Partition, record.OperationID); err == nil && now.Version() != before {
				e.env.stats.addKind(of.table.Name(), h.Kind, func(s *KindStats) { s.Deferred++ })
				return failed, true
			}
		}
		e.env.stats.addKind(of.table.Name(), h.Kind, failed.count)
		out = out.merge(failed)
		if record.Version() == before {
			n++
		}
	}
	return out, false
}

// resolve is Records.Resolve for a message. An abort record also names the participants, so that
// they are swept with it.
func (e *executor) resolve(ctx context.Context, t *tableHandlers, x *lease) (record *commit.Record, err error) {
	ctx, end := door.Table(t.table).Span(ctx, "Resolve")
	defer func() { end(err) }()
	m := x.message
	if len(m.Participants) > 0 {
		record, err := t.records.Get(ctx, m.partition(), m.Op)
		if !errors.Is(err, table.ErrNotFound) {
			return record, err
		}
		if _, err := door.Table(t.table).Resolve(ctx, m.Partition, m.Op, m.Participants...); err != nil {
			return nil, err
		}
	}
	return t.records.Resolve(ctx, m.partition(), m.Op)
}

// mostExcluded is how many participants a message may name, and rollBack stores a row in those
// where nothing is prepared. A move has one, a transaction up to nine, and each unique value
// elsewhere adds two.
const mostExcluded = 24

// rollBack rolls back, in the participants that the message names, a write that never commits. The
// message is not trusted: in tables that no handler names, and if it names more than mostExcluded
// participants, rollBack writes only where the write has prepared something. A late request can
// then still prepare; programs that read such a row roll it back.
func (e *executor) rollBack(ctx context.Context, t *tableHandlers, x *lease) outcome {
	few := len(x.message.Participants) <= mostExcluded
	for _, r := range x.message.Participants {
		registered := e.env.handlers.tableHandlers(r.Table) != nil || slices.Contains(t.alsoWrites, strings.ToLower(r.Table))
		err := door.Table(t.table).EndParticipant(ctx, x.message.Partition, x.message.Op, r, registered && few)
		if errors.Is(err, errs.ErrTableNotFound) && !registered {
			continue
		} else if err != nil {
			return requestOutcome(ctx, err)
		}
	}
	return outcome{}
}

// finish deletes a message, returns it to the queue, or moves it to the poison queue, and returns
// the error of a message whose handler or request failed. The handler's context may have ended; the
// requests have their own time limits.
func (x *lease) finish(out outcome) error {
	ctx := context.WithoutCancel(x.traced)
	if context.Cause(x.ctx) == errLost {
		x.env.stats.add(func(s *Stats) { s.Lost++ })
		x.log(slog.LevelWarn, "message lost", out)
		return nil // the next worker that receives the message finishes it
	}
	switch out = x.limited(out); out.kind {
	case completed:
		x.request(ctx, out, func() error { return x.queue.delete(ctx, x.delivery) }, func(s *Stats) { s.Completed++ }, slog.LevelDebug, "message completed")
	case deferred, retried:
		x.returnToQueue(ctx, out)
	case poisoned:
		x.moveToPoison(ctx, out)
	}
	return out.failure(x)
}

// limited turns an outcome into poison after WorkerOptions.Attempts failed attempts, or after
// WorkerOptions.UnknownKindTimeout.
func (x *lease) limited(out outcome) outcome {
	switch now := x.env.opt.now(); {
	case out.kind == retried && x.failures()+1 >= x.env.opt.Attempts:
		out.kind = poisoned
		if out.requested || out.unknown && now.Sub(x.unknownSince(now)) < x.env.opt.UnknownKindTimeout {
			out.kind = deferred // another effect is still due
		}
	case out.kind == deferred && out.unknown && !out.requested && now.Sub(x.unknownSince(now)) >= x.env.opt.UnknownKindTimeout:
		out.kind = poisoned
	}
	return out
}

// unknownSince returns when a worker first did not know the table, kind or version of the message.
// An implausible time in the message is ignored. If the message has no room for the time, it is
// unknown since it was inserted.
func (x *lease) unknownSince(now time.Time) time.Time {
	stored := x.message.UnknownSince
	switch {
	case stored == nil && withHistory(x.text, history{Uncounted: 1, UnknownSince: &now}) == x.text, stored != nil && stored.Before(x.inserted):
		return x.inserted
	case stored == nil || stored.After(now):
		return now
	}
	return *stored
}

// delay returns for how long a message is hidden when it returns to the queue, and its new history.
func (x *lease) delay(out outcome) (time.Duration, history) {
	h := x.history // without the current execution in isolation, which has ended
	delay := out.delay
	if out.kind == retried {
		delay = x.backOff(x.failures()+1, x.env.opt.MaxWait)
		if out.requested {
			delay = max(delay, out.delay)
		}
		if !out.unknown {
			h.UnknownSince = nil
		}
		h.Outages = 0
		h.Failed++
		if x.isolated {
			h.Uncounted, h.Isolated = h.Uncounted+x.unfinished(), 0 // other messages crashed the workers
		}
		return delay, h
	}
	h.Uncounted++
	switch {
	case out.unknown:
		since := x.unknownSince(x.env.opt.now().UTC())
		h.UnknownSince, delay = &since, max(delay, x.env.opt.Defer)
	case out.busy:
		delay = x.backOff(int(h.Uncounted), x.env.opt.Defer)
	case out.outage:
		h.Outages++ // deliveries that waited for a busy partition do not count
		delay = x.backOff(int(h.Outages), x.env.opt.MaxWait)
	}
	return delay, h
}

// returnToQueue returns a message to the queue, hidden for a while, with its new history.
func (x *lease) returnToQueue(ctx context.Context, out outcome) {
	delay, h := x.delay(out)
	counter, level := func(s *Stats) { s.Deferred++ }, slog.LevelWarn
	if out.kind == retried {
		counter = func(s *Stats) { s.Retried++ }
	}
	if out.expected {
		level = slog.LevelDebug
	}
	text := withHistory(x.text, h)
	x.request(ctx, out, func() error {
		_, err := x.queue.update(ctx, x.delivery, text, delay)
		return err
	}, counter, level, "message returned to the queue")
}

// backOff returns the n-th delay of a message: twice as long each time, up to most. It is shortened
// by up to a half, depending on the ID of the message, so that messages that failed together are
// not delivered together again.
func (x *lease) backOff(n int, most time.Duration) time.Duration {
	d := min(x.env.opt.Wait, most)
	for ; n > 1 && d < most; n-- {
		d = min(2*d, most)
	}
	h := fnv.New32a()
	h.Write([]byte(x.id))
	return d - time.Duration(h.Sum32()%512)*d/1024
}

// moveToPoison copies a message to the poison queue and deletes it then. A worker that crashes in
// between leaves two copies, and loses none.
func (x *lease) moveToPoison(ctx context.Context, out outcome) {
	x.storePoison(ctx)
	text := poisonText(&x.receivedMessage, out.class, out.effect, x.env.opt.now())
	err := engine.Retry(x.env.opt.Retry).Repeat(ctx, x.engineLog("Poison"), func() (bool, error) {
		_, err := x.env.poison.put(ctx, text, 0)
		return err != nil && isTransient(err), err
	})
	if err != nil {
		x.env.stats.add(func(s *Stats) { s.QueueFailures++ })
		x.log(slog.LevelWarn, "message not copied to the poison queue", out, "queue", wire.Redact(err))
		return // the message becomes visible again
	}
	x.request(ctx, out, func() error { return x.queue.delete(ctx, x.delivery) }, func(s *Stats) { s.Poisoned++ }, slog.LevelError, "message moved to the poison queue")
}

// request sends the last request for a message, and counts and logs its result. After a failure,
// the message becomes visible again.
func (x *lease) request(ctx context.Context, out outcome, send func() error, counter func(*Stats), level slog.Level, text string) {
	inDoubt := false // a failed attempt may have been applied
	err := engine.Retry(x.env.opt.Retry).Repeat(ctx, x.engineLog("Finish"), func() (bool, error) {
		err := send()
		again := err != nil && isTransient(err)
		inDoubt = inDoubt || again
		return again && time.Now().Before(x.visible), err
	})
	switch {
	case err == nil, inDoubt && isMessageGone(err):
		x.env.stats.add(counter)
		x.log(level, text, out)
	case isMessageGone(err):
		x.env.stats.add(func(s *Stats) { s.Lost++ })
		x.log(slog.LevelDebug, "message finished by another worker", out)
	default:
		x.env.stats.add(func(s *Stats) { s.QueueFailures++ })
		x.log(slog.LevelWarn, "message not finished; it becomes visible again", out, "queue", wire.Redact(err))
	}
}

// engineLog returns the log of repeated requests and conflicts of a message.
func (x *lease) engineLog(method string) engine.Log {
	return engine.Log{Logger: x.env.opt.Logger, Table: x.message.Table, Method: method, Partition: x.message.Partition}
}

// log logs a message and the reason of its outcome, and notes the outcome in the span of the
// message. The log alone contains the text of a handler's error.
func (x *lease) log(level slog.Level, text string, out outcome, more ...any) {
	x.noteOutcome(text, level >= slog.LevelWarn, out)
	args := append([]any{"table", x.message.Table, "partition", x.message.Partition, "op", x.message.Op, "attempt", x.attempt()}, more...)
	if out.effect != "" {
		args = append(args, "kind", out.effect)
	}
	if out.class != "" {
		args = append(args, "class", out.class)
	}
	if err, is := out.reason.(error); is {
		args = append(args, "reason", wire.Redact(err))
	} else if out.reason != nil {
		args = append(args, "reason", out.reason)
	}
	x.env.opt.Logger.Log(x.traced, level, text, args...)
}

// outcomeKind is what happens to a message after its execution.
type outcomeKind int

// The kinds of outcomes. Of a message with several effects, the last kind in this order applies: a
// message is poison only if no other effect is still due.
const (
	completed outcomeKind = iota // deleted
	poisoned                     // moved to the poison queue
	deferred                     // returned to the queue without counting an attempt
	retried                      // returned to the queue after a failed attempt
)

// outcome is what happens to a message after its execution, and why.
type outcome struct {
	kind   outcomeKind
	class  string        // of poison
	effect string        // kind of the effect that failed
	reason any           // text or error
	delay  time.Duration // at least, before the next delivery

	unknown   bool // a worker of another release may know the table, kind or version, or the write may still commit
	requested bool // a handler requested the delay by RetryAfter
	outage    bool // storage was down
	busy      bool // the partition was busy
	expected  bool // nothing failed

	failed error // of the handlers and requests that failed, for Drain
}

// failure returns the error of a message whose handler or request failed, with the names of the
// message.
func (out outcome) failure(x *lease) error {
	if out.failed == nil {
		return nil
	}
	return fmt.Errorf("table %s, partition %q: %w", x.message.Table, x.message.Partition, out.failed)
}

// merge returns the outcome of a message for the outcomes of two effects.
func (out outcome) merge(other outcome) outcome {
	failed := errors.Join(out.failed, other.failed)
	out.failed, other.failed = failed, failed
	if out.kind == deferred && other.kind == deferred {
		out.unknown, out.requested, out.delay = out.unknown || other.unknown, out.requested || other.requested, max(out.delay, other.delay)
		return out
	}
	if other.kind > out.kind {
		out, other = other, out
	}
	out.unknown, out.requested = out.unknown || other.unknown, out.requested || other.requested
	if other.kind == deferred {
		out.delay = max(out.delay, other.delay)
	}
	return out
}

// count counts the outcome of a handler that failed.
func (out outcome) count(s *KindStats) {
	switch out.kind {
	case poisoned:
		s.Poisoned++
	case retried:
		s.Failed++
	default:
		s.Deferred++
	}
}

// errStopped is the cause of the end of a handler's context if the worker stops.
var errStopped = errors.New("eventual: the worker stops")

// requestOutcome returns the outcome for a failed request of the worker. If the message is not the
// cause, the message is deferred.
func requestOutcome(ctx context.Context, err error) outcome {
	var re *azcore.ResponseError
	var de *table.DecodeError
	switch {
	case context.Cause(ctx) == errStopped:
		return outcome{kind: deferred, expected: true, reason: err}
	case !isOutage(err) && (errors.As(err, &de) || errors.As(err, &re)):
		return outcome{kind: retried, class: classAttempts, reason: err, failed: wire.Redact(err)}
	}
	return outcome{kind: deferred, outage: true, reason: err, failed: wire.Redact(err)}
}

// handlerOutcome returns the outcome for a failed handler. unknownDelay is the delay for an entity
// of a newer version.
func handlerOutcome(ctx context.Context, effect string, unknownDelay time.Duration, err error) outcome {
	var p *bare.PoisonError
	var r *retryError
	var newer *table.VersionError
	out := outcome{kind: retried, class: classAttempts, effect: effect, reason: err}
	switch {
	case context.Cause(ctx) == errStopped:
		out.kind, out.expected = deferred, true // the handler had not its full time
	case errors.As(err, &p):
		out.kind, out.class = poisoned, classHandler
	case errors.As(err, &newer) && newer.Got > newer.Want:
		out.kind, out.unknown, out.class, out.delay = deferred, true, classUnknown, unknownDelay
	case errors.As(err, &r):
		out.kind, out.requested, out.delay = deferred, true, max(r.delay, time.Second)
	case isOutage(err):
		out.kind, out.outage = deferred, true
	}
	if !out.expected && !out.unknown && !out.requested {
		out.failed = fmt.Errorf("effect %s: %w", effect, wire.Redact(err))
	}
	return out
}

// isOutage reports whether storage is down, cannot be reached or denies access. The message is not
// the cause of such an error.
func isOutage(err error) bool {
	for _, is := range []error{table.ErrUnreachable, table.ErrUnknownOutcome, errs.ErrTableNotFound, table.ErrGivenUp} {
		if errors.Is(err, is) {
			return true
		}
	}
	var le *table.LimitError
	var de *table.DecodeError
	var re *azcore.ResponseError
	switch {
	case errors.Is(err, table.ErrOutbox): // of a handler's own write
		return !errors.As(err, &le)
	case errors.As(err, &de):
		switch de.Field {
		case "", "PartitionKey", "RowKey", "Timestamp", "odata.etag":
			return true // not an entity of the service: the response was truncated, or comes from a proxy
		}
		return false
	}
	return errors.As(err, &re) && wire.Unreached(context.Background(), err) // of a handler's own client
}

// A message that crashes its worker leaves no trace but the queue's count of deliveries, and all
// messages that the worker held have that count, too. So a message with WorkerOptions.Attempts
// unfinished deliveries is executed in isolation: while the worker executes nothing else. Before
// the handler runs, the isolation is stored in the message. After WorkerOptions.Attempts unfinished
// executions in isolation, the message is poison. Any execution that ends clears the message.

var errDeadly = errors.New("workers crashed while they executed the message in isolation")

// isolate begins the execution of a message, and stores an execution in isolation in the message.
// If the handler must not run, ready is false and the outcome applies. If the queue refuses the
// longer text, the count of deliveries alone decides.
func (x *lease) isolate() (out outcome, ready bool) {
	switch {
	case !x.needsIsolation && x.mayBeDeadly():
		return outcome{kind: poisoned, class: classCrashes, reason: errDeadly, failed: errDeadly}, false
	case !x.needsIsolation, x.historyFull:
		return out, true
	}
	x.pauseRenewal()
	err := x.renew(x.isolatedText())
	x.resumeRenewal()
	var re *azcore.ResponseError
	switch {
	case err == nil:
		return out, true
	case isMessageGone(err):
		x.cancel(errLost)
		return out, false
	case errors.As(err, &re) && !isTransient(err):
		x.historyFull = true
		if !x.isDeadly() {
			return out, true
		}
		return outcome{kind: poisoned, class: classCrashes, reason: errDeadly, failed: errDeadly}, false
	}
	x.cancel(errLost) // the request may have changed the receipt
	return outcome{kind: deferred, outage: true, reason: err}, false
}
