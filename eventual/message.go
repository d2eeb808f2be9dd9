package eventual

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// version is that of the form of messages.
const version = 1

// message is what a queue holds: the operation ID of a write, or the name of an hour whose intents are to be cleaned up. It brings no data, so that
// one that was forged can only ask for work that is due anyway.
type message struct {
	Version   int    `json:"v"`
	Table     string `json:"table"`
	Partition string `json:"partition"`
	Op        string `json:"op,omitempty"`
	Hour      string `json:"hour,omitempty"`

	notes
}

// notes are what workers note in a message.
type notes struct {
	Uncounted int64      `json:"uncounted,omitempty"` // deliveries that are not to be counted
	Tried     int64      `json:"tried,omitempty"`     // attempts that have failed and ended
	Alone     int64      `json:"alone,omitempty"`     // times that a worker began with it alone, and did not come to an end
	Away      int64      `json:"away,omitempty"`      // of the uncounted deliveries, those at the end for which storage was away
	Since     *time.Time `json:"since,omitempty"`     // nobody has known what to do with it
}

// believed returns what can be true of notes in a message that was delivered so many times. A message is not trusted: numbers
// that cannot be are none, or a message could say of itself that it is always new.
func (n notes) believed(gets int64) notes {
	left := gets - 1 // this delivery is in none of the numbers
	for _, p := range []*int64{&n.Uncounted, &n.Tried, &n.Alone} {
		if *p < 0 || *p > left {
			*p = 0
		}
		left -= *p
	}
	n.Away = max(0, min(n.Away, n.Uncounted))
	return n
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
	if json.Unmarshal(b, &m) != nil || !m.valid() {
		return message{}, errUndecodable // nothing of it is what it says
	}
	return m, nil
}

// valid reports whether a message names a write, or an hour, of a table and a partition that can be.
func (m message) valid() bool {
	if !tableName.MatchString(m.Table) || !canBeKey(m.Partition) {
		return false
	}
	if m.Hour != "" {
		_, err := time.Parse(time.RFC3339, m.Hour)
		return m.Op == "" && err == nil
	}
	return (&table.CommitRecord{OperationID: m.Op}).Time() != time.Time{}
}

// tableName is what the service takes for the name of a table ('Understanding the Table service data model').
var tableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{2,62}$`)

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
func noted(text string, n notes) string {
	all := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(plain(text)), &all) != nil {
		return text
	}
	was := len(all)
	for name := range all { // which are read in any case
		if slices.ContainsFunc([]string{"uncounted", "tried", "alone", "away", "since"}, func(s string) bool { return strings.EqualFold(name, s) }) {
			delete(all, name)
		}
	}
	if n == (notes{}) && was == len(all) {
		return text
	}
	for name, i := range map[string]int64{"uncounted": n.Uncounted, "tried": n.Tried, "alone": n.Alone, "away": n.Away} {
		if i > 0 {
			all[name], _ = json.Marshal(i)
		}
	}
	if n.Since != nil {
		all["since"], _ = json.Marshal(n.Since)
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
