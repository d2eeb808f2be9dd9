package edm

import (
	"fmt"
	"reflect"

	"github.com/aztablekit/aztablekit/internal/reserved"
)

// Decode sets the fields of v, a zero struct of the plan's type, from the entity that the reader read last. Properties without a
// field go to the map of unknown columns if the type has one, except for system properties.
func (p *Plan) Decode(r *Reader, v reflect.Value) error {
	x, own := &r.value, !p.composed
	for i := range r.members {
		m := &r.members[i]
		t, known := r.propertyOf(p, m)
		if !known {
			own = own && string(m.name) == reserved.OperationID
			if err := p.decodeExtra(r, m, v); err != nil {
				return err
			}
			continue
		}
		f := &p.fields[t.field]
		if f.form == composite || f.form == chunks {
			continue
		}
		if err := r.readOwn(m, x); err != nil {
			return err
		}
		own = own && x.Kind == f.storedKind()
		if x.Kind == Absent {
			continue
		}
		fv := f.of(v)
		if f.form == elements {
			fv = elementAt(fv, t.sub)
		}
		if !f.scalar.set(fv, x) {
			return f.mismatch(f.names[t.sub], fv, x)
		}
	}
	r.shape.teach()
	if own {
		r.own = p
	}
	if !p.composed {
		return nil
	}
	if err := p.decodeChunks(r, v); err != nil {
		return err
	}
	return p.decodeComposites(r, v)
}

// propertyOf returns the field of a member.
func (r *Reader) propertyOf(p *Plan, m *member) (propertyOf, bool) {
	if m.at == notSeen {
		of, known := p.byName[string(m.name)]
		return of, known
	}
	s := &r.shape.all[m.at]
	if s.plan == p {
		return s.of, s.known
	}
	of, known := p.byName[string(m.name)]
	if !r.shape.shared {
		s.plan, s.of, s.known = p, of, known
	}
	return of, known
}

// of returns the field in a struct.
func (f *field) of(v reflect.Value) reflect.Value {
	if len(f.path) == 1 {
		return v.Field(f.path[0])
	}
	return v.FieldByIndex(f.path)
}

// elementAt returns the i-th element of a list, which it extends if necessary.
func elementAt(list reflect.Value, i int) reflect.Value {
	if n := i + 1 - list.Len(); n > 0 {
		list.Set(reflect.AppendSlice(list, reflect.MakeSlice(list.Type(), n, n)))
	}
	return list.Index(i)
}

// SetElement sets an element of a list, which it extends if necessary.
func SetElement(list reflect.Value, i int, v reflect.Value) { elementAt(list, i).Set(v) }

func (f *field) mismatch(name string, v reflect.Value, x *Value) error {
	e := &DecodeError{Field: name, Reason: fmt.Sprintf("the %v does not fit the field's type %v", x.Kind, v.Type())}
	if f.scalar.fail != nil {
		if e.Err = f.scalar.fail(v, x); e.Err != nil {
			e.Reason = fmt.Sprintf("the field's type %v refuses a text of %d bytes", v.Type(), len(x.S))
		}
	}
	return e
}

func (p *Plan) decodeExtra(r *Reader, m *member, v reflect.Value) error {
	if m.column == nil && string(m.name) == reserved.Parts && m.tok.kind != 'n' {
		return &DecodeError{Field: reserved.Parts, Reason: "says that the entity has parts, which this handle does not read; give the fields their parts by tags, or set Schema.Parts"}
	}
	if p.extra == nil || IsSystem(string(m.name)) {
		return nil
	}
	x := &r.value
	if err := r.readOwn(m, x); err != nil || x.Kind == Absent {
		return err
	}
	columns := v.FieldByIndex(p.extra)
	if columns.IsNil() {
		columns.Set(reflect.MakeMap(columns.Type()))
	}
	columns.Interface().(map[string]any)[r.name(m)] = x.Any()
	return nil
}

// decodeChunks sets each field that is stored in pieces.
func (p *Plan) decodeChunks(r *Reader, v reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if f.form != chunks {
			continue
		}
		pieces, last := make([]Value, len(f.names)), -1
		for j := range r.members {
			m := &r.members[j]
			t, known := p.byName[string(m.name)]
			if !known || t.field != i {
				continue
			}
			if err := r.read(m, &pieces[t.sub]); err != nil {
				return err
			}
			if pieces[t.sub].Kind != Absent {
				last = max(last, t.sub)
			}
		}
		if last < 0 {
			continue
		}
		whole, err := join(f.scalar.kind, f.names, pieces[:last+1])
		if err != nil {
			return err
		}
		fv := v.FieldByIndex(f.path)
		if last == 0 {
			whole = whole.owned()
		}
		if !f.scalar.set(fv, &whole) {
			return f.mismatch(f.name, fv, &whole)
		}
	}
	return nil
}

// decodeComposites sets each composite field of which at least one property is present.
func (p *Plan) decodeComposites(r *Reader, v reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if f.form != composite {
			continue
		}
		values, present := make([]any, len(f.names)), false
		for j := range r.members {
			m := &r.members[j]
			if t, ok := p.byName[string(m.name)]; !ok || t.field != i {
				continue
			}
			x := &r.value
			if err := r.readOwn(m, x); err != nil {
				return err
			}
			values[p.byName[string(m.name)].sub] = x.Any()
			present = present || x.Kind != Absent
		}
		if !present {
			continue
		}
		if err := v.FieldByIndex(f.path).Addr().Interface().(Composite).SetPropertyValues(values); err != nil {
			return &DecodeError{Field: f.name, Reason: "cannot be read from its properties", Err: err}
		}
	}
	return nil
}
