package eventual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
)

// Handler executes the effects of one kind, of the writes of one table. The result of Handle decides: nil completes the effect;
// [Poison] moves the message to the poison queue; [RetryAfter] defers the message until that time; any other error returns the
// message to the queue for another attempt, up to WorkerOptions.Attempts, and then makes the message poison. After an error for a
// row of a newer version (*table.VersionError), the message waits for a worker of another release, as messages of unknown kinds do.
//
// An error of storage that is down, cannot be reached or denies access does not count as an attempt: the effect is repeated
// until storage works. These errors are table.ErrUnreachable, ErrTableNotFound, ErrUnknownOutcome, ErrGivenUp and ErrOutbox, and an
// *azcore.ResponseError of 401, 403, 408, 429 or 5xx. A handler of another service does the same by an error that wraps
// table.ErrUnreachable. The end of a context that the handler has made itself is an attempt like any other error.
//
// An effect is executed at least once. It is executed again if a worker crashed before it completed the effect, at the same time as
// a slow worker, in any order with other effects, and again whenever another effect of the same write failed or was deferred,
// because the effects of a write are completed together. So a handler should read the current state and make the other system
// follow it, or use the job's OperationID and Effect as an idempotency key: they are the same at every attempt. The handler's
// context ends when the worker loses the message.
type Handler struct {
	Kind   string
	Table  commit.Table // the table whose writes have the effects: a *table.Table of any type, with its maintainers
	Handle func(ctx context.Context, j Job) error

	// Version is the newest version of the payload that Handle supports; effects of later versions wait for another worker.
	// Defaults to 1.
	Version int

	// Remotes are the names of other tables in which writes of Table change rows, such as the other table of table.Table.MoveTo. If a
	// write to 8 other partitions or fewer never commits, the worker makes sure that a late request of the write changes nothing in
	// these tables. The worker adds the tables of the maintainers of Table ([maintain.RemoteWriter]), such as those of an index with
	// index.Global. Tables with handlers of their own need not be named.
	Remotes []string

	// Sweep deletes the handler's own rows in a partition that are older than a time, as a part of the partition's clean-up. The
	// commit records from before that time are deleted afterwards, with the effects that they contained. May be nil.
	Sweep func(ctx context.Context, partition keys.Enc, before time.Time) error
}

// Job is an effect to execute.
type Job struct {
	Table       string
	Partition   keys.Enc
	OperationID string // of the write; [commit.Record.Time] returns the write's time
	Effect      commit.Effect

	// Attempt is the number of times that a worker has begun to execute the message, including this time.
	Attempt int

	// CommitRecord is the write's commit record, and Index the position of the effect in it, for handlers that complete the effect
	// by a write of their own; see [commit.Completing]. If that write fails with table.ErrChanged, the handler should return
	// that error; it is called again for the effects that the commit record contains then.
	CommitRecord *commit.Record
	Index        int
}

// NewHandler returns a handler for payloads of type P in JSON, as [OnChange] writes them. A message with any other payload becomes
// poison at once.
func NewHandler[P any](kind string, source commit.Table, handle func(ctx context.Context, j Job, payload P) error) Handler {
	return Handler{Kind: kind, Table: source, Handle: func(ctx context.Context, j Job) error {
		var payload P
		if err := json.Unmarshal(j.Effect.Payload, &payload); err != nil {
			return Poison(fmt.Errorf("the payload of the effect of kind %q is no %T: %w", kind, payload, err))
		}
		return handle(ctx, j, payload)
	}}
}

// OnChange returns a maintainer for [maintain.WithOutbox] that adds an effect to a write for each entity that changes: f returns
// the payload, and whether an effect is due. f must be pure, because a write may be planned several times. [NewHandler] makes the
// handler. OnChange adds no requests but those of any effect.
//
// An insert has no c.Old, and a delete no c.New. A move to another key (table.Table.Move, Rekey) calls f twice: for a delete, of which
// c.MovedTo is the new key, and for an insert, of which c.MovedFrom is the old one.
func OnChange[T, P any](kind string, f func(c *maintain.Change[T]) (payload P, due bool)) maintain.Maintainer[T] {
	return &onChange[T, P]{kind, f}
}

type onChange[T, P any] struct {
	kind string
	f    func(c *maintain.Change[T]) (P, bool)
}

func (o *onChange[T, P]) Name() string { return o.kind }
func (o *onChange[T, P]) MaxRows() int { return 0 }

func (o *onChange[T, P]) Maintain(_ context.Context, p *maintain.Plan, c *maintain.Change[T]) error {
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

// poisonError is the error of a handler that moves the message to the poison queue.
type poisonError struct{ err error }

func (p *poisonError) Error() string { return "poison: " + p.err.Error() }
func (p *poisonError) Unwrap() error { return p.err }

// Poison returns an error for an effect that can never be executed: its message is moved to the poison queue.
func Poison(err error) error {
	if err == nil {
		err = errNoReason
	}
	return &poisonError{err}
}

// retryError is the error of a handler that defers the message.
type retryError struct {
	delay time.Duration
	err   error
}

func (r *retryError) Error() string { return fmt.Sprintf("retry after %v: %v", r.delay, r.err) }
func (r *retryError) Unwrap() error { return r.err }

// RetryAfter returns an error for an effect that is to be executed later, such as after another service's limit has passed: in
// whole seconds, up to 7 days. It does not count as an attempt.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = errNoReason
	}
	return &retryError{d, err}
}

var errNoReason = errors.New("the handler gave no reason")

// callHandler calls a function of a handler with a time limit, if that is positive. It returns a panic as an error.
func callHandler(ctx context.Context, timeout time.Duration, kind string, f func(context.Context) error) (err error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler of kind %q panicked: %v\n%s", kind, r, debug.Stack())
		}
	}()
	return f(ctx)
}
