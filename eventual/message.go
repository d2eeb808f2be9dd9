package eventual

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// messageVersion is the version of the format of messages.
const messageVersion = 1

// message names a write by its operation ID, or an hour whose commit records are due for clean-up. A message contains no other
// data, so a forged message executes only effects that are due.
type message struct {
	Version   int    `json:"v"`
	Table     string `json:"table"`
	Partition string `json:"partition"`
	Op        string `json:"op,omitempty"`
	Hour      string `json:"hour,omitempty"`

	Remotes []engine.Remote `json:"remotes,omitempty"` // of a write over several partitions

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
		return message{}, errUndecodable // no part of an invalid message is used
	}
	return m, nil
}

// valid reports whether a message names a possible table and partition, and either a write, with remotes that a write can have, or an
// hour.
func (m message) valid() bool {
	if !tableName.MatchString(m.Table) || !isStorableKey(m.Partition) {
		return false
	}
	if m.Hour != "" {
		_, err := time.Parse(time.RFC3339, m.Hour)
		return m.Op == "" && err == nil
	}
	return engine.PossibleRemotes(engine.Remote{Table: m.Table, Partition: m.Partition}, m.Remotes) && !(&commit.Record{OperationID: m.Op}).Time().IsZero()
}

// tableName matches the table names that the service allows ('Understanding the Table service data model').
var tableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{2,62}$`)

// isStorableKey reports whether the service allows a PartitionKey ('Understanding the Table service data model'), even if this
// library does not.
func isStorableKey(s string) bool {
	return len(utf16.Encode([]rune(s))) <= 512 && s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7F && r < 0xA0 || strings.ContainsRune("/\\#?", r)
	})
}

// partition returns the PartitionKey in the message.
func (m message) partition() keys.Enc { return keys.Stored(m.Partition, "").Partition() }

// partitionName returns a unique name for the partition in the message. The case of table names is ignored.
func (m message) partitionName() string { return strings.ToLower(m.Table) + "/" + m.Partition }
