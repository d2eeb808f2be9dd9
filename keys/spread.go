package keys

import (
	"fmt"
	"hash/fnv"
)

// Spread encodes a value as the number of a bucket, 0 to n-1, padded to the width of n-1. The number is a hash (FNV-1a) of the
// encoding by p: a value is always in the same bucket, and many values spread evenly, so that no partition gets hot. To visit all
// buckets, build the same keys with Digits[int] of that width. n is 2 to 10,000. Changing n moves existing values. A value cannot
// be decoded from its bucket, so that a two-way binding is an error.
func Spread[A any](p Part[A], n int) Part[A] {
	name := fmt.Sprintf("spread(%s, %d)", p.name, n)
	if p.err = p.check(); p.err != nil {
		return p
	}
	if n < 2 || n > 10_000 {
		return brokenPart[A](name, "must have 2 to 10,000 buckets")
	}
	width := len(fmt.Sprint(n - 1))
	lossy := "a value cannot be decoded from its bucket"
	return Part[A]{
		name: name, width: width, alphabet: sameAlphabet(decimal), lossy: lossy,
		append: func(dst []byte, a A) ([]byte, error) {
			b, err := p.append(nil, a)
			if err != nil {
				return dst, err
			}
			h := fnv.New64a()
			h.Write(b)
			return appendPadded(dst, h.Sum64()%uint64(n), width)
		},
		parse: func(s string) (a A, err error) { return a, &KeyError{Value: s, Reason: lossy} },
	}
}
