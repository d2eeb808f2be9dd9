package stored

import (
	"encoding/base64"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// stateProperties belong to one incarnation of a row. Only a write that knows the stored row writes
// them, by its ETag.
var stateProperties = []string{reserved.Incarnation, reserved.MaintainerState}

// StateProperties are the properties that a write by key must not store.
func StateProperties() []string { return slices.Clone(stateProperties) }

// HasState reports whether a row contains maintainer state.
func HasState(row edm.Stored, k keys.Key) bool {
	if !row.MayHave(reserved.MaintainerState) {
		return false
	}
	r, _, err := row.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return true
	}
	v, err := r.Property(reserved.MaintainerState)
	if err != nil {
		return true
	}
	state, err := StateIn(v, k.RowKey())
	return err != nil || len(state) > 0
}

// HasState is the function HasState for a row that was read.
func (r *Row) HasState() bool {
	return r.Has(reserved.MaintainerState) && HasState(edm.Stored{Columns: r.columns}, r.Key)
}

// StateCorrupt reports whether the row's maintainer state cannot be read; see
// Mode.IgnoreCorruptState.
func (r *Row) StateCorrupt() bool {
	_, err := StateIn(Find(r.columns, reserved.MaintainerState), r.Key.RowKey())
	return err != nil
}

// MaintainerState returns a maintainer's part of the row's maintainer state, none if the state is
// corrupt.
func (r *Row) MaintainerState(maintainer string) []string {
	was, err := StateIn(Find(r.columns, reserved.MaintainerState), r.Key.RowKey())
	if err != nil {
		return nil
	}
	return was[maintainer]
}

// SplitState returns the RowKeys in the maintainer state of an entity, and the texts behind them,
// which describe the content of the rows. It leaves out texts that no row can have as its RowKey,
// which another program has written.
func SplitState(texts []string) (rows, content []string) {
	rows = texts
	if i := slices.IndexFunc(texts, func(s string) bool { return strings.HasPrefix(s, "/") }); i >= 0 {
		rows, content = texts[:i], texts[i:]
	}
	if invalid := func(s string) bool { return keys.Raw("p", s).Err() != nil }; slices.ContainsFunc(rows, invalid) {
		rows = slices.DeleteFunc(slices.Clone(rows), invalid)
	}
	return rows, content
}

// Maintainer state is stored with its entity in the property _ix, an Edm.Binary, in which a
// character takes one byte instead of the two of an Edm.String. It is a header, and a text, which
// is packed (pack.go):
//
//	2\xdc\xdd\x50 email/^jonesj@contoso.com#last/^Jones!*?#team/^Jones      (without the space)
//
//	2             the text is packed; 1 if it is shorter as it is, and is not packed
//	\xdc\xdd\x50  a checksum: the lowest 24 bits of the CRC-32 (IEEE) of the RowKey, a line feed and the text, big-endian
//	#             between maintainers, in the order of their names
//	email         the name of a maintainer
//	/             begins an item of its state
//	?             begins an item that begins with /, which is left out
//	^             in an item: the maintainer's name and _
//	*             in an item: _ and the entity's RowKey
//	\             before one of \ / ? # ^ * that stands for itself
//
// In the example, the entity is empid_000223, and its state is email_jonesj@contoso.com of email,
// last_Jones!_empid_000223 and / of last, and team_Jones of team. What is left out follows from the
// row itself, whatever the maintainer's functions are by now. Values are not left out, although a
// property of the row may contain them: another program may change that property. The RowKey is
// part of the checksum: if another program copies the row under another key, the copy's _ix is
// corrupt, and is never taken for the copy's own. An _ix without items is empty, or a header alone:
// the entity has no derived rows of the maintainers that wrote it. A row without _ix was written
// without maintainers, or by another program: derived rows of it may exist all the same.
const (
	statePlain        = '1'
	statePacked       = '2'
	stateHeaderLength = 4 // bytes: one of these and the checksum
	stateSigns        = `\/?#^*`
)

// MaxState is the most bytes that the maintainer state of an entity may have.
const MaxState = 60 << 10

var errState = &errs.DecodeError{Field: reserved.MaintainerState, Reason: "is no maintainer state"}

// EncodeState returns the value of _ix for the state of each maintainer, by its name.
func EncodeState(all map[string][]string, rowKey string) []byte {
	b := make([]byte, 0, 256) // the text
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(all[name]) == 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, '#')
		}
		b = escapeState(b, name)
		for _, item := range all[name] {
			if rest, is := strings.CutPrefix(item, "/"); is {
				b = escapeState(append(b, '?'), rest)
				continue
			}
			b = append(b, '/')
			item, suffixed := strings.CutSuffix(item, "_"+rowKey)
			for _, place := range []string{"", reserved.Derived} { // where derived rows are
				if rest, is := strings.CutPrefix(item, place+name+"_"); is {
					b = append(append(b, place...), '^')
					item = rest
					break
				}
			}
			b = escapeState(b, item)
			if suffixed {
				b = append(b, '*')
			}
		}
	}
	sum := stateChecksum(b, rowKey)
	state := append(make([]byte, 0, stateHeaderLength+len(b)), statePacked, sum[0], sum[1], sum[2])
	state = appendPacked(state, b)
	if len(state) <= stateHeaderLength+len(b) {
		return state
	}
	state = append(state[:0], statePlain)
	return append(append(state, sum[:]...), b...)
}

func escapeState(b []byte, s string) []byte {
	for i := range len(s) {
		if strings.IndexByte(stateSigns, s[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return b
}

// stateChecksum returns the checksum of a text.
func stateChecksum(text []byte, rowKey string) [3]byte {
	b := append(make([]byte, 0, len(rowKey)+1+len(text)), rowKey...)
	sum := crc32.ChecksumIEEE(append(append(b, '\n'), text...))
	return [...]byte{byte(sum >> 16), byte(sum >> 8), byte(sum)}
}

// StateIn reads the state of each maintainer from the value of _ix in a row with this RowKey.
func StateIn(v edm.Value, rowKey string) (map[string][]string, error) {
	switch v.Kind {
	case edm.Binary:
		return parseState(v.B, rowKey)
	case edm.Absent:
		return parseState(nil, rowKey)
	case edm.String: // base64, as stored by a program that reads JSON and loses the types
		if b, err := base64.StdEncoding.DecodeString(v.S); err == nil {
			return parseState(b, rowKey)
		}
	}
	return nil, errState
}

// StateText returns the text in the value of _ix, and whether there can be one.
func StateText(b []byte) (text []byte, sound bool) {
	if len(b) < stateHeaderLength {
		return nil, false
	}
	switch b[0] {
	case statePlain:
		return b[stateHeaderLength:], true
	case statePacked:
		return unpack(b[stateHeaderLength:]), true
	}
	return nil, false
}

// parseState reads what EncodeState wrote.
func parseState(b []byte, rowKey string) (map[string][]string, error) {
	all := map[string][]string{}
	if len(b) == 0 {
		return all, nil
	}
	text, sound := StateText(b)
	if !sound || [3]byte(b[1:]) != stateChecksum(text, rowKey) {
		return nil, errState
	}
	if len(text) == 0 {
		return all, nil
	}
	var name, item strings.Builder
	now := &name // or an item
	var items []string
	end := func() bool { // of a name or an item
		if now == &item {
			items = append(items, item.String())
			item.Reset()
		}
		return name.Len() > 0
	}
	group := func() bool {
		_, twice := all[name.String()]
		if !end() || len(items) == 0 || twice {
			return false
		}
		all[name.String()], items, now = items, nil, &name
		name.Reset()
		return true
	}
	for i := 0; i < len(text); i++ {
		sound := true
		switch c := text[i]; c {
		case '\\':
			if i++; i == len(text) {
				return nil, errState
			}
			now.WriteByte(text[i])
		case '/', '?':
			sound = end()
			item.Grow(min(len(text)+len(rowKey), 128)) // most have one item
			now = &item
			if c == '?' {
				now.WriteByte('/')
			}
		case '#':
			sound = group()
		case '^', '*':
			sound = now == &item
			if c == '^' {
				now.WriteString(name.String())
				now.WriteByte('_')
			} else {
				now.WriteByte('_')
				now.WriteString(rowKey)
			}
		default:
			now.WriteByte(c)
		}
		if !sound {
			return nil, errState
		}
	}
	if !group() {
		return nil, errState
	}
	return all, nil
}

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
