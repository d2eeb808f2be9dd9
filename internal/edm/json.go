package edm

import (
	"bytes"
	"strings"
)

// JSON is an entity as it was read: the response of a single row, or a text of its own. Or it is the JSON that was sent. The zero value
// is none.
type JSON struct {
	response []byte
	text     string // behind a response, its last members
}

// JSONOf returns JSON of a text.
func JSONOf(text string) JSON { return JSON{text: text} }

// Len returns the number of bytes, 0 if there is no JSON.
func (j JSON) Len() int { return len(j.response) + len(j.text) }

// Mentions reports whether the name of a property occurs, perhaps inside a text.
func (j JSON) Mentions(name string) bool {
	return mentions(j.text, name, strings.Index) || mentions(j.response, name, func(b []byte, name string) int { return bytes.Index(b, []byte(name)) })
}

// mentions reports whether a name occurs with a quote behind it. It does not look for the quote in front of it: quotes are frequent.
func mentions[T string | []byte](text T, name string, index func(T, string) int) bool {
	for {
		i := index(text, name)
		if i < 0 {
			return false
		}
		if text = text[i+len(name):]; len(text) > 0 && text[0] == '"' {
			return true
		}
	}
}

// Stored is the content of a stored entity: the JSON that was read, or the columns that were written. The zero value is content
// that is not known.
type Stored struct {
	JSON    JSON
	Columns []Column // nil if they are not decoded

	// own is a plan, or nil if nothing is known. The entity has only properties of this plan, in the types of its fields, and perhaps the
	// operation ID, and what the plan's map of unknown columns contained.
	own *Plan
}

// MayHave reports whether the entity may have the system property name, which is not that of the operation ID.
func (s Stored) MayHave(name string) bool {
	return s.own == nil && (s.JSON.Len() == 0 || s.JSON.Mentions(name))
}

// Known reports whether the content is known.
func (s Stored) Known() bool { return s.JSON.Len() > 0 || s.Columns != nil }
