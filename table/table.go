package table

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
)

// Options of a table. The zero value is ready for use.
type Options struct {
	Common

	// BlindWrites writes by key without reading the row first: Upsert, MergeAny, ReplaceAny,
	// DeleteAny, and Merge and Delete of an entity that was not read, also in transactions and bulk
	// work. It saves 1 request for each row. Set it only for tables without derived rows: a blind
	// write leaves the index rows, lists and summaries of other programs as they are. By default
	// the row is read first and written by its ETag, and the write fails with ErrNotDeclared if the
	// row has derived rows that this handle does not maintain. Handles with maintainers always read
	// first.
	BlindWrites bool
}

// Table reads and writes entities of type T, a struct, in one table. It is safe for concurrent use.
// With T = [Row] it reads and writes rows of any type as bags of properties.
//
// Maintainers may add requests to those that the methods name: a transaction with effects takes 2
// more for its notification, rows that several entities share are read first, and each other
// partition that changes with the entity (index.NewUnique, Move) takes 2 transactions, to prepare
// and to finish.
//
// # How fields are stored
//
// A field is stored in the property that its tag names: `table:"LastName"`, else the name in its
// json tag, else its own name. Unexported fields, fields tagged `table:"-"` and fields that the
// schema binds to a key are not stored. A field tagged `json:"-"` needs a table tag that says
// whether it is stored. The options of json tags, such as omitempty, have no effect.
//
// The fields of an embedded struct are stored as if they were fields of T, unless a tag names the
// struct. T may embed aztables.Entity with its keys bound: a read sets its Timestamp, and a write
// leaves it out. docs/aztables.md has an example.
//
//	string                             Edm.String
//	bool                               Edm.Boolean
//	int8 to int32, uint8, uint16       Edm.Int32
//	int, int64, uint, uint32, uint64   Edm.Int64; a larger value is an error
//	float32, float64                   Edm.Double, NaN and infinities included; the sign of zero may be lost
//	time.Time                          Edm.DateTime, in UTC, truncated to 100 ns; the zero time is absent
//	[16]byte                           Edm.Guid
//	[]byte                             Edm.Binary; nil is absent, empty is not
//	*X                                 as X; nil is absent
//	aztables.EDMInt64, EDMDateTime,    as the SDK stores them: Edm.Int64, Edm.DateTime, Edm.Guid and
//	EDMGUID, EDMBinary                 Edm.Binary; the zero time, the empty GUID and nil are absent
//	encoding.TextMarshaler and -Unmarshaler, on the pointer or the value: Edm.String
//	Composite                          several properties
//
// and types with these as underlying types. If several lines apply, the order is: the options of
// the tag; Composite; time.Time, [16]byte, []byte and the SDK's types; TextMarshaler; the kind of
// the type. Options follow the name:
//
//	omitempty   the zero value is absent
//	int32       an integer of any type, as Edm.Int32; a larger value is an error
//	double      an integer of any type, as Edm.Double; beyond 2^53 it is an error
//	text        a time as RFC 3339, an integer in decimal digits, a bool as true or false, and []byte as base64, in an Edm.String
//	json        any type, as JSON in an Edm.String
//	each        a slice, each element in a property of its own: m000, m001, … up to m251; each=24 means h00 to h23.
//	            An empty list comes back as nil, and the last element must not be absent
//	extra       one map[string]any that takes the columns that no other field does
//	chunks      a string or []byte of up to several MiB, in properties of 64 KiB each: m00, m01, …
//	part=n      the field is stored in part n of the entity, 0 to 98; see below
//
// The declaration fails if two fields have one property, also if one of them is in an embedded
// struct and hidden in Go.
//
// A column may contain numbers of another type, because another program stored them or the field's
// type has changed. An integer field reads Edm.Int32 and Edm.Int64, and a floating-point field also
// Edm.Double, if the value fits the field. A condition finds the same values ([Field.Eq]). Replace,
// Update, Merge and Move of an entity that was read keep the stored type of a number if the new
// value fits, because other readers may rely on that type. Insert, Upsert and MergeAny store the
// types above. To keep a column Edm.Int32, use the option int32.
//
// The options double and text are for columns that other programs store so. Such a field reads its
// column in each form of the value that is unambiguous, so that a column may have two: the text,
// the type of the field, and whole numbers of all types. It writes the one of its option, also
// where another was stored: a time in UTC, truncated to 100 ns. The empty text is no value, except
// for []byte. Texts in other forms are a *DecodeError: numbers with leading zeros, times without an
// offset or with a space for the T.
//
// Replace keeps the columns that T does not know, also without a field with the option extra.
//
// # Entities with parts
//
// A row takes 252 properties and 1 MiB. A larger entity is stored in several rows of its partition:
// the head, under the entity's key, and parts, under that key with ! and the number of the part:
// page_home, page_home!01, page_home!02 ('Azure Table storage table design guide': wide entities
// pattern). All methods work as for other entities, and an entity is written in one transaction,
// with its derived rows.
//
//	type Page struct {
//		Path    string
//		Title   string                                     // in the head
//		Visits  []int32 `table:"Day,each=365,part=1"`      // 200 elements in part 1, the others in part 2
//		Article string  `table:",chunks,omitempty,part=3"` // 15 chunks of 64 KiB in part 3, the others in part 4
//	}
//
// Without an option part, a field is in the head; so is the start of a field in chunks. Keep the
// part of a field once entities are stored: a merge by key would store the field twice. New fields
// may go to any part. Conditions name fields of the head.
//
// A read finds parts of one version: it is repeated if a concurrent writer changes the entity
// meanwhile, and fails with ErrContended after 5 attempts. If a part is missing or of another
// version, it fails with a *DecodeError. A handle of another T, without parts, fails with a
// *DecodeError too, and its writes with ErrNotDeclared.
//
// A RowKey may have 509 UTF-16 units, because the RowKeys of the parts are 3 units longer. Upsert
// with MergeExisting takes no value in chunks.
//
// A write stores the parts that change, and the head: Merge of one part sends that part's changes
// alone. Get and List read all parts, [Table.GetFields] the parts of some fields. The JSON of the
// entity may take 3.5 MiB, which is 2.6 MiB of binary values. The entity may have 97 rows, derived
// rows included. Otherwise the error is a *LimitError before anything is sent. Store larger values
// in blobs, with package largeentity.
//
// Requests: 1 to read an entity and 1 to write a loaded one. A write by key reads first, the head
// alone if there are no maintainers. A list takes 1 more for each entity that a page does not
// contain whole, as at the end of a page, and for each entity with parts if the query has a
// condition.
type Table[T any] struct{ h handle }

// handle is a table without the type parameter. The methods of a table do nothing but call it,
// because a program compiles them for each of its types. //go:noinline keeps long bodies out of
// these copies.
type handle struct {
	engine *engine.Table
	schema *schema
}

// inMode returns the same handle in another mode.
//
//go:noinline
func (h handle) inMode(change func(*engine.Mode)) handle {
	m := h.engine.Mode
	change(&m)
	h.engine = h.engine.WithMode(m)
	return h
}

func newHandle(service engine.Service, name string, s *schema, o *Options) (handle, error) {
	if err := edm.CheckTableName(name); err != nil && !edm.IsSystemTable(name) {
		return handle{}, fmt.Errorf("table: New: %w", err)
	}
	fail := func(err error) (handle, error) { return handle{}, fmt.Errorf("table: New %s: %w", name, err) }
	if err := s.sound(); err != nil {
		return fail(err)
	}
	if o == nil {
		o = &Options{}
	}
	if wire.IsNil(service) {
		return fail(&ValueError{Field: "service", Reason: "is nil; give a client of the SDK, such as account.Account.Tables"})
	}
	t, err := engine.New(service, name, engine.WithDefaults(o.Common))
	if err != nil {
		return fail(err)
	}
	if err := s.finish(); err != nil {
		return fail(err)
	}
	if s.parts > 0 && o.BlindWrites {
		return fail(&ValueError{Field: "Options.BlindWrites", Reason: "is set, but a write must know the parts of the entity that it replaces"})
	}
	return handle{t.WithMode(engine.Mode{Schema: s, Features: engine.Features{Parts: s.parts}, Writing: engine.Writing{BlindWrites: o.BlindWrites}}), s}, nil
}

// Name returns the table's name.
func (t *Table[T]) Name() string {
	if t == nil {
		return ""
	}
	return t.h.engine.NameOf()
}

// Key returns the key that the schema makes of a value, without a request:
//
//	e, err := staff.Get(ctx, staff.Key(Employee{Department: "Sales", ID: 223}))
//
// Only the fields that the schema binds to keys matter. The method that uses the key returns its
// errors, as with keys.At: a *keys.KeyError for a value that its layout cannot encode, and for a
// key that the schema does not bind.
func (t *Table[T]) Key(v T) keys.Key { return t.h.schema.keyOf(&v) }

// The options that all packages of this library share.
type (
	// Common are the options that all packages of this library share. The zero value of each field
	// is its default.
	//
	//	WriteTimeout     time.Duration     // bounds a write with all its attempts; 30 s, and negative means no bound
	//	ReadTimeout      time.Duration     // bounds a read request, or a page of a list; 1 min, and negative means no bound
	//	Retry            Retry             // bounds attempts
	//	OmitOperationID  bool              // leaves out _op; a write whose response is lost fails with ErrUnknownOutcome
	//	Tracing          tracing.Provider  // receives a span for each method call and each request; none
	//	Logger           *slog.Logger      // receives a line for each event that an operator may want to know; none
	//
	// ReadTimeout includes the repeated attempts of the SDK's client; without a bound, the SDK
	// alone waits for ever. See docs/observability.md for the spans and the lines.
	Common = options.Common

	// Retry bounds attempts: of one request (Attempts), and of reading and writing again after a
	// conflict (ConflictAttempts).
	//
	//	AttemptTimeout    time.Duration  // bounds one attempt of a write, and a read of a row that a write needs; 10 s, negative: no bound
	//	Attempts          int            // how often a write is sent if its response is lost; by default, WriteTimeout ends the attempts
	//	Wait              time.Duration  // the pause before the second attempt, doubled with each attempt; 200 ms, negative: no pause
	//	MaxWait           time.Duration  // the longest pause; 3 s
	//	ConflictAttempts  int            // how often a method begins again after a conflict; 100
	//	ConflictWait      time.Duration  // the pause after the first conflict, doubled with each conflict; 20 ms, negative: no pause
	//	MaxConflictWait   time.Duration  // the longest pause after a conflict; 1 s
	//
	// 1 attempt, or less than 0, means once. A busy service (503, 429) uses up no attempt of
	// several, and no request is sent sooner than Retry-After asks. Without WriteTimeout and an end
	// of the context, 4 attempts are the most; 4 are also the most if the response is that of
	// another program, such as a proxy, and 100 without pauses. Each pause is shortened at random
	// by up to a half.
	Retry = options.Retry
)

// ClientOptions returns a copy of base with what this library adds to a client of the SDK:
//
//   - The text of a transport error contains no signature, nor does the status of a span of
//     base.TracingProvider, also if the answer repeats the URL of its request.
//   - An attempt ends after 10 s, unless base sets Retry.TryTimeout. The SDK waits without a bound.
//   - A write that was never sent, for example because the client got no token, is recognized: its
//     outcome is known.
//   - Entities go past the SDK, which decodes each to a map and encodes it again. The library puts
//     its own request in the place of a small DeleteEntity of the SDK, which still signs, repeats
//     and logs it. The first request of each table is the SDK's. So are all requests of a client
//     with a TracingProvider whose table has no Options.Tracing.
//   - Requests to Azure Cosmos DB, which has other rules, fail and are not sent.
//   - counter counts the requests, if it is not nil.
//   - If base has no Transport, the copy gets one that follows no redirects, because a redirected
//     write would be sent again as a GET, and that keeps up to 100 idle connections to each host,
//     so that a burst of requests opens none if one as large came before it. The default transport
//     of the SDK keeps 10. A Transport of base stays as it is.
//
// Clients that are made without ClientOptions work as well: the library then bounds its own writes,
// and reports the outcome of each write that may have been sent as unknown.
//
// Put your own policies into base. A policy in front of the result's own policies sees the small
// DeleteEntity.
//
// The options are for clients of the Table and the Queue service. For blobs, whose bodies are
// streams, set Retry.TryTimeout to 0 afterwards, because a bound on one attempt would cut long
// downloads.
func ClientOptions(base azcore.ClientOptions, counter *requests.Counter) azcore.ClientOptions {
	o := base
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Retry.TryTimeout == 0 {
		o.Retry.TryTimeout = engine.DefaultAttemptTimeout
	}
	o.TracingProvider = wire.RedactSpans(base.TracingProvider)
	o.PerCallPolicies = append([]policy.Policy{wire.ProbeCall{}}, base.PerCallPolicies...)
	o.PerRetryPolicies = slices.Clone(base.PerRetryPolicies)
	if counter != nil {
		o.PerRetryPolicies = append(o.PerRetryPolicies, counter)
	}
	o.PerRetryPolicies = append(o.PerRetryPolicies, wire.ProbeRetry{})
	return o
}

// newTransport is the SDK's default transport, but that it follows no redirects and keeps more
// connections: so many for each host, since an account has several.
func newTransport() *http.Client {
	const connections = 100
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: connections, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
