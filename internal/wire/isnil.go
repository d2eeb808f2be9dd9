package wire

import "reflect"

// IsNil reports whether x is nil or holds a nil pointer. An interface with a nil pointer is the usual result of passing a variable
// that was never set.
func IsNil(x any) bool {
	if x == nil {
		return true
	}
	v := reflect.ValueOf(x)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
