package eventual

import (
	"context"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// finish deletes a message, returns it to the queue, or moves it to the poison queue. The handler's context may have ended; the
// requests have their own time limits.
func (x *lease) finish(out outcome) {
	ctx := context.WithoutCancel(x.traced)
	if context.Cause(x.ctx) == ErrLost {
		x.env.stats.add(func(s *Stats) { s.Lost++ })
		x.log(slog.LevelWarn, "message lost", out)
		return // the next worker that receives the message finishes it
	}
	switch out = x.limited(out); out.kind {
	case completed:
		x.request(ctx, out, func() error { return x.queue.delete(ctx, x.delivery) }, func(s *Stats) { s.Completed++ }, slog.LevelDebug, "message completed")
	case deferred, retried:
		x.returnToQueue(ctx, out)
	case poisoned:
		x.moveToPoison(ctx, out)
	}
}

// limited turns an outcome into poison after WorkerOptions.Attempts failed attempts, or after WorkerOptions.UnknownKindTimeout.
func (x *lease) limited(out outcome) outcome {
	switch now := x.env.opt.Now(); {
	case out.kind == retried && x.failures()+1 >= x.env.opt.Attempts:
		if out.kind = poisoned; out.requested || out.unknown && now.Sub(x.unknownSince(now)) < x.env.opt.UnknownKindTimeout {
			out.kind = deferred // another effect is still due
		}
	case out.kind == deferred && out.unknown && !out.requested && now.Sub(x.unknownSince(now)) >= x.env.opt.UnknownKindTimeout:
		out.kind = poisoned
	}
	return out
}

// unknownSince returns when a worker first did not know the table, kind or version of the message. An implausible time in the
// message is ignored. If the message has no room for the time, it is unknown since it was inserted.
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

// returnToQueue returns a message to the queue, hidden for a while, with its new history.
func (x *lease) returnToQueue(ctx context.Context, out outcome) {
	h := x.history // without the current execution in isolation, which has ended
	delay, counter, level := out.delay, func(s *Stats) { s.Retried++ }, slog.LevelWarn
	switch {
	case out.kind == retried:
		if delay = x.backOff(x.failures()+1, x.env.opt.MaxWait); out.requested {
			delay = max(delay, out.delay)
		}
		if !out.unknown {
			h.UnknownSince = nil
		}
		h.Outages = 0
		if h.Failed++; x.isolated {
			h.Uncounted, h.Isolated = h.Uncounted+x.unfinished(), 0 // other messages crashed the workers
		}
	default:
		h.Uncounted++
		counter = func(s *Stats) { s.Deferred++ }
		switch {
		case out.unknown:
			since := x.unknownSince(x.env.opt.Now().UTC())
			h.UnknownSince, delay = &since, max(delay, x.env.opt.Defer)
		case out.busy:
			delay = x.backOff(int(h.Uncounted), x.env.opt.Defer)
		case out.outage:
			h.Outages++ // deliveries that waited for a busy partition do not count
			delay = x.backOff(int(h.Outages), x.env.opt.MaxWait)
		}
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

// backOff returns the n-th delay of a message: twice as long each time, up to most. It is shortened by up to a half, depending on
// the ID of the message, so that messages that failed together are not delivered together again.
func (x *lease) backOff(n int, most time.Duration) time.Duration {
	d := min(x.env.opt.Wait, most)
	for ; n > 1 && d < most; n-- {
		d = min(2*d, most)
	}
	h := fnv.New32a()
	h.Write([]byte(x.id))
	return d - time.Duration(h.Sum32()%512)*d/1024
}

// moveToPoison copies a message to the poison queue and deletes it then. A worker that crashes in between leaves two copies, and
// loses none.
func (x *lease) moveToPoison(ctx context.Context, out outcome) {
	text := poisonText(&x.receivedMessage, out.class, out.effect, x.env.opt.Now())
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

// request sends the last request for a message, and counts and logs its result. After a failure, the message becomes visible again.
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

// log logs a message and the reason of its outcome, and notes the outcome in the span of the message. The log alone contains the text
// of a handler's error.
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
