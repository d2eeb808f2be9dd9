package extend

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Definition is what follows from the entities of a table: an index, a summary, an effect, a view. aztablekit.Table takes definitions.
type Definition[T any] interface {
	// Name is unique among the definitions of a table. Errors contain it.
	Name() string

	// Define adds the definition to the declaration of a table. It sends nothing. An error is a mistake in the declaration.
	Define(d *Declaration[T]) error
}

// Declaration is a table of a store while it is declared. Definitions add to it, one after another.
type Declaration[T any] struct {
	host  *Host
	table *table.Table[T]
	needs []func(*table.Table[T]) (Parts, error)
}

// NewDeclaration returns a declaration without definitions, for stores and for tests of definitions. t has the outbox of the store.
func NewDeclaration[T any](h *Host, t *table.Table[T]) *Declaration[T] {
	return &Declaration[T]{host: h, table: t}
}

// Host returns the store.
func (d *Declaration[T]) Host() *Host { return d.host }

// Attach changes the handle of the table: f returns the handle with what the definition does in writes, such as by [With]. The handle that f gets
// has the outbox of the store, and the definitions before this one. Errors: that of f; *table.ValueError for a nil or zero declaration, and for a nil f.
func (d *Declaration[T]) Attach(f func(t *table.Table[T]) (*table.Table[T], error)) error {
	if d == nil || f == nil {
		return &table.ValueError{Field: "d", Reason: "or f is nil; aztablekit.Table calls Define"}
	}
	if err := engine.CheckHandle("d", door.Table(d.table)); err != nil {
		return err
	}
	t, err := f(d.table)
	if err == nil {
		d.table = t
	}
	return err
}

// Needs adds what the definition needs besides. f gets the handle with all definitions, which programs get.
func (d *Declaration[T]) Needs(f func(t *table.Table[T]) (Parts, error)) {
	d.needs = append(d.needs, f)
}

// Declared returns the handle with all definitions, and what these need, after each of them. Errors: that of a function of Needs.
func (d *Declaration[T]) Declared() (t *table.Table[T], all []Parts, err error) {
	for _, f := range d.needs {
		parts, err := f(d.table)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, parts)
	}
	return d.table, all, nil
}

// Parts are what a definition, or a thing of a store such as a log, needs besides its part in writes.
type Parts struct {
	// Handlers execute the effects of the table, on the store's worker. Definitions of one table that share a kind return the same
	// handler. One without Handle is a promise that another program has it.
	Handlers []Handler

	// Ensure creates what must exist, and Daily is work of each day. Both must be idempotent, and safe beside the same in other programs.
	Ensure, Daily []Task
}

// Task is a named piece of work.
type Task struct {
	Name string // for errors and logs: container photos
	Do   func(context.Context) error
}

// Account is what a store needs of a storage account: an *account.Account, a *storagetest.Service, or clients of your own. If it also
// has the method Container of *account.Account, definitions can store blobs.
type Account interface {
	Tables() *aztables.ServiceClient
	Queue(name string) *azqueue.QueueClient
}

// Store is an *aztablekit.Store, for constructors of definitions and other things that belong to a store.
type Store interface{ Host() *Host }

// Host is a store as definitions see it.
type Host struct {
	Account Account
	Tables  table.Service // of the account, the same at each use
	Outbox  Outbox        // notifies the workers of the store
	Common  table.Common
	Prefix  string // before the names of tables, queues and containers

	parts  []Parts
	faults []error
}

// HostOf returns the store as definitions see it. That of nil has nothing, so that what is declared in it has a fault.
func HostOf(s Store) *Host {
	if !wire.IsNil(s) {
		return s.Host()
	}
	return &Host{}
}

// Host returns h, so that h is a Store without a worker.
func (h *Host) Host() *Host { return h }

// Options returns c, or the options of the store if c is zero.
func (h *Host) Options(c table.Common) table.Common {
	if reflect.ValueOf(c).IsZero() {
		return h.Common
	}
	return c
}

// TableName returns the name of a table of the store in the account.
func (h *Host) TableName(name string) string { return h.Prefix + name }

// LowerName returns the name of a queue or a container of the store in the account.
func (h *Host) LowerName(name string) string { return strings.ToLower(h.Prefix) + name }

// Add adds the parts of a thing of the store that belongs to no table of entities, such as a log.
func (h *Host) Add(p Parts) { h.parts = append(h.parts, p) }

// Fault adds a mistake of a declaration, unless err is nil. The methods of the store return it; the declared thing should, too.
func (h *Host) Fault(err error) {
	if err != nil {
		h.faults = append(h.faults, err)
	}
}

// Added returns the parts that Add has added.
func (h *Host) Added() []Parts { return h.parts }

// Faults returns the mistakes of the declarations.
func (h *Host) Faults() []error { return h.faults }

// Handler executes the effects of one kind, of the writes of one table. The result of Handle decides: nil completes the effect;
// eventual.Poison moves the message to the poison queue; eventual.RetryAfter defers the message until that time; any other error returns the
// message to the queue for another attempt, up to eventual.WorkerOptions.Attempts, and then makes the message poison. After an error for a
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
	Table  table.AnyTable // the table whose writes have the effects: a *table.Table of any type, with its maintainers
	Handle func(ctx context.Context, j Job) error

	// Version is the newest version of the payload that Handle supports; effects of later versions wait for another worker.
	// Defaults to 1.
	Version int

	// Remotes are the names of other tables in which writes of Table change rows, such as the other table of table.Table.MoveTo.
	// If a write to 8 other partitions or fewer never commits, the worker makes sure that a late request of the write changes
	// nothing in these tables. The worker adds the tables of the maintainers of Table ([RemoteWriter]), such as the tables
	// of an index with index.Global. Tables with handlers of their own need not be named.
	Remotes []string

	// Sweep deletes the handler's own rows in a partition that are older than a time, in the partition's clean-up. The commit
	// records from before that time are deleted afterwards, with the effects that they contained. May be nil.
	Sweep func(ctx context.Context, partition keys.PartitionKey, before time.Time) error
}

// Job is an effect to execute.
type Job struct {
	Table       string
	Partition   keys.PartitionKey
	OperationID string // of the write; [Record.Time] returns the write's time
	Effect      Effect

	// Attempt is the number of times that a worker has begun to execute the message, including this time.
	Attempt int

	// CommitRecord is the write's commit record, and Index the position of the effect in it, for handlers that complete the effect
	// by a write of their own; see [Completing]. If that write fails with table.ErrChanged, the handler should return
	// that error; it is called again for the effects that the commit record contains then.
	CommitRecord *Record
	Index        int
}
