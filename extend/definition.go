package extend

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Store is an *aztablekit.Store, for the functions that make what belongs to a store.
type Store = host.Store

// Definition is what follows from the entities of a table: an index, a summary, an effect, a view.
// aztablekit.Table takes definitions.
type Definition[T any] interface {
	// Name is unique among the definitions of a table, of all its types. Errors contain it.
	Name() string

	// Define adds the definition to the declaration of a table. It sends nothing. An error is a
	// mistake in the declaration.
	Define(d *Declaration[T]) error
}

// Declaration is a table of a store while it is declared. Definitions add to it, one after another.
type Declaration[T any] struct{ of declaration }

// declaration is a Declaration of any type.
type declaration struct {
	host  *host.Host
	table table.Handle
	adds  string // the name of the definition that is added
	needs []need
}

// need is what a definition needs besides its part in writes.
type need struct {
	definition string
	parts      func(table.Handle) (host.Parts, error)
}

// Add adds a definition, also another one that a definition consists of. Errors: *table.ValueError
// for one that is nil; those of its Define, with its name.
func (d *Declaration[T]) Add(definition Definition[T]) error {
	if d == nil || wire.IsNil(definition) {
		return &table.ValueError{Field: "definition", Reason: "is nil"}
	}
	d.of.adds = definition.Name()
	return named(d.of.adds, definition.Define(d))
}

// named adds the name of a definition to an error.
func named(definition string, err error) error {
	var named *table.DefinitionError
	if err == nil || errors.As(err, &named) && named.Definition == definition {
		return err
	}
	return fmt.Errorf("definition %s: %w", definition, err)
}

// Maintain adds a maintainer: each write by the handle of the table calls it, and writes its rows
// in the same transaction, still 1 request. A write by key, and a write of an entity that was not
// read whole, reads the row first and writes by its ETag, 1 request more. After a conflict it reads
// and writes again, Retry.ConflictAttempts times at most.
//
// A write that fails because of a maintainer returns a *table.DerivedError. If concurrent writers
// kept changing a shared row, the error is table.ErrContended. A derived row that another program
// has deleted or changed is read and repaired with the entity's next write. A program without the
// maintainer fails with table.ErrUnknownMaintainer if it would write an entity with state of it; to
// find such state, it reads the row before a write by key (Upsert, methods with Any), unless
// table.Options.BlindWrites is set.
//
// Errors: *table.LimitError for maintainers of one table that need more than 97 rows together;
// *table.ValueError for a maintainer that is nil or has the name of another maintainer.
func (d *Declaration[T]) Maintain(m Maintainer[T]) error {
	of := d.inner()
	switch {
	case of.isZero():
		return errNil
	case wire.IsNil(m):
		return errNilMaintainer
	}
	return of.maintain(maintainedBy(m))
}

// Handle adds the handler of the effects of a kind. A store runs it by its workers, Run and Drain.
// Errors: *table.ValueError for a handler without Kind or Handle.
func (d *Declaration[T]) Handle(h Handler) error { return d.inner().handle(h) }

// Handler executes the effects of one kind, of the writes of one table. The result of Handle
// decides: nil completes the effect; eventual.Poison moves the message to the poison queue;
// eventual.RetryAfter defers the message until that time; any other error returns the message to
// the queue for another attempt, up to eventual.WorkerOptions.Attempts, and then makes the message
// poison. After an error for a row of a newer version (*table.VersionError), the message waits for
// a worker of another release, as messages of unknown kinds do.
//
// An error of storage that is down, cannot be reached or denies access does not count as an
// attempt: the effect is repeated until storage works. These errors are table.ErrUnreachable,
// ErrNotCreated, ErrUnknownOutcome, ErrGivenUp and ErrOutbox, and an *azcore.ResponseError of 401,
// 403, 408, 429 or 5xx. A handler of another service does the same by an error that wraps
// table.ErrUnreachable. The end of a context that the handler has made itself is an attempt like
// any other error.
//
// An effect is executed at least once. It is executed again if a worker crashed before it completed
// the effect, at the same time as a slow worker, in any order with other effects, and again
// whenever another effect of the same write failed or was deferred, because the effects of a write
// are completed together. So a handler should read the current state and make the other system
// follow it, or use the job's OperationID, Kind and Key as an idempotency key: they are the same at
// every attempt. The handler's context ends when the worker loses the message.
type Handler struct {
	Kind   string
	Handle func(ctx context.Context, j Job) error

	// Version is the newest version of the payload that Handle supports; effects of later versions
	// wait for another worker. Defaults to 1.
	Version int
}

// Job is an effect to execute:
//
//   - Table (string) and Key (keys.Key) of the entity whose change the effect follows from;
//   - OperationID (string) and Time (time.Time) of the write, by the writer's clock;
//   - Kind (string), Version (int) and Payload ([]byte) of the effect;
//   - Attempt (int), how often a worker has begun to execute the message, this time included.
type Job = host.Job

// Resolve finds out whether a write with a commit record has committed: that of a
// [table.UnknownError] of another process, by its Table, Partition and OperationID. If there is no
// record, Resolve stores an abort record in its place, so that the write never commits.
//
// Errors:
//   - table.ErrExpired if there is no record and the write is older than a day
//   - *table.ValueError for a text that is not an operation ID, or of a time more than a day ahead
//   - *table.VersionError for a record of a newer release
//   - the errors of a read and of a write (see package table)
//
// 1 request if there is a record, 2 if there is none, and 3 if the write commits in between.
// Idempotent.
func Resolve(ctx context.Context, t table.Handle, partition keys.PartitionKey, operationID string) (committed bool, err error) {
	if err := engine.CheckHandle("t", door.Table(t)); err != nil {
		return false, fmt.Errorf("extend: Resolve: %w", err)
	}
	r, err := records.Of(t).Resolve(ctx, partition, operationID)
	return err == nil && r.State != commit.Aborted, err
}

var errNil = &table.ValueError{Field: "d", Reason: "is nil or a zero Declaration; aztablekit.Table calls Define"}

func (d *Declaration[T]) inner() *declaration {
	if d == nil {
		return nil
	}
	return &d.of
}

func (d *declaration) maintain(m engine.Maintainer) error {
	return d.attach(func(t table.Handle) (table.Handle, error) {
		change, err := added(door.Table(t), m)
		if err != nil {
			return nil, err
		}
		return door.InMode(t, change), nil
	})
}

func (d *declaration) handle(h Handler) error {
	if h.Kind == "" || h.Handle == nil {
		return &table.ValueError{Field: "h", Reason: "has no Kind, or no Handle"}
	}
	return d.need(func(t table.Handle) (host.Parts, error) {
		return host.Parts{Handlers: []host.Handler{{Kind: h.Kind, Table: t, Handle: h.Handle, Version: h.Version}}}, nil
	})
}

// errOtherHandle: a definition of the library has returned a handle of another type.
var errOtherHandle = &table.ValueError{Field: "t", Reason: "is not a handle of the type of the table"}

func (d *declaration) isZero() bool { return d == nil || door.Table(d.table) == nil }

func (d *declaration) attach(f func(table.Handle) (table.Handle, error)) error {
	if d.isZero() {
		return errNil
	}
	t, err := f(d.table)
	if err != nil {
		return err
	}
	if reflect.TypeOf(t) != reflect.TypeOf(d.table) {
		return errOtherHandle
	}
	d.table = t
	return nil
}

func (d *declaration) need(parts func(table.Handle) (host.Parts, error)) error {
	if d.isZero() {
		return errNil
	}
	d.needs = append(d.needs, need{d.adds, parts})
	return nil
}

func init() { host.Declarations = declarations{} }

// declarations is what other packages of this module do with declarations; see package host.
type declarations struct{}

func innerOf(d any) *declaration { return d.(interface{ inner() *declaration }).inner() }

func (declarations) Begin(d any, h *host.Host, t table.Handle) {
	of := innerOf(d)
	of.host, of.table = h, t
}

func (declarations) Host(d any) *host.Host {
	of := innerOf(d)
	if of == nil || of.host == nil {
		return &host.Host{Invalid: errNil}
	}
	return of.host.Declaring(of.table.Name())
}

func (declarations) Attach(d any, f func(table.Handle) (table.Handle, error)) error {
	return innerOf(d).attach(f)
}

func (declarations) Needs(d any, f func(table.Handle) (host.Parts, error)) error {
	return innerOf(d).need(f)
}

// Declared returns the handle with all definitions, and what these need, after each of them.
func (declarations) Declared(d any) (table.Handle, []host.Parts, error) {
	of := innerOf(d)
	var all []host.Parts
	for _, n := range of.needs {
		parts, err := n.parts(of.table)
		if err != nil {
			return nil, nil, named(n.definition, err)
		}
		all = append(all, parts)
	}
	return of.table, all, nil
}
