package stored

// The text of maintainer state is packed with prefix codes: frequent characters take few bits.
// Which code a character has depends on the kind of the character before it, because letters follow
// letters, and digits follow digits. A typical character takes 4.6 bits.
//
// packTables has a table for each kind. Its entry n lists the characters with codes of n bits. The
// codes are canonical: they ascend with their lengths, and in the order of a list. packEscape
// stands for all characters that a table does not list: 8 bits with the character follow. Its code
// is the last one of its table, all ones. So the ones that fill the last byte are no character.
//
// The tables are part of the stored form. Another table needs another version.
var packTables = [...][]string{
	afterSign:   {4: "#0bcs", 5: "2adlmoptu", 6: "*14Fefgnrw", 7: "356789?ABCDEGMNSUhijkqv{", 8: "HJLOPRTVWyz|", 9: "KQXYZ", 10: "Ix", 11: "!-./=@_\x00"},
	afterLower:  {4: "/aeinort", 5: "=cdglmsu", 6: "*.@hpy", 7: "!#08?_bkvw", 8: "-12345679fxz{", 9: "CJOjq", 10: "AEFHKLPQSVYZ", 11: "DGIMNRTUWX|", 12: "B\x00"},
	afterDigit:  {3: "0", 4: "123456789", 5: "#*", 6: "-abcdef", 7: "?T", 8: "ABCDEFGHJMNPQRSVWXYZgmprs", 9: "KLlnow|", 10: "Ohjtuvy", 11: "./=@IU_ikqxz{", 12: "!\x00"},
	afterUpper:  {5: "#*01ARSTVYao{", 6: ".23456789BCDEFGHJKLMNPQWXZeir", 7: "?Uchlmnptu", 8: "IObdfgjkqsvwxz", 9: "y", 10: "=@_|", 11: "!-/\x00"},
	afterEquals: {1: "2", 4: "1345678", 5: "9", 6: "0\x00"},
	afterSlash:  {1: "^\x00"},
	afterStar:   {1: "?", 2: "#\x00"},
}

// The kinds of the character before.
const (
	afterSign = iota // or at the beginning
	afterLower
	afterDigit
	afterUpper
	afterEquals
	afterSlash
	afterStar
)

const packEscape = 0

func packKind(before byte) int {
	switch {
	case 'a' <= before && before <= 'z':
		return afterLower
	case '0' <= before && before <= '9':
		return afterDigit
	case 'A' <= before && before <= 'Z':
		return afterUpper
	case before == '=':
		return afterEquals
	case before == '/':
		return afterSlash
	case before == '*':
		return afterStar
	}
	return afterSign
}

// maxPackBits is the length of the longest code.
const maxPackBits = 12

// packCodes are the codes of a table.
type packCodes struct {
	of     [256]packCode           // of a character; of the escape, if it has none
	first  [maxPackBits + 1]uint16 // the lowest code of a length
	limit  [maxPackBits + 1]uint16 // behind the codes of a length and of shorter ones, in as many bits as the longest code has
	listed [maxPackBits + 1]string // the characters with codes of a length
}

type packCode struct {
	bits   uint16
	length uint8
}

var packed = newPackCodes()

func newPackCodes() (all [len(packTables)]packCodes) {
	for kind, table := range packTables {
		c := &all[kind]
		next := uint16(0)
		for length, characters := range table {
			next <<= 1
			c.first[length], c.listed[length] = next, characters
			for i := range len(characters) {
				c.of[characters[i]] = packCode{next, uint8(length)}
				next++
			}
			c.limit[length] = next << (maxPackBits - length)
		}
		for i := range c.of {
			if c.of[i].length == 0 {
				c.of[i] = c.of[packEscape]
			}
		}
	}
	return all
}

// appendPacked appends a packed text.
func appendPacked(b []byte, text []byte) []byte {
	var bits uint64 // the lowest n are not appended yet
	n := 0
	kind := afterSign
	for _, character := range text {
		c := &packed[kind]
		code := c.of[character]
		bits = bits<<code.length | uint64(code.bits)
		n += int(code.length)
		if code == c.of[packEscape] {
			bits = bits<<8 | uint64(character)
			n += 8
		}
		for n >= 8 {
			n -= 8
			b = append(b, byte(bits>>n))
		}
		kind = packKind(character)
	}
	if n > 0 {
		b = append(b, byte(bits<<(8-n))|byte(0xff>>n))
	}
	return b
}

// unpack returns the text that appendPacked has packed. What it returns for other bytes is any
// text, of at most 8 characters a byte.
func unpack(b []byte) []byte {
	text := make([]byte, 0, 2*len(b))
	r := bitReader{b: b}
	kind := afterSign
	for {
		character, ok := r.character(&packed[kind])
		if !ok {
			return text
		}
		text = append(text, character)
		kind = packKind(character)
	}
}

// bitReader reads the bits of bytes, the highest bit of a byte first.
type bitReader struct {
	b  []byte
	at int // in bits
}

// character returns the next character, and false at the end.
func (r *bitReader) character(c *packCodes) (byte, bool) {
	next := r.peek()
	length := 1
	for next >= c.limit[length] {
		length++
	}
	i := next>>(maxPackBits-length) - c.first[length]
	r.at += length
	if character := c.listed[length][i]; character != packEscape {
		return character, r.at <= 8*len(r.b)
	}
	character := byte(r.peek() >> (maxPackBits - 8))
	r.at += 8
	return character, r.at <= 8*len(r.b)
}

// peek returns the next bits, as many as the longest code has. Behind the end are ones.
func (r *bitReader) peek() uint16 {
	bits := uint32(0)
	for i := range 3 {
		next := byte(0xff)
		if at := r.at/8 + i; at < len(r.b) {
			next = r.b[at]
		}
		bits = bits<<8 | uint32(next)
	}
	return uint16(bits >> (24 - maxPackBits - r.at%8) & (1<<maxPackBits - 1))
}
