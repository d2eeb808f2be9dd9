package table

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/keydoor"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Schema binds the keys of rows to fields of T, and names the type and its version. [Table]
// describes how the other fields are stored.
type Schema[T any] struct {
	// Partition and Row bind the keys to fields of T. The fields that a key holds are not stored as
	// properties, whatever their tags; those of which a key is computed ([keys.RowFunc]) are. If a
	// binding is left out, use the methods with an explicit key, such as InsertAt.
	Partition keys.AnyPartition[T]
	Row       keys.AnyRow[T]

	// Type distinguishes the rows of T from rows of other types with RowKeys of the same form. It
	// is stored in the property _type. Rows of another type are not rows of T. Rows without _type
	// are rows of T, of version 0. Leave Type out if the RowKeys of the types differ, for example
	// by the names of their layouts.
	Type string

	// Version is the version of T's form in the table, 0 at first. It is stored in the property _v.
	// Reading a row of a newer version fails with a *VersionError, also if T has no version yet.
	// Exception: views and counts of such a T do not read _v. From version 1 on, a write that would
	// change a row of an unknown version is refused: MergeExisting, MergeAny, and Merge of an
	// entity that the program has made itself.
	Version int

	// Upgrade has a function for each version whose rows must be changed to be rows of the next
	// version. A read of a row of an older version applies them in order. The stored row changes
	// when it is replaced; [Upgrade] changes all rows. A version that only adds properties needs no
	// function. Conditions of a query apply to rows as they are stored.
	Upgrade map[int]func(*Row) error

	// Merged reports to [Upgrade] whether a program without versions has merged into a row that has
	// the schema's version already, and which version the columns have that it has left. Such a
	// merge keeps _v, so that no reader upgrades what it has written. Upgrade upgrades the row from
	// that version on. Without Merged, such rows are not looked for.
	Merged func(*Row) (version int, is bool)

	// Parts is the greatest number of parts of an entity, besides the head, at most 98. Defaults to
	// what the tags of T ask for, so that a T without the options part and chunks has none. Set it
	// for T = Row, and if another release of the program stores more parts. [Table] describes
	// entities with parts.
	Parts int
}

// schema is a Schema with the codec of its entities, without the type parameter: code that needs no
// T is compiled once.
type schema struct {
	typ            reflect.Type // T
	isRow          bool         // T is Row
	partition, row keydoor.Half
	partitions     keys.PartitionRange // of all PartitionKeys
	rows           keys.RowRange       // of all RowKeys
	name           string
	version        int
	parts          int
	upgrade        map[int]func(*Row) error
	codec          *edm.Codec
	mergedByOthers func(*Row) (version int, is bool) // Schema.Merged
	merged         func(*Row) (version int, is bool) // the same, in a job of Upgrade
	newEntity      func() entity
	boundKey       func(value any) keys.Key // by both bindings

	// verify reports that keys must be computed again after reading: a binding is one-way, or both
	// bind the same field.
	verify bool
}

func schemaOf[T any](s *Schema[T]) *schema {
	typ := reflect.TypeFor[T]()
	partition := keydoor.Partition[keys.PartitionKey, keys.PartitionRange](s.Partition)
	row := keydoor.Row[keys.RowKey, keys.RowRange](s.Row)
	return &schema{
		typ: typ, isRow: typ == rowType, partition: partition.Half, row: row.Half, partitions: partition.All, rows: row.All,
		name: s.Type, version: s.Version, upgrade: s.Upgrade, mergedByOthers: s.Merged, parts: s.Parts,
		newEntity: func() entity { return new(Entity[T]) },
		boundKey:  func(v any) keys.Key { return keys.At(partition.Key(v), row.Key(v)) },
	}
}

// finish finds the bound fields, and makes the codec of the other fields.
func (s *schema) finish() error {
	bound, err := s.boundFields()
	if err != nil {
		return err
	}
	typ := s.typ
	if s.isRow {
		typ = emptyType
	}
	if s.codec, err = edm.NewCodec(typ, bound); err == nil {
		s.parts = max(s.parts, s.codec.Parts())
	}
	return err
}

// newValue returns a pointer to a new T.
func (s *schema) newValue() any { return reflect.New(s.typ).Interface() }

// boundFields finds the fields that the schema binds to keys.
func (s *schema) boundFields() (paths [][]int, err error) {
	if s.typ.Kind() != reflect.Struct {
		return nil, nil // NewCodec says so
	}
	defer func() {
		if r := recover(); r != nil {
			err = &TypeError{Type: s.typ, Reason: fmt.Sprintf("a key binding's accessor panics: %v", r)}
		}
	}()
	zero := s.newValue()
	v := reflect.ValueOf(zero).Elem()
	seen := map[string]bool{}
	for _, b := range []keydoor.Half{s.partition, s.row} {
		s.verify = s.verify || b.OneWay
		mine := map[string]bool{}
		for _, ptr := range b.Fields(zero) {
			path := edm.FieldPath(v, ptr)
			if path == nil {
				return nil, &TypeError{Type: s.typ, Reason: "a key binding's accessor does not point at a field of it"}
			}
			id := fmt.Sprint(path)
			s.verify = s.verify || seen[id] || mine[id]
			mine[id] = true
			paths = append(paths, path)
		}
		seen = mine
	}
	return paths, nil
}

// oneWay reports whether a key is computed from fields that are stored as properties.
func (s *schema) oneWay() bool { return s.partition.OneWay || s.row.OneWay }

// typed reports whether rows contain their type or version.
func (s *schema) typed() bool { return s.name != "" || s.version != 0 }

// sound returns the error of a schema whose bindings are wrong, or whose versions make no sense.
func (s *schema) sound() error {
	if err := errors.Join(s.partition.Err, s.row.Err); err != nil {
		return err
	}
	if s.version < 0 || s.version > 1<<30 {
		return &ValueError{Field: "Schema.Version", Reason: fmt.Sprintf("is %d; it must be 0 to 2^30", s.version)}
	}
	if s.parts < 0 || s.parts > edm.MaxPart {
		return &LimitError{Field: "Schema.Parts", Limit: "parts of an entity", Got: s.parts, Max: edm.MaxPart}
	}
	for v, f := range s.upgrade {
		if v < 0 || v >= s.version || f == nil {
			return &ValueError{Field: "Schema.Upgrade", Reason: fmt.Sprintf("there is no version %d below %d to upgrade, or no function to do it", v, s.version)}
		}
	}
	return nil
}

// put writes the type and the version of rows, and returns their properties.
func (s *schema) put(w *edm.Writer) []string {
	if !s.typed() {
		return nil
	}
	if s.name != "" {
		w.Put(reserved.Type, edm.Value{Kind: edm.String, S: s.name})
	}
	if s.version > 0 {
		w.Put(reserved.Version, edm.Value{Kind: edm.Int32, I: int64(s.version)})
	}
	return []string{reserved.Type, reserved.Version}
}

// versionOf returns the version of the row that the reader has just read. mine is false if the row
// is of another type.
func (s *schema) versionOf(r *edm.Reader) (v int, mine bool, err error) {
	typ, err := r.Property(reserved.Type)
	if err != nil {
		return 0, true, err
	}
	if s.name != "" && typ.Kind != edm.Absent && (typ.Kind != edm.String || typ.S != s.name) {
		return 0, false, errs.ErrOtherType
	}
	n, err := r.Property(reserved.Version)
	switch {
	case err != nil:
		return 0, true, err
	case n.Kind == edm.Absent:
		return 0, true, nil
	}
	stored, whole := n.Whole()
	switch {
	case !whole:
		return 0, true, &DecodeError{Field: reserved.Version, Reason: fmt.Sprintf("is %s, not a whole number", n.Kind)}
	case stored > int64(s.version) || stored < 0:
		return 0, true, &VersionError{Type: s.name, Got: int(stored), Want: s.version}
	}
	return int(stored), true, nil
}

// outdated reports whether rows of a version must be changed.
func (s *schema) outdated(v int) bool {
	for at := range s.upgrade {
		if at >= v {
			return true
		}
	}
	return false
}

// current reports whether a row of which only some properties were read is T's, and refuses a row
// that would have to be upgraded. If the schema knows no types and versions, they are not read.
func (s *schema) current(r *edm.Reader) (mine bool, err error) {
	if !s.typed() {
		return true, nil
	}
	v, mine, err := s.versionOf(r)
	if err == nil && s.outdated(v) {
		err = &VersionError{Type: s.name, Got: v, Want: s.version}
	}
	return mine, err
}

// Owns reports whether a row of which only some properties were read is one of T, by its keys and
// its type.
func (s *schema) Owns(r *edm.Reader, in edm.Entity) (bool, error) {
	if err := s.decodeKey(s.newValue(), in); err != nil {
		mine, other := s.inFamily(r, in)
		if mine && other == nil {
			other = err
		}
		return mine, other
	}
	return s.current(r)
}

// decodeKey sets the fields that the keys hold.
func (s *schema) decodeKey(v any, in edm.Entity) error {
	if err := s.row.Decode(v, in.RowKey); err != nil {
		return err
	}
	return s.partition.Decode(v, in.PartitionKey)
}

// inFamily reports whether a row whose key the layouts cannot read is one of T all the same: its
// RowKey begins with the name of the layout, its PartitionKey is in the range of the partitions,
// and it is of no other type. Then it is damaged, or of another layout of that name. A layout
// without a name has no family: the row is another layout's. So is a key of T with further
// components, as in empid_000123_2012.
func (s *schema) inFamily(r *edm.Reader, in edm.Entity) (bool, error) {
	rows := s.Rows()
	from, _, _ := rows.Bounds()
	if from == "" || !rows.Contains(in.RowKey) || s.partitions.IsSet() && !s.partitions.Contains(in.PartitionKey) {
		return false, nil
	}
	value := s.newValue()
	for i := strings.LastIndexByte(in.RowKey, '_'); i > 0; i = strings.LastIndexByte(in.RowKey[:i], '_') {
		if s.row.Decode(value, in.RowKey[:i]) == nil {
			return false, nil
		}
	}
	if s.name == "" {
		return true, nil
	}
	typ, err := r.Property(reserved.Type)
	return err == nil && (typ.Kind == edm.Absent || typ.Kind == edm.String && typ.S == s.name), err
}

// ownsAny is Owns also for rows of older versions.
func (s *schema) ownsAny(r *edm.Reader, in edm.Entity) (bool, error) {
	mine, err := s.Owns(r, in)
	var old *VersionError
	if errors.As(err, &old) && old.Got < old.Want {
		err = nil
	}
	return mine, err
}

// Select returns the projection of some properties, with those that tell a row's type and version.
func (s *schema) Select(properties ...string) string {
	choice := edm.PartitionKey + "," + edm.RowKey
	if s.typed() {
		properties = slices.Concat([]string{reserved.Type, reserved.Version}, properties)
	}
	for _, name := range properties {
		choice += "," + name
	}
	return choice
}

// keyOf makes an entity's key of its fields.
func (s *schema) keyOf(value any) keys.Key {
	if value == nil {
		return keys.Key{} // encode says so
	}
	if row, ok := value.(*Row); ok && !s.partition.Set && !s.row.Set {
		return row.Key
	}
	return s.boundKey(value)
}

// agrees compares a key with the key that the schema makes of a value. A half that is not bound
// agrees with everything.
func (s *schema) agrees(value any, k keys.Key) error {
	if row, ok := value.(*Row); ok && row.Key != (keys.Key{}) && row.Key != k {
		return &keys.KeyError{Key: edm.RowKey, Value: row.Key.String(), Reason: "is the row's own key, but is not the one under which it is written, " + k.String()}
	}
	for _, half := range []struct {
		name  string
		bind  *keydoor.Half
		given string
	}{{edm.PartitionKey, &s.partition, k.PartitionKey()}, {edm.RowKey, &s.row, k.RowKey()}} {
		if !half.bind.Set {
			continue
		}
		key, err := half.bind.Text(value)
		if err != nil && s.unchanged(half.bind, value, half.given) {
			continue
		}
		if err != nil {
			return err
		}
		if key != half.given {
			return &keys.KeyError{Key: half.name, Value: half.given, Reason: "does not agree with the entity's fields, which make " + key}
		}
	}
	return nil
}

// unchanged reports whether a key that cannot be made again says the same as the value: the key of
// a row that another program has written need not be one that this library would write.
func (s *schema) unchanged(b *keydoor.Half, value any, given string) bool {
	read := s.newValue()
	if b.OneWay || b.Decode(read, given) != nil {
		return false
	}
	is, was := b.Fields(value), b.Fields(read)
	return len(is) > 0 && reflect.DeepEqual(is, was)
}

// rowSchema is the schema of rows of any type.
func rowSchema() *schema {
	s := schemaOf(&Schema[Row]{})
	s.codec, _ = edm.NewCodec(emptyType, nil) // it has no mistake
	return s
}

// The engine and packages of this module see a schema as an engine.Schema.
var _ engine.Schema = (*schema)(nil)

// Rows returns the range of the RowKeys of the schema, every key but the library's if it binds
// none.
func (s *schema) Rows() keys.RowRange {
	if s.rows.IsSet() {
		return s.rows
	}
	return query.EveryKey
}

// Partitions returns the range of the PartitionKeys of the schema, unset if it binds none.
func (s *schema) Partitions() keys.PartitionRange { return s.partitions }

// Layouts spells the layouts of both keys, "" for a key that is in no field.
func (s *schema) Layouts() (partition, row string) { return s.partition.Layout, s.row.Layout }

// Scope names T among the types of the table.
func (s *schema) Scope() string {
	from, _, _ := s.Rows().Bounds()
	if s.name == "" {
		return from
	}
	return from + "?" + url.PathEscape(s.name)
}

// Mine reports whether a row, or the entity that the row is a copy of, can be T's.
func (s *schema) Mine(row *stored.Row) bool {
	k, isCopy := row.Primary()
	if !isCopy {
		k = row.Key
	}
	if k.Err() != nil || !s.Rows().Contains(k.RowKey()) {
		return false
	}
	if v := stored.Find(row.Columns(), reserved.Type); v.Kind != edm.Absent && s.name != "" && v.Any() != any(s.name) {
		return false
	}
	return s.row.Decode(s.newValue(), k.RowKey()) == nil
}

// Value returns a pointer to the value that a reader would find in a row.
func (s *schema) Value(k keys.Key, row edm.Stored) (any, error) {
	r, in, err := row.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return nil, err
	}
	e, _, err := s.decode(r, in, row)
	if err != nil {
		return nil, err
	}
	return e.fields().value, nil
}

// Upgraded returns a row of an older version as a row of the schema's version, and any other row as
// it is.
func (s *schema) Upgraded(row *stored.Row) *stored.Row {
	if s.version == 0 || stored.Find(row.Columns(), reserved.Version).I >= int64(s.version) {
		return row
	}
	e, err := s.entityOf((*Row)(row))
	if err != nil || !e.fields().upgraded {
		return row
	}
	return row.With(e.fields().row.Columns)
}

// Type returns T and its name in rows.
func (s *schema) Type() (reflect.Type, string) { return s.typ, s.name }

// Query returns a query as the engine takes it for the entities of T.
func (s *schema) Query(q any) *query.Query {
	return s.query(q.(interface{ engine() query.Query }).engine(), true)
}

// Read returns the entity of the row that the reader has just read.
func (s *schema) Read(r *edm.Reader, in edm.Entity) (any, bool, error) {
	e, mine, err := s.read(r, in)
	return e, mine, err
}

// Properties returns the properties in which fields are stored.
func (s *schema) Properties(fields ...any) (names []string, err error) {
	for _, f := range fields {
		more, err := f.(interface {
			properties(*edm.Codec) ([]string, error)
		}).properties(s.codec)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}

// Projected returns a value as it is read back with these properties and the keys alone.
func (s *schema) Projected(value any, properties ...string) (any, error) {
	p, err := s.projected(value, properties)
	return p, err
}

func (s *schema) projected(value any, properties []string) (any, error) {
	w := edm.NewWriter("p", "r", s.codec.Fields())
	e := s.newEntity().fields()
	if row, ok := value.(*Row); ok {
		write(w, row.columns(), []string{reserved.OperationID})
		*e.key = row.Key
	} else {
		s.codec.Encode(w, reflect.ValueOf(value).Elem(), edm.Stored{})
	}
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	copied := stored.New(keys.Key{}, body.Columns()).Project(properties...)
	r, _, err := copied.Stored().Open("p", "r")
	if err != nil {
		return nil, err
	}
	if err := s.properties(r, e); err != nil {
		return nil, err
	}
	for _, b := range []*keydoor.Half{&s.partition, &s.row} {
		to := b.Fields(e.value)
		for i, from := range b.Fields(value) {
			reflect.ValueOf(to[i]).Elem().Set(reflect.ValueOf(from).Elem())
		}
	}
	return e.value, nil
}
