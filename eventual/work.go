package eventual

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/aztablekit/aztablekit/table"
)

// outcome is what becomes of a message.
type outcome int

// The outcomes, worse ones later: of a message with several effects the worst counts.
const (
	done outcome = iota
	later
	again
	never
)

// verdict is what becomes of a message, and why.
type verdict struct {
	kind  outcome
	class string // of poison
	why   any
	after time.Duration // 0: the worker's own pause
	told  bool          // a worker of another release may know what to do
	m     message
	of    string // the kind of the effect
}

func (v verdict) worse(o verdict) verdict {
	if o.kind > v.kind {
		return o
	}
	return v
}

// work carries out what a message announces.
func (w *Worker) work(ctx context.Context, x *lease) (v verdict) {
	m, err := parse(x.d.text)
	defer func() { v.m = m }()
	switch {
	case errors.Is(err, errNewer):
		return verdict{kind: later, told: true, class: ClassUnknown, why: err}
	case err != nil || m.Op == "":
		return verdict{kind: never, class: ClassUndecodable, why: errUndecodable}
	}
	t := w.tables[folded(m.Table)]
	if t == nil {
		return verdict{kind: later, told: true, class: ClassUnknown, why: "no handler is registered for its table"}
	}
	free, ok := w.enter(m)
	if !ok {
		return verdict{kind: later, after: time.Second, why: "its partition is busy"}
	}
	defer free()
	if v = w.carry(ctx, t, m, x); v.kind == done || v.kind == never {
		w.plan(context.WithoutCancel(ctx), t, m)
	}
	return v
}

// enter takes a slot of a partition.
func (w *Worker) enter(m message) (leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := folded(m.Table) + "/" + m.Partition
	if w.of[name] >= w.opt.PerPartition {
		return nil, false
	}
	w.of[name]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.of[name]--; w.of[name] == 0 {
			delete(w.of, name)
		}
	}, true
}

// rounds is how often a worker begins anew in one attempt with an intent that others settle at the same time.
const rounds = 8

// carry carries out what the intent of a write says, until nothing is left of it.
func (w *Worker) carry(ctx context.Context, t *known, m message, x *lease) verdict {
	partition := m.partition()
	for range rounds {
		i, err := t.intents.Resolve(ctx, partition, m.Op)
		var ve *table.ValueError
		var newer *table.VersionError
		switch {
		case errors.Is(err, table.ErrExpired):
			return verdict{kind: never, class: ClassExpired, why: err}
		case errors.As(err, &ve):
			return verdict{kind: never, class: ClassUndecodable, why: err}
		case errors.As(err, &newer):
			return verdict{kind: later, told: true, class: ClassUnknown, why: err}
		case err != nil:
			return verdict{kind: again, class: ClassAttempts, why: err}
		case i.State == table.IntentAborted:
			return verdict{} // the write was never done
		}
		v, changed := w.effects(ctx, t, i, x)
		if changed {
			continue
		}
		if v.kind == done && i.State == table.IntentLive {
			switch err := t.intents.Close(ctx, i); {
			case errors.Is(err, table.ErrChanged):
				continue
			case err != nil:
				return verdict{kind: again, class: ClassAttempts, why: err}
			}
		}
		return v
	}
	return verdict{kind: again, class: ClassAttempts, why: table.ErrChanged}
}

// effects carries out the effects of an intent. changed tells that it is not any more what it was.
func (w *Worker) effects(ctx context.Context, t *known, i *table.Intent, x *lease) (v verdict, changed bool) {
	for n := 0; i.State == table.IntentLive && n < len(i.Effects); {
		e := i.Effects[n]
		h, is := t.kinds[e.Kind]
		if !is || e.Version > h.Version {
			v = v.worse(verdict{kind: later, told: true, class: ClassUnknown, of: e.Kind, why: "no handler is registered for its kind and version"})
			n++
			continue
		}
		before := i.Version()
		err := w.handle(ctx, h, Job{Table: h.Table.Name(), Partition: i.Partition, Op: i.Op, Effect: e, Attempt: x.attempt(), Intent: i, Index: n})
		switch {
		case errors.Is(err, table.ErrChanged) && ctx.Err() == nil:
			return verdict{}, true
		case err != nil:
			v = v.worse(w.judged(ctx, e, err))
			n++
		default:
			w.count(func(s *Stats) { s.Effects++ })
			if i.Version() == before {
				n++ // it has not settled it itself
			}
		}
	}
	return v, false
}

// handle calls a handler. A panic is an error.
func (w *Worker) handle(ctx context.Context, h Handler, j Job) (err error) {
	if w.opt.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.opt.Timeout)
		defer cancel()
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler of kind %q panicked: %v\n%s", h.Kind, r, debug.Stack())
		}
	}()
	return h.Handle(ctx, j)
}

// judged is what becomes of a message whose handler has failed.
func (w *Worker) judged(ctx context.Context, e table.Effect, err error) verdict {
	var p *poison
	var r *retry
	var newer *table.VersionError
	v := verdict{kind: again, class: ClassAttempts, of: e.Kind, why: err}
	switch {
	case context.Cause(ctx) == errStopped:
		v.kind = later // it was not given its time
	case errors.As(err, &p):
		v.kind, v.class = never, ClassHandler
	case errors.As(err, &newer) && newer.Got > newer.Want:
		v.kind, v.told, v.class = later, true, ClassUnknown
	case errors.As(err, &r):
		v.kind, v.after = later, max(r.after, time.Second)
	}
	return v
}

// attempt is how often somebody has begun with the message.
func (x *lease) attempt() int {
	m, _ := parse(x.d.text)
	// It is not trusted: each delivery counts at most once, and this one always.
	return int(max(x.d.gets-max(m.Uncounted, 0), 1))
}
