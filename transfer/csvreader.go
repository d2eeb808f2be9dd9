package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// csvReader reads the lines of a CSV file (RFC 4180). Package encoding/csv removes carriage returns
// from texts of several lines; this one leaves fields as they are.
type csvReader struct {
	in    *bufio.Reader
	comma rune
	line  int // the line that was read last began here, from 1
	next  int // line breaks so far
	want  int // fields of a line; 0 before the first

	field  []byte
	fields []string
}

// csvFault is what is wrong with a line.
type csvFault string

func (f csvFault) Error() string { return string(f) }

// mostFields is how many fields a line has at most: properties, and their types.
const mostFields = 1000

// breaks reports whether a carriage return that was read belongs to the end of the line.
func (r *csvReader) breaks() bool {
	b, _ := r.in.Peek(1)
	return len(b) == 0 || b[0] == '\n'
}

// read returns the fields of the next line, valid until the next call; io.EOF behind the last.
// Empty lines are left out.
func (r *csvReader) read() ([]string, error) {
	for {
		r.line, r.fields = r.next+1, r.fields[:0]
		err := r.readLine()
		switch {
		case err == io.EOF && len(r.fields) == 0:
			return nil, io.EOF
		case errors.As(err, new(csvFault)):
			return nil, &FileError{Line: r.line, Reason: err.Error()}
		case err != nil && err != io.EOF:
			return nil, err
		case len(r.fields) == 1 && r.fields[0] == "" && r.want != 1 && err == nil:
			continue
		case r.want > 0 && len(r.fields) != r.want:
			return nil, &FileError{Line: r.line, Reason: fmt.Sprintf("has %d fields, and the first line has %d", len(r.fields), r.want)}
		}
		r.want = len(r.fields)
		return r.fields, nil
	}
}

// readLine reads fields up to a line break, or the end.
func (r *csvReader) readLine() error {
	for first := true; ; first = false {
		more, err := r.readField()
		if err != nil && err != io.EOF {
			return err
		}
		if err == io.EOF && first && len(r.field) == 0 && !more {
			return io.EOF
		}
		r.fields = append(r.fields, string(r.field))
		if n := len(r.fields); n > mostFields || r.want > 0 && n > r.want {
			return csvFault(fmt.Sprintf("has more than %d fields", n-1))
		}
		if !more {
			return err
		}
	}
}

// readField reads a field, and reports whether another one follows on the line.
func (r *csvReader) readField() (more bool, err error) {
	r.field = r.field[:0]
	c, _, err := r.in.ReadRune()
	if err == nil && c == '"' {
		if err := r.readQuoted(); err != nil {
			return false, err
		}
		c, _, err = r.in.ReadRune()
		ends := c == r.comma || c == '\n' || c == '\r' && r.breaks()
		if err == nil && !ends {
			return false, csvFault(`has a text behind the quote at the end of a field; a quote within a field is written as ""`)
		}
	}
	for ; err == nil; c, _, err = r.in.ReadRune() {
		switch c {
		case r.comma:
			return true, nil
		case '\n':
			r.next++
			return false, nil
		case '\r':
			if r.breaks() {
				continue
			}
		case '"':
			return false, csvFault("has a quote within a field that does not begin with one")
		}
		if err := r.put(c); err != nil {
			return false, err
		}
	}
	return false, err
}

// readQuoted reads a field up to the quote at its end.
func (r *csvReader) readQuoted() error {
	for {
		c, _, err := r.in.ReadRune()
		switch {
		case err == io.EOF:
			return csvFault("has a field without the quote at its end")
		case err != nil:
			return err
		case c == '\n':
			r.next++
		case c == '"':
			if b, _ := r.in.Peek(1); len(b) == 0 || b[0] != '"' {
				return nil
			}
			if _, err := r.in.Discard(1); err != nil {
				return err
			}
		}
		if err := r.put(c); err != nil {
			return err
		}
	}
}

// put adds a character to the field.
func (r *csvReader) put(c rune) error {
	if c == '\ufffd' { // perhaps a byte that is no UTF-8
		if err := r.in.UnreadRune(); err == nil {
			if b, _ := r.in.Peek(3); string(b) != "\ufffd" {
				return csvFault("is not valid UTF-8")
			}
			_, _, _ = r.in.ReadRune()
		}
	}
	if len(r.field) > mostLine {
		return csvFault(fmt.Sprintf("has a field of more than %d bytes", mostLine))
	}
	r.field = utf8.AppendRune(r.field, c)
	return nil
}
