package eventual

import (
	"context"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
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
	case later, again:
		x.back(ctx, v)
	case never:
		x.bury(ctx, v)
	}
}

// patient turns what has been tried too often, or what nobody has known for too long, into poison.
func (x *lease) patient(v verdict) verdict {
	switch now := x.w.opt.Now(); {
	case v.kind == again && x.failures()+1 >= x.w.opt.Attempts:
		if v.kind = never; v.asked || v.told && now.Sub(x.since(now)) < x.w.opt.UnknownKindTimeout {
			v.kind = later // something else is still to be done
		}
	case v.kind == later && v.told && !v.asked && now.Sub(x.since(now)) >= x.w.opt.UnknownKindTimeout:
		v.kind = never
	}
	return v
}

// since is when nobody knew first what to do with the message. What it says itself is not trusted, and where there is no room for it
// to say so, it has been so from the first.
func (x *lease) since(now time.Time) time.Time {
	m := x.m
	switch {
	case m.Since == nil && noted(x.d.text, notes{Uncounted: 1, Since: &now}) == x.d.text, m.Since != nil && m.Since.Before(x.d.inserted):
		return x.d.inserted
	case m.Since == nil || m.Since.After(now):
		return now
	}
	return *m.Since
}

// back gives a message back for a while.
func (x *lease) back(ctx context.Context, v verdict) {
	n := x.notes // without a note that it was begun with alone: this has come to an end
	after, counter, level := v.after, func(s *Stats) { s.Retried++ }, slog.LevelWarn
	switch {
	case v.kind == again:
		if after = x.pause(x.failures()+1, x.w.opt.MaxWait); v.asked {
			after = max(after, v.after)
		}
		if !v.told {
			n.Since = nil // what it holds is known
		}
		n.Away = 0
		if n.Tried++; x.sole {
			n.Uncounted, n.Alone = n.Uncounted+x.unended(), 0 // workers have died of something else
		}
	default:
		n.Uncounted++
		counter = func(s *Stats) { s.Deferred++ }
		switch {
		case v.told:
			now := x.since(x.w.opt.Now().UTC())
			n.Since, after = &now, max(after, x.w.opt.Defer)
		case v.own && v.quiet:
			after = x.pause(int(n.Uncounted), x.w.opt.Defer)
		case v.own:
			n.Away++ // and not those that only waited for their partition
			after = x.pause(int(n.Away), x.w.opt.MaxWait)
		}
	}
	if v.quiet {
		level = slog.LevelDebug
	}
	text := noted(x.d.text, n)
	x.over(ctx, v, func() error {
		_, err := x.box.update(ctx, x.d, text, after)
		return err
	}, counter, level, "a message is given back")
}

// pause is how long a message waits the n-th time: twice as long each time, and shorter by up to a half as its id says, so that those
// which failed together part.
func (x *lease) pause(n int, most time.Duration) time.Duration {
	d := min(x.w.opt.Wait, most)
	for ; n > 1 && d < most; n-- {
		d = min(2*d, most)
	}
	h := fnv.New32a()
	h.Write([]byte(x.d.id))
	return d - time.Duration(h.Sum32()%512)*d/1024
}

// over makes the last request for a message. What it cannot do is done when the message is seen again.
func (x *lease) over(ctx context.Context, v verdict, f func() error, counter func(*Stats), level slog.Level, text string) {
	doubt := false // a try that has failed may have been done
	err := x.w.opt.Retry.Repeat(ctx, func() (bool, error) {
		err := f()
		again := err != nil && transient(err)
		doubt = doubt || again
		return again && time.Now().Before(x.d.until), err
	})
	switch {
	case err == nil, doubt && gone(err):
		x.w.count(counter)
		x.log(level, text, v)
	case gone(err):
		x.w.count(func(s *Stats) { s.Lost++ })
		x.log(slog.LevelDebug, "a message was settled by others", v)
	default:
		x.w.count(func(s *Stats) { s.QueueFailures++ })
		x.log(slog.LevelWarn, "a message could not be settled, and will be seen again", v, "queue", wire.Redact(err))
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
		x.w.count(func(s *Stats) { s.QueueFailures++ })
		x.log(slog.LevelWarn, "the poison queue does not take a message", v, "queue", wire.Redact(err))
		return // it will be seen again
	}
	x.over(ctx, v, func() error { return x.box.delete(ctx, x.d) }, func(s *Stats) { s.Poisoned++ }, slog.LevelError, "a message is poison")
}

// log tells of a message, and why: the text of a handler's error is in the log alone.
func (x *lease) log(level slog.Level, text string, v verdict, more ...any) {
	args := append([]any{"table", v.m.Table, "partition", v.m.Partition, "op", v.m.Op, "attempt", x.attempt()}, more...)
	if v.of != "" {
		args = append(args, "kind", v.of)
	}
	if v.class != "" {
		args = append(args, "class", v.class)
	}
	if err, is := v.why.(error); is {
		args = append(args, "reason", wire.Redact(err))
	} else if v.why != nil {
		args = append(args, "reason", v.why)
	}
	x.w.opt.Logger.Log(x.ctx, level, text, args...)
}
