package table

import (
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Row is an entity as a bag of properties, for code that does not know its Go type. Row also shows the system properties; they
// cannot be set, and Replace leaves them as they are. A Table[Row] reads and writes rows with all methods. If its schema binds no
// keys, Row.Key is the key of a row.
type Row struct {
	Key       keys.Key
	ETag      azcore.ETag // of a row that was read; Replace goes by the Entity's
	Timestamp time.Time

	columns []edm.Column
	edited  bool // since it was read
}

var (
	rowType   = reflect.TypeFor[Row]()
	emptyType = reflect.TypeFor[struct{}]() // whose plan is Row's, for its properties are in no fields
)

// Get returns the value of a property as string, int32, int64, float64, bool, time.Time, [16]byte or []byte.
func (r *Row) Get(name string) (value any, ok bool) {
	for _, c := range r.columns {
		if c.Name == name {
			return c.Value.Any(), true
		}
	}
	return nil, false
}

// All yields the properties, without the keys and the timestamp, in the order of the service's response.
func (r *Row) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, c := range r.columns {
			if !yield(c.Name, c.Value.Any()) {
				return
			}
		}
	}
}

// Set gives a property a value of one of the types of Get, or an int, which is stored as an Int64. nil, the zero time and a
// nil []byte delete the property. Errors: *ValueError and *LimitError for a name that no property can have, and for a value
// that cannot be stored.
func (r *Row) Set(name string, value any) error {
	if err := edm.CheckName(name); err != nil {
		return public(err)
	}
	x, err := edm.ValueOf(value)
	if err != nil {
		return &ValueError{Property: true, Field: name, Reason: err.Error()}
	}
	if err := edm.CheckValue(name, &x); err != nil {
		return public(err)
	}
	if x.Kind == edm.Absent {
		r.Delete(name)
		return nil
	}
	r.put(name, x)
	r.edited = true
	return nil
}

func (r *Row) put(name string, x edm.Value) {
	r.columns = engine.Put(r.columns, name, x) // rows that were copied share their columns
}

// setOperationID takes the operation ID from the row as it is stored.
func (r *Row) setOperationID(stored edm.Stored) {
	columns, err := stored.Decoded()
	if err != nil {
		return
	}
	if id := engine.Find(columns, reserved.OperationID); id.Kind == edm.String {
		r.put(reserved.OperationID, id)
		return
	}
	r.columns = engine.Without(r.columns, reserved.OperationID)
}

// Delete deletes a property, if there is one of that name and it is not the library's.
func (r *Row) Delete(name string) {
	if edm.IsSystem(name) {
		return
	}
	r.columns = engine.Without(r.columns, name)
	r.edited = true
}

// Incarnation returns the incarnation of the row's entity, "" for none; see Incarnation of maintain.Change. A text of another form
// than 16 of the characters 0-9 and A-Z is no incarnation, and the next write that needs one replaces it.
func (r *Row) Incarnation() string {
	v, _ := r.Get(reserved.Incarnation)
	if s, _ := v.(string); engine.IsID(s) {
		return s
	}
	return ""
}

// Type returns the EDM type of a property, such as "Edm.Int64", or "" if there is no such property.
func (r *Row) Type(name string) string {
	for _, c := range r.columns {
		if c.Name == name {
			return c.Value.Kind.String()
		}
	}
	return ""
}

// row returns the row as the engine takes it, nil for nil.
func (r *Row) row() *engine.Row {
	if r == nil {
		return nil
	}
	return &engine.Row{Key: r.Key, ETag: r.ETag, Timestamp: r.Timestamp, Columns: r.columns}
}

// rowOf returns a row of the engine, nil for nil.
func rowOf(r *engine.Row) *Row {
	if r == nil {
		return nil
	}
	return &Row{Key: r.Key, ETag: r.ETag, Timestamp: r.Timestamp, columns: r.Columns}
}

// stored returns the row's content.
func (r *Row) stored() edm.Stored {
	if r.columns == nil {
		return edm.Stored{Columns: []edm.Column{}}
	}
	return edm.Stored{Columns: r.columns}
}

// write writes a row's properties, but for those in except.
func (r *Row) write(w *edm.Writer, except ...string) {
	for _, c := range r.columns {
		if !slices.Contains(except, c.Name) {
			w.PutColumn(c)
		}
	}
}

// flat returns the row as one without parts has it.
func (r *Row) flat() *Row {
	if !slices.ContainsFunc(r.columns, func(c edm.Column) bool { return c.Part > 0 }) {
		return r
	}
	c := *r
	c.columns = engine.Without(slices.Clone(r.columns), reserved.Parts)
	for i := range c.columns {
		c.columns[i].Part = 0
	}
	return &c
}

// At returns the row under another key, for Insert and Put of a maintain.Plan.
func (r *Row) At(k keys.Key) *Row { return &Row{Key: k, columns: r.columns} }

// Copy returns a full copy of the row under another key of its partition, for Insert and Put of a maintain.Plan. The copy contains
// the key of its entity, so that [Table.Entity] returns the copied entity.
func (r *Row) Copy(k keys.Key) *Row { return rowOf(r.row().Copy(k, "")) }

// over writes a row's properties over a stored version of it, whose library's properties stay whatever the row says.
// But tags are the row's, where derived rows are written.
func (r *Row) over(w *edm.Writer, stored edm.Stored, derived bool, except ...string) error {
	columns, err := stored.Decoded()
	if err != nil {
		return err
	}
	kept := func(c edm.Column) bool { return edm.IsSystem(c.Name) && !(derived && c.Name == reserved.Owner) }
	own := slices.DeleteFunc(slices.Clone(columns), func(c edm.Column) bool { return !kept(c) })
	theirs := slices.DeleteFunc(slices.Clone(r.columns), kept)
	(&Row{columns: append(own, theirs...)}).write(w, except...)
	return nil
}
