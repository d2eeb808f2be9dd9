package edm

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// Composite is a field type that is stored in several properties. The name of each property is that
// of the field with a suffix. table.Composite is the same type.
type Composite interface {
	PropertySuffixes() []string
	PropertyValues() ([]any, error)
	SetPropertyValues([]any) error
}

var compositeType = reflect.TypeFor[Composite]()

// Codec describes how a struct type is stored. It is safe for concurrent use.
type Codec struct {
	Type   reflect.Type
	fields []field
	direct []direct // of the fields that are properties
	byName map[string]propertyOf
	extra  []int // the index path of the map of unknown columns, or nil

	extraPart uint8 // in which they are stored
	parts     uint8 // the greatest number of a part
	hint      int   // about how long the JSON of the properties is without texts
	texts     []int // the fields whose values are texts or bytes
	composed  bool  // a field is made of several properties: in chunks, or a Composite
	timestamp []int // the index path of the Timestamp of an embedded aztables.Entity, or nil

	writers sync.Pool // of TextWriter
}

// form is the number and the kind of the properties in which a field is stored.
type form uint8

const (
	single    form = iota
	elements       // a slice: one numbered property for each element
	chunks         // a long text or []byte: one numbered property for each piece
	composite      // a Composite: one property for each suffix
	bound          // part of a key: no property
	ofService      // the Timestamp of an embedded aztables.Entity: no property that is written
)

type field struct {
	path   []int
	goName string
	name   string // of the property, or the common prefix of several
	form   form
	omit   bool     // omitempty
	narrow bool     // an integer that is stored as an Int32
	names  []string // of the properties
	labels []label  // of the properties
	scalar scalar   // of the field, or of an element

	first   uint8 // the part of the first property
	perPart int   // so many properties are in each part, all if it is 0
}

// direct is how a field is encoded straight into JSON, if it is of a frequent type.
type direct struct {
	field int    // of the codec
	index int    // of the field in the struct; -1 if it is encoded in the general way
	json  []byte // in front of the value
	kind  Kind
	size  int // of the name, by the service's formula
}

// direct returns how the field with this number in the codec is encoded.
func (f *field) direct(number int) direct {
	if f.form != single || len(f.path) != 1 || !f.scalar.direct || f.first != 0 || f.omit || f.narrow {
		return direct{field: number, index: -1}
	}
	l := &f.labels[0]
	return direct{number, f.path[0], l.json, l.kind, 8 + 2*l.units}
}

// partOf returns the part of the i-th property.
func (f *field) partOf(i int) uint8 {
	if f.perPart == 0 {
		return f.first
	}
	return f.first + uint8(i/f.perPart)
}

// propertyOf is the field of a property, and the index of the property among the properties of the
// field.
type propertyOf struct{ field, sub int }

// NewCodec returns the codec of a struct type. boundPaths are the index paths of the fields that
// are part of a key. They are not stored as properties, whatever their tags are.
func NewCodec(t reflect.Type, boundPaths [][]int) (*Codec, error) {
	if t.Kind() != reflect.Struct {
		return nil, &errs.TypeError{Type: t, Reason: "is not a struct"}
	}
	p := &Codec{Type: t, byName: map[string]propertyOf{}}
	if err := p.walk(t, nil, boundPaths); err != nil {
		return nil, err
	}
	for _, f := range p.fields {
		for _, b := range boundPaths {
			if len(b) > len(f.path) && slices.Equal(b[:len(f.path)], f.path) {
				return nil, &errs.TypeError{Type: t, Field: f.goName, Reason: "is stored as one value, but a key is bound to a field inside it"}
			}
		}
	}
	return p, nil
}

// walk adds the fields of a struct, which is the type of the codec or embedded in it at an index
// path.
func (p *Codec) walk(t reflect.Type, at []int, boundPaths [][]int) error {
	for i := range t.NumField() {
		sf := t.Field(i)
		path := append(slices.Clone(at), i)
		isBound := slices.ContainsFunc(boundPaths, func(b []int) bool { return slices.Equal(b, path) })
		switch {
		case isBound:
			p.fields = append(p.fields, field{path: path, goName: sf.Name, name: sf.Name, form: bound})
		case t == sdkEntity && sf.Name == Timestamp:
			p.timestamp = path
			p.fields = append(p.fields, field{path: path, goName: sf.Name, name: Timestamp, form: ofService})
		default:
			if err := p.walkField(sf, path, boundPaths); err != nil {
				return err
			}
		}
	}
	return nil
}

// walkField adds the field at an index path, or the fields of the struct that it embeds.
func (p *Codec) walkField(sf reflect.StructField, path []int, boundPaths [][]int) error {
	tag, tagged := sf.Tag.Lookup("table")
	name, options, _ := strings.Cut(tag, ",")
	if name == "-" && options == "" {
		return nil
	}
	jsonName, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	embeds := sf.Anonymous && !tagged && jsonName == "" && !isOneValue(sf.Type)
	var err error
	switch {
	case sf.Tag.Get("json") == "-" && !tagged && (sf.IsExported() || sf.Anonymous):
		err = errors.New(`has json:"-" and no table tag; add table:"-" to leave it out, or table:"NAME" to store it`)
	case embeds && sf.Type.Kind() == reflect.Struct:
		return p.walk(sf.Type, path, boundPaths)
	case embeds && sf.Type.Kind() == reflect.Pointer && sf.Type.Elem().Kind() == reflect.Struct:
		err = errors.New("is an embedded pointer; embed the struct itself")
	case sf.IsExported():
		err = p.add(sf, path, cmp.Or(name, jsonName, sf.Name), options)
	case tagged:
		err = errors.New("has a table tag but is not exported")
	case sf.Anonymous && sf.Type.Kind() == reflect.Struct: // its methods hide its exported fields from the codec
		err = errors.New("is an embedded type that is stored as one value, but is not exported; export it or tag it with -")
	}
	if err != nil {
		return &errs.TypeError{Type: p.Type, Field: sf.Name, Reason: err.Error()}
	}
	return nil
}

// isOneValue reports whether an embedded field of the type is stored like another field.
func isOneValue(t reflect.Type) bool {
	_, isScalar := scalarOf(t)
	return isScalar || t.Implements(compositeType) || reflect.PointerTo(t).Implements(compositeType)
}

// add adds a field with a property name, or a prefix of several, and the options of its tag.
func (p *Codec) add(sf reflect.StructField, path []int, name, options string) error {
	o, err := parseOptions(options)
	if err != nil {
		return err
	}
	if o.extra {
		return p.addExtra(sf.Type, path, o)
	}
	f, err := newField(sf, path, name, o)
	if err != nil {
		return err
	}
	if err := p.addNames(&f); err != nil {
		return err
	}
	p.addLabels(&f)
	if n := len(f.names); n > 0 {
		p.parts = max(p.parts, f.partOf(n-1))
	}
	if f.scalar.kind == String || f.scalar.kind == Binary {
		p.texts = append(p.texts, len(p.fields))
	}
	p.composed = p.composed || f.form == chunks || f.form == composite
	p.direct = append(p.direct, f.direct(len(p.fields)))
	p.fields = append(p.fields, f)
	return nil
}

// addExtra adds the map of unknown columns.
func (p *Codec) addExtra(t reflect.Type, path []int, o tagOptions) error {
	if t != reflect.TypeFor[map[string]any]() || p.extra != nil {
		return errors.New("the option extra is for one field of type map[string]any")
	}
	if o.several {
		return cannotCombine("extra")
	}
	p.extra, p.extraPart, p.parts = path, o.part, max(p.parts, o.part)
	return nil
}

// addNames adds the properties of the next field.
func (p *Codec) addNames(f *field) error {
	number := len(p.fields)
	for i, name := range f.names {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("%w; %s", err, wayOut(name))
		}
		other, taken := p.byName[name]
		switch {
		case taken && other.field == number:
			return fmt.Errorf("the property %s occurs twice", name)
		case taken:
			return fmt.Errorf("the property %s belongs to the field %s already", name, p.fields[other.field].goName)
		}
		p.byName[name] = propertyOf{number, i}
	}
	return nil
}

// wayOut says what to do with a field whose name, of the Go field or of its tags, is that of no
// property.
func wayOut(name string) string {
	switch name {
	case PartitionKey, RowKey:
		return "bind the field to the key, as by keys.RawPartitionOf and keys.RawRowOf; a view has it in Projection.Key"
	case Timestamp:
		return `add table:"-", and read Entity.Timestamp`
	}
	return `name the property in a table tag, or leave the field out with table:"-"`
}

// addLabels makes the labels of a field, and adds the length of their JSON to that of the codec.
func (p *Codec) addLabels(f *field) {
	for i, name := range f.names {
		k := f.storedKind()
		l := label{name, appendName(nil, name, k), k, utf16Units(name)}
		f.labels = append(f.labels, l)
		if i == 0 || f.form == composite { // most lists have few elements
			p.hint += len(l.json) + roomOf[k]
		}
	}
}

// Fields returns for how many properties there should be room: the properties of all fields, unless
// lists make them many.
func (p *Codec) Fields() int { return min(len(p.byName), 32) }

// Names returns the properties of all fields, in the order of the fields.
func (p *Codec) Names() []string {
	var names []string
	for _, f := range p.fields {
		names = append(names, f.names...)
	}
	return names
}

// NamesAt returns the properties of the field at an index path, or of its element of a number,
// counted from 1; none for a field that is part of a key. ok is false if the field is not stored in
// properties of its own.
func (p *Codec) NamesAt(path []int, element int) (names []string, ok bool) {
	f := p.fieldAt(path)
	if f != nil && element > 0 {
		var err error
		if f, err = f.element(element); err != nil {
			return nil, false
		}
	}
	if f != nil {
		return f.names, true
	}
	return nil, false
}

// HasExtra reports whether the type has a map of unknown columns.
func (p *Codec) HasExtra() bool { return p.extra != nil }

// KindOf returns the EDM type of a property, and Absent for a property without a field or of a
// composite field, which chooses the types of its properties itself.
func (p *Codec) KindOf(name string) Kind {
	if t, ok := p.byName[name]; ok {
		return p.fields[t.field].storedKind()
	}
	return Absent
}

// Has reports whether a property belongs to a field.
func (p *Codec) Has(name string) bool { _, ok := p.byName[name]; return ok }

// FieldPath returns the index path of the field that ptr points to, nil if there is none. The field
// belongs to the struct v or to a struct that v embeds.
func FieldPath(v reflect.Value, ptr any) []int {
	at := reflect.ValueOf(ptr)
	if at.Kind() != reflect.Pointer || at.IsNil() {
		return nil
	}
	return fieldPath(v, at.Pointer(), at.Type().Elem(), nil)
}

func fieldPath(v reflect.Value, at uintptr, want reflect.Type, path []int) []int {
	for i := range v.NumField() {
		f := v.Field(i)
		here := append(slices.Clone(path), i)
		// A struct and its first field have the same address, but not the same type.
		if f.Addr().Pointer() == at && f.Type() == want {
			return here
		}
		if f.Kind() == reflect.Struct && v.Type().Field(i).Anonymous {
			if found := fieldPath(f, at, want, here); found != nil {
				return found
			}
		}
	}
	return nil
}

// fieldAt returns the field at an index path, nil if there is none.
func (p *Codec) fieldAt(path []int) *field {
	for i := range p.fields {
		if slices.Equal(p.fields[i].path, path) {
			return &p.fields[i]
		}
	}
	return nil
}

// field is fieldAt, with an error that names the field.
func (p *Codec) field(path []int) (*field, error) {
	if f := p.fieldAt(path); f != nil {
		return f, nil
	}
	name := fmt.Sprint(p.Type)
	if len(path) > 0 {
		name = p.Type.FieldByIndex(path).Name
	}
	return nil, &errs.ValueError{Field: name, Reason: "is not stored in a property of its own"}
}

// element returns an element of a list, counted from 1, as a field of its own.
func (f *field) element(i int) (*field, error) {
	switch {
	case f.form != elements:
		return nil, &errs.ValueError{Property: true, Field: f.name, Reason: "has no elements in properties of their own; the option each is for that"}
	case i > len(f.names):
		return nil, &errs.LimitError{Property: true, Field: f.name, Limit: "elements", Got: i, Max: len(f.names)}
	}
	return &field{
		path: f.path, goName: f.goName, name: f.names[i-1], names: f.names[i-1 : i], labels: f.labels[i-1 : i], form: single, narrow: f.narrow, scalar: f.scalar, first: f.partOf(i - 1),
	}, nil
}

// Parts returns the greatest number of a part in which a field is stored, 0 if all of them are in
// the head.
func (p *Codec) Parts() int { return int(p.parts) }

// OfWholeFields returns columns without values in chunks that may have chunks in other parts than
// these.
func (p *Codec) OfWholeFields(columns []Column, parts []uint8) []Column {
	unread := func(part uint8) bool { return !slices.Contains(parts, part) }
	return slices.DeleteFunc(slices.Clone(columns), func(c Column) bool {
		t, known := p.byName[c.Name]
		return known && p.fields[t.field].form == chunks && slices.ContainsFunc(p.PartsOf(p.fields[t.field].names...), unread)
	})
}

// ChunksIn returns the name of a field of which columns contain chunks, "" if there is none.
func (p *Codec) ChunksIn(columns []Column) string {
	for _, c := range columns {
		if t, known := p.byName[c.Name]; known && p.fields[t.field].form == chunks {
			return p.fields[t.field].name
		}
	}
	return ""
}

// PartsOf returns the parts in which properties are stored, in ascending order.
func (p *Codec) PartsOf(names ...string) []uint8 {
	var parts []uint8
	for _, name := range names {
		if t, known := p.byName[name]; known {
			parts = append(parts, p.fields[t.field].partOf(t.sub))
		} else {
			parts = append(parts, p.extraPart)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
