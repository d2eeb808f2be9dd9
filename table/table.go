package table

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Service returns clients of the SDK by table name. Every *aztables.ServiceClient is a Service.
type Service interface {
	NewClient(tableName string) *aztables.Client
}

var _ Service = (*aztables.ServiceClient)(nil)

// Options of a table. The zero value is ready for use.
type Options struct {
	Common

	// BlindWrites writes by key without reading the row first: Upsert, MergeAny, ReplaceAny, DeleteAny, and Merge and Delete of an
	// entity that was not read, also in transactions and bulk work. It saves 1 request for each row. Set it only for tables without
	// derived rows: a blind write leaves the index rows, lists and summaries of other programs as they are. By default the row is
	// read first and written by its ETag, and the write fails with ErrUnknownMaintainer if the row has derived rows that this
	// handle does not maintain. Handles with maintainers always read first.
	BlindWrites bool

	// MovedFrom names the other tables from which [Table.MoveTo] moves entities to this one. All handles of this table name them,
	// until the moves of crashed programs are finished. Rows that name any other table in a mark are shown as before the mark, and
	// count in Stats.Damaged, so that a forged row does not make other programs read or write elsewhere.
	MovedFrom []string
}

// Table reads and writes entities of type T, a struct, in one table. It is safe for concurrent use. With T = [Row] it reads
// and writes rows of any type as bags of properties.
//
// # How fields are stored
//
// A field is stored in the property of its name, or of the name in its tag: `table:"LastName"`. Unexported fields and
// those tagged `table:"-"` are not stored, nor are the fields that the schema binds to a key. The fields of an
// embedded struct are stored as if they were fields of T.
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
// and types with these as underlying types. If several lines apply, the order is: the options of the tag; Composite; time.Time,
// [16]byte, []byte and the SDK's types; TextMarshaler; the kind of the type. Options follow the name:
//
//	omitempty   the zero value is absent
//	int32       an integer of any type, as Edm.Int32; a larger value is an error
//	json        any type, as JSON in an Edm.String
//	each        a slice, each element in a property of its own: m000, m001, … up to m251; each=24 means h00 to h23.
//	            An empty list comes back as nil, and the last element must not be absent
//	extra       one map[string]any that takes the columns that no other field does
//	chunks      a string or []byte of up to several MiB, in properties of 64 KiB each: m00, m01, …
//	part=n      the field is stored in part n of the entity, 0 to 98; see below
//
// New fails if two fields have one property, also if one of them is in an embedded struct and hidden in Go.
//
// A column may contain numbers of another type, because another program stored them or the field's type has changed. An integer
// field reads Edm.Int32 and Edm.Int64, and a floating-point field also Edm.Double, if the value fits the field. A condition finds
// the same values ([Field.Eq]). Replace, Update, Merge and Rekey of an entity that was read keep the stored type of a number if the
// new value fits, because other readers may rely on that type. Insert, Upsert and MergeAny store the types above. To
// keep a column Edm.Int32, use the option int32.
//
// Replace keeps the columns that T does not know, also without a field with the option extra.
//
// # Entities with parts
//
// A row takes 252 properties and 1 MiB. A larger entity is stored in several rows of its partition: the head, under the entity's
// key, and parts, under that key with ! and the number of the part: page_home, page_home!01, page_home!02 ('Azure Table storage
// table design guide': wide entities pattern). All methods work as for other entities, and an entity is written in one transaction,
// with its derived rows.
//
//	type Page struct {
//		Path    string
//		Title   string                                     // in the head
//		Visits  []int32 `table:"Day,each=365,part=1"`      // 200 elements in part 1, the others in part 2
//		Article string  `table:",chunks,omitempty,part=3"` // 15 chunks of 64 KiB in part 3, the others in part 4
//	}
//
// Without an option part, a field is in the head; so is the start of a field in chunks. Keep the part of a field once entities are
// stored: a merge by key would store the field twice. New fields may go to any part. Conditions name fields of the head.
//
// A read finds parts of one version: it is repeated if a concurrent writer changes the entity meanwhile, and fails with
// ErrContended after 5 attempts. If a part is missing or of another version, it fails with a *DecodeError. A handle of another T,
// without parts, fails with a *DecodeError too, and its writes with ErrUnknownParts.
//
// A RowKey may have 509 UTF-16 units, since those of the parts are 3 longer. Upsert with MergeExisting takes no value in chunks.
//
// A write stores the parts that change, and the head: Merge of one part sends that part's changes alone. Get and List read all
// parts, [Table.GetFields] those of some fields. The JSON of the entity may take 3.5 MiB, which is 2.6 MiB of binary values, and
// its rows, with those of maintainers, 97; otherwise the error is a *LimitError before anything is sent. Store larger values in
// blobs, with package largeentity.
//
// Requests: 1 to read an entity and 1 to write a loaded one. A write by key reads first, the head alone if there are no
// maintainers. A list takes 1 more for each entity that a page does not contain whole, as at the end of a page, and for each entity
// with parts if the query has a condition.
type Table[T any] struct{ h handle }

// handle is a table without the type parameter. The methods of a table do nothing but call it, because a program compiles them for
// each of its types. //go:noinline keeps long bodies out of these copies.
type handle struct {
	engine *engine.Table
	shape  *shape
}

// with returns the same handle in another mode.
//
//go:noinline
func (h handle) with(change func(*engine.Mode)) handle {
	m := h.engine.Mode
	change(&m)
	h.engine = h.engine.With(m)
	return h
}

// New returns a handle of a table. It sends nothing: [Table.Ensure] creates the table in the service. Errors: *TypeError for a T
// that cannot be stored; *keys.KeyError for a wrong binding; *ValueError and *LimitError for a name that no table can have (3 to 63
// letters and digits, a letter first).
func New[T any](service Service, name string, schema Schema[T], o *Options) (*Table[T], error) {
	h, err := newHandle(service, name, shapeOf(&schema), o)
	if err != nil {
		return nil, err
	}
	return &Table[T]{h}, nil
}

func newHandle(service Service, name string, s *shape, o *Options) (handle, error) {
	if err := engine.CheckTableName(name); err != nil {
		return handle{}, fmt.Errorf("table: New: %w", public(err))
	}
	fail := func(err error) (handle, error) { return handle{}, fmt.Errorf("table: New %s: %w", name, public(err)) }
	if err := s.sound(); err != nil {
		return fail(err)
	}
	if o == nil {
		o = &Options{}
	}
	if wire.IsNil(service) {
		return fail(&ValueError{Field: "service", Reason: "is nil; give a client of the SDK, such as account.Account.Tables"})
	}
	t, err := engine.New(service, name, o.Common.engine())
	if err != nil {
		return fail(err)
	}
	if err := s.finish(); err != nil {
		return fail(err)
	}
	if s.parts > 0 && o.BlindWrites {
		return fail(&ValueError{Field: "Options.BlindWrites", Reason: "is set, but a write must know the parts of the entity that it replaces"})
	}
	for _, name := range o.MovedFrom {
		if err := engine.CheckTableName(name); err != nil {
			return fail(err)
		}
	}
	t = t.WithHomes(o.MovedFrom...)
	return handle{t.With(engine.Mode{BlindWrites: o.BlindWrites, Parts: s.parts, Schema: s}), s}, nil
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
// Only the fields that the schema binds to keys matter. The method that uses the key returns its errors, as with keys.At: a
// *keys.KeyError for a value that its layout cannot encode, and for a key that the schema does not bind.
func (t *Table[T]) Key(v T) keys.Key { return t.h.shape.keyOf(&v) }

// Ensure creates the table unless it exists. 1 request, sent again if its outcome is unknown; idempotent. While a
// table of this name is being deleted, 40 s or more, Ensure fails with ErrTableNotFound and the code TableBeingDeleted.
func (t *Table[T]) Ensure(ctx context.Context) error { return public(t.h.engine.Ensure(ctx)) }

// Repaired returns how many derived rows were missing or changed, and were repaired by a write of their entity. It counts for this
// handle and the handles that maintain.With and Exact have made of it, and for the handle that it was made of.
func (t *Table[T]) Repaired() int { return t.h.engine.Repaired() }

// opError wraps what went wrong before or after a request.
func (h handle) opError(method string, k keys.Key, err error) error {
	return public(h.engine.OpError(method, k, err))
}
