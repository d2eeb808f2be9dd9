package table

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Row is an entity as a bag of properties, for code that does not know its Go type. Row also shows
// the system properties; they cannot be set, and Replace leaves them as they are. A Table[Row]
// reads and writes rows with all methods. If its schema binds no keys, Row.Key is the key of a row.
//
// Its fields are
//
//	Key        keys.Key
//	ETag       azcore.ETag, of a row that was read; Replace goes by the Entity's
//	Timestamp  time.Time
type Row stored.Row

var (
	rowType   = reflect.TypeFor[Row]()
	emptyType = reflect.TypeFor[struct{}]() // whose codec is Row's, for its properties are in no fields
)

// Get returns the value of a property as string, int32, int64, float64, bool, time.Time, [16]byte
// or []byte.
func (r *Row) Get(name string) (value any, ok bool) {
	for _, c := range r.columns() {
		if c.Name == name {
			return c.Value.Any(), true
		}
	}
	return nil, false
}

// All yields the properties, without the keys and the timestamp, in the order of the service's
// response.
func (r *Row) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, c := range r.columns() {
			if !yield(c.Name, c.Value.Any()) {
				return
			}
		}
	}
}

// Set gives a property a value of one of the types of Get, or an int, which is stored as an Int64.
// nil, the zero time and a nil []byte delete the property. Errors: *ValueError and *LimitError for
// a name that no property can have, and for a value that cannot be stored.
func (r *Row) Set(name string, value any) error {
	if err := edm.CheckName(name); err != nil {
		return err
	}
	x, err := edm.ValueOf(value)
	if err != nil {
		return &ValueError{Property: true, Field: name, Reason: err.Error()}
	}
	if err := edm.CheckValue(name, &x); err != nil {
		return err
	}
	if x.Kind == edm.Absent {
		r.Delete(name)
		return nil
	}
	r.stored().Edit(stored.Put(r.columns(), name, x)) // rows that were copied share their columns
	return nil
}

// put gives a property a value that the service has stored.
func (r *Row) put(name string, x edm.Value) {
	r.stored().SetColumns(stored.Put(r.columns(), name, x))
}

// setOperationID takes the operation ID from the row as it is stored.
func (r *Row) setOperationID(row edm.Stored) {
	columns, err := row.Decoded()
	if err != nil {
		return
	}
	if id := stored.Find(columns, reserved.OperationID); id.Kind != edm.Absent {
		r.put(reserved.OperationID, id)
		return
	}
	r.stored().SetColumns(stored.Without(r.columns(), reserved.OperationID))
}

// Delete deletes a property, if there is one of that name and it is not the library's.
func (r *Row) Delete(name string) {
	if edm.IsSystem(name) {
		return
	}
	r.stored().Edit(stored.Without(r.columns(), name))
}

// Incarnation returns the incarnation of the row's entity, "" for none; see Incarnation of
// extend.Change. A text of another form than 16 of the characters 0-9 and A-Z is no incarnation,
// and the next write that needs one replaces it.
func (r *Row) Incarnation() string {
	v, _ := r.Get(reserved.Incarnation)
	if s, _ := v.(string); commit.IsID(s) {
		return s
	}
	return ""
}

// Type returns the EDM type of a property, such as "Edm.Int64", or "" if there is no such property.
func (r *Row) Type(name string) string {
	for _, c := range r.columns() {
		if c.Name == name {
			return c.Value.Kind.String()
		}
	}
	return ""
}

// stored returns the row itself, as the type that the engine uses.
func (r *Row) stored() *stored.Row { return (*stored.Row)(r) }

func (r *Row) columns() []edm.Column { return r.stored().Columns() }

// content returns the row's content, which is known even if it has no properties.
func (r *Row) content() edm.Stored {
	if r.columns() == nil {
		return edm.Stored{Columns: []edm.Column{}}
	}
	return edm.Stored{Columns: r.columns()}
}

// write writes properties, but for those in except.
func write(w *edm.Writer, columns []edm.Column, except []string) {
	for _, c := range columns {
		if !slices.Contains(except, c.Name) {
			w.PutColumn(c)
		}
	}
}

// flat returns the row as one without parts has it.
func (r *Row) flat() *Row {
	if !slices.ContainsFunc(r.columns(), func(c edm.Column) bool { return c.Part > 0 }) {
		return r
	}
	columns := stored.Without(slices.Clone(r.columns()), reserved.Parts)
	for i := range columns {
		columns[i].Part = 0
	}
	c := r.stored().Clone()
	c.SetColumns(columns)
	return (*Row)(c)
}

// At returns the row under another key, for Insert and Put of a extend.Plan.
func (r *Row) At(k keys.Key) *Row { return (*Row)(stored.New(k, r.columns())) }

// Copy returns a full copy of the row under another key of its partition, for Insert and Put of a
// extend.Plan. The copy contains the key of its entity, so that [Table.Entity] returns the copied
// entity.
func (r *Row) Copy(k keys.Key) *Row { return (*Row)(r.stored().Copy(k, "")) }

// writeOver writes a row's properties over a stored version of it, row, whose library's properties
// stay whatever the row says. But tags are the row's, where derived rows are written.
func (r *Row) writeOver(w *edm.Writer, row edm.Stored, derived bool, except ...string) error {
	columns, err := row.Decoded()
	if err != nil {
		return err
	}
	kept := func(c edm.Column) bool { return edm.IsSystem(c.Name) && !(derived && c.Name == reserved.Owner) }
	own := slices.DeleteFunc(slices.Clone(columns), func(c edm.Column) bool { return !kept(c) })
	theirs := slices.DeleteFunc(slices.Clone(r.columns()), kept)
	write(w, append(own, theirs...), except)
	return nil
}

// MarshalJSON writes the row as the service takes it, with its keys and all properties, the
// library's included, so that no value or type is lost, for destinations that store rows elsewhere.
// ETag and Timestamp are left out. Errors: *LimitError or *ValueError for a value that no row can
// have; ErrNotDeclared for the head of an entity that was read without its parts.
func (r Row) MarshalJSON() ([]byte, error) {
	w := edm.NewWriter(r.Key.PartitionKey(), r.Key.RowKey(), len(r.columns()))
	write(w, r.columns(), []string{reserved.Parts})
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	switch places := placesOf(r.columns()); {
	case places != "":
		return body.Append(nil, edm.Column{Name: reserved.Parts, Value: edm.Value{Kind: edm.String, S: places}}.Ending()), nil
	case stored.Find(r.columns(), reserved.Parts).Kind != edm.Absent:
		return nil, errs.ErrUnknownParts // the row is the head alone
	}
	return body.Append(nil, nil), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Errors: *DecodeError.
func (r *Row) UnmarshalJSON(b []byte) error {
	in := edm.NewReader(b)
	e, err := in.One()
	if err != nil {
		return ofJSON(err)
	}
	columns, err := in.Columns()
	if err != nil {
		return ofJSON(err)
	}
	if err := place(columns, stored.Find(columns, reserved.Parts).S); err != nil {
		return err
	}
	columns = stored.Without(columns, reserved.Parts)
	*r = Row(*stored.New(keys.Raw(e.PartitionKey, e.RowKey), columns))
	return nil
}

// ofJSON returns the error of a text that is no response.
func ofJSON(err error) error {
	if de, is := err.(*errs.DecodeError); is && de.Field == "" {
		return &DecodeError{Field: "the JSON", Reason: de.Reason, Err: de.Err}
	}
	return err
}

// placesOf returns which columns are in which parts, as in "1 Day000 Day001,2 Day200", "" if all
// are in the head.
func placesOf(columns []edm.Column) string {
	parts := make([]string, edm.MaxPart+1)
	for _, c := range columns {
		if c.Part > 0 {
			parts[c.Part] += " " + c.Name
		}
	}
	var places []string
	for number, names := range parts {
		if names != "" {
			places = append(places, strconv.Itoa(number)+names)
		}
	}
	return strings.Join(places, ",")
}

// place gives columns their parts.
func place(columns []edm.Column, places string) error {
	if places == "" {
		return nil
	}
	parts := map[string]uint8{}
	for place := range strings.SplitSeq(places, ",") {
		words := strings.Split(place, " ")
		number, err := strconv.Atoi(words[0])
		if err != nil || number < 1 || number > edm.MaxPart {
			return &DecodeError{Field: reserved.Parts, Reason: "does not say which columns are in which parts"}
		}
		for _, name := range words[1:] {
			parts[name] = uint8(number)
		}
	}
	for i := range columns {
		columns[i].Part = parts[columns[i].Name]
	}
	return nil
}

func (h handle) getRow(ctx context.Context, k keys.Key) (_ *Row, err error) {
	ctx, end := h.engine.Span(ctx, "GetRow")
	defer func() { end(err) }()
	if err := errors.Join(h.engine.Fault, engine.AddressErr(k), ctx.Err()); err != nil {
		return nil, h.engine.OpError("GetRow", k, err)
	}
	r, err := h.engine.Get(ctx, k)
	if err != nil {
		return nil, h.engine.OpError("GetRow", k, err)
	}
	return (*Row)(r.Clone()), nil
}

// Entity returns the row as an entity of T: the one that Get would have read. A copy ([Row.Copy])
// gives the entity that was copied, with its key and without its ETag; see [Entity]. No request.
//
// Errors:
//   - ErrForeignRow or *keys.KeyError for a row of another type
//   - *DecodeError if the row does not fit T
//   - *VersionError for a row of a version that the schema does not know
//   - *LimitError or *ValueError for a row that cannot be stored
func (t *Table[T]) Entity(row *Row) (*Entity[T], error) { return typed[T](t.h.entity(row)) }

func (h handle) entity(row *Row) (entity, error) {
	if row == nil || h.engine.Fault != nil {
		return nil, h.engine.OpError("Entity", keys.Key{}, either(h.engine.Fault, errNil))
	}
	if h.engine.Mode.LibraryRows { // a handle of RowsOf
		return &Entity[Row]{Value: *row, Key: row.Key, ETag: row.ETag, Timestamp: row.Timestamp, known: known{row: row.content(), edited: h.engine.Mode.Parts > 0}}, nil // what is stored is read for its parts
	}
	e, err := h.schema.entityOf(row)
	if err != nil {
		return nil, h.engine.OpError("Entity", row.Key, err)
	}
	return e, nil
}
