package bloblog

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/table"
)

const (
	maxName     = 1024 // characters of the name of a blob, counted in UTF-16
	maxSegments = 254  // parts of the name of a blob between slashes

	// What follows the source in the name of a blob.
	nameLength   = len("/2014/07/31/1800/000001.log")
	nameSegments = 5
)

// checkSource returns an error for a source with which a blob cannot have a name, or a name that clients and tools change: several
// of them remove . and .. and turn \ into /.
func checkSource(source string) error {
	invalid := func(format string, args ...any) error {
		return &table.ValueError{Field: "source", Reason: fmt.Sprintf(format, args...)}
	}
	if source == "" {
		return invalid("is empty; use a name of 1 or more characters")
	}
	if !utf8.ValidString(source) {
		return invalid("is not valid UTF-8")
	}
	for i, r := range source {
		if r == '\\' || unicode.IsControl(r) || r == '\ufffe' || r == '\uffff' {
			return invalid("contains %+q at byte %d, which the name of a blob cannot contain", r, i)
		}
	}
	segments := strings.Split(source, "/")
	for _, s := range segments {
		switch {
		case s == "":
			return invalid("has an empty part: it must not begin or end with a slash, or contain two in a row")
		case strings.HasSuffix(s, "."):
			return invalid("has the part %q, which ends with a dot", s)
		}
	}
	if n := len(segments) + nameSegments; n > maxSegments {
		return &table.LimitError{Field: "source", Limit: fmt.Sprintf("parts between slashes, with the %d of the hour and the number", nameSegments), Got: n, Max: maxSegments}
	}
	if n := len(utf16.Encode([]rune(source))) + nameLength; n > maxName {
		return &table.LimitError{Field: "source", Limit: fmt.Sprintf("characters, with the %d of the hour and the number", nameLength), Got: n, Max: maxName}
	}
	return nil
}
