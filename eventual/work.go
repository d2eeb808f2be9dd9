package eventual

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// outcome is what becomes of a message.
type outcome int

// The outcomes. Of a message with several effects the last of these counts: it is poison only when nothing else is to be done.
const (
	done outcome = iota
	never
	later
	again
)

// verdict is what becomes of a message, and why.
type verdict struct {
	kind  outcome
	class string // of poison
	why   any
	after time.Duration // 0: the worker's own pause
	told  bool          // a worker of another release may know what to do
	asked bool          // a handler has said when
	own   bool          // it was no handler's doing, but the worker's own requests', or that its partition is busy
	quiet bool          // nothing is wrong
	m     message
	of    string // the kind of the effect
}

// and is what becomes of a message of which two things are to be said.
func (v verdict) and(o verdict) verdict {
	if v.kind == later && o.kind == later {
		v.told, v.asked, v.after = v.told || o.told, v.asked || o.asked, max(v.after, o.after)
		return v
	}
	if o.kind > v.kind {
		v, o = o, v
	}
	v.told, v.asked = v.told || o.told, v.asked || o.asked
	if o.kind == later {
		v.after = max(v.after, o.after)
	}
	return v
}

// work carries out what a message announces.
func (w *Worker) work(ctx context.Context, x *lease) (v verdict) {
	m, err := x.m, x.err
	defer func() { v.m = m }()
	switch {
	case errors.Is(err, errNewer):
		return verdict{kind: later, told: true, class: ClassUnknown, why: err}
	case err == nil && m.Hour != "":
		return w.cleanUp(ctx, x) // it was poison, and somebody has put it here
	case err != nil:
		return verdict{kind: never, class: ClassUndecodable, why: errUndecodable}
	}
	t := w.tables[folded(m.Table)]
	if t == nil {
		return verdict{kind: later, told: true, class: ClassUnknown, why: "no handler is registered for its table"}
	}
	if v = w.carry(ctx, t, m, x); v.kind == done || v.class == ClassExpired {
		w.plan(context.WithoutCancel(ctx), t, m)
	}
	return v
}

// rounds is how often a worker begins anew in one attempt with an intent that others settle at the same time.
const rounds = 8

// carry carries out what the intent of a write says, until nothing is left of it.
func (w *Worker) carry(ctx context.Context, t *known, m message, x *lease) (v verdict) {
	for range rounds {
		i, err := t.intents.Resolve(ctx, m.partition(), m.Op)
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
			return own(ctx, err)
		case i.State == table.CommitAborted:
			return verdict{} // the write was never done
		}
		var changed bool
		if v, changed = w.effects(ctx, t, i, x); changed {
			continue
		}
		if v.kind == done && i.State == table.CommitPending {
			// Also where the worker stops: it was carried out.
			switch err := t.intents.MarkDone(context.WithoutCancel(ctx), i); {
			case errors.Is(err, table.ErrChanged):
				v = verdict{kind: again, class: ClassAttempts, why: err}
				continue
			case err != nil:
				return own(ctx, err)
			}
		}
		return v
	}
	return v
}

// own is what becomes of a message for which a request of the worker's has failed, or one of a handler's to storage: where that is no
// fault of the message, it is given back until it can be carried out.
func own(ctx context.Context, err error) verdict {
	var re *azcore.ResponseError
	var de *table.DecodeError
	switch {
	case context.Cause(ctx) == errStopped:
		return verdict{kind: later, quiet: true, why: err}
	case !outage(err) && (errors.As(err, &de) || errors.As(err, &re)):
		return verdict{kind: again, class: ClassAttempts, why: err}
	}
	return verdict{kind: later, own: true, why: err}
}

// outage reports whether an error is of storage that is down, cannot be reached or does not let the worker in, which is no fault of
// the message.
func outage(err error) bool {
	for _, is := range []error{table.ErrUnreachable, table.ErrUnknownOutcome, table.ErrTableNotFound, table.ErrGivenUp} {
		if errors.Is(err, is) {
			return true
		}
	}
	var le *table.LimitError
	var de *table.DecodeError
	var re *azcore.ResponseError
	switch {
	case errors.Is(err, table.ErrOutbox):
		return !errors.As(err, &le) // of the writes of a handler, whose queue is down
	case errors.As(err, &de):
		switch de.Field {
		case "", "PartitionKey", "RowKey", "Timestamp", "odata.etag":
			return true // not the service's: it was cut, or something else has answered, and that is no entity
		}
		return false
	}
	return errors.As(err, &re) && wire.Unreached(context.Background(), err) // by a client of the handler's own
}

// effects carries out the effects of an intent. changed tells that it is not any more what it was.
func (w *Worker) effects(ctx context.Context, t *known, i *table.CommitRecord, x *lease) (v verdict, changed bool) {
	for n := 0; i.State == table.CommitPending && n < len(i.Effects); {
		e := i.Effects[n]
		h, is := t.kinds[e.Kind]
		if !is || e.Version > h.Version {
			v = v.and(verdict{kind: later, told: true, after: w.opt.Defer, class: ClassUnknown, of: e.Kind, why: "no handler is registered for its kind and version"})
			n++
			continue
		}
		before := i.Version()
		err := w.guarded(ctx, h.Kind, func(ctx context.Context) error {
			return h.Handle(ctx, Job{Table: h.Table.Name(), Partition: i.Partition, OperationID: i.OperationID, Effect: e, Attempt: x.attempt(), CommitRecord: i, Index: n})
		})
		if err == nil {
			w.count(func(s *Stats) { s.Effects++ })
			if i.Version() == before {
				n++ // it has not settled it itself
			}
			continue
		}
		j := w.judged(ctx, e, err)
		if j.kind == again && errors.Is(err, table.ErrChanged) && ctx.Err() == nil {
			// Of the intent, or of something else that is the handler's own affair.
			if now, err := t.intents.Get(ctx, i.Partition, i.OperationID); err == nil && now.Version() != before {
				return j, true
			}
		}
		if v = v.and(j); i.Version() == before {
			n++
		}
	}
	return v, false
}

// guarded calls a handler's function. A panic is an error.
func (w *Worker) guarded(ctx context.Context, kind string, f func(context.Context) error) (err error) {
	if w.opt.HandlerTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.opt.HandlerTimeout)
		defer cancel()
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler of kind %q panicked: %v\n%s", kind, r, debug.Stack())
		}
	}()
	return f(ctx)
}

// judged is what becomes of a message whose handler has failed.
func (w *Worker) judged(ctx context.Context, e table.Effect, err error) verdict {
	var p *poison
	var r *retry
	var newer *table.VersionError
	v := verdict{kind: again, class: ClassAttempts, of: e.Kind, why: err}
	switch {
	case context.Cause(ctx) == errStopped:
		v.kind, v.quiet = later, true // it was not given its time
	case errors.As(err, &p):
		v.kind, v.class = never, ClassHandler
	case errors.As(err, &newer) && newer.Got > newer.Want:
		v.kind, v.told, v.class, v.after = later, true, ClassUnknown, w.opt.Defer
	case errors.As(err, &r):
		v.kind, v.asked, v.after = later, true, max(r.after, time.Second)
	case outage(err):
		v.kind, v.own = later, true
	}
	return v
}
