package edm

import (
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Decode sets the fields of v, a zero struct of the plan's type, from the entity that the reader has just read. Properties
// that no field asks for go to the map of unknown columns, if the type has one; those of the library never do.
func (p *Plan) Decode(r *Reader, v reflect.Value) error {
	for i := range r.members {
		m := &r.members[i]
		t, known := p.byName[string(m.name)]
		if !known {
			if err := p.decodeExtra(r, m, v); err != nil {
				return err
			}
			continue
		}
		f := &p.fields[t.field]
		if f.form == composite {
			continue
		}
		x, err := r.value(*m)
		if err != nil {
			return err
		}
		if x.Kind == Absent {
			continue
		}
		fv := v.FieldByIndex(f.path)
		if f.form == elements {
			fv = elementAt(fv, t.sub)
		}
		if !f.scalar.set(fv, x) {
			return f.mismatch(f.names[t.sub], fv, x)
		}
	}
	return p.decodeComposites(r, v)
}

// element makes a list long enough for its i-th element.
func elementAt(list reflect.Value, i int) reflect.Value {
	if n := i + 1 - list.Len(); n > 0 {
		list.Set(reflect.AppendSlice(list, reflect.MakeSlice(list.Type(), n, n)))
	}
	return list.Index(i)
}

func (f *field) mismatch(name string, v reflect.Value, x Value) error {
	e := &DecodeError{Field: name, Reason: fmt.Sprintf("the %v does not fit the field's type %v", x.Kind, v.Type())}
	if f.scalar.fail != nil {
		if e.Err = f.scalar.fail(v, x); e.Err != nil {
			e.Reason = fmt.Sprintf("the field's type %v refuses a text of %d bytes", v.Type(), len(x.S))
		}
	}
	return e
}

func (p *Plan) decodeExtra(r *Reader, m *member, v reflect.Value) error {
	if p.extra == nil || IsSystem(string(m.name)) {
		return nil
	}
	x, err := r.value(*m)
	if err != nil || x.Kind == Absent {
		return err
	}
	columns := v.FieldByIndex(p.extra)
	if columns.IsNil() {
		columns.Set(reflect.MakeMap(columns.Type()))
	}
	columns.Interface().(map[string]any)[string(m.name)] = x.Any()
	return nil
}

// decodeComposites gives each composite field its values, if any of them is there.
func (p *Plan) decodeComposites(r *Reader, v reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if f.form != composite {
			continue
		}
		values, any := make([]any, len(f.names)), false
		for j := range r.members {
			m := &r.members[j]
			if t, ok := p.byName[string(m.name)]; !ok || t.field != i {
				continue
			}
			x, err := r.value(*m)
			if err != nil {
				return err
			}
			values[p.byName[string(m.name)].sub] = x.Any()
			any = any || x.Kind != Absent
		}
		if !any {
			continue
		}
		if err := v.FieldByIndex(f.path).Addr().Interface().(Composite).SetPropertyValues(values); err != nil {
			return &DecodeError{Field: f.name, Reason: "SetPropertyValues refuses the properties", Err: err}
		}
	}
	return nil
}

// Column is a property with its value.
type Column struct {
	Name  string
	Value Value
}

// Same tells whether two columns hold the same. NaN is the same as NaN, for it is what was stored.
func (c Column) Same(d Column) bool {
	if c.Value.Kind == Double && d.Value.Kind == Double && math.IsNaN(c.Value.F) && math.IsNaN(d.Value.F) {
		return c.Name == d.Name
	}
	return reflect.DeepEqual(c, d)
}

// Columns returns all properties of the entity that the reader has just read, in the order of the response.
func (r *Reader) Columns() ([]Column, error) {
	columns := make([]Column, 0, len(r.members))
	for _, m := range r.members {
		x, err := r.value(m)
		if err != nil {
			return nil, err
		}
		if x.Kind != Absent {
			columns = append(columns, Column{string(m.name), x})
		}
	}
	return columns, nil
}

// Find returns a property of the entity that the reader has just read, absent if it has none of that name.
func (r *Reader) Property(name string) (Value, error) {
	for _, m := range r.members {
		if string(m.name) == name {
			return r.value(m)
		}
	}
	return Value{}, nil
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

// Overlay returns the stored entity raw with the properties of body in place of its own: what a merge makes of a row.
func Overlay(raw, body []byte) ([]byte, error) {
	under, over := NewReader(raw), NewReader(body)
	e, err := under.One()
	if err != nil {
		return nil, err
	}
	if _, err := over.One(); err != nil {
		return nil, err
	}
	old, err := under.Columns()
	if err != nil {
		return nil, err
	}
	set, err := over.Columns()
	if err != nil {
		return nil, err
	}
	w := NewWriter(nil, e.PartitionKey, e.RowKey)
	for _, c := range old {
		if !slices.ContainsFunc(set, func(s Column) bool { return s.Name == c.Name }) {
			w.Put(c.Name, c.Value)
		}
	}
	for _, c := range set {
		w.Put(c.Name, c.Value)
	}
	return w.Finish()
}
