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
