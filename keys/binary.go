package keys

const hexDigits = "0123456789abcdef"

// Bytes encodes a binary value as lower-case hexadecimal digits, which sort as the bytes do.
func Bytes() Part[[]byte] {
	return Part[[]byte]{
		name: "bytes", end: "!", prefixes: true,
		append: func(dst []byte, v []byte) ([]byte, error) {
			for _, c := range v {
				dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
			}
			return dst, nil
		},
		parse: func(s string) ([]byte, error) {
			fail := &KeyError{Value: s, Reason: "does not consist of pairs of lower-case hexadecimal digits"}
			if len(s)%2 != 0 {
				return nil, fail
			}
			b := make([]byte, 0, len(s)/2)
			for i := 0; i < len(s); i += 2 {
				hi, ok1 := hexValue(s[i])
				lo, ok2 := hexValue(s[i+1])
				if !ok1 || !ok2 {
					return nil, fail
				}
				b = append(b, hi<<4|lo)
			}
			return b, nil
		},
	}
}

// UUID encodes a UUID of any type over [16]byte as 36 characters in lower case, which sort as its bytes do.
func UUID[U ~[16]byte]() Part[U] {
	dash := func(i int) bool { return i == 8 || i == 13 || i == 18 || i == 23 }
	return Part[U]{
		name: "uuid", width: 36,
		alphabet: func(i int) string {
			if dash(i) {
				return "-"
			}
			return hexDigits
		},
		append: func(dst []byte, v U) ([]byte, error) {
			for i, c := range v {
				if i == 4 || i == 6 || i == 8 || i == 10 {
					dst = append(dst, '-')
				}
				dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
			}
			return dst, nil
		},
		parse: func(s string) (u U, err error) {
			n := 0
			for i := range len(s) {
				if dash(i) && s[i] == '-' {
					continue
				}
				h, ok := hexValue(s[i])
				if !ok || dash(i) {
					return u, &KeyError{Value: s, Reason: "is not a UUID in lower case"}
				}
				u[n/2] = u[n/2]<<4 | h
				n++
			}
			return u, nil
		},
	}
}

func hexValue(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}
