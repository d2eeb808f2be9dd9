package testkit

import "fmt"

// Some returns all cases, or under the race detector the first and each fifth after it.
func Some[T any](all []T) []T {
	if !Race {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += 5 {
		some = append(some, all[i])
	}
	return some
}

// Fewer returns n, or under the race detector a tenth of n.
func Fewer(n int) int {
	if Race {
		n /= 10
	}
	return max(n, 1)
}

// EachType returns a property as JSON with each type that another program may store, by the name of the type. The numbers and the
// digits of the text are n.
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
