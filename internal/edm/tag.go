package edm

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// tagOptions are the options of a field's table tag.
type tagOptions struct {
	omitempty bool
	int32     bool
	json      bool
	text      bool
	double    bool
	extra     bool
	each      int // the most elements, 0 without the option
	chunks    int // the most chunks, 0 without the option
	part      uint8
	placed    bool // the option part is there
	several   bool // there are several options besides part
}

// How many properties of a field with several are stored in one part. They are never changed: they
// determine where values are stored.
const (
	elementsPerPart = 200
	chunksPerPart   = 15 // of at most 64 KiB
)

// defaultChunks is the most chunks of a field: more than an entity can have.
const defaultChunks = 60

// parseOptions returns the options in a tag. Nothing behind the option extra is read: a combination
// with extra is a mistake.
func parseOptions(tag string) (o tagOptions, err error) {
	words := strings.FieldsFunc(tag, func(r rune) bool { return r == ',' })
	words, o.part, o.placed, err = takePart(words)
	if err != nil {
		return o, err
	}
	o.several = len(words) > 1
	for _, word := range words {
		if err := o.parse(word); err != nil {
			return o, err
		}
		if o.extra {
			break
		}
	}
	return o, nil
}

// takePart takes the option part=n from the options of a field. placed reports that it is there.
func takePart(words []string) (left []string, part uint8, placed bool, err error) {
	for _, word := range words {
		number, is := strings.CutPrefix(word, "part=")
		if !is {
			left = append(left, word)
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > MaxPart || placed {
			return nil, 0, false, fmt.Errorf("part=%s: the option part occurs once, with the number of a part, 0 to %d", number, MaxPart)
		}
		part, placed = uint8(n), true
	}
	return left, part, placed, nil
}

// parse adds one option.
func (o *tagOptions) parse(option string) (err error) {
	word, number, _ := strings.Cut(option, "=")
	switch word {
	case "omitempty":
		o.omitempty = true
	case "json":
		o.json = true
	case "int32":
		o.int32 = true
	case "text":
		o.text = true
	case "double":
		o.double = true
	case "extra":
		o.extra = true
	case "chunks":
		o.chunks = defaultChunks
		if number != "" {
			o.chunks, err = parseCount(word, "chunks", number, defaultChunks)
		}
	case "each":
		if o.several {
			return cannotCombine(word)
		}
		most := 1000
		if o.placed {
			most = (MaxPart + 1) * elementsPerPart
		}
		o.each = maxProperties
		if number != "" {
			o.each, err = parseCount(word, "elements", number, most)
		}
	default:
		return fmt.Errorf("the table tag has the unknown option %q; use omitempty, int32, double, text, json, extra, each, each=n, chunks, chunks=n or part=n", word)
	}
	return err
}

// parseCount returns the number of an option, which limits how many properties the field has.
func parseCount(option, properties, number string, most int) (int, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s=%s: the number of %s must be 1 to %d", option, number, properties, most)
	}
	return n, nil
}

func cannotCombine(option string) error {
	return fmt.Errorf("the option %s cannot be combined with others", option)
}

// newField returns how a struct field is stored, by its type and its options. It lacks the labels.
func newField(sf reflect.StructField, path []int, name string, o tagOptions) (field, error) {
	f := field{path: path, goName: sf.Name, name: name, omit: o.omitempty, narrow: o.int32, first: o.part}
	if err := f.setForm(sf.Type, o); err != nil {
		return f, err
	}
	if f.narrow && !f.scalar.int && f.scalar.kind != Int32 {
		return f, errors.New("the option int32 is for whole numbers")
	}
	if n := len(f.names); n > 0 && f.perPart > 0 && int(f.first)+(n-1)/f.perPart > MaxPart {
		return f, fmt.Errorf("takes more parts than the %d of an entity", MaxPart)
	}
	return f, nil
}

func (f *field) setForm(t reflect.Type, o tagOptions) error {
	switch {
	case o.chunks > 0 && (o.json || o.int32 || o.text || o.double):
		return errors.New("the option chunks can be combined with omitempty and part alone")
	case (o.text || o.double) && (o.json || o.int32 || o.text && o.double):
		return errors.New("the options text and double can be combined with omitempty and part alone")
	case o.json:
		f.scalar, f.names = jsonScalar, []string{f.name}
		return CheckStoredJSON(t)
	case reflect.PointerTo(t).Implements(compositeType):
		if o.text || o.double {
			return errors.New("the options text and double are for single values, and not for a table.Composite")
		}
		return f.setComposite(t)
	case o.each > 0:
		return f.setElements(t, o)
	case o.chunks > 0:
		return f.setChunks(t, o.chunks)
	}
	s, ok := scalarOf(t)
	if !ok {
		return fmt.Errorf("the type %v cannot be stored; implement encoding.TextMarshaler and TextUnmarshaler or table.Composite, or use the options json, each or -", t)
	}
	f.scalar, f.names = s, []string{f.name}
	var err error
	switch {
	case o.text:
		f.scalar, err = asText(s)
	case o.double:
		f.scalar, err = asDouble(s)
	}
	return err
}

func (f *field) setComposite(t reflect.Type) error {
	switch {
	case t.Kind() == reflect.Pointer:
		return errors.New("must not be a pointer, since its type is a table.Composite")
	case f.omit:
		return errors.New("the option omitempty has no effect on a table.Composite; its PropertyValues returns nil for absent properties")
	}
	f.form = composite
	for _, suffix := range reflect.New(t).Interface().(Composite).PropertySuffixes() {
		f.names = append(f.names, f.name+suffix)
	}
	return nil
}

func (f *field) setElements(t reflect.Type, o tagOptions) error {
	if t.Kind() != reflect.Slice {
		return errors.New("the option each is for slices")
	}
	s, ok := scalarOf(t.Elem())
	if !ok {
		return fmt.Errorf("a list of elements of type %v cannot be stored; use the option json", t.Elem())
	}
	f.form, f.scalar, f.names = elements, s, numbered(f.name, o.each)
	if o.placed {
		f.perPart = elementsPerPart
	}
	return nil
}

func (f *field) setChunks(t reflect.Type, most int) error {
	s, ok := scalarOf(t)
	if !ok || s.kind != Binary && s.kind != String || s.fail != nil {
		return errors.New("the option chunks is for strings and []byte")
	}
	f.form, f.scalar, f.names, f.perPart = chunks, s, numbered(f.name, most), chunksPerPart
	return nil
}

// numbered returns the names of n numbered properties.
func numbered(name string, n int) []string {
	names := make([]string, n)
	width := len(strconv.Itoa(n - 1))
	for i := range names {
		names[i] = fmt.Sprintf("%s%0*d", name, width, i)
	}
	return names
}
