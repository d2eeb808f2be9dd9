package errs

import "strings"

// CatalogueError is the error of a write or a look-up that the table's catalogue does not allow.
// Nothing was written.
type CatalogueError struct {
	Table      string
	Definition string // its name, "" for an error about all of them
	State      string // of the definition, by the catalogue; "" if it does not name the definition
	Is         error  // ErrNotDeclared, ErrNotRecorded, ErrNotReadable; nil for a catalogue that cannot be used
	Reason     string // with the way out
	Err        error  // of what was read, if that is the cause
}

func (e *CatalogueError) Error() string {
	var b strings.Builder
	b.WriteString("table " + e.Table)
	if e.Definition != "" {
		b.WriteString(": definition " + e.Definition)
	}
	b.WriteString(": ")
	if e.Is != nil {
		b.WriteString(e.Is.Error() + ": ")
	}
	b.WriteString(e.Reason)
	if e.Err != nil {
		b.WriteString(" (" + Brief(e.Err) + ")")
	}
	return b.String()
}

// Unwrap returns Is and Err.
func (e *CatalogueError) Unwrap() (all []error) {
	if e.Is != nil {
		all = append(all, e.Is)
	}
	if e.Err != nil {
		all = append(all, e.Err)
	}
	return all
}
