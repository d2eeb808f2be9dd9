package edm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// scanner reads JSON in a byte slice from beginning to end. It also checks the syntax of values
// that it skips.
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
	return &errs.DecodeError{Reason: fmt.Sprintf("%s at byte %d of %d", what, s.i, len(s.b))}
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

// hasMore skips the comma before another element, or the closing character, and reports whether an
// element follows.
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

// next reads a value of any kind into t. maxDepth limits nesting, since the service never nests
// values.
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

// plainASCII returns the number of characters in front of the first quote, backslash, control
// character or character that is not ASCII.
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

// unquote returns the text of a string token: a slice of b if the string has no escapes, and the
// extended scratch otherwise. It returns an error for control characters, invalid escapes, lone
// surrogates and invalid UTF-8, and never replaces them.
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
	return &errs.DecodeError{Reason: fmt.Sprintf("has a string with %s at byte %d", why, at)}
}

// fault returns what is wrong in the bytes of a string and where, "" for nothing. It does not look
// at escapes.
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
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil
}

func parseInteger(text []byte) (n int64, ok bool) {
	if len(text) > 18 { // it may overflow
		n, err := strconv.ParseInt(string(text), 10, 64)
		return n, err == nil && text[0] != '+'
	}
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
		case c != '-' || i > 0 || len(text) == 1:
			return 0, false
		}
	}
	if len(text) > 0 && text[0] == '-' {
		n = -n
	}
	return n, len(text) > 0
}

func parseDouble(text []byte) (float64, bool) {
	switch string(text) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false // ParseFloat accepts forms that the service does not
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// ParseTime parses the service's form of a time and all other forms of RFC 3339.
func ParseTime(text []byte) (time.Time, bool) {
	if n := len(text); n >= len("2006-01-02T15:04:05Z") && text[n-1] == 'Z' {
		if t, ok := parsePlainTime(text); ok {
			return t, true
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// parsePlainTime parses 2006-01-02T15:04:05Z with up to nine fractional digits.
func parsePlainTime(b []byte) (t time.Time, ok bool) {
	if b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return t, false
	}
	year, month, day := digits(b[:4]), digits(b[5:7]), digits(b[8:10])
	hour, minute, second := digits(b[11:13]), digits(b[14:16]), digits(b[17:19])
	nano := 0
	if n := len(b) - len("2006-01-02T15:04:05.Z"); n >= 0 {
		if b[19] != '.' || n < 1 || n > 9 {
			return t, false
		}
		nano = digits(b[20 : 20+n])
		for range 9 - n {
			nano *= 10
		}
	}
	if year|month|day|hour|minute|second|nano < 0 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
	return t, day <= 28 || t.Day() == day // time.Date turns 31 April into 1 May
}

// digits returns the number of at most nine digits, and a negative one if there are other
// characters.
func digits(b []byte) (n int) {
	for _, c := range b {
		if c -= '0'; c > 9 {
			return math.MinInt
		}
		n = n*10 + int(c)
	}
	return n
}

// memory holds the texts and bytes that are decoded. Several of them share one allocation of
// limited size, so that a value that a caller keeps holds little more than itself.
type memory struct {
	texts strings.Builder
	bytes []byte
	size  int // of an allocation for texts
}

// textPiece is the size of an allocation for texts of the entities of a list: the JSON of two or
// three small entities. An allocation for bytes has a third of that size.
const textPiece = 1792

// text returns b as a string.
func (m *memory) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if m.texts.Cap()-m.texts.Len() < len(b) {
		if 2*len(b) > m.size {
			return string(b)
		}
		m.texts = strings.Builder{}
		m.texts.Grow(m.size)
	}
	from := m.texts.Len()
	m.texts.Write(b)
	return m.texts.String()[from:]
}

// room returns n bytes.
func (m *memory) room(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	if cap(m.bytes)-len(m.bytes) < n {
		if 2*n > m.size/3 {
			return make([]byte, n)
		}
		m.bytes = make([]byte, 0, m.size/3)
	}
	from := len(m.bytes)
	m.bytes = m.bytes[:from+n]
	return m.bytes[from : from+n : from+n]
}
