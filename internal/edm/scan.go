package edm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
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
	plain    bool // the string consists of ASCII characters, without escapes; the number has digits alone, and perhaps a minus
	escaped  bool // the string contains backslashes
	from, to int  // without the quotes of a string
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

// next reads a value of any kind into t. maxDepth limits nesting, since the service never nests values.
func (s *scanner) next(t *token, depth int) error {
	const maxDepth = 32
	switch c := s.peek(); {
	case c == '"':
		return s.text(t)
	case c == '-' || c >= '0' && c <= '9':
		return s.number(t)
	case c == 't':
		return s.word(t, "true")
	case c == 'f':
		return s.word(t, "false")
	case c == 'n':
		return s.word(t, "null")
	case (c == '{' || c == '[') && depth < maxDepth:
		return s.nested(t, c, depth)
	}
	return s.fail("has no value")
}

func (s *scanner) word(t *token, w string) error {
	if !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		return s.fail("has no " + w)
	}
	s.i += len(w)
	*t = token{kind: w[0], from: s.i - len(w), to: s.i}
	return nil
}

func (s *scanner) number(t *token) error {
	from := s.i
	if s.b[s.i] == '-' {
		s.i++
	}
	if !s.digits() {
		return s.fail("has a number without digits")
	}
	whole := true
	if s.i < len(s.b) && s.b[s.i] == '.' {
		whole = false
		s.i++
		if !s.digits() {
			return s.fail("has a number that ends in a decimal point")
		}
	}
	if s.i < len(s.b) && (s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		whole = false
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !s.digits() {
			return s.fail("has an exponent without digits")
		}
	}
	*t = token{kind: '0', plain: whole, from: from, to: s.i}
	return nil
}

// digits skips digits, and reports whether there are any.
func (s *scanner) digits() bool {
	n := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > n
}

// text reads a string up to its closing quote. unquote checks the escapes.
func (s *scanner) text(t *token) error {
	if s.peek() != '"' {
		return s.fail(`has no '"'`)
	}
	from := s.i + 1
	if s.i = from + plainASCII(s.b[from:]); s.i < len(s.b) && s.b[s.i] == '"' {
		*t = token{kind: '"', plain: true, from: from, to: s.i}
		s.i++
		return nil
	}
	*t = token{kind: '"', from: from}
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			s.i = len(s.b)
			return s.fail("has a string without a closing quote")
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
			return nil
		}
	}
}

// plainASCII returns the number of characters in front of the first one that is a quote, a backslash, a control character or not ASCII.
func plainASCII(b []byte) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, backslash := w^'"'*each, w^'\\'*each
		// In each term, the lowest byte that has its high bit set is the first such character.
		if found := (w | (w-' '*each)&^w | (quote-each)&^quote | (backslash-each)&^backslash) & high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// nested skips an object or an array.
func (s *scanner) nested(t *token, open byte, depth int) error {
	*t = token{kind: open, from: s.i}
	end := open + 2 // the code of } is that of { plus two, and so for ] and [
	s.i++
	if s.peek() == end {
		s.i++
		t.to = s.i
		return nil
	}
	var skipped token
	for {
		if open == '{' {
			if err := s.text(&skipped); err != nil {
				return err
			}
			if err := s.expect(':'); err != nil {
				return err
			}
		}
		if err := s.next(&skipped, depth+1); err != nil {
			return err
		}
		more, err := s.hasMore(end)
		if !more {
			t.to = s.i
			return err
		}
	}
}

// unquote returns the text of a string token: a slice of b if the string has no escapes, and the extended scratch otherwise. It
// returns an error for control characters, invalid escapes, lone surrogates and invalid UTF-8, and never replaces them.
func unquote(b []byte, t *token, scratch []byte) (text []byte, err error) {
	raw := b[t.from:t.to]
	if t.plain {
		return raw, nil
	}
	if why, at := fault(raw); why != "" {
		return nil, badString(why, t.from+at)
	}
	if !t.escaped {
		return raw, nil
	}
	for i := 0; i < len(raw); i++ {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			return append(scratch, raw[i:]...), nil
		}
		scratch = append(scratch, raw[i:i+n]...)
		i += n + 1 // text made sure that a character follows
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
				return nil, badString("an invalid escape", t.from+i)
			}
			i += 4
			if utf16.IsSurrogate(r) {
				var low rune
				if len(raw) > i+2 && raw[i+1] == '\\' && raw[i+2] == 'u' {
					low, _ = hex4(raw[i+3:])
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					return nil, badString("a lone surrogate", t.from+i)
				}
				i += 6
			}
			scratch = utf8.AppendRune(scratch, r)
		default:
			return nil, badString("an unknown escape", t.from+i)
		}
	}
	return scratch, nil
}

func badString(why string, at int) error {
	return &DecodeError{Reason: fmt.Sprintf("has a string with %s at byte %d", why, at)}
}

// fault returns what is wrong in the bytes of a string and where, "" for nothing. It does not look at escapes.
func fault(raw []byte) (why string, at int) {
	for i := plainASCII(raw); i < len(raw); i += plainASCII(raw[i:]) {
		switch c := raw[i]; {
		case c < ' ':
			return "an unescaped control character", i
		case c < utf8.RuneSelf:
			i++
		default:
			_, n := utf8.DecodeRune(raw[i:])
			if n == 1 {
				return "invalid UTF-8", i
			}
			i += n
		}
	}
	return "", 0
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
