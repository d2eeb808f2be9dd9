package edm

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON in a byte slice from beginning to end. It also checks the syntax of values that it skips.
type scanner struct {
	b []byte
	i int
}

// token is the kind and the position of a JSON value.
type token struct {
	kind     byte // one of " 0 t f n { [
	from, to int  // without the quotes of a string
	escaped  bool // the string contains backslashes
}

func (s *scanner) fail(what string) error {
	return &DecodeError{Reason: fmt.Sprintf("%s at byte %d of %d", what, s.i, len(s.b))}
}

// peek skips white space and returns the next character, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.fail(fmt.Sprintf("has no %q", c))
	}
	s.i++
	return nil
}

// hasMore skips the comma before another element, or the closing character, and reports whether an element follows.
func (s *scanner) hasMore(end byte) (bool, error) {
	switch s.peek() {
	case ',':
		s.i++
		return true, nil
	case end:
		s.i++
		return false, nil
	}
	return false, s.fail(fmt.Sprintf("has neither , nor %c", end))
}

// next reads a value of any kind. maxDepth limits nesting, since the service never nests values.
func (s *scanner) next(depth int) (token, error) {
	const maxDepth = 32
	switch c := s.peek(); {
	case c == '"':
		return s.text()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	case (c == '{' || c == '[') && depth < maxDepth:
		return s.nested(c, depth)
	}
	return token{}, s.fail("has no value")
}

func (s *scanner) word(w string) (token, error) {
	if !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		return token{}, s.fail("has no " + w)
	}
	s.i += len(w)
	return token{kind: w[0], from: s.i - len(w), to: s.i}, nil
}

func (s *scanner) number() (token, error) {
	from := s.i
	digits := func() bool {
		n := s.i
		for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
			s.i++
		}
		return s.i > n
	}
	if s.b[s.i] == '-' {
		s.i++
	}
	if !digits() {
		return token{}, s.fail("has a number without digits")
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !digits() {
			return token{}, s.fail("has a number that ends in a decimal point")
		}
	}
	if s.i < len(s.b) && (s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !digits() {
			return token{}, s.fail("has an exponent without digits")
		}
	}
	return token{kind: '0', from: from, to: s.i}, nil
}

// text reads a string up to its closing quote. unquote checks the escapes.
func (s *scanner) text() (token, error) {
	if err := s.expect('"'); err != nil {
		return token{}, err
	}
	t := token{kind: '"', from: s.i}
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			s.i = len(s.b)
			return token{}, s.fail("has a string without a closing quote")
		}
		part := s.b[s.i : s.i+n]
		s.i += n + 1
		t.escaped = t.escaped || bytes.IndexByte(part, '\\') >= 0
		t.to = s.i - 1
		// The quote is part of the string if an odd number of backslashes precedes it.
		k := t.to
		for k > t.from && s.b[k-1] == '\\' {
			k--
		}
		if (t.to-k)%2 == 0 {
			return t, nil
		}
	}
}

// nested skips an object or an array.
func (s *scanner) nested(open byte, depth int) (token, error) {
	t := token{kind: open, from: s.i}
	end := open + 2 // the code of } is that of { plus two, and so for ] and [
	s.i++
	if s.peek() == end {
		s.i++
		t.to = s.i
		return t, nil
	}
	for {
		if open == '{' {
			if _, err := s.text(); err != nil {
				return t, err
			}
			if err := s.expect(':'); err != nil {
				return t, err
			}
		}
		if _, err := s.next(depth + 1); err != nil {
			return t, err
		}
		more, err := s.hasMore(end)
		if !more {
			t.to = s.i
			return t, err
		}
	}
}

// unquote returns the text of a string token: a slice of b if the string has no escapes, and the extended scratch otherwise. It
// returns an error for control characters, invalid escapes, lone surrogates and invalid UTF-8, and never replaces them.
func unquote(b []byte, t token, scratch []byte) (text []byte, err error) {
	raw := b[t.from:t.to]
	bad := func(why string, at int) ([]byte, error) {
		return nil, &DecodeError{Reason: fmt.Sprintf("has a string with %s at byte %d", why, t.from+at)}
	}
	ascii := true
	for i, c := range raw {
		if c < 0x20 {
			return bad("an unescaped control character", i)
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii && !utf8.Valid(raw) {
		return bad("invalid UTF-8", 0)
	}
	if !t.escaped {
		return raw, nil
	}
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			scratch = append(scratch, c)
			continue
		}
		i++ // text made sure that a character follows
		switch raw[i] {
		case '"', '\\', '/':
			scratch = append(scratch, raw[i])
		case 'b':
			scratch = append(scratch, '\b')
		case 'f':
			scratch = append(scratch, '\f')
		case 'n':
			scratch = append(scratch, '\n')
		case 'r':
			scratch = append(scratch, '\r')
		case 't':
			scratch = append(scratch, '\t')
		case 'u':
			r, ok := hex4(raw[i+1:])
			if !ok {
				return bad("an invalid escape", i)
			}
			i += 4
			if utf16.IsSurrogate(r) {
				var low rune
				if len(raw) > i+2 && raw[i+1] == '\\' && raw[i+2] == 'u' {
					low, _ = hex4(raw[i+3:])
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					return bad("a lone surrogate", i)
				}
				i += 6
			}
			scratch = utf8.AppendRune(scratch, r)
		default:
			return bad("an unknown escape", i)
		}
	}
	return scratch, nil
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
