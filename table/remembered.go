package table

import (
	"encoding/base64"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
)

// What maintainers remember of an entity is stored with it in _ix, and behind 30 KiB in _ix2, as one text:
//
//	13N1Q email/^jonesj@contoso.com#last/^Jones!*?#team/^Jones      (without the space)
//
//	1       the version of the form
//	3N1Q    a checksum: the lowest 24 bits of the CRC-32 (IEEE) of the RowKey, a line feed and all that follows, big-endian, in base64url
//	#       between maintainers, which stand in the order of their names
//	email   the name of a maintainer
//	/       begins a text that it remembers
//	?       begins a text that begins with /, which is left out
//	^       in a text: the maintainer's name and _
//	*       in a text: _ and the entity's RowKey
//	\       before one of \ / ? # ^ * that stands for itself
//
// Here empid_000223 remembers email_jonesj@contoso.com of email, last_Jones!_empid_000223 and / of last, and team_Jones of team. What is
// left out is rebuilt from the row itself, whatever the maintainer's functions are by now. Values are not left out, although the row
// may hold them in a property: another program may change that. The RowKey is part of the checksum, so that a row which somebody has
// copied under another key remembers nothing of the first one's rows.
const (
	rememberedForm = "1"
	rememberedSum  = 4 // characters of the checksum
	rememberedSign = `\/?#^*`
)

var errRemembered = &DecodeError{Field: ixProperty, Reason: "is not what maintainers have written"}

// rememberedText is the text of what maintainers remember of an entity, by their names; "" for nothing.
func rememberedText(all map[string][]string, rowKey string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(all[name]) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('#')
		}
		escapeRemembered(&b, name)
		for _, text := range all[name] {
			if rest, is := strings.CutPrefix(text, "/"); is {
				b.WriteByte('?')
				escapeRemembered(&b, rest)
				continue
			}
			b.WriteByte('/')
			text, suffixed := strings.CutSuffix(text, "_"+rowKey)
			for _, place := range []string{"", "~x|"} { // where derived rows are
				if rest, is := strings.CutPrefix(text, place+name+"_"); is {
					b.WriteString(place + "^")
					text = rest
					break
				}
			}
			if escapeRemembered(&b, text); suffixed {
				b.WriteByte('*')
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return rememberedForm + sumRemembered(b.String(), rowKey) + b.String()
}

func escapeRemembered(b *strings.Builder, s string) {
	for i := range len(s) {
		if strings.IndexByte(rememberedSign, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
}

func sumRemembered(text, rowKey string) string {
	sum := crc32.ChecksumIEEE([]byte(rowKey + "\n" + text))
	return base64.RawURLEncoding.EncodeToString([]byte{byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// parseRemembered reads what rememberedText has written.
func parseRemembered(text, rowKey string) (map[string][]string, error) {
	all := map[string][]string{}
	if text == "" {
		return all, nil
	}
	text, is := strings.CutPrefix(text, rememberedForm)
	if !is || len(text) <= rememberedSum || text[:rememberedSum] != sumRemembered(text[rememberedSum:], rowKey) {
		return nil, errRemembered
	}
	var name, item strings.Builder
	now := &name // or a text
	var texts []string
	end := func() bool { // of a name or a text
		if now == &item {
			texts = append(texts, item.String())
			item.Reset()
		}
		return name.Len() > 0
	}
	group := func() bool {
		_, twice := all[name.String()]
		if !end() || len(texts) == 0 || twice {
			return false
		}
		all[name.String()], texts, now = texts, nil, &name
		name.Reset()
		return true
	}
	text = text[rememberedSum:]
	for i := 0; i < len(text); i++ {
		sound := true
		switch c := text[i]; c {
		case '\\':
			if i++; i == len(text) {
				return nil, errRemembered
			}
			now.WriteByte(text[i])
		case '/', '?':
			sound = end()
			if now = &item; c == '?' {
				now.WriteByte('/')
			}
		case '#':
			sound = group()
		case '^', '*':
			sound = now == &item
			if c == '^' {
				now.WriteString(name.String() + "_")
			} else {
				now.WriteString("_" + rowKey)
			}
		default:
			now.WriteByte(c)
		}
		if !sound {
			return nil, errRemembered
		}
	}
	if !group() {
		return nil, errRemembered
	}
	return all, nil
}
