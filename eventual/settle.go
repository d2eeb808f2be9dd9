package eventual

import (
	"context"
	"hash/fnv"
	"log/slog"
	"time"
)

// settle does with a message what was decided. The handler's context may be over; this has time of its own.
func (x *lease) settle(v verdict) {
	ctx := context.WithoutCancel(x.ctx)
	if context.Cause(x.ctx) == ErrLost {
		x.w.count(func(s *Stats) { s.Lost++ })
		x.log(slog.LevelWarn, "a message was lost", v)
		return // whoever has it now settles it
	}
	v = x.patient(v)
	switch v.kind {
	case done:
		x.over(ctx, v, func() error { return x.box.delete(ctx, x.d) }, func(s *Stats) { s.Done++ }, slog.LevelDebug, "a message is settled")
	case later:
		x.back(ctx, v, true)
	case again:
		x.back(ctx, v, false)
	case never:
		x.bury(ctx, v)
	}
}

// patient turns what has been tried too often, or what nobody has known for too long, into poison.
func (x *lease) patient(v verdict) verdict {
	switch now := x.w.opt.Now(); {
	case v.kind == again && x.attempt() >= x.w.opt.Attempts:
		v.kind = never
	case v.kind == later && v.told && now.Sub(x.since(now)) >= x.w.opt.Patience:
		v.kind = never
	}
	return v
}

// since is when nobody knew first what to do with the message. What it says itself is not trusted.
func (x *lease) since(now time.Time) time.Time {
	m, _ := parse(x.d.text)
	switch {
	case m.Since == nil:
		return now
	case m.Since.After(now) || m.Since.Before(x.d.inserted):
		return x.d.inserted
	}
	return *m.Since
}

// back gives a message back for a while. uncounted tells that this attempt is not to be counted.
func (x *lease) back(ctx context.Context, v verdict, uncounted bool) {
	m, _ := parse(x.d.text)
	was, since := m.Uncounted, m.Since
	after, counter := v.after, func(s *Stats) { s.Retried++ }
	switch {
	case uncounted:
		was, counter = max(min(was, x.d.gets-1), 0)+1, func(s *Stats) { s.Later++ }
		if v.told {
			now := x.since(x.w.opt.Now().UTC())
			since = &now
			after = x.w.opt.Later
		}
	default:
		after = x.pause()
	}
	if !v.told {
		since = nil
	}
	text := noted(x.d.text, was, since)
	x.over(ctx, v, func() error {
		_, err := x.box.update(ctx, x.d, text, after)
		return err
	}, counter, slog.LevelWarn, "a message is given back")
}

// pause is how long a message waits before its next attempt: twice as long each time, and shorter by up to a half as its id says,
// so that those which failed together part.
func (x *lease) pause() time.Duration {
	d := x.w.opt.Wait
	for n := x.attempt(); n > 1 && d < x.w.opt.MaxWait; n-- {
		d *= 2
	}
	d = min(d, x.w.opt.MaxWait)
	h := fnv.New32a()
	h.Write([]byte(x.d.id))
	return d - time.Duration(h.Sum32()%512)*d/1024
}

// over makes the last request for a message. What it cannot do is done when the message is seen again.
func (x *lease) over(ctx context.Context, v verdict, f func() error, counter func(*Stats), level slog.Level, text string) {
	err := x.w.opt.Retry.Repeat(ctx, func() (bool, error) {
		err := f()
		return err != nil && transient(err) && time.Now().Before(x.d.until), err
	})
	switch {
	case err == nil:
		x.w.count(counter)
		x.log(level, text, v)
	case gone(err):
		x.w.count(func(s *Stats) { s.Lost++ })
		x.log(slog.LevelDebug, "a message was settled by others", v)
	default:
		x.w.count(func(s *Stats) { s.Failures++ })
		x.log(slog.LevelWarn, "a message could not be settled, and will be seen again", v, "queue", err)
	}
}

// bury copies a message to the poison queue, and deletes it then: if the worker dies in between, there are two.
func (x *lease) bury(ctx context.Context, v verdict) {
	text := x.buried(v)
	err := x.w.opt.Retry.Repeat(ctx, func() (bool, error) {
		_, err := x.w.poison.put(ctx, text, 0)
		return err != nil && transient(err), err
	})
	if err != nil {
		x.w.count(func(s *Stats) { s.Failures++ })
		x.log(slog.LevelWarn, "the poison queue does not take a message", v, "queue", err)
		return // it will be seen again
	}
	x.over(ctx, v, func() error { return x.box.delete(ctx, x.d) }, func(s *Stats) { s.Poisoned++ }, slog.LevelError, "a message is poison")
}

// log tells of a message, by names alone.
func (x *lease) log(level slog.Level, text string, v verdict, more ...any) {
	args := append([]any{"table", v.m.Table, "partition", v.m.Partition, "op", v.m.Op, "attempt", x.attempt()}, more...)
	if v.of != "" {
		args = append(args, "kind", v.of)
	}
	if v.class != "" {
		args = append(args, "class", v.class)
	}
	if v.why != nil {
		args = append(args, "reason", v.why)
	}
	x.w.opt.Logger.Log(x.ctx, level, text, args...)
}
