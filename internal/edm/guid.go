package edm

// parseGUID parses 8-4-4-4-12 hexadecimal digits of either case.
func parseGUID(text []byte) (g [16]byte, ok bool) {
	if len(text) != 36 {
		return g, false
	}
	n := 0
	for i, c := range text {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return g, false
			}
			continue
		}
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return g, false
		}
		g[n/2] = g[n/2]<<4 | c
		n++
	}
	return g, true
}

func appendGUID(b []byte, g [16]byte) []byte {
	const digits = "0123456789abcdef"
	for i, c := range g {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, digits[c>>4], digits[c&15])
	}
	return b
}
