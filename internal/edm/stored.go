package edm

import (
	"reflect"
	"slices"
)

// numbers returns the types of numbers in a stored entity that are not those in which their fields are stored, nil for none.
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
			continue // an emulator writes a large whole double as digits alone
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

// chosen takes out the types that a composite field has chosen itself: which it gives again for what is stored. Such a type is part of
// the field's value, and not another program's.
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

// PutUnknown writes again what the stored entity raw holds and the plan does not: columns that the type does not know, and
// the library's own, but for those in except. Where the type has a map for unknown columns, that map is the truth about them.
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
