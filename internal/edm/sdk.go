package edm

import (
	"fmt"
	"reflect"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// The SDK's own types for values that JSON does not tell apart. Its EDMBinary is a []byte like any other.
var (
	sdkInt64    = reflect.TypeFor[aztables.EDMInt64]()
	sdkDateTime = reflect.TypeFor[aztables.EDMDateTime]()
	sdkGUID     = reflect.TypeFor[aztables.EDMGUID]()
)

var sdkTimeScalar = scalar{
	kind: DateTime,
	get: func(v reflect.Value) (Value, error) {
		return timeValue(time.Time(*v.Addr().Interface().(*aztables.EDMDateTime))), nil
	},
	set: func(v reflect.Value, x Value) bool {
		*v.Addr().Interface().(*aztables.EDMDateTime) = aztables.EDMDateTime(x.T)
		return x.Kind == DateTime
	},
}

// sdkGUIDScalar is a text that is stored as a Guid. The empty text is absent.
var sdkGUIDScalar = scalar{
	kind: Guid,
	get:  func(v reflect.Value) (Value, error) { return guidValue(v.String()) },
	set: func(v reflect.Value, x Value) bool {
		v.SetString(string(appendGUID(nil, x.G)))
		return x.Kind == Guid
	},
}

// guidOf reads the text of an EDMGUID.
func guidValue(s string) (Value, error) {
	if s == "" {
		return Value{}, nil
	}
	g, ok := parseGUID([]byte(s))
	if !ok {
		return Value{}, fmt.Errorf("a text of %d characters is no GUID, which has 32 hexadecimal digits in groups of 8-4-4-4-12", len(s))
	}
	return Value{Kind: Guid, G: g}, nil
}
