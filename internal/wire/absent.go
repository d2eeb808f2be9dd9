package wire

import "reflect"

// Absent tells whether an interface holds nothing, or a nil pointer, which is what a variable of an implementation's type holds
// that was never set.
func IsNil(x any) bool {
	if x == nil {
		return true
	}
	v := reflect.ValueOf(x)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
