package edm

// Reader returns a reader of the response b, from which the next reader learns.
func (s *Shapes) Reader(b []byte) *Reader {
	r, _ := s.readers.Get().(*Reader)
	if r == nil {
		r = new(Reader)
	}
	r.start(b)
	r.shape.of = s
	if all := s.all.Load(); all != nil {
		r.shape.all, r.shape.shared, r.shape.taught = *all, true, len(*all)
	}
	return r
}

// Release gives the reader back to its Shapes. The caller must not use it afterwards, but may keep what it has decoded. For other readers,
// Release does nothing.
func (r *Reader) Release() {
	if s := r.shape.of; s != nil {
		*r = Reader{}
		s.readers.Put(r)
	}
}
