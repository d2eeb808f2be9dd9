package edm

// Columns returns the properties of the entity that the reader read last, in the order of the response.
func (r *Reader) Columns() ([]Column, error) {
	columns := make([]Column, 0, len(r.members))
	for i := range r.members {
		m, n := &r.members[i], len(columns)
		columns = columns[:n+1]
		c := &columns[n]
		if err := r.read(m, &c.Value); err != nil {
			return nil, err
		}
		if c.Value.Kind == Absent {
			columns = columns[:n]
			continue
		}
		c.Name, c.Part = r.name(m), m.part()
	}
	return columns, nil
}

// Property returns the value of a property of the entity that the reader read last, absent if there is none.
func (r *Reader) Property(name string) (Value, error) {
	for i := range r.members {
		if m := &r.members[i]; string(m.name) == name {
			err := r.read(m, &r.value)
			return r.value, err
		}
	}
	return Value{}, nil
}

// name returns the name of a property. The entities of a page share it.
func (r *Reader) name(m *member) string {
	switch {
	case m.column != nil:
		return m.column.Name
	case m.at == notSeen:
		return r.memory.text(m.name)
	}
	s := &r.shape.all[m.at]
	if s.text == "" && !r.shape.shared {
		s.text = string(s.name)
	}
	return s.text
}
