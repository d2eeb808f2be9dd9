package testkit

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// shortSample leaves out cases of short tests, and of tests under the race detector, which is ten
// times slower: it finds data races, which need no rare case, and the same tests run without it,
// too.
var shortSample = Count("shortsample", 5, "with -short and under the race detector, one of so many cases is tried")

// Few reports whether a test is to leave out cases, because of -short or the race detector.
func Few() bool { return (race || testing.Short()) && *shortSample > 1 }

// Some returns all cases, or if there are to be few, the first and each fifth after it, as the flag
// shortsample says.
func Some[T any](all []T) []T {
	if !Few() {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += *shortSample {
		some = append(some, all[i])
	}
	return some
}

// SomeNamed is Some for cases by name, in the order of the names.
func SomeNamed[T any](all map[string]T) map[string]T {
	some := map[string]T{}
	for _, name := range Some(slices.Sorted(maps.Keys(all))) {
		some[name] = all[name]
	}
	return some
}

// Fewer returns n, or a tenth of n if there are to be few cases.
func Fewer(n int) int {
	if Few() {
		n /= 2 * *shortSample
	}
	return max(n, 1)
}

// EachType returns a property as JSON with each type that another program may store, by the name of
// the type. The numbers and the digits of the text are n.
func EachType(property string, n int64) map[string]string {
	typed := func(value, edmType string) string {
		return fmt.Sprintf(`%q:%s,"%s@odata.type":"Edm.%s"`, property, value, property, edmType)
	}
	return map[string]string{
		"text":         fmt.Sprintf(`%q:"%d"`, property, n),
		"Int32":        fmt.Sprintf(`%q:%d`, property, n),
		"Int64":        typed(fmt.Sprintf(`"%d"`, n), "Int64"),
		"whole Double": typed(fmt.Sprintf("%d.0", n), "Double"),
		"Double":       typed(fmt.Sprintf("%d.5", n), "Double"),
		"Boolean":      fmt.Sprintf(`%q:true`, property),
		"DateTime":     typed(`"2026-01-02T03:04:05Z"`, "DateTime"),
		"Guid":         typed(`"00000000-0000-0000-0000-000000000001"`, "Guid"),
		"Binary":       typed(`"AAEC"`, "Binary"),
	}
}

// Long skips a test that takes more than a second, and beside which others of its package try the
// same code, under -short, unless all cases are to be tried.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() && *shortSample > 1 {
		t.Skip("takes more than a second")
	}
}
