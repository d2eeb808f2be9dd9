package table

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// CommitState is the state of a commit record.
type CommitState int

// The states of a commit record. A write is committed if its record is live or done; an aborted one is an abort record.
const (
	CommitPending CommitState = iota + 1 // effects are still to be executed
	CommitDone                           // there are no effects, or all were executed
	CommitAborted                        // the write was not committed and never will be
)

var commitStates = [...]string{CommitPending: "pending", CommitDone: "done", CommitAborted: "aborted"}

// String returns the state as it is stored.
func (s CommitState) String() string {
	if s <= 0 || int(s) >= len(commitStates) {
		return fmt.Sprintf("CommitState(%d)", int(s))
	}
	return commitStates[s]
}

// CommitRecord is the commit record of an exact write or of a write with effects: a row in its partition, stored in the write's own transaction.
// With the state CommitAborted it is the abort record, which stands in the place of a commit record.
type CommitRecord struct {
	Partition   keys.Enc
	OperationID string // the operation ID
	State       CommitState
	Effects     []Effect

	etag azcore.ETag // of its row
}

// Version changes with each change of the record.
func (i *CommitRecord) Version() string { return string(i.etag) }

// Time returns when the write began, by the writer's clock.
func (i *CommitRecord) Time() time.Time { t, _ := opTimeOf(i.OperationID); return t }

// The properties of a commit record.
const (
	stateProperty   = "State"
	effectsProperty = "Effects" // as JSON, the rest in Effects1, Effects2, …
	recordVersion   = 1
)

// maxEffects is the most that the effects of a write have, as they are stored.
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
}

// intentOp is the operation that stores an intent. It stands first in its transaction: if that arrives once more, it fails here,
// and not at a row where it would read as a concurrent writer's.
func (c *core) recordOp(partition, name string, state CommitState, effects []Effect) (Op, error) {
	op := Op{core: c, kind: aztables.TransactionTypeAdd, key: recordKey(partition, name), left: entire, caller: -1}
	body, err := recordBody(op.key, state, effects, false)
	op.body = body
	return op, err
}

// intentBody is the row of an intent. named reports that there is room for the operation ID of a write that changes it.
func recordBody(k keys.Key, state CommitState, effects []Effect, named bool) ([]byte, error) {
	w := edm.NewWriter(nil, k.PartitionKey(), k.RowKey())
	w.Put(reserved.Version, edm.Value{Kind: edm.Int32, I: recordVersion})
	w.Put(stateProperty, edm.Value{Kind: edm.String, S: state.String()})
	if len(effects) > 0 {
		stored := make([]storedEffect, len(effects))
		for i, e := range effects {
			stored[i] = storedEffect{e.Kind, e.Version, e.RowKey, e.Payload}
		}
		b, err := json.Marshal(stored)
		if err != nil {
			return nil, err
		}
		if len(b) > maxEffects {
			return nil, &LimitError{Limit: "bytes of the effects of a write", Got: len(b), Max: maxEffects}
		}
		for i, part := range parts(string(b), maxEffectsPart) {
			w.Put(partName(effectsProperty, i), edm.Value{Kind: edm.String, S: part})
		}
	}
	if named {
		reserve(w)
	}
	return w.Finish()
}

func recordKey(partition, name string) keys.Key {
	return keys.Stored(partition, reserved.CommitRecord+name)
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

// intentOf reads an intent from its row.
func recordOf(r *Row) (*CommitRecord, error) {
	i := &CommitRecord{Partition: r.Key.Partition(), OperationID: strings.TrimPrefix(r.Key.RowKey(), reserved.CommitRecord), etag: r.ETag}
	if v, _ := r.Get(reserved.Version); v != int32(recordVersion) {
		n, _ := v.(int32)
		return nil, &VersionError{"intent", int(n), recordVersion}
	}
	state, _ := r.Get(stateProperty)
	for s := CommitPending; s <= CommitAborted; s++ {
		if state == s.String() {
			i.State = s
		}
	}
	if i.State == 0 {
		return nil, &DecodeError{Field: stateProperty, Reason: "is none of live, done and aborted"}
	}
	var text strings.Builder
	for n := 0; ; n++ {
		part, _ := r.Get(partName(effectsProperty, n))
		s, ok := part.(string)
		if !ok {
			break
		}
		text.WriteString(s)
	}
	if text.Len() == 0 {
		return i, nil
	}
	var stored []storedEffect
	if err := json.Unmarshal([]byte(text.String()), &stored); err != nil {
		return nil, &DecodeError{Field: effectsProperty, Reason: "is not what a write has stored"}
	}
	for _, e := range stored {
		i.Effects = append(i.Effects, Effect{e.Kind, e.Version, e.Row, e.Payload})
	}
	return i, nil
}
