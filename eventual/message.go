package eventual

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/keys"
)

// version is that of the form of messages.
const version = 1

// message is what a queue holds: the name of a write, or of an hour whose intents are to be cleaned up. It brings no data, so that
// one that was forged can only ask for work that is due anyway.
type message struct {
	Version   int    `json:"v"`
	Table     string `json:"table"`
	Partition string `json:"partition"`
	Op        string `json:"op,omitempty"`
	Hour      string `json:"hour,omitempty"`

	notes
}

// notes are what workers note in a message when they give it back: how many of its deliveries are not to be counted, and since when
// nobody has known what to do with it.
type notes struct {
	Uncounted int64      `json:"uncounted,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
}

// text is the message as it is stored: JSON in ASCII, which passes through XML and through services that cut texts between bytes.
func (m message) text() string {
	b, _ := json.Marshal(m) // it holds nothing that cannot be
	return ascii(string(b))
}

// ascii escapes what is beyond ASCII in JSON.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80 && r != 0x7F:
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

var (
	errUndecodable = errors.New("the message is none of this library's")
	errNewer       = errors.New("the message is of a later version of this library")
)

// plain is the text of a message that other languages' clients have put into base64, as theirs do by default.
func plain(text string) string {
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") {
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(b)
		}
	}
	return text
}

// parse reads a message. It is not trusted.
func parse(text string) (m message, err error) {
	b := []byte(plain(text))
	var of struct {
		Version int `json:"v"`
	}
	switch err := json.Unmarshal(b, &of); {
	case err != nil || of.Version < version:
		return m, errUndecodable
	case of.Version > version:
		_ = json.Unmarshal(b, &m.notes) // they are noted in any version
		return m, errNewer
	}
	if json.Unmarshal(b, &m) != nil {
		return m, errUndecodable
	}
	if m.Table == "" || !canBeKey(m.Partition) || (m.Op == "") == (m.Hour == "") {
		return m, errUndecodable
	}
	return m, nil
}

// canBeKey tells whether a row can have the text as PartitionKey ('Understanding the Table service data model'), also one that this
// library would not make.
func canBeKey(s string) bool {
	return len(utf16.Encode([]rune(s))) <= 512 && s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7F && r < 0xA0 || strings.ContainsRune("/\\#?", r)
	})
}

// partition is the PartitionKey that a message names.
func (m message) partition() keys.Enc { return keys.Stored(m.Partition, "").Partition() }

// noted is the text of a message with what is to be noted in it. What else it holds stays, for it may be of a later version.
func noted(text string, uncounted int64, since *time.Time) string {
	all := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(plain(text)), &all) != nil {
		return text
	}
	was := len(all)
	for name := range all { // which are read in any case
		if strings.EqualFold(name, "uncounted") || strings.EqualFold(name, "since") {
			delete(all, name)
		}
	}
	if uncounted <= 0 && since == nil && was == len(all) {
		return text
	}
	if uncounted > 0 {
		all["uncounted"], _ = json.Marshal(uncounted)
	}
	if since != nil {
		all["since"], _ = json.Marshal(since)
	}
	b, err := json.Marshal(all)
	if err != nil {
		return text
	}
	if s := ascii(string(b)); xmlLength(s) <= maxMessage {
		return s
	}
	return text
}
