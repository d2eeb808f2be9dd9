package edm

import (
	"bytes"
	"strings"
)

// JSON is an entity as it was read: the response of a single row, or a text of its own. The zero value is none.
type JSON struct {
	response []byte
	text     string
}

// JSONOf returns JSON of a text.
func JSONOf(text string) JSON { return JSON{text: text} }

// Len returns the number of bytes, 0 if there is no JSON.
func (j JSON) Len() int { return len(j.response) + len(j.text) }

// Mentions reports whether the name of a property occurs, perhaps inside a text.
func (j JSON) Mentions(name string) bool {
	name = `"` + name + `"`
	return strings.Contains(j.text, name) || bytes.Contains(j.response, []byte(name))
}

func (j JSON) reader() *Reader {
	if j.response != nil {
		return NewReader(j.response)
	}
	return NewReader([]byte(j.text))
}
