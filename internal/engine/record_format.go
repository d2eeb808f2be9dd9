package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// The states. A write is committed if its record is pending or done; an aborted one is an abort record.
const (
	RecordPending RecordState = iota + 1
	RecordDone
	RecordAborted
)

// Record is a commit record, or an abort record in its place.
type Record struct {
	Partition   string
	OperationID string
	State       RecordState
	Effects     []Effect
	ETag        azcore.ETag // of its row
}

// RecordState is the state of a commit record.
type RecordState int

var recordStates = [...]string{RecordPending: "pending", RecordDone: "done", RecordAborted: "aborted"}

// String returns the state as it is stored, "" for none.
func (s RecordState) String() string {
	if s <= 0 || int(s) >= len(recordStates) {
		return ""
	}
	return recordStates[s]
}

// Retention is the least time for which commit records are kept. The missing record of an older write proves nothing.
const Retention = 24 * time.Hour

// The properties of a commit record, besides its version.
const (
	stateProperty   = "State"
	effectsProperty = "Effects" // as JSON, the rest in Effects1, Effects2, …
	recordVersion   = 1
)

// The most that the effects of a write have as they are stored, and one part of them.
const (
	maxEffects     = 256 << 10
	maxEffectsPart = 30 << 10
)

// storedEffect is an effect in a commit record.
type storedEffect struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	Row     string `json:"row"`
	Payload []byte `json:"payload"`

	Table     string `json:"table,omitempty"`
	Partition string `json:"partition,omitempty"`
}

// RecordKey returns the key of the commit record of a write.
func RecordKey(partition, id string) keys.Key {
	return keys.Stored(partition, reserved.CommitRecord+id)
}

// recordBody is the row of a commit record. named reports that it gets the operation ID of a write that changes it.
func recordBody(k keys.Key, state RecordState, effects []Effect, named bool) (edm.Body, error) {
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), 3)
	w.Put(reserved.Version, edm.Value{Kind: edm.Int32, I: recordVersion})
	w.Put(stateProperty, edm.Value{Kind: edm.String, S: state.String()})
	if len(effects) > 0 {
		stored := make([]storedEffect, len(effects))
		for i, e := range effects {
			stored[i] = storedEffect{e.Kind, e.Version, e.RowKey, e.Payload, e.Table, e.Partition}
		}
		b, err := json.Marshal(stored)
		if err != nil {
			return edm.Body{}, err
		}
		if len(b) > maxEffects {
			return edm.Body{}, &LimitError{Limit: "bytes of the effects of a write", Got: len(b), Max: maxEffects}
		}
		for i, part := range parts(string(b), maxEffectsPart) {
			w.Put(partName(effectsProperty, i), edm.Value{Kind: edm.String, S: part})
		}
	}
	if named {
		w.Reserve(UnassignedID)
	}
	return w.Finish()
}

// partName is the property of a part of a long text.
func partName(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprint(name, i)
}

// parts cuts a text into parts of at most so many bytes, between characters.
func parts(s string, most int) (all []string) {
	for len(s) > most {
		cut := most
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		all, s = append(all, s[:cut]), s[cut:]
	}
	return append(all, s)
}

// recordOf reads a commit record from its row.
func recordOf(r *Row) (*Record, error) {
	rec := &Record{Partition: r.Key.PartitionKey(), OperationID: strings.TrimPrefix(r.Key.RowKey(), reserved.CommitRecord), ETag: r.ETag}
	if err := checkVersion(r, "commit record", recordVersion); err != nil {
		return nil, err
	}
	state := Find(r.Columns, stateProperty)
	for s := RecordPending; s <= RecordAborted; s++ {
		if state.Kind == edm.String && state.S == s.String() {
			rec.State = s
		}
	}
	if rec.State == 0 {
		return nil, &DecodeError{Field: stateProperty, Reason: "is none of pending, done and aborted"}
	}
	text, err := longText(r, effectsProperty)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return rec, nil
	}
	var stored []storedEffect
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, &DecodeError{Field: effectsProperty, Reason: "is not the JSON of effects"}
	}
	for _, e := range stored {
		rec.Effects = append(rec.Effects, Effect{e.Kind, e.Version, e.Row, e.Payload, e.Table, e.Partition})
	}
	return rec, nil
}

// checkVersion returns the error of a row of the library whose format this program does not read.
func checkVersion(r *Row, format string, want int64) error {
	n, whole := Find(r.Columns, reserved.Version).Whole()
	if !whole || n != want {
		return &VersionError{format, int(n), int(want)}
	}
	return nil
}

// longText returns the text whose parts a row contains.
func longText(r *Row, property string) (string, error) {
	var text strings.Builder
	for n := 0; ; n++ {
		name := partName(property, n)
		switch part := Find(r.Columns, name); part.Kind {
		case edm.Absent:
			return text.String(), nil
		case edm.String:
			text.WriteString(part.S)
		default:
			return "", &DecodeError{Field: name, Reason: fmt.Sprintf("is %s, not %s: another program has stored it", part.Kind, edm.String)}
		}
	}
}
