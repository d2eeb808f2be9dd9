package eventual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Source is a table whose writes have effects: a *table.Table of any type.
type Source interface {
	Name() string
	Intents() *table.Intents
}

// Handler carries out the effects of one kind of the writes of one table. What it returns settles the effect: nil says that it is
// done, [Poison] that it never will be, [RetryAfter] that it is to be tried again then; any other error that it is to be tried
// again after a while, and is poison after WorkerOptions.Attempts. One that has met a row of a newer version (*table.VersionError)
// waits for a worker of another release, as effects of unknown kinds do.
//
// An error of storage that is down, cannot be reached or does not let the handler in does not count as an attempt: the effect is tried
// again until storage is there. These errors are table.ErrUnreachable, ErrTableNotFound, ErrUnknownOutcome, ErrGivenUp and ErrOutbox, and
// an *azcore.ResponseError of 401, 403, 408, 429 or 5xx. A handler that works with another service says the same by an error that
// wraps table.ErrUnreachable. The end of a context that the handler has made itself is an attempt like any other error.
//
// An effect is carried out at least once: again where a worker died before it could say that it was done, at the same time where
// one was slow, in any order with others, and again whenever another effect of the same write has failed or waits, for they are
// settled together. So a handler reads the state of things and makes the rest follow from it, or goes by
// the job's Op and Effect, which are the same each time. Its context ends when the message is no longer the worker's.
type Handler struct {
	Kind   string
	Table  Source
	Handle func(ctx context.Context, j Job) error

	// Version is the newest form of the payload that it knows; those of later ones wait for a worker that does. Defaults to 1.
	Version int

	// Sweep deletes what the handler keeps in a partition besides the effects, and that is older than a time, as part of the
	// partition's clean-up. May be nil.
	Sweep func(ctx context.Context, partition keys.Enc, before time.Time) error
}

// Job is an effect that is to be carried out.
type Job struct {
	Table     string
	Partition keys.Enc
	Op        string // the operation ID of its write; [table.Intent.Time] tells its time
	Effect    table.Effect

	// Attempt is how often a worker has begun with the message, this time included.
	Attempt int

	// Intent is the write's, and Index the place of the effect in it, for handlers that settle it by a write of their own; see
	// [table.Table.Settling]. Where that finds the intent changed, a handler returns the table.ErrChanged, and is called again
	// for what the intent says then.
	Intent *table.Intent
	Index  int
}

// Kind is a handler for payloads of type P, as [OnChange] writes them: JSON. A payload that is none is poison at once.
func Kind[P any](kind string, of Source, handle func(ctx context.Context, j Job, p P) error) Handler {
	return Handler{Kind: kind, Table: of, Handle: func(ctx context.Context, j Job) error {
		var p P
		if err := json.Unmarshal(j.Effect.Payload, &p); err != nil {
			return Poison(fmt.Errorf("the payload is none of kind %q: %w", kind, err))
		}
		return handle(ctx, j, p)
	}}
}

// OnChange makes effects of the changes of a table's entities, for [table.Table.With]: what f returns is the payload of one of a
// kind, unless it says that there is none. f must be pure, for a change may be planned several times. The handler of the kind is
// made by [Kind]. It adds no requests but those of any effect.
func OnChange[T, P any](kind string, f func(c *table.Change[T]) (payload P, due bool)) table.Maintainer[T] {
	return &onChange[T, P]{kind, f}
}

type onChange[T, P any] struct {
	kind string
	f    func(c *table.Change[T]) (P, bool)
}

func (o *onChange[T, P]) Name() string { return o.kind }
func (o *onChange[T, P]) MaxRows() int { return 0 }

func (o *onChange[T, P]) Maintain(_ context.Context, p *table.Plan, c *table.Change[T]) error {
	payload, due := o.f(c)
	if !due {
		return nil
	}
	b, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	p.Effect(o.kind, 1, b)
	return nil
}

// poison is an error that says never.
type poison struct{ err error }

func (p *poison) Error() string { return "poison: " + p.err.Error() }
func (p *poison) Unwrap() error { return p.err }

// Poison is what a handler returns for an effect that can never be carried out: its message goes to the poison queue.
func Poison(err error) error {
	if err == nil {
		err = errors.New("its handler says so")
	}
	return &poison{err}
}

// retry is an error that says when.
type retry struct {
	after time.Duration
	err   error
}

func (r *retry) Error() string { return fmt.Sprintf("retry after %v: %v", r.after, r.err) }
func (r *retry) Unwrap() error { return r.err }

// RetryAfter is what a handler returns for an effect that is to be carried out later, for a reason that is no fault of it, such as
// a limit of somebody else's service: in whole seconds, up to 7 days. It does not count as an attempt.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = errors.New("its handler says so")
	}
	return &retry{d, err}
}
