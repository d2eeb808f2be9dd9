package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/stored"
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
	Made    string      // the call that creates the table, "" for that of a handle
	Prefix  string      // before the names of all tables of the store that declares the table
	Kin     *Kin        // the tables of that store; nil for none
	Notes   RecordNotes // nil for none
	Fault   error       // of a handle that was declared wrong: it sends nothing, and its methods return the fault

	client client
	tracer tracing.Tracer
	shared *shared
	lasts  time.Duration // how long a write goes on; 0 for the WriteTimeout
	homes  []string      // the other tables in which commit records of writes to this one may be
}

// RecordNotes know the partitions in which commit records and abort records are. A note is stored
// before the record, so that no crash leaves a record without one.
type RecordNotes interface {
	// Note stores that records of the day of an operation may be in a partition of a table.
	Note(ctx context.Context, table, partition, id string) error
	// Noted reports whether this process has stored that note.
	Noted(table, partition, id string) bool
}

// noteRecord stores the note for a record, unless it is stored. A client with a signature for a
// range of keys may store none.
func (t *Table) noteRecord(ctx context.Context, partition, id string) error {
	if t.noted(partition, id) {
		return nil
	}
	if err := t.Notes.Note(ctx, t.Name, partition, id); err != nil {
		return errs.With(errs.ErrOutbox, errs.UserCodeError{Err: wire.Redact(err)})
	}
	return nil
}

// noted reports whether a record needs no note any more.
func (t *Table) noted(partition, id string) bool {
	return t.Notes == nil || t.Ranged() || t.Notes.Noted(t.Name, partition, id)
}

// Kin are the tables of a store: a transaction may write several of them, and its commit record be
// in any. The zero value has none.
type Kin struct {
	mu    sync.Mutex
	names []string
}

// Add adds a table.
func (k *Kin) Add(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names = append(k.names, name)
}

// all returns the tables, none for nil.
func (k *Kin) all() []string {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.names)
}

// Mode is what one handle of a table does otherwise than another.
type Mode struct {
	Maintainers []Maintainer
	Schema      Schema // of the rows for the maintainers
	Outbox      commit.Outbox
	Bindings    map[any]any // what definitions have made for the handle, by the definition
	Catalogued
	Features
	Purpose
	Writing
}

// Catalogued is how a handle goes by the catalogue of its table.
type Catalogued struct {
	Guard  Guard   // nil for a handle that keeps its definitions whatever the catalogue says
	LookUp *LookUp // nil for a handle whose reads do not depend on a definition
}

// Features are what entities have besides their rows.
type Features struct {
	Chain []Feature // none for a handle that reads and writes rows as they are
	Parts int       // the most parts of an entity; 0 if each entity is one row
}

// Purpose is what the writes of a handle are for, if they are not the caller's own.
type Purpose struct {
	Completes *Completion
	Move      Move
	Ending    bool // deletes: the entity is over
	Repairs   bool // a touch rewrites the row as it is stored, of any version, without what others have put into its state
}

// Writing is how a handle writes.
type Writing struct {
	Exact              bool // writes store a commit record
	BlindWrites        bool // writes by key do not read the row first
	IgnoreCorruptState bool // corrupt maintainer state counts as none
	LibraryRows        bool // the handle also writes derived rows and rows of the library
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
	listed   atomic.Int64 // see Listed
}

// New returns a handle with the zero mode. It sends nothing. Errors: *ValueError if NewID makes no
// IDs.
func New(s Service, name string, o Options) (*Table, error) {
	t := &Table{Service: s, Name: name, Options: o, client: s.NewClient(name), tracer: wire.RedactSpans(o.Tracing).NewTracer("aztablekit", ""), shared: new(shared)}
	_, err := o.newOperationID()
	return t, err
}

// Faulty returns a handle that was declared wrong.
func Faulty(name string, fault error) *Table {
	return &Table{Name: name, Options: WithDefaults(options.Common{}), Fault: fault, shared: new(shared)}
}

// WithMode returns a handle of the same table with another mode.
func (t *Table) WithMode(m Mode) *Table {
	c := *t
	c.Mode = m
	return &c
}

// WithHomes returns a handle that also believes marks whose commit record is in one of these
// tables. What a row says of any other table is not believed: a program that may write one row
// could make other programs write there.
func (t *Table) WithHomes(names ...string) *Table {
	c := *t
	c.homes = slices.Concat(t.homes, names)
	return &c
}

// Homes returns the tables in which the handle believes commit records of writes to this table to
// be, its own first.
func (t *Table) Homes() []string { return slices.Concat([]string{t.Name}, t.homes, t.Kin.all()) }

// Knows reports whether a table is one of Homes.
func (t *Table) Knows(name string) bool {
	return slices.ContainsFunc(t.Homes(), func(known string) bool { return strings.EqualFold(known, name) })
}

// LibraryHandle returns a handle for the library's own rows.
func (t *Table) LibraryHandle() *Table {
	return t.WithMode(Mode{Writing: Writing{BlindWrites: true, LibraryRows: true}})
}

// NameOf returns the name, "" for nil.
func (t *Table) NameOf() string {
	if t == nil {
		return ""
	}
	return t.Name
}

// CheckHandle returns an error for the handle of a nil or zero table, which is an argument of this
// name, and for one that was declared wrong. Errors: *ValueError; the handle's Fault.
func CheckHandle(argument string, t *Table) error {
	if t == nil {
		return &errs.ValueError{Field: argument, Reason: "is nil or a zero Table; give a handle that aztablekit.Table has returned"}
	}
	return t.Fault
}

// Same reports whether two handles are of the same table, as far as can be known: of one service,
// by the name, whose case means nothing.
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

// Listed returns the service's time of the last page of a list, as its response says; the time zero
// if it did not.
func (t *Table) Listed() time.Time { return time.Unix(t.shared.listed.Load(), 0) }

// Repaired returns the number of derived rows that writes have repaired.
func (t *Table) Repaired() int { return int(t.shared.repaired.Load()) }

// attempt returns the context of one attempt of a read for a write, which a response that never
// comes must not end.
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
	e := &errs.OpError{Op: method, Table: t.NameOf(), Key: readable(k), Err: err} // the cause says what is wrong with a bad key
	var re *azcore.ResponseError
	var theirs errs.UserCodeError
	if _, is := err.(*errs.BatchError); !is && !errors.As(err, &theirs) && !isHomeError(err) && errors.As(err, &re) {
		e.Code = re.ErrorCode
	}
	return e
}

// readError is OpError for an error of a request that reads.
func (t *Table) readError(ctx context.Context, method string, k keys.Key, err error) error {
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
	c, is := err.(*errs.Condition)
	if !is || c.Is != errs.ErrTableNotFound || errs.BeingDeleted(c.Cause) {
		return err
	}
	return &errs.Missing{Is: c.Is, Name: t.Name, Made: cmp.Or(t.Made, "Table.Ensure"), Err: c.Cause}
}

// Log returns the log of an operation.
func (t *Table) Log(method string, k keys.Key) Log {
	return Log{Logger: t.Options.Logger, Table: t.Name, Method: method, Key: k}
}

// Options are the options of a handle, with their defaults filled in.
type Options struct {
	options.Common
	options.Sources
}

// Retry bounds attempts.
type Retry options.Retry

// The defaults.
const (
	DefaultAttemptTimeout = 10 * time.Second

	defaultWriteTimeout     = 30 * time.Second
	defaultConflictWait     = 20 * time.Millisecond
	defaultConflictAttempts = 100
)

// WithDefaults fills the defaults in.
func WithDefaults(c options.Common) Options {
	o := Options{c, options.SourcesOf(c)}
	o.WriteTimeout = cmp.Or(o.WriteTimeout, defaultWriteTimeout)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, time.Minute)
	o.Retry.AttemptTimeout = cmp.Or(o.Retry.AttemptTimeout, DefaultAttemptTimeout)
	o.Retry.Wait = cmp.Or(o.Retry.Wait, 200*time.Millisecond)
	o.Retry.MaxWait = cmp.Or(o.Retry.MaxWait, 3*time.Second)
	o.Retry.ConflictWait = cmp.Or(o.Retry.ConflictWait, defaultConflictWait)
	o.Retry.MaxConflictWait = cmp.Or(o.Retry.MaxConflictWait, time.Second)
	if o.Retry.ConflictAttempts <= 0 {
		o.Retry.ConflictAttempts = defaultConflictAttempts
	}
	if o.Retry.Attempts < 0 {
		o.Retry.Attempts = 1
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	return o
}

// Bound gives a context a deadline; a negative d means none. The cause distinguishes a request
// without a response from a request that its caller ended.
func Bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d < 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, wire.ErrRequestTimeout)
}

// newOperationID names a write that begins now.
func (o *Options) newOperationID() (string, error) {
	id := o.NewID()
	if !commit.IsID(id) {
		return "", errNewID
	}
	return string(append(commit.AppendIDTime(make([]byte, 0, commit.IDLength), o.Now()), id...)), nil
}

var errNewID = &errs.ValueError{Field: "Options.NewID", Reason: "must make 16 of the characters 0-9 and A-Z"}

// Ensure creates the table unless it exists.
func (t *Table) Ensure(ctx context.Context) error {
	return t.manage(ctx, "Ensure", func(ctx context.Context) error {
		_, err := t.client.CreateTable(ctx, nil)
		return err
	}, errs.ErrExists)
}

// readOnly returns the error of what would change a table of the service.
func (t *Table) readOnly() error {
	if edm.IsSystemTable(t.Name) {
		return &errs.ValueError{Field: "table " + t.Name, Reason: "belongs to the service, which creates it and writes its rows: programs can only read them"}
	}
	return nil
}

// Drop deletes the table if it exists.
func (t *Table) Drop(ctx context.Context) error {
	return t.manage(ctx, "Drop", func(ctx context.Context) error {
		_, err := t.client.Delete(ctx, nil)
		return err
	}, errs.ErrNotFound, errs.ErrTableNotFound) // the service says the first
}

// manage sends a request that creates or deletes the table, and sends it again while its outcome is
// unknown. The errors done say that nothing is left to do.
func (t *Table) manage(ctx context.Context, method string, send func(context.Context) error, done ...error) (err error) {
	ctx, end := t.Span(ctx, method)
	defer func() { end(err) }()
	ctx, cancel := Bound(ctx, Retry(t.Options.Retry).Timeout(ctx, t.Options.WriteTimeout))
	defer cancel()
	tries := attempts{retry: Retry(t.Options.Retry), log: t.Log(method, keys.Key{})}
	for {
		err = t.manageOnce(ctx, method, send)
		switch {
		case slices.ContainsFunc(done, func(d error) bool { return errors.Is(err, d) }):
			return nil
		case !isUnknown(err) && !dialing(err), !tries.wait(ctx, err):
			return err
		}
	}
}

func (t *Table) manageOnce(ctx context.Context, method string, send func(context.Context) error) error {
	if err := cmp.Or(t.Fault, t.readOnly(), ctx.Err()); err != nil {
		return t.OpError(method, keys.Key{}, err) // nothing was sent, so nothing is unknown
	}
	var call wire.Call
	err := send(call.Write(ctx, t.attemptTimeout()))
	t.responded(ctx, &call)
	if err = call.Check(err); err != nil {
		return t.OpError(method, keys.Key{}, t.missing(withCondition(&call, wire.Redact(err))))
	}
	return nil
}

// Schema is a table.Schema[T]. A value is a *T.
type Schema interface {
	// Rows and Partitions return the ranges of the keys of T's entities, every key but the
	// library's and none if the schema binds none.
	Rows() keys.RowRange
	Partitions() keys.PartitionRange
	// Scope names T among the types of the table: by the text with which the RowKeys of its
	// entities begin and, if there is one, a ? and Schema.Type, escaped as in a URL's path. A
	// derived row that several entities share contains it; see Row.Own and Row.Tag.
	Scope() string
	// Layouts spells the layouts of the PartitionKey and the RowKey, such as digits(6) named empid;
	// "" for a key that is in no field.
	Layouts() (partition, row string)

	// Mine reports whether a row, or the entity that the row is a copy of, can be T's: by the
	// RowKey and, where both have one, by the type.
	Mine(*stored.Row) bool
	// Value returns what a reader would find in a row.
	Value(k keys.Key, row edm.Stored) (any, error)
	// Upgraded returns a row of an older version as a row of the schema's version, and any other
	// row as it is, also one that cannot be upgraded.
	Upgraded(*stored.Row) *stored.Row
	// Properties returns the properties in which fields, each a table.FieldIn[T], are stored: none
	// for a field that is part of a key. Errors: *table.TypeError for a mistake in a field's
	// accessor, and for a field that is not stored, or is the one for unknown columns.
	Properties(fields ...any) ([]string, error)
	// Projected returns a value as it is read back with these properties and the keys alone.
	Projected(value any, properties ...string) (any, error)
	// Type returns T and Schema.Type.
	Type() (reflect.Type, string)
	// Query returns a query, a *table.Query[T], as List takes it for the entities of T.
	Query(q any) *query.Query
	// Select returns Query.Select for some properties of T: with the keys, and with the properties
	// that Owns reads.
	Select(properties ...string) string
	// Owns reports, by its keys and its type, whether a row of which only some properties were read
	// is one of T. Errors: *VersionError for a row of a newer version, or of an older one that
	// needs an upgrade.
	Owns(r *edm.Reader, in edm.Entity) (bool, error)
	// Read returns the *table.Entity[T] of the row that the reader has just read. mine is false for
	// a row that is not one of T.
	Read(r *edm.Reader, in edm.Entity) (e any, mine bool, err error)
}

// CheckClient returns an error for a client of a queue or container that is nil, or whose name the
// service refuses. A client that does not tell its address, such as one of a test, is not checked.
// Errors: *ValueError.
func CheckClient(argument, of string, client any, isNil bool) error {
	if isNil {
		return &errs.ValueError{Field: argument, Reason: fmt.Sprintf("is nil; pass a client of the %s", of)}
	}
	name, known := ClientName(client)
	if !known {
		return nil
	}
	if !IsName(name) && !(of == "container" && (name == "$root" || name == "$web")) {
		return &errs.ValueError{Field: argument, Reason: fmt.Sprintf("has the name %.80q; the service requires 3 to 63 characters of a-z, 0-9 and single hyphens between them", name)}
	}
	return nil
}

// ClientName returns the name of the queue or container of a client, if the client has a method
// that returns its address.
func ClientName(client any) (name string, known bool) {
	c, is := client.(interface{ URL() string })
	if !is {
		return "", false
	}
	u, err := url.Parse(c.URL())
	if err != nil {
		return "", false // the SDK will say so
	}
	path := strings.TrimSuffix(u.Path, "/")
	return path[strings.LastIndex(path, "/")+1:], true
}

// IsName reports whether a queue or container can have a name.
func IsName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if hyphen := c == '-' && i > 0 && i < len(name)-1 && name[i-1] != '-'; !hyphen && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(name) >= 3 && len(name) <= 63
}

// AddressErr returns a *KeyError for a key by which no row can be read or written. A row with an
// empty RowKey can be, because other programs store such rows. Handles with maintainers check
// keys.Key.Err.
func AddressErr(k keys.Key) error {
	if k.PartitionKey() == "" {
		return k.Err()
	}
	return QueryErr(k)
}

// QueryErr is AddressErr for a query, which also finds a row with an empty PartitionKey.
func QueryErr(k keys.Key) error {
	if err := k.Partition().Err(); err != nil {
		return err
	}
	return keys.Raw(cmp.Or(k.PartitionKey(), "p"), cmp.Or(k.RowKey(), "r")).Err()
}

// readable is a key for an error, or none if the error is about the key.
func readable(k keys.Key) keys.Key {
	if QueryErr(k) != nil {
		return keys.Key{}
	}
	return k
}
