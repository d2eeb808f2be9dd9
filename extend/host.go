package extend

import (
	"context"
	"reflect"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Parts are what a definition, or a thing of a store such as a log, needs besides its part in writes.
type Parts struct {
	// Handlers execute the effects of the table, on the store's worker. Definitions that share a kind return the same handler. One
	// without Handle is a promise that another program has it.
	Handlers []Handler

	// Tables are the names in the account of other tables in which the definition, or the thing, stores rows. Nothing else may store
	// rows there, but other definitions of the same table. Periods are the beginnings of names that end with digits, for such tables.
	Tables, Periods []string

	// Names are other names that nothing else in the store may have. Destinations are tables to which the definition moves entities;
	// definitions of several tables may share one.
	Names, Destinations []string

	// Rows are the ranges of RowKeys in which the definition has rows, by the names of their tables in the account. No other type of the
	// table may have rows there.
	Rows map[string][]keys.RowRange

	// Ensure creates what must exist, and Daily is work of each day. Both must be idempotent, and safe beside the same in other programs.
	Ensure, Daily []Task
}

// Task is a named piece of work. Of several tasks of one name, a store does the first.
type Task struct {
	Name string // also for errors and logs: container photos
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
	Account  Account
	Tables   table.Service // of the account, the same at each use
	Outbox   Outbox        // notifies the workers of the store
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

// HostOf returns the store as definitions see it. That of nil has nothing, so that what is declared in it has a fault.
func HostOf(s Store) *Host {
	if !wire.IsNil(s) {
		return s.Host()
	}
	return &Host{Invalid: &table.ValueError{Field: "s", Reason: "is nil; give a store that aztablekit.Open has returned"}}
}

// Host returns h, so that h is a Store without a worker.
func (h *Host) Host() *Host { return h }

// Options returns c, with the options of the store in place of those that are zero.
func (h *Host) Options(c table.Common) table.Common {
	fill(reflect.ValueOf(&c).Elem(), reflect.ValueOf(h.Common))
	fill(reflect.ValueOf(&c.Retry).Elem(), reflect.ValueOf(h.Common.Retry))
	return c
}

// fill sets the fields of a struct that are zero.
func fill(to, from reflect.Value) {
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
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
// give [EnsureTable] of it to [Parts]. Errors: Invalid; *table.TypeError for a T that cannot be stored;
// *keys.KeyError for a wrong key; *table.ValueError or *table.LimitError for a name that no table
// can have, for that of a table of entities or of one that belongs to its definitions, and for a
// wrong schema or option.
func NewTable[T any](s Store, name string, schema table.Schema[T], o *table.Options) (*table.Table[T], error) {
	h := HostOf(s)
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

// EnsureTable creates a table of [NewTable], unless it exists. While a table of this name is being
// deleted, it fails with table.ErrTableNotFound. 1 request, sent again if its outcome is unknown;
// idempotent.
func EnsureTable(ctx context.Context, t table.AnyTable) error { return door.Table(t).Ensure(ctx) }

// Container returns a container of the store. Errors: Invalid; *table.ValueError for an account without blobs, and for a name that no
// container can have.
func (h *Host) Container(name string) (*container.Client, error) {
	if h.Invalid != nil {
		return nil, h.Invalid
	}
	account, is := h.Account.(interface {
		Container(string) *container.Client
	})
	if !is {
		return nil, &table.ValueError{Field: "account", Reason: "has no method Container, and so no blobs"}
	}
	c := account.Container(h.LowerName(name))
	return c, engine.CheckClient("container", "container", c, c == nil)
}

// Declare adds a thing of the store that belongs to no table of entities, with what it needs. name is for errors, and things of one name
// may share their tables: log audit. err is a mistake that its constructor has found, nil for none.
//
// Declare returns the mistake, err or another one; the methods of the thing should return it, as those of the store do. Errors: err;
// *table.ValueError if another owner has one of p.Tables, and after a method of the store was called, which the store does not return;
// Invalid.
func (h *Host) Declare(name string, p Parts, err error) error {
	switch {
	case h.Invalid != nil:
		return h.Invalid
	case h.Registry == nil:
		return err
	}
	return h.Registry.Declare(name, p, err)
}
