package table

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Schema says how entities of type T are addressed. How their fields are stored is said by T itself; see [Table].
type Schema[T any] struct {
	// Partition and Row bind the keys to fields of T, both ways. Bound fields are found by their address and are never
	// stored as properties, whatever their tags. A binding that is left out means that verbs need an explicit key:
	// InsertAt, UpsertAt, and the verbs that take one anyway.
	Partition, Row keys.Bind[T]

	// Type tells the rows of T from others whose RowKeys look alike. It is stored in the property _type. Rows of another
	// type are not T's; rows without one are T's, of version 0. Where RowKeys tell types apart, by a layout's name for
	// instance, it can be left out.
	Type string

	// Version is the version of T's form in the table, 0 at first. It is stored in the property _v. Rows of a newer version
	// are a *VersionError, also for a T that has no version yet, but in its views and counts, which do not read _v. From
	// version 1 on, what would change a row without having seen its version is refused: MergeExisting, MergeAny, and Merge
	// of an entity made by hand.
	Version int

	// Upgrade has a function for each version whose rows must be changed to be rows of the next one. Reading a row of an
	// older version applies them in turn; the stored row changes when it is replaced. Versions that only add properties
	// need none. Conditions of a query see rows as they are stored.
	Upgrade map[int]func(*Row) error
}

// Options of a table. The zero value is ready for use.
type Options struct {
	Common

	// BlindWrites lets writes that go by the key alone do without reading the row: Upsert, MergeAny, ReplaceAny, DeleteAny, and Merge
	// and Delete of an entity that was not read; also in transactions and bulk work. It saves 1 request for each row. Set it for
	// tables whose rows have no derived rows: a write without reading leaves the index rows, lists and summaries behind that other
	// programs keep of the entity. By default the row is read first and written by its ETag, and a row with derived rows that this
	// handle does not maintain is refused with ErrUnknownMaintainer. Handles with maintainers always read first.
	BlindWrites bool
}

// Table reads and writes entities of type T, a struct, in one table. It is safe for concurrent use. With T = [Row] it reads
// and writes rows of any type as bags of properties.
//
// # How fields are stored
//
// A field is stored in the property of its name, or of the name in its tag: `table:"LastName"`. Unexported fields and
// those tagged `table:"-"` are not stored, nor are the fields that the schema binds to a key; embedded structs count as
// their fields.
//
//	string                             Edm.String
//	bool                               Edm.Boolean
//	int8 to int32, uint8, uint16       Edm.Int32
//	int, int64, uint, uint32, uint64   Edm.Int64; a value past int64 is an error
//	float32, float64                   Edm.Double, NaN and infinities included; the sign of zero may be lost
//	time.Time                          Edm.DateTime, in UTC, cut to 100 ns; the zero time is absent
//	[16]byte                           Edm.Guid
//	[]byte                             Edm.Binary; nil is absent, empty is not
//	*X                                 as X; nil is absent
//	aztables.EDMInt64, EDMDateTime,    as the SDK stores them: Edm.Int64, Edm.DateTime, Edm.Guid and
//	EDMGUID, EDMBinary                 Edm.Binary; the zero time, the empty GUID and nil are absent
//	encoding.TextMarshaler and -Unmarshaler, on the pointer or the value: Edm.String
//	Composite                          several properties
//
// and types over these. Where several rows fit, the order is: the options of the tag; Composite; time.Time, [16]byte,
// []byte and the SDK's types; TextMarshaler; the kind of the type. Options stand behind the name:
//
//	omitempty   the zero value is absent
//	int32       an integer of any type, as Edm.Int32; a larger value is an error
//	json        any type, as JSON in an Edm.String
//	each        a slice, each element in a property of its own: m000, m001, … up to m251; each=24 means h00 to h23.
//	            An empty list comes back as nil, and the last element must not be absent
//	extra       one map[string]any that takes the columns that no other field does
//
// Two fields of one name are an error of New, also where one is in an embedded struct and Go would hide it.
//
// A column may hold numbers of another type, since other programs wrote them or the field was widened. An integer field
// reads Edm.Int32 and Edm.Int64, a floating-point field these and Edm.Double, if the value fits the field. What a field reads
// is also what a condition finds ([Field.Eq]). Replace, Update, Merge and Rekey of an entity that was read leave a number in
// the type in which it is stored, as long as the new value fits, because other readers may rely on that type; Insert,
// Upsert and MergeAny do not see the row and write the types above. To keep a column Edm.Int32, use the option int32.
//
// Columns that T does not know survive reading, changing and replacing an entity even without such a map.
type Table[T any] struct {
	core
	schema Schema[T]
	plan   *edm.Plan

	maintainers         []Maintainer[T]
	derivedRows         bool // it writes rows that begin as the library's do
	readsFirst          bool // it looks at each row that it writes
	ignoresCorruptState bool // what maintainers remember may be unreadable

	// verify tells that keys must be computed again after reading: a binding is one-way, or both bind the same field.
	verify bool
}

// New makes a table of an SDK client and a schema. It sends nothing: the table itself is created by [Table.Ensure]. Errors
// are a *TypeError for a T that cannot be stored, a *keys.KeyError for a binding that was made wrongly, and a *ValueError
// or *LimitError for a name that no table can have (3 to 63 letters and digits, a letter first).
func New[T any](service Service, name string, schema Schema[T], o *Options) (*Table[T], error) {
	if o == nil {
		o = &Options{}
	}
	if err := checkTableName(name); err != nil {
		return nil, fmt.Errorf("table: New: %w", err)
	}
	if err := errors.Join(schema.Partition.Err(), schema.Row.Err()); err != nil {
		return nil, fmt.Errorf("table: New %s: %w", name, err)
	}
	if service == nil {
		return nil, fmt.Errorf("table: New %s: %w", name, &ValueError{Field: "service", Reason: "is nil; give a client of the SDK, such as account.Account.Tables"})
	}
	if err := schema.sound(); err != nil {
		return nil, fmt.Errorf("table: New %s: %w", name, err)
	}
	t := &Table[T]{core: newCore(service, name, o.Common), schema: schema, readsFirst: !o.BlindWrites}
	if _, err := t.opt.newOp(); err != nil {
		return nil, fmt.Errorf("table: New %s: %w", name, err)
	}
	bound, err := t.boundFields()
	if err == nil {
		typ := reflect.TypeFor[T]()
		if typ == rowType {
			typ = emptyType
		}
		t.plan, err = edm.NewPlan(typ, bound)
	}
	if err != nil {
		return nil, fmt.Errorf("table: New %s: %w", name, public(err))
	}
	return t, nil
}

// boundFields finds the fields that the schema binds to keys.
func (t *Table[T]) boundFields() (paths [][]int, err error) {
	if reflect.TypeFor[T]().Kind() != reflect.Struct {
		return nil, nil // NewPlan says so
	}
	defer func() {
		if r := recover(); r != nil {
			err = &TypeError{Type: reflect.TypeFor[T](), Reason: fmt.Sprintf("a key binding's accessor panics: %v", r)}
		}
	}()
	zero := new(T)
	v := reflect.ValueOf(zero).Elem()
	seen := map[string]bool{}
	for _, b := range []keys.Bind[T]{t.schema.Partition, t.schema.Row} {
		t.verify = t.verify || b.OneWay()
		mine := map[string]bool{}
		for _, ptr := range b.Fields(zero) {
			path := edm.Find(v, ptr)
			if path == nil {
				return nil, &TypeError{Type: v.Type(), Reason: "a key binding's accessor does not point at a field of it"}
			}
			id := fmt.Sprint(path)
			t.verify = t.verify || seen[id] || mine[id]
			mine[id] = true
			paths = append(paths, path)
		}
		seen = mine
	}
	return paths, nil
}

func checkTableName(name string) error {
	if n := len(name); n < 3 || n > 63 {
		return &LimitError{Field: tableName(name), Limit: "characters; the service requires 3 to 63", Got: n, Max: 63}
	}
	if strings.EqualFold(name, "tables") {
		return &ValueError{Field: tableName(name), Reason: "belongs to the service; choose another"}
	}
	for i, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return &ValueError{Field: tableName(name), Reason: fmt.Sprintf("holds %q at byte %d; the service requires the letters A-Z and a-z and digits, a letter first", c, i)}
		}
	}
	return nil
}

func tableName(name string) string { return fmt.Sprintf("table name %.80q", name) }

// Name returns the table's name.
func (t *Table[T]) Name() string { return t.name }

// Ensure creates the table unless it exists. 1 request, sent again where its outcome is unknown; idempotent. A name that was
// deleted less than a minute ago is refused by the service with TableBeingDeleted.
func (t *Table[T]) Ensure(ctx context.Context) error {
	ctx, cancel := bound(ctx, t.opt.WriteTimeout)
	defer cancel()
	tries := attempts{retry: t.opt.Retry}
	for {
		err := t.write(ctx, "Ensure", keys.Key{}, func(ctx context.Context) error {
			_, err := t.client.CreateTable(ctx, nil)
			return err
		})
		switch {
		case errors.Is(err, ErrExists):
			return nil
		case !unknown(err) && !dialing(err), !tries.again(ctx, err):
			return err
		}
	}
}
