package series

import (
	"fmt"
	"math"
	"reflect"

	"github.com/aztablekit/aztablekit/table"
)

// Number is the type of the values of a series. An int32 is stored as Edm.Int32, an int and an int64 as Edm.Int64, a float64 as
// Edm.Double.
type Number interface {
	~int | ~int32 | ~int64 | ~float64
}

// property returns a value as it is stored: as an int32, an int64 or a float64.
func property[V Number](name string, v V) (any, error) {
	switch x := reflect.ValueOf(v); x.Kind() {
	case reflect.Int32:
		return int32(x.Int()), nil
	case reflect.Float64:
		if f := x.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, &table.ValueError{Property: true, Field: name, Reason: fmt.Sprintf("is %v, which has no sum; a slot without a value is absent", f)}
		}
		return x.Float(), nil
	default:
		return x.Int(), nil
	}
}

// number returns a stored property as a value. A whole number may be of another type, because another program has stored it, if its
// value fits.
func number[V Number](name string, x any) (v V, err error) {
	want := reflect.TypeFor[V]()
	switch x := x.(type) {
	case int32:
		return number[V](name, int64(x))
	case int64:
		if v = V(x); int64(v) == x && !(want.Kind() == reflect.Float64 && x == math.MaxInt64) { // no float64 is math.MaxInt64
			return v, nil
		}
		return 0, &table.DecodeError{Field: name, Reason: fmt.Sprintf("is %d, which no %v is", x, want)}
	case float64:
		if want.Kind() == reflect.Float64 {
			return V(x), nil
		}
	}
	return 0, &table.DecodeError{Field: name, Reason: fmt.Sprintf("is a %T, and the values of the series are %v", x, want)}
}

// sum returns a + b.
func sum[V Number](name string, a, b V) (V, error) {
	s := a + b
	if b > 0 && s < a || b < 0 && s > a {
		return 0, &table.ValueError{Property: true, Field: name, Reason: fmt.Sprintf("is %v, and %v more exceeds the range of %v", a, b, reflect.TypeFor[V]())}
	}
	return s, nil
}

// change returns the change of a row that stores a value.
func change(name string, x any) table.Set[table.Row] {
	switch x := x.(type) {
	case int32:
		return table.PropertyOf[int32](name).Set(x)
	case float64:
		return table.PropertyOf[float64](name).Set(x)
	default:
		return table.PropertyOf[int64](name).Set(x.(int64))
	}
}
