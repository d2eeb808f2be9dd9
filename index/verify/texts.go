package verify

import "strings"

// texts keeps copies of texts, many in one piece of memory.
type texts struct{ piece strings.Builder }

// keep returns a copy of s, which does not hold the page that s may be a part of.
func (t *texts) keep(s string) string {
	const size = 4 << 10
	if t.piece.Cap()-t.piece.Len() < len(s) {
		t.piece = strings.Builder{}
		t.piece.Grow(max(size, len(s)))
	}
	from := t.piece.Len()
	t.piece.WriteString(s)
	return t.piece.String()[from:]
}
