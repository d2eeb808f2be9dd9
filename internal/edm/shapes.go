package edm

// Reader returns a reader of the response b, from which the next reader learns.
func (s *Shapes) Reader(b []byte) *Reader {
	r := NewReader(b)
	r.shape.of = s
	if all := s.all.Load(); all != nil {
		r.shape.all, r.shape.shared, r.shape.taught = *all, true, len(*all)
	}
	return r
}
