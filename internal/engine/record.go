package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// RecordState is the state of a commit record.
type RecordState int

// The states. A write is committed if its record is pending or done; an aborted one is an abort record.
const (
	RecordPending RecordState = iota + 1
	RecordDone
	RecordAborted
)

var recordStates = [...]string{RecordPending: "pending", RecordDone: "done", RecordAborted: "aborted"}

// String returns the state as it is stored, "" for none.
func (s RecordState) String() string {
	if s <= 0 || int(s) >= len(recordStates) {
		return ""
	}
	return recordStates[s]
}

// Record is a commit record, or an abort record in its place.
type Record struct {
	Partition string
	ID        string // the operation ID
	State     RecordState
	Effects   []Effect
	ETag      azcore.ETag // of its row
}

// Retention is how long commit records are kept. An older write has left nothing, and nothing can be said of it.
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
}

var errRecordLost = errors.New("its commit record was there and is gone")

// RecordKey returns the key of the commit record of a write.
func RecordKey(partition, id string) keys.Key {
	return keys.Stored(partition, reserved.CommitRecord+id)
}

// recordStep is the step that stores a commit record. It is the first of its transaction: if the transaction arrives once more, it fails
// here, and not at a row where the refusal would read as that of a concurrent write.
func (t *Table) recordStep(partition, id string, state RecordState, effects []Effect) (step, error) {
	s := step{Op: Op{Table: t, Kind: aztables.TransactionTypeAdd, Key: RecordKey(partition, id)}, caller: -1}
	var err error
	s.Body, err = recordBody(s.Key, state, effects, false)
	return s, err
}

// recordBody is the row of a commit record. named reports that it gets the operation ID of a write that changes it.
func recordBody(k keys.Key, state RecordState, effects []Effect, named bool) (edm.Body, error) {
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), 3)
	w.Put(reserved.Version, edm.Value{Kind: edm.Int32, I: recordVersion})
	w.Put(stateProperty, edm.Value{Kind: edm.String, S: state.String()})
	if len(effects) > 0 {
		stored := make([]storedEffect, len(effects))
		for i, e := range effects {
			stored[i] = storedEffect{e.Kind, e.Version, e.RowKey, e.Payload}
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
		w.Reserve(Unnamed)
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
	rec := &Record{Partition: r.Key.PartitionKey(), ID: strings.TrimPrefix(r.Key.RowKey(), reserved.CommitRecord), ETag: r.ETag}
	if v := Find(r.Columns, reserved.Version); v.Kind != edm.Int32 || v.I != recordVersion {
		n := 0
		if v.Kind == edm.Int32 {
			n = int(v.I)
		}
		return nil, &VersionError{"commit record", n, recordVersion}
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
	var text strings.Builder
	for n := 0; ; n++ {
		part := Find(r.Columns, partName(effectsProperty, n))
		if part.Kind != edm.String {
			break
		}
		text.WriteString(part.S)
	}
	if text.Len() == 0 {
		return rec, nil
	}
	var stored []storedEffect
	if err := json.Unmarshal([]byte(text.String()), &stored); err != nil {
		return nil, &DecodeError{Field: effectsProperty, Reason: "is not the JSON of effects"}
	}
	for _, e := range stored {
		rec.Effects = append(rec.Effects, Effect{e.Kind, e.Version, e.Row, e.Payload})
	}
	return rec, nil
}

// Record reads a commit record, nil if there is none. 1 request.
func (t *Table) Record(ctx context.Context, partition, id string) (*Record, error) {
	f, err := t.find(ctx, RecordKey(partition, id))
	if err != nil || f.row == nil {
		return nil, err
	}
	return recordOf(f.row)
}

// Resolve reads a commit record, or stores an abort record if there is none; see table.CommitRecords.Resolve.
func (t *Table) Resolve(ctx context.Context, partition, id string) (*Record, error) {
	rec, err := t.Record(ctx, partition, id)
	if err != nil || rec != nil {
		return rec, err
	}
	if err := t.recent(id); err != nil {
		return nil, err
	}
	ctx, cancel := Bound(ctx, t.Options.WriteTimeout)
	defer cancel()
	switch state, err := t.abort(ctx, partition, id); {
	case err != nil:
		return nil, err
	case state != RecordAborted:
		if rec, err = t.Record(ctx, partition, id); err == nil && rec == nil {
			err = errRecordLost
		}
		return rec, err
	}
	return &Record{Partition: partition, ID: id, State: RecordAborted}, nil
}

// MarkDone marks a pending commit record as done; see table.CommitRecords.MarkDone.
func (t *Table) MarkDone(ctx context.Context, rec *Record) error {
	k := RecordKey(rec.Partition, rec.ID)
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), 1)
	w.Put(stateProperty, edm.Value{Kind: edm.String, S: RecordDone.String()})
	w.Reserve(Unnamed)
	op := Op{Table: t.Plain(), Method: "MarkDone", Kind: aztables.TransactionTypeUpdateMerge, Key: k, Match: rec.ETag, Named: true}
	op.Body, op.Err = w.Finish()
	if err := op.Send(ctx); errors.Is(err, ErrChanged) {
		if now, gerr := t.Record(ctx, rec.Partition, rec.ID); gerr != nil || now != nil && now.State == RecordPending {
			return err
		}
	} else if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	rec.State = RecordDone
	return nil
}

// abort stores an abort record in the place of a commit record, so that the write can never commit, or finds that it did. It repeats this until
// the context ends, or for the default WriteTimeout if the context has no end. Errors: those of recent, if there is no commit record.
func (t *Table) abort(ctx context.Context, partition, id string) (state RecordState, err error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultWriteTimeout)
		defer cancel()
	}
	pause := t.Options.Retry.Wait
	if pause < 0 {
		pause = defaultConflictWait
	}
	for attempt := 1; ; attempt++ {
		var final bool
		if state, final, err = t.abortOnce(ctx, partition, id); err == nil || final {
			return state, err
		}
		if sleep(ctx, backOff(attempt, pause, max(t.Options.Retry.MaxWait, pause))) != nil {
			return 0, err
		}
	}
}

// abortOnce is one attempt of abort. final reports that another one would fail with the same error. The age of the write is compared before
// each request, and again when the abort record is stored: this machine may have been suspended in between, and the write's own commit
// record swept.
func (t *Table) abortOnce(ctx context.Context, partition, id string) (state RecordState, final bool, err error) {
	if old := t.recent(id); old != nil {
		rec, err := t.Record(ctx, partition, id)
		if err != nil || rec == nil {
			return 0, err == nil, either(err, old)
		}
		return rec.State, true, nil
	}
	s, err := t.recordStep(partition, id, RecordAborted, nil)
	if err != nil {
		return 0, true, err
	}
	s.json = s.Body.Append(nil)
	_, verdict, err := s.sendAlone(ctx)
	switch {
	case verdict == wire.Done:
		if old := t.recent(id); old != nil {
			return 0, true, old
		}
		return RecordAborted, true, nil
	case verdict == wire.Refused && errors.Is(err, ErrExists):
		rec, err := t.Record(ctx, partition, id)
		if err != nil || rec == nil {
			return 0, err == nil, either(err, errRecordLost)
		}
		return rec.State, true, nil
	}
	return 0, verdict == wire.Refused || verdict == wire.NotSent && !dialing(err), err
}

// recent returns an error if the write is so old that a missing commit record does not prove that it was not applied.
func (t *Table) recent(id string) error {
	began, err := TimeOf(id)
	switch age := t.Options.Now().Sub(began); {
	case err != nil:
		return err
	case age > Retention:
		return ErrExpired
	case age < -Retention:
		return &ValueError{Field: "Op", Reason: "is of a time to come"}
	}
	return nil
}
