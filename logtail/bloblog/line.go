package bloblog

import (
	"bytes"
	"encoding/json"

	"github.com/aztablekit/aztablekit/table"
)

// maxBlock is the most bytes of a block, and so of a line. The service allows more only in newer versions of its interface.
const maxBlock = 4 << 20

func encodeJSON[T any](v *T) ([]byte, error)    { return json.Marshal(v) }
func decodeJSON[T any](line []byte, v *T) error { return json.Unmarshal(line, v) }
func withoutReturn(line []byte) []byte          { return bytes.TrimSuffix(line, []byte{'\r'}) }
func tooLong(field string, n int) *table.LimitError { // n counts the line break
	return &table.LimitError{Field: field, Limit: "bytes, with its line break", Got: n, Max: maxBlock}
}

// checkEncoded returns an error for a line that a reader would not read as one record.
func checkEncoded(line []byte) error {
	switch {
	case len(line) == 0:
		return &table.ValueError{Field: "value", Reason: "is encoded as an empty line, which readers ignore"}
	case bytes.IndexByte(line, '\n') >= 0:
		return &table.ValueError{Field: "value", Reason: "is encoded with a line break; a record is one line"}
	case line[len(line)-1] == '\r':
		return &table.ValueError{Field: "value", Reason: "is encoded with a carriage return at its end, which readers remove"}
	case len(line) >= maxBlock:
		return tooLong("value", len(line)+1)
	}
	return nil
}
