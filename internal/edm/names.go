package edm

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/aztablekit/aztablekit/internal/reserved"
)

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
