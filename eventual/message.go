package eventual

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// messageVersion is the version of the format of messages.
const messageVersion = 1

// message names a write by its operation ID. A message contains no other data, so a forged message
// executes only effects that are due.
type message struct {
	Version   int    `json:"v"`
	Table     string `json:"table"`
	Partition string `json:"partition"`
	Op        string `json:"op,omitempty"`
	Hour      string `json:"hour,omitempty"`

	Participants []commit.Place `json:"remotes,omitempty"` // of a write over several partitions; as it is stored

	history
}

var (
	errUndecodable = errors.New("the text is not a message of this library")
	errNewer       = errors.New("the message is of a later version of this library")
)

// text returns the stored form of the message.
func (m message) text() string {
	b, _ := json.Marshal(m) // all fields can be encoded
	return asciiJSON(string(b))
}

// parse reads the text of a message. The text is not trusted.
func parse(text string) (m message, err error) {
	b := []byte(plainText(text))
	var of struct {
		Version int `json:"v"`
	}
	switch err := json.Unmarshal(b, &of); {
	case err != nil || of.Version < messageVersion:
		return m, errUndecodable
	case of.Version > messageVersion:
		_ = json.Unmarshal(b, &m.history) // the history has the same form in all versions
		return m, errNewer
	}
	if json.Unmarshal(b, &m) != nil || !m.valid() {
		return message{}, errUndecodable // nothing of an invalid message is used
	}
	return m, nil
}

// valid reports whether a message names a possible table and partition, and either a write, with
// participants that a write can have, or an hour.
func (m message) valid() bool {
	if !tableName.MatchString(m.Table) || !isStorableKey(m.Partition) {
		return false
	}
	if m.Hour != "" {
		_, err := time.Parse(time.RFC3339, m.Hour)
		return m.Op == "" && err == nil
	}
	return engine.PossibleParticipants(m.Participants) && !(&commit.Record{OperationID: m.Op}).Time().IsZero()
}

// tableName matches the table names that the service allows ('Understanding the Table service data
// model').
var tableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{2,62}$`)

// isStorableKey reports whether the service allows a PartitionKey ('Understanding the Table service
// data model'), even if this library does not.
func isStorableKey(s string) bool {
	return len(utf16.Encode([]rune(s))) <= 512 && s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7F && r < 0xA0 || strings.ContainsRune("/\\#?", r)
	})
}

// partition returns the PartitionKey in the message.
func (m message) partition() keys.PartitionKey { return keys.Raw(m.Partition, "").Partition() }

// partitionName returns a unique name for the partition in the message. The case of table names is
// ignored.
func (m message) partitionName() string { return strings.ToLower(m.Table) + "/" + m.Partition }

// maxMessage is the limit of a queue for the encoded text of a message, in bytes ('Put Message').
const maxMessage = 64 << 10

// plainText decodes the text of a message that another client has encoded in base64, as the clients
// of other languages do by default.
func plainText(text string) string {
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") {
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(b)
		}
	}
	return text
}

// asciiJSON escapes each character beyond ASCII, because some services cut a text between the bytes
// of a character.
func asciiJSON(s string) string {
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

// encodedLength returns the length of a text in the XML of a request, including 100 bytes for the
// elements around the text.
func encodedLength(s string) int {
	n := len(s) + 100
	for i := range len(s) {
		switch s[i] {
		case '"', '\'', '&', '\n', '\r', '\t':
			n += 4
		case '<', '>':
			n += 3
		}
	}
	return n
}

// receivedMessage is a delivery with its decoded message. It derives attempts and crashes from the
// number of deliveries and the history.
type receivedMessage struct {
	delivery
	message message
	err     error   // why the text cannot be decoded
	history history // the plausible entries of the message's history

	maxAttempts int64 // WorkerOptions.Attempts
	historyFull bool  // the message has no room for a longer history
}

func newReceivedMessage(d delivery, maxAttempts int) receivedMessage {
	r := receivedMessage{delivery: d, maxAttempts: int64(maxAttempts)}
	r.message, r.err = parse(d.text)
	r.history = r.message.history.plausible(d.count)
	r.historyFull = r.mayBeDeadly() && r.isolatedText() == d.text
	return r
}

// attempt returns the number of times that a worker has begun to execute the message, including
// this time.
func (r *receivedMessage) attempt() int { return int(max(r.count-r.history.Uncounted, 1)) }

// unfinished returns the number of earlier deliveries that did not end: the worker crashed or lost
// the message.
func (r *receivedMessage) unfinished() int64 {
	return r.count - 1 - r.history.Uncounted - r.history.Failed
}

// failures returns the number of failed attempts before this attempt. If the message has no room
// for a history, unfinished deliveries count, too.
func (r *receivedMessage) failures() int {
	if r.historyFull {
		return int(r.history.Failed + r.unfinished())
	}
	return int(r.history.Failed)
}

// mayBeDeadly reports whether the message may have crashed its workers.
func (r *receivedMessage) mayBeDeadly() bool { return r.err == nil && r.unfinished() >= r.maxAttempts }

// isDeadly reports whether a message that may be deadly has crashed its workers while it was
// isolated.
func (r *receivedMessage) isDeadly() bool {
	if r.historyFull {
		return r.unfinished() >= 2*r.maxAttempts
	}
	return r.history.Isolated >= r.maxAttempts
}

// isolatedText returns the text of the message with one more execution in isolation.
func (r *receivedMessage) isolatedText() string {
	h := r.history
	h.Isolated++
	return withHistory(r.text, h)
}
