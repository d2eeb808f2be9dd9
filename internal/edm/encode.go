package edm

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Encode writes the fields of v, an addressable struct of the plan's type. Absent values write nothing. stored is the entity as
// it was read, or nil: a number keeps the type that its property has there, if the value fits.
func (p *Plan) Encode(w *Writer, v reflect.Value, stored []byte) {
	if w.numberTypes = p.storedNumberTypes(w, stored); w.numberTypes != nil {
		defer func() { w.numberTypes = nil }()
	}
	for i := range p.fields {
		f := &p.fields[i]
		f.encode(w, v.FieldByIndex(f.path))
	}
	if p.extra != nil {
		p.encodeExtra(w, v.FieldByIndex(p.extra).Interface().(map[string]any))
	}
}

// EncodeField writes the one field at path, with the value v: what a merge sends. Setting a field to an absent value is an
// error, for a merge leaves absent properties as they are. stored is as in Encode.
func (p *Plan) EncodeField(w *Writer, path []int, v reflect.Value, stored []byte) {
	if w.numberTypes = p.storedNumberTypes(w, stored); w.numberTypes != nil {
		defer func() { w.numberTypes = nil }()
	}
	f, err := p.field(path)
	if err != nil {
		w.Fail(err)
		return
	}
	switch {
	case f.form == bound:
		w.Fail(&ValueError{Field: f.name, Reason: "is part of the key, which a merge cannot change"})
	case f.form == elements:
		w.Fail(&ValueError{Field: f.name, Reason: "a merge cannot set a list, for it leaves surplus elements as they are; use Replace"})
	}
	before := w.count
	f.encode(w, v)
	if w.err == nil && w.count-before != len(f.names) {
		w.Fail(&ValueError{Field: f.name, Reason: "a merge cannot make a property absent (nil, zero time, omitempty); use Replace"})
	}
}

func (f *field) encode(w *Writer, v reflect.Value) {
	switch f.form {
	case bound:
	case single:
		if f.omit && v.IsZero() {
			return
		}
		x, err := f.storedValue(v)
		if err != nil {
			w.Fail(f.refusal(f.name, err))
			return
		}
		w.Put(f.name, x)
	case elements:
		if v.Len() > len(f.names) {
			w.Fail(&LimitError{Field: f.name, Limit: "elements", Got: v.Len(), Max: len(f.names)})
			return
		}
		for i := range v.Len() {
			x, err := f.storedValue(v.Index(i))
			if err != nil {
				w.Fail(f.refusal(f.names[i], err))
				return
			}
			if x.Kind == Absent && i == v.Len()-1 {
				w.Fail(&ValueError{Field: f.names[i], Reason: "the last element of a list is absent (nil, zero time), so the list would come back shorter"})
				return
			}
			w.Put(f.names[i], x)
		}
	case composite:
		values, err := v.Addr().Interface().(Composite).PropertyValues()
		switch {
		case err != nil:
			w.Fail(f.refusal(f.name, err))
			return
		case values != nil && len(values) != len(f.names):
			w.Fail(&ValueError{Field: f.name, Reason: fmt.Sprintf("PropertyValues returned %d values for %d suffixes", len(values), len(f.names))})
			return
		}
		for i, value := range values {
			w.PutAny(f.names[i], value)
		}
	}
}

// value is what is stored of a field, or of an element.
func (f *field) storedValue(v reflect.Value) (Value, error) {
	x, err := f.scalar.get(v)
	if err != nil || !f.narrow || x.Kind != Int64 {
		return x, err
	}
	if x.Kind = Int32; x.I != int64(int32(x.I)) {
		return x, fmt.Errorf("the number %d does not fit an Int32, as which the field's tag stores it", x.I)
	}
	return x, nil
}

// refused is the error of a value that its Go type does not give away. What the type of a user says may hold the data.
func (f *field) refusal(name string, err error) error {
	if f.form == composite || f.scalar.fail != nil {
		return &ValueError{Field: name, Reason: "the field's own type refuses the value", Err: err}
	}
	return &ValueError{Field: name, Reason: err.Error()}
}

func (p *Plan) encodeExtra(w *Writer, columns map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if p.Has(name) {
			w.Fail(&ValueError{Field: name, Reason: "stands among the unknown columns, but is the property of a field"})
			return
		}
		if err := CheckName(name); err != nil {
			w.Fail(err)
			return
		}
		w.PutAny(name, columns[name])
	}
}
