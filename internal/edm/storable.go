package edm

// The limits of an entity that Storable accepts. They are far below those of the service, so that it needs no closer look.
const (
	smallJSON     = 16 << 10 // bytes
	fewProperties = 200
)

// Storable reports whether the entity that the reader read last can be stored again as it is: it is small, and its values can be
// read and are within the limits of the service. p is the plan that decodes the entity, so Storable only reads the values of other
// properties. Storable returns false for an entity that needs a closer look.
func (r *Reader) Storable(p *Plan) bool {
	if len(r.members) > fewProperties || r.to-r.from > smallJSON {
		return false
	}
	for i := range r.members {
		m := &r.members[i]
		if m.column != nil || m.kind == DateTime && m.tok.kind != 'n' && !r.isUsualDate(&m.tok) {
			return false
		}
		if _, known := r.propertyOf(p, m); !known && r.read(m, &r.value) != nil {
			return false
		}
	}
	return true
}

// isUsualDate reports whether a date is in the years that lie in the service's range as a whole.
func (r *Reader) isUsualDate(t *token) bool {
	const year = 4
	if t.to-t.from < year {
		return false
	}
	text := string(r.b[t.from : t.from+year])
	return text > "1601" && text < "9999"
}
