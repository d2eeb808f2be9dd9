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
	CommitRecords() *table.CommitRecords
}

// Handler executes the effects of one kind, of the writes of one table. The result of Handle decides: nil completes the effect; [Poison]
// gives it up; [RetryAfter] tries again at that time; any other error tries again after a pause, and makes the message poison
// after WorkerOptions.Attempts. After an error for a row of a newer version (*table.VersionError), the message waits for a worker of
// another release, as messages of unknown kinds do.
//
// An error of storage that is down, cannot be reached or does not let the handler in does not count as an attempt: the effect is tried
// again until storage is there. These errors are table.ErrUnreachable, ErrTableNotFound, ErrUnknownOutcome, ErrGivenUp and ErrOutbox, and
// an *azcore.ResponseError of 401, 403, 408, 429 or 5xx. A handler of another service does the same by an error that wraps
// table.ErrUnreachable. The end of a context that the handler has made itself is an attempt like any other error.
//
// An effect is executed at least once. It is executed again if a worker crashed before it completed the effect, at the same time as a slow
// worker, in any order with other effects, and again whenever another effect of the same write failed or was deferred, because the effects
// of a write are completed together. So a handler should read the current state and make the other system follow it, or use the job's
// Op and Effect as an idempotency key: they are the same at every attempt. The handler's context ends when the worker loses the message.
type Handler struct {
	Kind   string
	Table  Source
	Handle func(ctx context.Context, j Job) error

	// Version is the newest form of the payload that Handle knows; payloads of later forms wait for another worker. Defaults to 1.
	Version int

	// Sweep deletes the handler's own rows in a partition that are older than a time, as a part of the partition's clean-up. May be nil.
	Sweep func(ctx context.Context, partition keys.Enc, before time.Time) error
}

// Job is an effect that is to be executed.
type Job struct {
	Table     string
	Partition keys.Enc
	OperationID        string // the operation ID of its write; [table.CommitRecord.Time] tells its time
	Effect    table.Effect

	// Attempt is how often a worker has begun to execute the message, this time included.
	Attempt int

	// CommitRecord is the write's commit record, and Index the place of the effect in it, for handlers that complete the effect by a write of
	// their own; see [table.Table.Completing]. If that write fails with table.ErrChanged, the handler should return that error; it is called
	// again for the effects that the commit record contains then.
	CommitRecord *table.CommitRecord
	Index        int
}

// Kind returns a handler for payloads of type P in JSON, as [OnChange] writes them. A message with any other payload becomes poison at once.
func NewHandler[P any](kind string, of Source, handle func(ctx context.Context, j Job, p P) error) Handler {
	return Handler{Kind: kind, Table: of, Handle: func(ctx context.Context, j Job) error {
		var p P
		if err := json.Unmarshal(j.Effect.Payload, &p); err != nil {
			return Poison(fmt.Errorf("the payload is none of kind %q: %w", kind, err))
		}
		return handle(ctx, j, p)
	}}
}

// OnChange returns a maintainer for [table.Table.With] that adds an effect to a write for each entity that changes: f returns its payload,
// and whether there is one. f must be pure, because a write may be planned several times. [Kind] makes the handler. OnChange adds no
// requests but those of any effect.
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

// Poison returns an error for an effect that can never be executed: its message is moved to the poison queue.
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

// RetryAfter returns an error for an effect that is to be executed later, such as after another service's limit has passed: in whole
// seconds, up to 7 days. It does not count as an attempt.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = errors.New("its handler says so")
	}
	return &retry{d, err}
}
