package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Service returns the SDK's clients by table name.
type Service interface {
	NewClient(tableName string) *aztables.Client
}

// client is what the library uses of the SDK's client: public methods only.
type client interface {
	CreateTable(context.Context, *aztables.CreateTableOptions) (aztables.CreateTableResponse, error)
	Delete(context.Context, *aztables.DeleteTableOptions) (aztables.DeleteTableResponse, error)
	GetEntity(ctx context.Context, partitionKey, rowKey string, o *aztables.GetEntityOptions) (aztables.GetEntityResponse, error)
	AddEntity(context.Context, []byte, *aztables.AddEntityOptions) (aztables.AddEntityResponse, error)
	UpdateEntity(context.Context, []byte, *aztables.UpdateEntityOptions) (aztables.UpdateEntityResponse, error)
	UpsertEntity(context.Context, []byte, *aztables.UpsertEntityOptions) (aztables.UpsertEntityResponse, error)
	DeleteEntity(ctx context.Context, partitionKey, rowKey string, o *aztables.DeleteEntityOptions) (aztables.DeleteEntityResponse, error)
	SubmitTransaction(context.Context, []aztables.TransactionAction, *aztables.SubmitTransactionOptions) (aztables.TransactionResponse, error)
	NewListEntitiesPager(*aztables.ListEntitiesOptions) *runtime.Pager[aztables.ListEntitiesResponse]
}

var _ client = (*aztables.Client)(nil)

// Table is a handle of a table. It is safe for concurrent use.
type Table struct {
	Service Service
	Name    string
	Options Options
	Mode    Mode
	Made    string // the call that creates the table, "" for Table.Ensure

	client client
	tracer tracing.Tracer
	shared *shared
	homes  []string // the other tables in which commit records of writes to this one may be
}

// Mode is what one handle of a table does otherwise than another.
type Mode struct {
	Maintainers []Maintainer
	Schema      Schema // of the rows for the maintainers
	Outbox      Outbox
	Completes   *Completion
	Move        Move

	Exact              bool // writes store a commit record
	Parts              int  // the most parts of an entity; 0 if each entity is one row
	BlindWrites        bool // writes by key do not read the row first
	IgnoreCorruptState bool // corrupt maintainer state counts as none
	LibraryRows        bool // the handle also writes derived rows and rows of the library
	Repairs            bool // a touch rewrites the row as it is stored, of any version, without what others have put into its state
}

// Maintainer returns the maintainer of a name, nil if there is none.
func (m *Mode) Maintainer(name string) Maintainer {
	for _, other := range m.Maintainers {
		if other.Name() == name {
			return other
		}
	}
	return nil
}

// shared is what all handles of a table share.
type shared struct {
	repaired atomic.Int64 // derived rows
	probed   atomic.Bool  // the client has the library's policies
	tap      atomic.Int32 // a tapState
	shapes   edm.Shapes   // of the rows
	ranged   atomic.Bool  // the client's signature is for a range of keys
	rowsOnly atomic.Bool  // and for a range of rows in their partition
}

// CheckTableName returns an error for a name that no table can have. Errors: *LimitError, *ValueError.
func CheckTableName(name string) error {
	if n := len(name); n < 3 || n > 63 {
		return &LimitError{Field: tableName(name), Limit: "characters; the service requires 3 to 63", Got: n, Max: 63}
	}
	if strings.EqualFold(name, "tables") {
		return &ValueError{Field: tableName(name), Reason: "belongs to the service; choose another"}
	}
	for i, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return &ValueError{Field: tableName(name), Reason: fmt.Sprintf("contains %q at byte %d; the service requires the letters A-Z and a-z and digits, a letter first", c, i)}
		}
	}
	return nil
}

func tableName(name string) string { return fmt.Sprintf("table name %.80q", name) }

// New returns a handle with the zero mode. It sends nothing. Errors: *ValueError if Options.NewID makes no IDs.
func New(s Service, name string, o Options) (*Table, error) {
	t := &Table{Service: s, Name: name, Options: o, client: s.NewClient(name), tracer: wire.RedactSpans(o.Tracing).NewTracer("aztablekit", ""), shared: new(shared)}
	_, err := o.newOperationID()
	return t, err
}

// With returns a handle of the same table with another mode.
func (t *Table) With(m Mode) *Table {
	c := *t
	c.Mode = m
	return &c
}

// WithHomes returns a handle that also believes marks whose commit record is in one of these tables. What a row says of any other
// table is not believed: a program that may write one row could make other programs write there.
func (t *Table) WithHomes(names ...string) *Table {
	c := *t
	c.homes = slices.Concat(t.homes, names)
	return &c
}

// Homes returns the tables in which the handle believes commit records of writes to this table to be, its own first.
func (t *Table) Homes() []string { return append([]string{t.Name}, t.homes...) }

// Knows reports whether a table is one of Homes.
func (t *Table) Knows(name string) bool {
	return slices.ContainsFunc(t.Homes(), func(known string) bool { return strings.EqualFold(known, name) })
}

// Plain returns a handle for the library's own rows.
func (t *Table) Plain() *Table { return t.With(Mode{BlindWrites: true, LibraryRows: true}) }

// NameOf returns the name, "" for nil.
func (t *Table) NameOf() string {
	if t == nil {
		return ""
	}
	return t.Name
}

// CheckHandle returns an error for the handle of a nil or zero table, which is an argument of this name. Errors: *ValueError.
func CheckHandle(argument string, t *Table) error {
	if t == nil {
		return &ValueError{Field: argument, Reason: "is nil or a zero Table; give a handle that table.New has returned"}
	}
	return nil
}

// Same reports whether two handles are of the same table, as far as can be known: of one service, by the name, whose case means
// nothing.
func (t *Table) Same(other *Table) bool {
	return strings.EqualFold(t.Name, other.Name) && t.SameService(other)
}

// SameService reports whether two tables are of one service, as far as can be known.
func (t *Table) SameService(other *Table) bool {
	return t.shared == other.shared || reflect.ValueOf(t.Service).Comparable() && t.Service == other.Service
}

// Ranged reports whether a list of the table came through a signature for a range of keys.
func (t *Table) Ranged() bool { return t.shared.ranged.Load() }

// RangedRows reports whether a list of the table came through a signature for a range of rows.
func (t *Table) RangedRows() bool { return t.shared.rowsOnly.Load() }

// Repaired returns the number of derived rows that writes have repaired.
func (t *Table) Repaired() int { return int(t.shared.repaired.Load()) }

// attempt returns the context of one attempt of a read for a write, which a response that never comes must not end.
func (t *Table) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	return Bound(ctx, t.Options.Retry.AttemptTimeout)
}

// attemptTimeout is the bound of one attempt, 0 for none.
func (t *Table) attemptTimeout() time.Duration { return max(t.Options.Retry.AttemptTimeout, 0) }

// OpError adds the method, the table and the key to an error, nil to none.
func (t *Table) OpError(method string, k keys.Key, err error) error {
	if err == nil {
		return nil
	}
	e := &OpError{Op: method, Table: t.NameOf(), Key: readable(k), Err: err} // the cause says what is wrong with a bad key
	var re *azcore.ResponseError
	var theirs UserCodeError
	if _, is := err.(*BatchError); !is && !errors.As(err, &theirs) && !isHomeError(err) && errors.As(err, &re) {
		e.Code = re.ErrorCode
	}
	return e
}

// ReadError is OpError for an error of a request that reads.
func (t *Table) ReadError(ctx context.Context, method string, k keys.Key, err error) error {
	if err == nil {
		return nil
	}
	return t.OpError(method, k, t.conditioned(ctx, err))
}

// conditioned is conditioned for a request to this table.
func (t *Table) conditioned(ctx context.Context, err error) error {
	return t.missing(conditioned(ctx, err))
}

// missing makes ErrTableNotFound say which table is missing, and which call creates it.
func (t *Table) missing(err error) error {
	c, is := err.(*Condition)
	if !is || c.Is != ErrTableNotFound || beingDeleted(c.Cause) {
		return err
	}
	return &Missing{c.Is, t.Name, cmp.Or(t.Made, "Table.Ensure"), c.Cause}
}

// Log returns the log of an operation.
func (t *Table) Log(method string, k keys.Key) Log {
	return Log{Logger: t.Options.Logger, Table: t.Name, Method: method, Key: k}
}
