package edm

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// Expect makes room for the fields of v and for some properties before them. Encode does so itself
// if nothing is put before.
func (p *Codec) Expect(w *Writer, v reflect.Value) { w.hint = max(w.hint, p.textHint(v)+64) }

// Encode writes the fields of v, an addressable struct of the codec's type. An absent value writes
// nothing. stored is the JSON of the entity as it was read, or nil: a number keeps the type of its
// stored property if the value fits.
func (p *Codec) Encode(w *Writer, v reflect.Value, stored Stored) {
	if w.numberTypes = p.storedNumberTypes(w, stored); w.numberTypes != nil {
		defer func() { w.numberTypes = nil }()
	}
	// What was put before is in the JSON alone, unless the writer keeps columns.
	if w.hint = max(w.hint, p.textHint(v)); w.hint > 4*largeValue && (w.body.kept || w.count == 0) {
		w.body.kept, w.hint = true, 0
		w.setLarge()
	}
	w.begin()
	before := w.count
	if !w.body.kept && w.numberTypes == nil {
		p.encodeDirect(w, v)
	} else {
		for i := range p.fields {
			f := &p.fields[i]
			f.encode(w, f.valueIn(v))
		}
	}
	if p.extra != nil {
		p.encodeExtra(w, v.FieldByIndex(p.extra).Interface().(map[string]any))
	}
	if before == 0 && w.numberTypes == nil && !p.composed {
		w.body.own, w.owned = p, w.count
	}
}

// encodeDirect encodes the fields of v straight into the JSON of a writer that keeps no columns, if
// they are of the frequent types.
func (p *Codec) encodeDirect(w *Writer, v reflect.Value) {
	b, count, bytes := w.body.json, 0, 0
	for i := range p.direct {
		d := &p.direct[i]
		if d.index >= 0 {
			if longer, size := d.append(b, v.Field(d.index)); size > 0 {
				b, count, bytes = longer, count+1, bytes+size
				continue
			}
		}
		f := &p.fields[d.field]
		w.body.json = b
		f.encode(w, f.valueIn(v))
		b = w.body.json
	}
	w.body.json = b
	w.count += count
	w.head.count += count
	w.head.bytes += bytes
}

// EncodeField writes the value v of the field at path, for a merge. An absent value is an error,
// since a merge does not change absent properties. element is the number of an element of a list,
// counted from 1, 0 for the whole field. stored is as in Encode.
func (p *Codec) EncodeField(w *Writer, path []int, element int, v reflect.Value, stored Stored) {
	if w.numberTypes = p.storedNumberTypes(w, stored); w.numberTypes != nil {
		defer func() { w.numberTypes = nil }()
	}
	f, err := p.field(path)
	if err != nil {
		w.Fail(err)
		return
	}
	if element > 0 {
		if f, err = f.element(element); err != nil {
			w.Fail(err)
			return
		}
	}
	switch {
	case f.form == bound:
		w.Fail(&errs.ValueError{Property: true, Field: f.name, Reason: "is part of the key, which a merge cannot change; delete the entity and insert it with the new key"})
	case f.form == ofService:
		w.Fail(&errs.ValueError{Property: true, Field: f.name, Reason: "is set by the service with each write"})
	case f.form == elements || f.form == chunks:
		w.Fail(&errs.ValueError{Property: true, Field: f.name, Reason: "a merge cannot set a list, nor a value in chunks, since it does not remove surplus properties; use Replace"})
	}
	before := w.count
	f.encode(w, v)
	if w.err == nil && w.count-before != len(f.labels) {
		w.Fail(&errs.ValueError{Property: true, Field: f.name, Reason: "a merge cannot make a property absent (nil, zero time, omitempty); use Replace"})
	}
}

func (f *field) encode(w *Writer, v reflect.Value) {
	switch f.form {
	case bound, ofService:
	case single:
		if f.omit && v.IsZero() {
			return
		}
		x, err := w.valueOf(f, v)
		if err != nil {
			w.Fail(f.refusal(f.name, err))
			return
		}
		w.put(f.first, &f.labels[0], x)
	case elements:
		if v.Len() > len(f.names) {
			w.Fail(&errs.LimitError{Property: true, Field: f.name, Limit: "elements", Got: v.Len(), Max: len(f.names)})
			return
		}
		for i := range v.Len() {
			x, err := w.valueOf(f, v.Index(i))
			if err != nil {
				w.Fail(f.refusal(f.names[i], err))
				return
			}
			if x.Kind == Absent && i == v.Len()-1 {
				w.Fail(&errs.ValueError{Property: true, Field: f.names[i], Reason: "the last element of a list is absent (nil, zero time), so that the list would be read back shorter"})
				return
			}
			w.put(f.partOf(i), &f.labels[i], x)
		}
	case chunks:
		f.encodeChunks(w, v)
	case composite:
		values, err := v.Addr().Interface().(Composite).PropertyValues()
		switch {
		case err != nil:
			w.Fail(f.refusal(f.name, err))
			return
		case values != nil && len(values) != len(f.names):
			w.Fail(&errs.ValueError{Property: true, Field: f.name, Reason: fmt.Sprintf("PropertyValues returned %d values for %d suffixes", len(values), len(f.names))})
			return
		}
		for i, value := range values {
			w.putAny(f.first, &f.labels[i], value)
		}
	}
}

// encodeChunks writes a long text or []byte in chunks.
func (f *field) encodeChunks(w *Writer, v reflect.Value) {
	if f.omit && v.IsZero() {
		return
	}
	x, err := w.valueOf(f, v)
	switch {
	case err != nil:
		w.Fail(f.refusal(f.name, err))
		return
	case x.Kind == String && !utf8.ValidString(x.S):
		w.Fail(errNotUTF8(f.name))
		return
	}
	all := chunksOf(*x)
	if len(all) > len(f.names) {
		w.Fail(&errs.LimitError{Property: true, Field: f.name, Limit: "chunks of 64 KiB; store a larger value in a blob (package largeentity)", Got: len(all), Max: len(f.names)})
		return
	}
	for i := range all {
		w.put(f.partOf(i), &f.labels[i], &all[i])
	}
}

// valueOf returns the stored value of a field or of an element, in the writer's memory.
func (w *Writer) valueOf(f *field, v reflect.Value) (*Value, error) {
	x := &w.value
	x.Kind, x.S, x.B = Absent, "", nil
	if w.body.kept {
		*x = Value{} // all of it is kept
	}
	if err := f.storedValue(v, x); err != nil {
		return x, err
	}
	if w.body.kept {
		*x = x.owned() // the caller may change it before it is sent
	}
	return x, nil
}

// storedValue sets x to the stored value of a field or of an element.
func (f *field) storedValue(v reflect.Value, x *Value) error {
	if err := f.scalar.get(v, x); err != nil || !f.narrow || x.Kind != Int64 {
		return err
	}
	x.Kind = Int32
	if x.I != int64(int32(x.I)) {
		return fmt.Errorf("the number %d does not fit an Int32, which the option int32 of the field's tag requires", x.I)
	}
	return nil
}

// textHint returns about how long the JSON of the properties will be.
func (p *Codec) textHint(v reflect.Value) int {
	n := p.hint
	for _, i := range p.texts {
		f := &p.fields[i]
		fv := f.valueIn(v)
		switch f.form {
		case elements:
			for i := range fv.Len() {
				n += textLength(fv.Index(i))
			}
		case single, chunks:
			n += textLength(fv)
		}
	}
	return n
}

// textLength is the length of a text, or about that of the base64 of bytes.
func textLength(v reflect.Value) int {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Slice:
		if v.Type().Elem() == byteType {
			return (v.Len() + 2) / 3 * 4
		}
	}
	return 0
}

// refusal returns a *ValueError for a value that could not be encoded. The error of a caller's type
// may contain data, so the text omits it.
func (f *field) refusal(name string, err error) error {
	if f.form == composite || f.scalar.fail != nil {
		return &errs.ValueError{Property: true, Field: name, Reason: "the field's type refuses the value", Err: err}
	}
	return &errs.ValueError{Property: true, Field: name, Reason: err.Error()}
}

func (p *Codec) encodeExtra(w *Writer, columns map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if p.Has(name) {
			w.Fail(&errs.ValueError{Property: true, Field: name, Reason: "is in the map of unknown columns, but is the property of a field"})
			return
		}
		if err := CheckName(name); err != nil {
			w.Fail(err)
			return
		}
		w.putAny(p.extraPart, &label{name: name}, columns[name])
	}
}

// append appends the property of a field that is not encoded in the general way, and returns its
// size by the service's formula. The size is 0 if the property was not appended: its value is
// absent, long, or needs escapes.
func (d *direct) append(b []byte, v reflect.Value) ([]byte, int) {
	size := 8
	b = append(b, d.json...)
	switch d.kind {
	case String:
		s := v.String()
		if len(s) > largeValue || !isSimple(s) {
			return nil, 0
		}
		b, size = append(append(append(b, '"'), s...), '"'), 4+2*len(s)
	case Int32:
		b, size = strconv.AppendInt(b, v.Int(), 10), 4
	case Int64:
		b = append(strconv.AppendInt(append(b, '"'), v.Int(), 10), '"')
	case Double:
		x := v.Float()
		if !(math.Abs(x) <= math.MaxFloat64) {
			return nil, 0
		}
		b = appendNumber(b, x)
	case Bool:
		b, size = strconv.AppendBool(b, v.Bool()), 1
	case DateTime:
		t := v.Addr().Interface().(*time.Time)
		if s := t.Unix(); s <= minTime.Unix() || s >= maxTime.Unix() {
			return nil, 0
		}
		b = append(appendTime(append(b, '"'), t.UTC()), '"')
	case Guid:
		b, size = append(appendGUID(append(b, '"'), [16]byte(v.Bytes())), '"'), 16
	case Binary:
		x := v.Bytes()
		if x == nil || len(x) > largeValue {
			return nil, 0
		}
		b, size = append(base64.StdEncoding.AppendEncode(append(b, '"'), x), '"'), 4+len(x)
	}
	return b, size + d.size
}

// Limits of the service ('Understanding the Table service data model').
const (
	maxProperties  = 252
	maxEntity      = 1 << 20
	maxStringUnits = 32 << 10
	maxBinary      = 64 << 10
	maxKeyUnits    = 512
)

// MaxPart is the greatest number of a part of a wide entity: the head and the commit record take
// the other two operations of a transaction.
const MaxPart = 98

// The limits of an entity with parts. The service refuses transactions of less than the 4 MiB that
// it promises, from 3.8 MiB on.
const (
	maxWide      = 3584 << 10
	lengthOfPart = 64 // of the JSON of a part besides its keys and properties, and of its entry in the head
	bytesOfPart  = 64 // of a part besides its keys and properties
	unitsOfMark  = 3  // of ! and the number of a part, in its RowKey
)

// The service's range of DateTime.
var (
	minTime = time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_900, time.UTC)
)

// CheckValue checks the limits of one property.
func CheckValue(name string, v *Value) error {
	switch v.Kind {
	case String:
		if !utf8.ValidString(v.S) {
			return errNotUTF8(name)
		}
		if len(v.S) > maxStringUnits { // a character has at least as many bytes as units
			if n := utf16Units(v.S); n > maxStringUnits {
				return &errs.LimitError{Property: true, Field: name, Limit: "UTF-16 units", Got: n, Max: maxStringUnits}
			}
		}
	case Binary:
		if n := len(v.B); n > maxBinary {
			return &errs.LimitError{Property: true, Field: name, Limit: "bytes", Got: n, Max: maxBinary}
		}
	case DateTime:
		if v.T.Before(minTime) || v.T.After(maxTime) {
			return &errs.ValueError{Property: true, Field: name, Reason: fmt.Sprintf("the time %s is out of range; the service requires 1601-01-01 to 9999-12-31", v.T.Format(time.RFC3339))}
		}
	}
	return nil
}

// storedSize returns the size of a value in bytes, by the service's formula for the size of an
// entity.
func storedSize(v *Value) int {
	switch v.Kind {
	case String:
		return 4 + 2*utf16Units(v.S)
	case Binary:
		return 4 + len(v.B)
	case Guid:
		return 16
	case Int32:
		return 4
	case Bool:
		return 1
	}
	return 8
}

// utf16Units returns the length of valid UTF-8 in UTF-16 code units, the service's unit.
func utf16Units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

func errNotUTF8(name string) error {
	return &errs.ValueError{Property: true, Field: name, Reason: "the text is not valid UTF-8"}
}

// The properties of the service.
const (
	PartitionKey = "PartitionKey"
	RowKey       = "RowKey"
	Timestamp    = "Timestamp"
)

const (
	annotation = "@odata.type"
	maxName    = 255
)

// IsSystem reports whether a property is a system property of the library, which no field of a Go
// type can contain.
func IsSystem(name string) bool {
	return name != "" && name[0] == '_' && slices.Contains(reserved.Properties, name)
}

// CheckName checks the name of a property: a C# identifier of at most 255 characters that neither
// the service nor the library reserves ('Understanding the Table service data model').
func CheckName(name string) error {
	fail := func(reason string) error {
		return &errs.ValueError{Property: true, Field: fmt.Sprintf("%.80q", name), Reason: reason}
	}
	switch name {
	case "":
		return fail("the name is empty")
	case PartitionKey, RowKey, Timestamp:
		return fail("the service reserves the name")
	}
	if IsSystem(name) {
		return fail("the library reserves the names " + strings.Join(reserved.Properties, " "))
	}
	for i, r := range name {
		ok := r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) ||
			i > 0 && (unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Pc))
		if !ok || r == unicode.ReplacementChar {
			return fail(fmt.Sprintf("a name may contain letters, digits and _, and must not begin with a digit; %q is at byte %d", r, i))
		}
	}
	if n := utf16Units(name); n > maxName {
		return &errs.LimitError{Property: true, Field: name[:40] + "…", Limit: "UTF-16 units in its name", Got: n, Max: maxName}
	}
	return nil
}

// CheckTableName returns an error for a name that no table can have. Errors: *LimitError,
// *ValueError.
func CheckTableName(name string) error {
	if n := len(name); n < 3 || n > 63 {
		return &errs.LimitError{Field: tableName(name), Limit: "characters; the service requires 3 to 63", Got: n, Max: 63}
	}
	if strings.EqualFold(name, "tables") {
		return &errs.ValueError{Field: tableName(name), Reason: "belongs to the service; choose another"}
	}
	for i, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return &errs.ValueError{Field: tableName(name), Reason: fmt.Sprintf("contains %q at byte %d; the service requires the letters A-Z and a-z and digits, a letter first", c, i)}
		}
	}
	return nil
}

// IsSystemTable reports whether the name is that of a table that the service keeps, such as
// $MetricsHourPrimaryTransactionsBlob: programs can only read it.
func IsSystemTable(name string) bool {
	rest, is := strings.CutPrefix(name, "$")
	return is && CheckTableName(rest) == nil
}

func tableName(name string) string { return fmt.Sprintf("table name %.80q", name) }

// Size returns how many bytes a row takes, by the service's formula for the size of an entity.
func Size(partitionKey, rowKey string, columns []Column) int {
	n := 4 + 2*(utf16Units(partitionKey)+utf16Units(rowKey))
	for i := range columns {
		n += 8 + 2*utf16Units(columns[i].Name) + storedSize(&columns[i].Value)
	}
	return n
}
