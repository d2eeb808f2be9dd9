package edm

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Composite is a field that is stored in several properties, named by the field's name and a suffix each. It is the same
// as table.Composite.
type Composite interface {
	PropertySuffixes() []string
	PropertyValues() ([]any, error)
	SetPropertyValues([]any) error
}

var compositeType = reflect.TypeFor[Composite]()

// Plan is how one struct type is stored: made once, used by any number of goroutines.
type Plan struct {
	Type   reflect.Type
	fields []field
	byName map[string]propertyOf
	extra  []int // the index path of the map for unknown columns, or nil
}

// form is in how many properties a field is stored.
type form uint8

const (
	single    form = iota
	elements       // a slice, one numbered property each
	composite      // a Composite
	bound          // part of a key: in no property
)

type field struct {
	path   []int
	goName string
	name   string // the property's, or the common beginning of several
	form   form
	omit   bool     // omitempty
	narrow bool     // an integer that is stored as an Int32
	names  []string // of the properties
	scalar scalar   // of the field, or of an element
}

// target is where a property goes: a field and, if that has several, which of its properties.
type propertyOf struct{ field, sub int }

// NewPlan looks at a struct type. bound are the index paths of the fields that are part of a key, which are not stored as
// properties whatever their tags say.
func NewPlan(t reflect.Type, boundPaths [][]int) (*Plan, error) {
	if t.Kind() != reflect.Struct {
		return nil, &TypeError{Type: t, Reason: "is not a struct"}
	}
	p := &Plan{Type: t, byName: map[string]propertyOf{}}
	if err := p.walk(t, nil, boundPaths); err != nil {
		return nil, err
	}
	for _, f := range p.fields {
		for _, b := range boundPaths {
			if len(b) > len(f.path) && slices.Equal(b[:len(f.path)], f.path) {
				return nil, &TypeError{Type: t, Field: f.goName, Reason: "is stored as a whole, but a key is bound to a field inside it"}
			}
		}
	}
	return p, nil
}

func (p *Plan) walk(t reflect.Type, at []int, boundPaths [][]int) error {
	for i := range t.NumField() {
		sf := t.Field(i)
		path := append(slices.Clone(at), i)
		if slices.ContainsFunc(boundPaths, func(b []int) bool { return slices.Equal(b, path) }) {
			p.fields = append(p.fields, field{path: path, goName: sf.Name, name: sf.Name, form: bound})
			continue
		}
		tag, options, _ := strings.Cut(sf.Tag.Get("table"), ",")
		if tag == "-" && options == "" {
			continue
		}
		_, tagged := sf.Tag.Lookup("table")
		if sf.Anonymous && !tagged && !sf.Type.Implements(compositeType) && !reflect.PointerTo(sf.Type).Implements(compositeType) {
			switch _, ok := scalarOf(sf.Type); {
			case sf.Type.Kind() == reflect.Struct && !ok:
				if err := p.walk(sf.Type, path, boundPaths); err != nil {
					return err
				}
				continue
			case sf.Type.Kind() == reflect.Pointer && sf.Type.Elem().Kind() == reflect.Struct && !ok:
				return &TypeError{Type: p.Type, Field: sf.Name, Reason: "is an embedded pointer; embed the struct itself"}
			}
		}
		if !sf.IsExported() {
			switch {
			case tagged:
				return &TypeError{Type: p.Type, Field: sf.Name, Reason: "has a table tag but is not exported"}
			case sf.Anonymous && sf.Type.Kind() == reflect.Struct: // its exported fields would be stored if it were not a value of its own
				return &TypeError{Type: p.Type, Field: sf.Name, Reason: "is an embedded type that is stored as one value, but it is not exported; export it or tag it with -"}
			}
			continue
		}
		f := field{path: path, goName: sf.Name, name: sf.Name}
		if tag != "" {
			f.name = tag
		}
		if err := p.add(f, sf.Type, options); err != nil {
			return err
		}
	}
	return nil
}

// add reads a field's options and type, and gives it its properties.
func (p *Plan) add(f field, t reflect.Type, options string) error {
	fail := func(format string, args ...any) error {
		return &TypeError{Type: p.Type, Field: f.goName, Reason: fmt.Sprintf(format, args...)}
	}
	asJSON, narrow, each := false, false, 0
	words := strings.FieldsFunc(options, func(r rune) bool { return r == ',' })
	alone := func(word string) error {
		if len(words) > 1 {
			return fail("the option %s stands alone", word)
		}
		return nil
	}
	for _, option := range words {
		word, number, _ := strings.Cut(option, "=")
		switch word {
		case "omitempty":
			f.omit = true
		case "json":
			asJSON = true
		case "int32":
			narrow = true
		case "extra":
			if t != reflect.TypeFor[map[string]any]() || p.extra != nil {
				return fail("the field for unknown columns must be one map[string]any")
			}
			p.extra = f.path
			return alone(word)
		case "each":
			if err := alone(word); err != nil {
				return err
			}
			each = maxProperties
			if number != "" {
				n, err := strconv.Atoi(number)
				if err != nil || n < 1 || n > 1000 {
					return fail("each=%s: the number of elements must be 1 to 1000", number)
				}
				each = n
			}
		default:
			return fail("unknown option %q in the table tag: omitempty, int32, json, extra, each and each=n are known", word)
		}
	}
	var ok bool
	switch {
	case asJSON:
		f.scalar = jsonScalar
	case reflect.PointerTo(t).Implements(compositeType):
		if t.Kind() == reflect.Pointer {
			return fail("a composite field must be a value, not a pointer")
		}
		if f.omit {
			return fail("omitempty has no effect on a composite field: its PropertyValues says what is absent")
		}
		f.form = composite
		for _, suffix := range reflect.New(t).Interface().(Composite).PropertySuffixes() {
			f.names = append(f.names, f.name+suffix)
		}
	case each > 0:
		if t.Kind() != reflect.Slice {
			return fail("each is for slices")
		}
		if f.scalar, ok = scalarOf(t.Elem()); !ok {
			return fail("a list of %v cannot be stored", t.Elem())
		}
		f.form = elements
		width := len(strconv.Itoa(each - 1))
		for i := range each {
			f.names = append(f.names, fmt.Sprintf("%s%0*d", f.name, width, i))
		}
	default:
		if f.scalar, ok = scalarOf(t); !ok {
			return fail("a %v cannot be stored; implement encoding.TextMarshaler and TextUnmarshaler or table.Composite, or use the options json, each or -", t)
		}
	}
	if f.form == single {
		f.names = []string{f.name}
	}
	if f.narrow = narrow; narrow && !f.scalar.int && f.scalar.kind != Int32 {
		return fail("the option int32 is for whole numbers")
	}
	for i, name := range f.names {
		if err := CheckName(name); err != nil {
			return fail("%v", err)
		}
		if other, taken := p.byName[name]; taken {
			if other.field == len(p.fields) {
				return fail("the property %s comes twice", name)
			}
			return fail("the property %s is already that of the field %s", name, p.fields[other.field].goName)
		}
		p.byName[name] = propertyOf{len(p.fields), i}
	}
	p.fields = append(p.fields, f)
	return nil
}

// Names returns the properties of all fields, in the order of the fields.
func (p *Plan) Names() []string {
	var names []string
	for _, f := range p.fields {
		names = append(names, f.names...)
	}
	return names
}

// NamesAt returns the properties of the field at an index path: none for one that is part of a key. ok is false for one that is not
// stored under names of its own.
func (p *Plan) NamesAt(path []int) (names []string, ok bool) {
	for _, f := range p.fields {
		if slices.Equal(f.path, path) {
			return f.names, true
		}
	}
	return nil, false
}

// HasExtra tells whether the type has a map for unknown columns.
func (p *Plan) HasExtra() bool { return p.extra != nil }

// KindOf returns the EDM type in which a property is stored, Absent if the plan does not know the property, and for
// composite fields, whose properties choose their own types.
func (p *Plan) KindOf(name string) Kind {
	if t, ok := p.byName[name]; ok {
		return p.fields[t.field].storedKind()
	}
	return Absent
}

func (f *field) storedKind() Kind {
	if f.narrow {
		return Int32
	}
	return f.scalar.kind
}

// Has tells whether a property belongs to a field.
func (p *Plan) Has(name string) bool { _, ok := p.byName[name]; return ok }

// Find returns the index path of the field that ptr points to: a field of v, a struct, or of a struct embedded in it.
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
		// A struct and its first field share an address: the type tells them apart.
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

// field finds the field at an index path.
func (p *Plan) field(path []int) (*field, error) {
	for i := range p.fields {
		if slices.Equal(p.fields[i].path, path) {
			return &p.fields[i], nil
		}
	}
	name := fmt.Sprint(p.Type)
	if sf, ok := fieldByPath(p.Type, path); ok {
		name = sf.Name
	}
	return nil, &ValueError{Field: name, Reason: "is not stored as a property of its own"}
}

func fieldByPath(t reflect.Type, path []int) (sf reflect.StructField, ok bool) {
	if len(path) == 0 {
		return sf, false
	}
	return t.FieldByIndex(path), true
}
