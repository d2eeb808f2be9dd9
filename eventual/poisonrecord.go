package eventual

import (
	"encoding/json"
	"time"
)

// The classes of poison: why a message became poison.
const (
	ClassUndecodable = "undecodable" // the text is not a message of this library
	ClassExpired     = "expired"     // the write is older than commit.Retention and has no commit record
	ClassAhead       = "ahead"       // the write's clock was more than a day ahead, and it had no commit record for WorkerOptions.UnknownKindTimeout
	ClassUnknown     = "unknown"     // no worker knew the table, kind or version for WorkerOptions.UnknownKindTimeout
	ClassAttempts    = "attempts"    // WorkerOptions.Attempts attempts failed
	ClassCrashes     = "deaths"      // the message crashed its workers: see WorkerOptions.Attempts
	ClassHandler     = "handler"     // a handler returned Poison
)

// PoisonMessage is a message in the poison queue.
type PoisonMessage struct {
	ID       string
	Class    string // one of the classes, "" for a message that no worker has moved to the poison queue
	Kind     string // of the effect that failed, or ""
	Attempts int
	Time     time.Time // when the message became poison

	// The write that the message names, if the message can be decoded. Copies of one message have the same OperationID.
	Table, Partition, OperationID string

	Text string // as in the queue of the worker
}

// poisonRecord is the stored form of a poison message. It contains no text of an error, which may contain secrets.
type poisonRecord struct {
	Version  int       `json:"v"`
	Class    string    `json:"class"`
	Kind     string    `json:"kind,omitempty"`
	Attempts int       `json:"attempts"`
	Time     time.Time `json:"time"`
	Message  string    `json:"message"`
}

// poisonRecordVersion is the version of the format of poison records.
const poisonRecordVersion = 1

// poisonText returns the text for the poison queue: a poison record, or the text of the message itself if that leaves no room for
// the record.
func poisonText(m *receivedMessage, class, effect string, now time.Time) string {
	r := poisonRecord{Version: poisonRecordVersion, Class: class, Kind: effect, Attempts: m.attempt(), Time: now.UTC(), Message: withHistory(m.text, history{})}
	b, err := json.Marshal(r)
	if s := asciiJSON(string(b)); err == nil && encodedLength(s) <= maxMessage {
		return s
	}
	if encodedLength(m.text) <= maxMessage+100 {
		return m.text
	}
	r.Message = "" // the text was stored by another client, in fewer bytes than this encoding needs
	b, _ = json.Marshal(r)
	return asciiJSON(string(b))
}

// decodePoison reads a message of the poison queue.
func decodePoison(d delivery) PoisonMessage {
	p := PoisonMessage{ID: d.id, Text: d.text, Time: d.inserted}
	var r poisonRecord
	if json.Unmarshal([]byte(plainText(d.text)), &r) == nil && r.Version == poisonRecordVersion && r.Class != "" {
		p.Class, p.Kind, p.Attempts, p.Time, p.Text = r.Class, r.Kind, r.Attempts, r.Time, r.Message
	}
	m, _ := parse(p.Text)
	p.Table, p.Partition, p.OperationID = m.Table, m.Partition, m.Op
	return p
}
