package edm

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/internal/reserved"
)

// Limits of the service ('Understanding the Table service data model').
const (
	maxProperties  = 252
	maxEntity      = 1 << 20
	maxStringUnits = 32 << 10
	maxBinary      = 64 << 10
	maxKeyUnits    = 512
)

// MaxPart is the greatest number of a part of a wide entity: the head and the commit record take the other two operations of a
// transaction.
const MaxPart = 98

// The limits of an entity with parts. The service refuses transactions of less than the 4 MiB that it promises, from 3.8 MiB on.
const (
	maxWide      = 3584 << 10
	lengthOfPart = 64 // of the JSON of a part besides its keys and properties, and of its entry in the head
	bytesOfPart  = 64 // of a part besides its keys and properties
	unitsOfMark  = 3  // of ! and the number of a part, in its RowKey
)

// The service's range of DateTime.
var (
	minTime = time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_900, time.UTC)
)

// CheckValue checks the limits of one property.
func CheckValue(name string, v *Value) error {
	switch v.Kind {
	case String:
		if !utf8.ValidString(v.S) {
			return errNotUTF8(name)
		}
		if len(v.S) > maxStringUnits { // a character has at least as many bytes as units
			if n := utf16Units(v.S); n > maxStringUnits {
				return &LimitError{Property: true, Field: name, Limit: "UTF-16 units", Got: n, Max: maxStringUnits}
			}
		}
	case Binary:
		if n := len(v.B); n > maxBinary {
			return &LimitError{Property: true, Field: name, Limit: "bytes", Got: n, Max: maxBinary}
		}
	case DateTime:
		if v.T.Before(minTime) || v.T.After(maxTime) {
			return &ValueError{Property: true, Field: name, Reason: fmt.Sprintf("the time %s is out of range; the service requires 1601-01-01 to 9999-12-31", v.T.Format(time.RFC3339))}
		}
	}
	return nil
}

// storedSize returns the size of a value in bytes, by the service's formula for the size of an entity.
func storedSize(v *Value) int {
	switch v.Kind {
	case String:
		return 4 + 2*utf16Units(v.S)
	case Binary:
		return 4 + len(v.B)
	case Guid:
		return 16
	case Int32:
		return 4
	case Bool:
		return 1
	}
	return 8
}

// utf16Units returns the length of valid UTF-8 in UTF-16 code units, the service's unit.
func utf16Units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

func errNotUTF8(name string) error {
	return &ValueError{Property: true, Field: name, Reason: "the text is not valid UTF-8"}
}

// The properties of the service.
const (
	PartitionKey = "PartitionKey"
	RowKey       = "RowKey"
	Timestamp    = "Timestamp"
)

const (
	annotation = "@odata.type"
	maxName    = 255
)

// IsSystem reports whether a property is a system property of the library, which no field of a Go type can contain.
func IsSystem(name string) bool {
	return name != "" && name[0] == '_' && slices.Contains(reserved.Properties, name)
}

// CheckName checks the name of a property: a C# identifier of at most 255 characters that neither the service nor the library
// reserves ('Understanding the Table service data model').
func CheckName(name string) error {
	fail := func(reason string) error {
		return &ValueError{Property: true, Field: fmt.Sprintf("%.80q", name), Reason: reason}
	}
	switch name {
	case "":
		return fail("the name is empty")
	case PartitionKey, RowKey, Timestamp:
		return fail("the service reserves the name")
	}
	if IsSystem(name) {
		return fail("the library reserves the names " + strings.Join(reserved.Properties, " "))
	}
	for i, r := range name {
		ok := r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) ||
			i > 0 && (unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Pc))
		if !ok || r == unicode.ReplacementChar {
			return fail(fmt.Sprintf("a name may contain letters, digits and _, and must not begin with a digit; %q is at byte %d", r, i))
		}
	}
	if n := utf16Units(name); n > maxName {
		return &LimitError{Property: true, Field: name[:40] + "…", Limit: "UTF-16 units in its name", Got: n, Max: maxName}
	}
	return nil
}

// LimitError reports that a property, an entity, an option or an argument violates a limit of the service.
type LimitError struct {
	Field    string // the property, option or argument, or "" for the whole entity
	Limit    string // the unit, as a plural; the rule may follow after a semicolon
	Got      int
	Max      int
	Property bool // Field is a property
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("%d %s", e.Got, e.Limit)
	if !strings.Contains(s, ";") {
		s += fmt.Sprintf("; at most %d are allowed", e.Max)
	}
	if e.Field != "" {
		s = subject(e.Field, e.Property) + " has " + s
	}
	return s
}

// subject returns the subject of an error text: a property, or an option (Query.Limit) or an argument as the caller wrote it.
func subject(field string, property bool) string {
	if property {
		return "property " + field
	}
	return field
}

// ValueError reports a value or a name that the service cannot store.
type ValueError struct {
	Field  string // the property, option or argument
	Reason string // a predicate, such as "is nil", or a sentence
	Err    error  // the error of the field's type; the text omits it, since it may contain data

	Property bool // Field is a property
}

func (e *ValueError) Error() string { return sentence(subject(e.Field, e.Property), e.Reason) }

// sentence joins a subject and a reason, which is a predicate or a sentence of its own.
func sentence(subject, reason string) string {
	verb, _, _ := strings.Cut(reason, " ")
	switch verb {
	case "is", "was", "has", "must", "belongs", "begins", "cannot", "holds", "contain", "contains", "follows", "stands":
		return subject + " " + reason
	}
	return subject + ": " + reason
}

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// DecodeError reports a property that does not fit its field, or a malformed response.
type DecodeError struct {
	Field  string // the property, or "" for the whole response
	Reason string // a predicate, such as "is missing", or a sentence
	Err    error  // the error of the field's type; the text omits it, since it may contain data
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

func (e *DecodeError) Error() string {
	switch {
	case e.Field == "":
		return sentence("the response", e.Reason)
	case strings.Contains(e.Field, " "): // no property
		return sentence(e.Field, e.Reason)
	}
	return sentence("property "+e.Field, e.Reason)
}

// TypeError reports a Go type that cannot be stored.
type TypeError struct {
	Type   reflect.Type
	Field  string // the field of Type, or "" for the whole type
	Reason string
}

func (e *TypeError) Error() string {
	s := e.Type.String()
	if e.Field != "" {
		s += "." + e.Field
	}
	return sentence(s, e.Reason)
}
