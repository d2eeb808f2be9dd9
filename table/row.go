package table

import (
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Row is an entity as a bag of properties, for code that does not know its Go type. Row also shows the system properties; they cannot
// be set, and Replace leaves them as they are. A Table[Row] reads and writes rows with all methods. If its schema binds no keys,
// Row.Key is the key of a row.
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

// String returns the key and the properties, for programs that print a row.
func (r Row) String() string { return r.Key.String() + " " + printed(r) }

// LogValue is the key and the properties, for slog, also for a nil *Row.
func (r *Row) LogValue() slog.Value {
	if r == nil {
		return slog.Value{}
	}
	values := []slog.Attr{slog.Any("key", r.Key)}
	for name, v := range r.All() {
		values = append(values, slog.Any(name, v))
	}
	return slog.GroupValue(values...)
}

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
		return &ValueError{Field: name, Reason: err.Error()}
	}
	if err := edm.CheckValue(name, x); err != nil {
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

// MaintainerState returns a maintainer's part of the row's maintainer state; see [Change.SetState].
func (r *Row) MaintainerState(maintainer string) []string {
	was, err := r.maintainerState()
	if err != nil {
		return nil
	}
	return was[maintainer]
}

// Damaged reports whether the row's maintainer state cannot be read. See [Table.IgnoreCorruptState].
func (r *Row) StateCorrupt() bool {
	_, err := r.maintainerState()
	return err != nil
}

// maintainerState returns the state of each maintainer, by its name.
func (r *Row) maintainerState() (map[string][]string, error) {
	return engine.StateIn(engine.Find(r.columns, reserved.MaintainerState), r.Key.RowKey())
}

// Life returns the incarnation of the row's entity, "" for none; see [Change.Incarnation]. A text of another form than 16 of the characters
// 0-9 and A-Z is no incarnation, and the next write that needs one replaces it.
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

// stored returns the row's content.
func (r *Row) stored() edm.Stored {
	if r.columns == nil {
		return edm.Stored{Columns: []edm.Column{}}
	}
	return edm.Stored{Columns: r.columns}
}

// Len is the number of properties.
func (r *Row) Len() int { return len(r.columns) }

// write writes a row's properties, but for those in except.
func (r *Row) write(w *edm.Writer, except ...string) {
	for _, c := range r.columns {
		if !slices.Contains(except, c.Name) {
			w.Put(c.Name, c.Value)
		}
	}
}

// At returns the row under another key, for Insert and Put of a [Plan].
func (r *Row) At(k keys.Key) *Row { return &Row{Key: k, columns: r.columns} }

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

// printed returns a value with the names of its fields. A Row is its properties.
func printed(v any) string {
	row, ok := v.(Row)
	if !ok {
		return fmt.Sprintf("%+v", v)
	}
	var all []string
	for name, v := range row.All() {
		all = append(all, fmt.Sprintf("%s:%v", name, v))
	}
	return "{" + strings.Join(all, " ") + "}"
}
