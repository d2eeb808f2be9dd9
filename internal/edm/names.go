package edm

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/aztablekit/aztablekit/internal/reserved"
)

// The service's own properties.
const (
	PartitionKey = "PartitionKey"
	RowKey       = "RowKey"
	Timestamp    = "Timestamp"
)

const (
	annotation = "@odata.type"
	maxName    = 255
)

// System tells whether a property belongs to the library: it travels with an entity, hidden from its Go type.
func IsSystem(name string) bool {
	return name != "" && name[0] == '_' && slices.Contains(reserved.Properties, name)
}

// CheckName applies the rules for property names: a C# identifier of at most 255 characters that nobody has reserved
// ('Understanding the Table service data model').
func CheckName(name string) error {
	fail := func(reason string) error { return &ValueError{Field: fmt.Sprintf("%.80q", name), Reason: reason} }
	switch name {
	case "":
		return fail("the name is empty")
	case PartitionKey, RowKey, Timestamp:
		return fail("the name belongs to the service")
	}
	if IsSystem(name) {
		return fail("the name belongs to the library: " + strings.Join(reserved.Properties, " "))
	}
	for i, r := range name {
		ok := r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) ||
			i > 0 && (unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Pc))
		if !ok || r == unicode.ReplacementChar {
			return fail(fmt.Sprintf("the name may hold letters, digits and _, and begin with no digit; %q is at byte %d", r, i))
		}
	}
	if n := utf16Units(name); n > maxName {
		return &LimitError{Field: name[:40] + "…", Limit: "UTF-16 units in its name", Got: n, Max: maxName}
	}
	return nil
}
