// Package host is a store as definitions, logs and leases see it: what they need of it, and what
// they add to it. Programs see none of it.
package host

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Parts are what a definition, or a log, needs from its store: tables, handlers, what is to be
// created. What it does with writes is in the handle.
type Parts struct {
	// Handlers execute the effects of the table, on the store's worker. Definitions that share a
	// kind return the same handler. One without Handle is a promise that another program has it.
	Handlers []Handler

	// Tables are the names in the account of other tables in which the definition, or the thing,
	// stores rows. Nothing else may store rows there, but other definitions of the same table.
	// Periods are the beginnings of names that end with digits, for such tables.
	Tables, Periods []string

	// Names are other names that nothing else in the store may have. Destinations are tables to
	// which the definition moves entities; definitions of several tables may share one.
	Names, Destinations []string

	// Rows are the ranges of RowKeys in which the definition has rows, by the names of their tables
	// in the account. No other type of the table may have rows there.
	Rows map[string][]keys.RowRange

	// Ensure creates what must exist, and Daily is work of each day. Both must be idempotent, and
	// safe beside the same in other programs.
	Ensure, Daily []Task
}

// Task is a named piece of work. Of several tasks of one name, a store does the first.
type Task struct {
	Name string // also for errors and logs: container photos
	Do   func(context.Context) error
}

// Handler executes the effects of one kind, of the writes of one table; see extend.Handler.
type Handler struct {
	Kind    string
	Table   table.Handle // the table whose writes have the effects, with its maintainers
	Handle  func(ctx context.Context, j Job) error
	Version int // the newest version of the payload that Handle supports; 0 means 1

	// AlsoWrites are the names of other tables in which writes of Table change rows, such as the other
	// table of table.Table.MoveTo. If a write to 8 other partitions or fewer never commits, the
	// worker makes sure that a late request of the write changes nothing in these tables. The
	// worker adds the tables of the maintainers of Table ([AlsoWriter]). Tables with handlers of
	// their own need not be named.
	AlsoWrites []string

	// Sweep deletes the handler's own rows in a partition that are older than a time, in the
	// partition's clean-up. The commit records from before that time are deleted afterwards, with
	// the effects that they contained. May be nil.
	Sweep func(ctx context.Context, partition keys.PartitionKey, before time.Time) error
}

// Job is an effect to execute. Package extend names it again, with its fields.
type Job struct {
	Table       string    // of the entity
	Key         keys.Key  // of the entity whose change the effect follows from
	OperationID string    // of the write
	Time        time.Time // when the write began, by the writer's clock
	Kind        string    // of the effect
	Version     int       // of the payload's form
	Payload     []byte
	Attempt     int // how often a worker has begun to execute the message, this time included

	record *commit.Record
	index  int
}

// JobOf returns the job of an effect of a commit record, by its index. name is the table of the
// record.
func JobOf(name string, r *commit.Record, index, attempt int) Job {
	e := r.Effects[index]
	if e.Table != "" {
		name = e.Table
	}
	return Job{
		Table: name, Key: EntityOf(e, r.Partition), OperationID: r.OperationID, Time: r.Time(),
		Kind: e.Kind, Version: e.Version, Payload: e.Payload, Attempt: attempt,
		record: r, index: index,
	}
}

// EntityOf returns the key of the entity from whose change an effect follows. The effect names its
// partition if that is not the partition of the commit record, as after table.Table.Move.
func EntityOf(e commit.Effect, record keys.PartitionKey) keys.Key {
	partition := e.Partition
	if e.Table == "" {
		partition, _ = record.Result()
	}
	return keys.Raw(partition, e.RowKey)
}

// RecordOf returns the commit record of a job, and the index of its effect there, for handlers that
// complete the effect by a write of their own; see package records. If that write fails with
// table.ErrChanged, the handler returns that error, and is called again for the effects that the
// record contains then.
func RecordOf(j Job) (*commit.Record, int) { return j.record, j.index }

// AlsoWriter is implemented by a maintainer that changes rows of other tables. A worker that has
// a handler of such a table then makes sure that a late request of a write that never commits
// changes nothing in the other tables.
type AlsoWriter interface {
	// AlsoWrites returns the names of the other tables.
	AlsoWrites() []string
}

// Account is what a store needs of a storage account. If it also has the method Blobs of
// *account.Account, definitions can store blobs.
type Account interface {
	Tables() *aztables.ServiceClient
	Queues() *azqueue.ServiceClient
}

// Store is an *aztablekit.Store, or a *Host, for the constructors of what belongs to a store.
type Store interface{ host() *Host }

// Hosted makes a struct that contains it a [Store].
type Hosted struct{ in *Host }

// In returns what makes a struct a store.
func In(h *Host) Hosted { return Hosted{h} }

func (h Hosted) host() *Host { return h.in }
func (h *Host) host() *Host  { return h }

// Host is a store as definitions see it.
type Host struct {
	Account  Account
	Tables   engine.Service // of the account, the same at each use
	Outbox   commit.Outbox  // notifies the workers of the store
	Common   table.Common
	Prefix   string   // before the names of tables, queues and containers
	Registry Registry // nil if nothing creates what is declared
	Invalid  error    // why nothing can be declared in the store; the other fields are zero then

	declares string // the table that is declared, for its definitions
}

// Registry is where a store keeps what is declared in it; see [Host.Declare].
type Registry interface {
	Declare(name string, p Parts, err error) error

	// Claim is called by [NewTable] with the name of a table in the account. declares is the table
	// of entities whose definition makes the handle, "" for others. Errors: *table.ValueError if
	// the table, or that of a definition, belongs to a table of entities.
	Claim(declares, name string) error
}

// Of returns a copy of a store as definitions see it. That of nil has nothing, so that what is
// declared in it has a fault.
func Of(s Store) *Host {
	if wire.IsNil(s) || s.host() == nil {
		return &Host{Invalid: &table.ValueError{Field: "s", Reason: "is nil or a zero Store; give one that aztablekit.Open has returned"}}
	}
	h := *s.host()
	return &h
}

// Options returns c, with the options of the store in place of those that are zero.
func (h *Host) Options(c table.Common) table.Common {
	fill(reflect.ValueOf(&c).Elem(), reflect.ValueOf(h.Common))
	fill(reflect.ValueOf(&c.Retry).Elem(), reflect.ValueOf(h.Common.Retry))
	return options.Within(c, options.SourcesOf(h.Common))
}

// fill sets the exported fields of a struct that are zero.
func fill(to, from reflect.Value) {
	for i := range to.NumField() {
		if to.Field(i).CanSet() && to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// TableName returns the name of a table of the store in the account.
func (h *Host) TableName(name string) string { return h.Prefix + name }

// LowerName returns the name of a queue or a container of the store in the account.
func (h *Host) LowerName(name string) string { return strings.ToLower(h.Prefix) + name }

// NewTable returns a handle of a table in which a definition stores rows of its own. Its name gets
// the prefix of the store, zero fields of its Common are those of the store, and it has the store's
// outbox. It knows no catalogue: nothing but the definition may write the table. It sends nothing;
// the definition returns a task of Parts.Ensure that creates it.
//
// Errors:
//   - Invalid
//   - *table.TypeError for a T that cannot be stored
//   - *keys.KeyError for a wrong key
//   - *table.ValueError or *table.LimitError for a name that no table can have, for that of a table
//     of entities or of one that belongs to its definitions, and for a wrong schema or option
func NewTable[T any](s Store, name string, schema table.Schema[T], o *table.Options) (*table.Table[T], error) {
	h := Of(s)
	if h.Invalid != nil {
		return nil, h.Invalid
	}
	var opt table.Options
	if o != nil {
		opt = *o
	}
	opt.Common = h.Options(opt.Common)
	t, err := door.New[*table.Table[T]](h.Tables, h.TableName(name), &schema, &opt)
	if err == nil && h.Registry != nil {
		err = h.Registry.Claim(h.declares, t.Name())
	}
	if err != nil {
		return nil, err
	}
	if wire.IsNil(h.Outbox) {
		return t, nil
	}
	door.Note(t, h.Registry)
	return door.InMode(t, func(m *engine.Mode) { m.Outbox = h.Outbox }), nil
}

// Container returns a container of the store. Errors: Invalid; *table.ValueError for an account
// without blobs, and for a name that no container can have.
func (h *Host) Container(name string) (*container.Client, error) {
	if h.Invalid != nil {
		return nil, h.Invalid
	}
	account, is := h.Account.(interface {
		Blobs() *service.Client
	})
	if !is {
		return nil, &table.ValueError{Field: "account", Reason: "has no method Blobs, and so no blobs"}
	}
	blobs := account.Blobs()
	if blobs == nil {
		return nil, &table.ValueError{Field: "account", Reason: "has a nil client of blobs"}
	}
	c := blobs.NewContainerClient(h.LowerName(name))
	return c, engine.CheckClient("container", "container", c, false)
}

// Declare adds a thing of the store that belongs to no table of entities, with what it needs. name
// is for errors, and things of one name may share their tables: log audit. err is a mistake that
// its constructor has found, nil for none.
//
// Declare returns the mistake, err or another one; the methods of the thing should return it, as
// those of the store do. Errors: err; *table.ValueError if another owner has one of p.Tables, and
// after a method of the store was called, which the store does not return; Invalid.
func (h *Host) Declare(name string, p Parts, err error) error {
	switch {
	case h.Invalid != nil:
		return h.Invalid
	case h.Registry == nil:
		return err
	}
	return h.Registry.Declare(name, p, err)
}

// Declaring returns a copy of the store for the definitions of a table of entities.
func (h *Host) Declaring(name string) *Host {
	copied := *h
	copied.declares = name
	return &copied
}
