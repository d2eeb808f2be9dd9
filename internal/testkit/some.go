package testkit

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
