package catalogue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// State is the state of a definition; see the package.
type State string

// The states.
const (
	Unfilled State = "unfilled"
	Building State = "building"
	Readable State = "readable"
	Retiring State = "retiring"
	Retired  State = "retired"
)

// kept reports whether all writers keep a definition in this state.
func (s State) kept() bool { return s == Building || s == Readable || s == Retiring }

// Keeps reports whether writers keep the rows of some definition.
func (r *Row) Keeps() bool {
	return slices.ContainsFunc(r.Definitions, func(d Definition) bool { return d.State.kept() })
}

// Row is the content of the row.
type Row struct {
	Version     int           `json:"version"`
	Lease       time.Duration `json:"lease"` // in nanoseconds
	Types       []Type        `json:"types"`
	Definitions []Definition  `json:"definitions"`
}

// Type is a type of entities. What it has in Go is for people.
type Type struct {
	Scope      string `json:"scope"`
	Name       string `json:"name,omitempty"` // Schema.Type
	Go         string `json:"go"`
	Partitions string `json:"partitions"`
	From       string `json:"from"` // the range of the RowKeys
	To         string `json:"to,omitempty"`
	Closed     bool   `json:"closed,omitempty"` // To belongs to the range

	// The layouts of the keys; "" in a row of an earlier release, and for a key that is in no
	// field.
	PartitionLayout string `json:"partitionLayout,omitempty"`
	RowLayout       string `json:"rowLayout,omitempty"`
}

// merged returns the type as the row should name it, for what the row says and what a program
// declares. Programs may have the type in different packages, and one that binds no field to a key
// does not know its layout.
func (t Type) merged(declared Type) Type {
	declared.Go = t.Go
	declared.PartitionLayout = cmp.Or(declared.PartitionLayout, t.PartitionLayout)
	declared.RowLayout = cmp.Or(declared.RowLayout, t.RowLayout)
	return declared
}

// otherLayout returns how the layouts of a type differ from those that a program declares, "" if
// they do not.
func (t Type) otherLayout(declared Type) string {
	for _, key := range []struct{ name, is, declared string }{
		{"PartitionKey", t.PartitionLayout, declared.PartitionLayout},
		{"RowKey", t.RowLayout, declared.RowLayout},
	} {
		if key.is != "" && key.declared != "" && key.is != key.declared {
			return fmt.Sprintf("the table has the %s %q, and this program declares %q", key.name, key.is, key.declared)
		}
	}
	return ""
}

// String says by what the rows of a type are found.
func (t Type) String() string {
	return fmt.Sprintf("RowKey %q, Schema.Type %q", t.RowLayout, t.Name)
}

// overlaps reports whether an entity could be of both types: they have common keys, and no names
// that tell them apart.
func (t Type) overlaps(other Type) bool {
	if t.Name != "" && other.Name != "" && t.Name != other.Name {
		return false
	}
	return t.reaches(other.From) && other.reaches(t.From)
}

// reaches reports whether a type has keys from a key on.
func (t Type) reaches(from string) bool {
	order := keys.Compare(from, t.To)
	return t.To == "" && !t.Closed || order < 0 || order == 0 && t.Closed
}

// has reports whether a row may be of the type, by its RowKey and the name of its type, "" for
// none.
func (t Type) has(rowKey, name string) bool {
	if t.Name != "" && name != "" && t.Name != name {
		return false
	}
	return keys.Compare(t.From, rowKey) <= 0 && t.reaches(rowKey)
}

// typeOf returns a type, the zero Type if the row does not name it.
func (r *Row) typeOf(scope string) Type {
	for _, t := range r.Types {
		if t.Scope == scope {
			return t
		}
	}
	return Type{}
}

// Definition is a definition as the row names it.
type Definition struct {
	Scope string    `json:"scope"` // of its type of entities
	Name  string    `json:"name"`
	Form  string    `json:"form"` // what must not change under one name
	State State     `json:"state"`
	ID    string    `json:"id"` // of the change that made the state
	Since time.Time `json:"since"`

	// Confirmed says that the rows were compared with the entities again, a day after they were
	// filled, or that the table was new.
	Confirmed bool `json:"confirmed,omitempty"`
}

const (
	version    = 1
	leastLease = 10 * time.Millisecond
	mostLease  = time.Hour
	property   = "Definitions"

	// mostUnits is the length of a property in UTF-16 units.
	mostUnits = 32 << 10
)

// key is the key of the row.
var key = keys.Raw(reserved.Catalogue, reserved.Catalogue)

// find returns a definition, nil if the row does not name it.
func (r *Row) find(scope, name string) *Definition {
	for i := range r.Definitions {
		if d := &r.Definitions[i]; d.Scope == scope && d.Name == name {
			return d
		}
	}
	return nil
}

// clone returns a row that can be changed without a change of r.
func (r *Row) clone() *Row {
	c := *r
	c.Types, c.Definitions = slices.Clone(r.Types), slices.Clone(r.Definitions)
	return &c
}

// encode returns the row as it is stored. Errors: *errs.LimitError.
func (r *Row) encode() (*stored.Row, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if n := len(utf16.Encode([]rune(string(text)))); n > mostUnits {
		return nil, &errs.LimitError{Property: true, Field: property, Limit: "UTF-16 units of the catalogue of a table", Got: n, Max: mostUnits}
	}
	return stored.New(key, []edm.Column{{Name: property, Value: edm.Value{Kind: edm.String, S: string(text)}}}), nil
}

// Decode reads a row, which is not trusted.
func Decode(row *stored.Row) (*Row, error) {
	v := stored.Find(row.Columns(), property)
	if v.Kind != edm.String {
		return nil, fmt.Errorf("it has no text in the property %s", property)
	}
	var r Row
	if err := json.Unmarshal([]byte(v.S), &r); err != nil {
		return nil, err
	}
	if r.Version > version {
		return nil, fmt.Errorf("it is of version %d: a later release of the library has written it, so use that", r.Version)
	}
	strict := json.NewDecoder(bytes.NewReader([]byte(v.S)))
	strict.DisallowUnknownFields()
	r = Row{}
	if err := strict.Decode(&r); err != nil {
		return nil, err
	}
	return &r, r.check()
}

// check returns what is wrong with a row.
func (r *Row) check() error {
	switch {
	case r.Version != version:
		return fmt.Errorf("it is of version %d", r.Version)
	case r.Lease < leastLease || r.Lease > mostLease:
		return fmt.Errorf("it has a lease of %v", r.Lease)
	}
	for i, d := range r.Definitions {
		if r.typeOf(d.Scope) == (Type{}) {
			return fmt.Errorf("definition %.80q is of a type that it does not name", d.Name)
		}
		switch d.State {
		case Unfilled, Building, Readable, Retiring, Retired:
		default:
			return fmt.Errorf("definition %.80q is in the state %.80q", d.Name, d.State)
		}
		if d.Name == "" || d.ID == "" || r.find(d.Scope, d.Name) != &r.Definitions[i] {
			return fmt.Errorf("definition %d, %.80q, has no name or ID, or is there twice", i, d.Name)
		}
	}
	return nil
}

// Same reports whether two catalogues, nil for none, have the same definitions in the same states,
// so that the rows that one table keeps for its entities are those that the other one does. Errors:
// those of a row that cannot be read.
func Same(a, b *stored.Row) (bool, error) {
	one, err := definitionsOf(a)
	if err != nil {
		return false, err
	}
	other, err := definitionsOf(b)
	return slices.Equal(one, other), err
}

// definitionsOf returns what matters of the definitions of a catalogue, sorted.
func definitionsOf(row *stored.Row) (all []string, err error) {
	if row == nil {
		return nil, nil
	}
	r, err := Decode(row)
	if err != nil {
		return nil, err
	}
	for _, d := range r.Definitions {
		if d.State != Retired {
			all = append(all, fmt.Sprintf("%q %q %q %q", d.Scope, d.Name, d.Form, d.State))
		}
	}
	slices.Sort(all)
	return all, nil
}
