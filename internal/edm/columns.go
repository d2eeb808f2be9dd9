package edm

// Columns returns the properties of the entity that the reader read last, in the order of the response.
func (r *Reader) Columns() ([]Column, error) {
	columns := make([]Column, 0, len(r.members))
	for _, m := range r.members {
		x, err := r.value(m)
		if err != nil {
			return nil, err
		}
		if x.Kind != Absent {
			columns = append(columns, Column{string(m.name), x, m.part()})
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
