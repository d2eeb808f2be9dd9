package edm

// Each calls f with the properties of the entity that the reader read last, in the order of the response. f must not keep v, which the
// reader uses again.
func (r *Reader) Each(f func(name string, v *Value)) error {
	for i := range r.members {
		m := &r.members[i]
		if err := r.read(m, &r.value); err != nil {
			return err
		}
		if r.value.Kind != Absent {
			f(r.name(m), &r.value)
		}
	}
	return nil
}
