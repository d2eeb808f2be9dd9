package edm

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/internal/errs"
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
				return &errs.LimitError{Property: true, Field: name, Limit: "UTF-16 units", Got: n, Max: maxStringUnits}
			}
		}
	case Binary:
		if n := len(v.B); n > maxBinary {
			return &errs.LimitError{Property: true, Field: name, Limit: "bytes", Got: n, Max: maxBinary}
		}
	case DateTime:
		if v.T.Before(minTime) || v.T.After(maxTime) {
			return &errs.ValueError{Property: true, Field: name, Reason: fmt.Sprintf("the time %s is out of range; the service requires 1601-01-01 to 9999-12-31", v.T.Format(time.RFC3339))}
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
	return &errs.ValueError{Property: true, Field: name, Reason: "the text is not valid UTF-8"}
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
		return &errs.ValueError{Property: true, Field: fmt.Sprintf("%.80q", name), Reason: reason}
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
		return &errs.LimitError{Property: true, Field: name[:40] + "…", Limit: "UTF-16 units in its name", Got: n, Max: maxName}
	}
	return nil
}

// CheckTableName returns an error for a name that no table can have. Errors: *LimitError, *ValueError.
func CheckTableName(name string) error {
	if n := len(name); n < 3 || n > 63 {
		return &errs.LimitError{Field: tableName(name), Limit: "characters; the service requires 3 to 63", Got: n, Max: 63}
	}
	if strings.EqualFold(name, "tables") {
		return &errs.ValueError{Field: tableName(name), Reason: "belongs to the service; choose another"}
	}
	for i, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return &errs.ValueError{Field: tableName(name), Reason: fmt.Sprintf("contains %q at byte %d; the service requires the letters A-Z and a-z and digits, a letter first", c, i)}
		}
	}
	return nil
}

func tableName(name string) string { return fmt.Sprintf("table name %.80q", name) }
