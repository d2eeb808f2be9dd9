package edm

import (
	"reflect"
	"slices"
)

// storedNumberTypes returns the types of numbers in a stored entity that differ from the types of their fields, nil for none.
func (p *Plan) storedNumberTypes(w *Writer, stored []byte) (types map[string]Kind) {
	if stored == nil {
		return nil
	}
	r := NewReader(stored)
	if _, err := r.One(); err != nil {
		w.Fail(err)
		return nil
	}
	composites := false
	for _, m := range r.members {
		t, known := p.byName[string(m.name)]
		if !known || m.tok.kind != '0' && string(m.typ) != "Edm.Int64" {
			continue
		}
		x, err := r.value(m)
		if err != nil || x.Kind != Int32 && (x.Kind != Int64 || m.typ == nil) || x.Kind == p.fields[t.field].storedKind() {
			continue // an emulator returns a large whole double without a decimal point
		}
		if types == nil {
			types = map[string]Kind{}
		}
		types[string(m.name)] = x.Kind
		composites = composites || p.fields[t.field].form == composite
	}
	if composites {
		p.dropChosenTypes(r, types)
	}
	return types
}

// dropChosenTypes removes the types that a composite field chose itself. Such a type is part of the field's value, and no other
// program chose it. A composite field chose a type if it returns the same type for the stored properties.
func (p *Plan) dropChosenTypes(r *Reader, types map[string]Kind) {
	stored := reflect.New(p.Type).Elem()
	if p.decodeComposites(r, stored) != nil {
		return
	}
	for i := range p.fields {
		f := &p.fields[i]
		if f.form != composite {
			continue
		}
		values, err := stored.FieldByIndex(f.path).Addr().Interface().(Composite).PropertyValues()
		if err != nil || len(values) != len(f.names) {
			continue
		}
		for j, name := range f.names {
			if x, err := ValueOf(values[j]); err == nil && x.Kind == types[name] {
				delete(types, name)
			}
		}
	}
}

// PutUnknown copies from the stored entity raw the properties without a field: unknown columns and system properties, without the
// names in except. It does not copy unknown columns if the type has a map for them, since the map replaces them.
func (p *Plan) PutUnknown(w *Writer, raw []byte, except ...string) {
	if raw == nil {
		return
	}
	r := NewReader(raw)
	if _, err := r.One(); err != nil {
		w.Fail(err)
		return
	}
	for _, m := range r.members {
		name := string(m.name)
		if p.Has(name) || p.extra != nil && !IsSystem(name) || slices.Contains(except, name) {
			continue
		}
		x, err := r.value(m)
		if err != nil {
			w.Fail(err)
			return
		}
		w.Put(name, x)
	}
}
