package transfer

import "fmt"

// FileError is the error of a file that cannot be read: of a CSV or JSON file, or of a chunk or the
// manifest of an export that was altered or cut.
type FileError struct {
	File   string // the name of a file of an export, "" for another one
	Line   int    // from 1; 0 for the whole file
	Byte   int    // of a JSON file: where the row begins in the line, from 1
	Column string // of a CSV file, "" for the whole line
	Reason string
	Err    error
}

func (e *FileError) Error() string {
	text := e.File
	if e.Line > 0 {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("line %d", e.Line)
	}
	switch {
	case e.Byte > 0:
		text += fmt.Sprintf(", byte %d,", e.Byte)
	case e.Column != "":
		text += fmt.Sprintf(", column %q,", e.Column)
	}
	text += " " + e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }
