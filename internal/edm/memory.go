package edm

import "strings"

// memory holds the texts and bytes that are decoded. Several of them share one allocation of limited size, so that a value that a
// caller keeps holds little more than itself.
type memory struct {
	texts strings.Builder
	bytes []byte
	size  int // of an allocation for texts
}

// textPiece is the size of an allocation for texts of the entities of a list: the JSON of two or three small entities. An allocation for
// bytes has a third of that size.
const textPiece = 1536

// text returns b as a string.
func (m *memory) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if m.texts.Cap()-m.texts.Len() < len(b) {
		if 2*len(b) > m.size {
			return string(b)
		}
		m.texts = strings.Builder{}
		m.texts.Grow(m.size)
	}
	from := m.texts.Len()
	m.texts.Write(b)
	return m.texts.String()[from:]
}

// room returns n bytes.
func (m *memory) room(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	if cap(m.bytes)-len(m.bytes) < n {
		if 2*n > m.size/3 {
			return make([]byte, n)
		}
		m.bytes = make([]byte, 0, m.size/3)
	}
	from := len(m.bytes)
	m.bytes = m.bytes[:from+n]
	return m.bytes[from : from+n : from+n]
}
