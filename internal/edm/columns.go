package edm

import (
	"math"
	"reflect"
	"slices"
)

// Column is the name and the value of a property.
type Column struct {
	Name  string
	Value Value
}

// Same reports whether two columns are equal. NaN equals NaN, since both are stored alike.
func (c Column) Same(d Column) bool {
	if c.Value.Kind == Double && d.Value.Kind == Double && math.IsNaN(c.Value.F) && math.IsNaN(d.Value.F) {
		return c.Name == d.Name
	}
	return reflect.DeepEqual(c, d)
}

// Columns returns the properties of the entity that the reader read last, in the order of the response.
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

// Property returns the value of a property of the entity that the reader read last, absent if there is none.
func (r *Reader) Property(name string) (Value, error) {
	for _, m := range r.members {
		if string(m.name) == name {
			return r.value(m)
		}
	}
	return Value{}, nil
}

// Overlay returns the row that a merge of body makes of the stored entity raw.
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
