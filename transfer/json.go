package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
)

// JSON returns the rows of a file of JSON, as the service has them, with the types in members such
// as Age@odata.type: an object on
// each line, as chunks of exports and WriteJSON have them; a list of rows, on one line or over
// several; or an object whose member
// value or items is that list, as a response of the service, files of AzCopy 7 and az storage
// entity query have it. See CSV for open,
// the order and errors.
//
// Az prints no types but Int64: times, GUIDs and bytes that it has printed are texts.
func JSON(open func() (io.ReadCloser, error)) Source { return file{open, jsonRows} }

// jsonRows reads rows of JSON. Lines of a row each, which large files have, are read by themselves;
// all behind another line is read as
// values.
func jsonRows(in io.Reader) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		r := in.(*bufio.Reader)
		for line := 1; ; line++ {
			text, err := readLine(r)
			if err != nil && err != io.EOF && err != errLongLine {
				yield(nil, err)
				return
			}
			if line == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff"))
			}
			if content := bytes.TrimSpace(text); len(content) > 0 {
				one, bad := rowOf(bytes.TrimSuffix(content, []byte(",")))
				if bad != nil || err == errLongLine {
					newJSONReader(io.MultiReader(bytes.NewReader(text), r), line).rows(yield)
					return
				}
				if !yield(&one, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}

var errLongLine = errors.New("a line is too long for a row")

// readLine reads a line, with io.EOF behind the last one, or the beginning of one that is too long.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err != bufio.ErrBufferFull:
			return line, err
		case len(line) > mostLine:
			return line, errLongLine
		}
	}
}

// jsonReader reads rows as values of JSON.
type jsonReader struct {
	in     *json.Decoder
	breaks *lineBreaks
	yield  func(*row, error) bool
}

func newJSONReader(in io.Reader, line int) *jsonReader {
	b := &lineBreaks{in: in, line: line}
	return &jsonReader{in: json.NewDecoder(b), breaks: b}
}

// rows yields the rows of all values: rows, lists, and objects with a list.
func (j *jsonReader) rows(yield func(*row, error) bool) {
	j.yield = yield
	for {
		token, err := j.in.Token()
		switch {
		case err == io.EOF:
			return
		case err != nil:
			j.fail(j.next(), err)
			return
		case token == json.Delim('['):
			if !j.list(false) {
				return
			}
		case token == json.Delim('{'):
			if !j.object() {
				return
			}
		default:
			j.fail(j.in.InputOffset(), errors.New("is neither a row nor a list of rows"))
			return
		}
	}
}

// list yields the rows of a list, and reports whether to go on behind it.
func (j *jsonReader) list(ofAz bool) bool {
	for j.in.More() {
		var raw json.RawMessage
		if err := j.in.Decode(&raw); err != nil {
			return j.fail(j.next(), err)
		}
		if !j.row(raw, j.in.InputOffset()-int64(len(raw)), ofAz) {
			return false
		}
	}
	return j.end()
}

// object yields the row that an object is, or the rows of its list.
func (j *jsonReader) object() bool {
	begin, isList := j.in.InputOffset()-1, false
	row := []byte{'{'}
	for j.in.More() {
		name, err := j.in.Token()
		if err != nil {
			return j.fail(begin, err)
		}
		value, opensList, err := j.value(name)
		if err != nil {
			return j.fail(begin, err)
		}
		if opensList {
			isList = true
			if !j.list(name == "items") {
				return false
			}
			continue
		}
		text, err := json.Marshal(name)
		if err != nil {
			return j.fail(begin, err)
		}
		if len(row) > 1 {
			row = append(row, ',')
		}
		row = append(append(append(row, text...), ':'), value...)
	}
	if !j.end() {
		return false
	}
	return isList || j.row(append(row, '}'), begin, false)
}

// value reads the value of a member, unless it is a list of rows, of which it reads the beginning.
func (j *jsonReader) value(name json.Token) (value json.RawMessage, opensList bool, err error) {
	if name != "value" && name != "items" {
		err = j.in.Decode(&value)
		return value, false, err
	}
	token, err := j.in.Token()
	if err != nil || token == json.Delim('[') {
		return nil, err == nil, err
	}
	value, err = json.Marshal(token)
	return value, false, err
}

// end reads the end of a list or an object.
func (j *jsonReader) end() bool {
	if _, err := j.in.Token(); err != nil {
		return j.fail(j.next(), err)
	}
	return true
}

// next returns where the next value begins.
func (j *jsonReader) next() int64 {
	at := j.in.InputOffset()
	left := bufio.NewReader(j.in.Buffered())
	for {
		c, err := left.ReadByte()
		if err != nil || !strings.ContainsRune(" \t\r\n", rune(c)) {
			return at
		}
		at++
	}
}

// row yields a row.
func (j *jsonReader) row(text []byte, begin int64, ofAz bool) bool {
	if ofAz {
		var err error
		if text, err = withTypes(text); err != nil {
			return j.fail(begin, err)
		}
	}
	one, err := rowOf(text)
	if err != nil {
		return j.fail(begin, err)
	}
	j.breaks.pass(j.in.InputOffset())
	return j.yield(&one, nil)
}

// fail yields the error of the row that begins behind a place.
func (j *jsonReader) fail(at int64, err error) bool {
	if j.breaks.err != nil {
		j.yield(nil, j.breaks.err)
		return false
	}
	reason := strings.ReplaceAll(err.Error(), "the response", "the row")
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		reason = "the file ends before the row does"
	}
	line, n := j.breaks.pass(at)
	j.yield(nil, &FileError{Line: line, Byte: n, Reason: "is no row: " + reason})
	return false
}

// lineBreaks is a reader that knows where lines end, of what is not passed yet.
type lineBreaks struct {
	in     io.Reader
	read   int64
	breaks []int64
	line   int   // of the place that was passed last
	begin  int64 // of this line
	err    error // of in
}

// Read implements io.Reader.
func (b *lineBreaks) Read(p []byte) (n int, err error) {
	n, err = b.in.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			b.breaks = append(b.breaks, b.read+int64(i)+1)
		}
	}
	b.read += int64(n)
	if err != io.EOF {
		b.err = err
	}
	return n, err
}

// pass moves on to a place, and returns its line and its byte in the line, from 1.
func (b *lineBreaks) pass(at int64) (line, n int) {
	i := 0
	for ; i < len(b.breaks) && b.breaks[i] <= at; i++ {
		b.line++
		b.begin = b.breaks[i]
	}
	b.breaks = append(b.breaks[:0], b.breaks[i:]...)
	return b.line, int(at-b.begin) + 1
}

// withTypes returns a row as az storage entity query prints it as the service has it: Int64 is an
// object there, and the ETag a property.
func withTypes(text []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	delete(members, "etag")
	for name, value := range members {
		if len(value) == 0 || value[0] != '{' {
			continue
		}
		var of struct {
			Value   json.RawMessage `json:"value"`
			EdmType string          `json:"edm_type"`
			Type    string          `json:"type"` // of older releases
		}
		if err := json.Unmarshal(value, &of); err != nil {
			return nil, err
		}
		kind := edm.KindNamed(of.EdmType + of.Type)
		if kind == edm.Absent || len(of.Value) == 0 {
			continue // the row says what is wrong with it
		}
		if kind == edm.Int64 && of.Value[0] != '"' {
			of.Value = append(append([]byte{'"'}, of.Value...), '"')
		}
		typ, err := json.Marshal(kind.String())
		if err != nil {
			return nil, err
		}
		members[name], members[name+"@odata.type"] = of.Value, typ
	}
	return json.Marshal(members)
}
