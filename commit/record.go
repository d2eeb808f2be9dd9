package commit

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// State is the state of a commit record.
type State int

// The states of a commit record. A write is committed if its commit record is pending or done. An aborted commit record is an
// abort record.
const (
	Pending = State(engine.RecordPending) // effects are still to be executed
	Done    = State(engine.RecordDone)    // there are no effects, or all were executed
	Aborted = State(engine.RecordAborted) // the write was not committed and never will be
)

// String returns the state as it is stored.
func (s State) String() string {
	if text := engine.RecordState(s).String(); text != "" {
		return text
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// Retention is how long commit records are kept at least. The record of an older write may be deleted, so a missing record does not
// prove that the write was not applied. Pending records are never deleted.
const Retention = engine.Retention

// Record is the commit record of an exact write or of a write with effects: a row in its partition, stored in the write's own
// transaction. With the state Aborted it is the abort record, which stands in the place of a commit record.
type Record struct {
	Partition   keys.Enc
	OperationID string
	State       State
	Effects     []Effect

	etag azcore.ETag // of its row
}

// Version changes with each change of the record.
func (r *Record) Version() string { return string(r.etag) }

// Time returns when the write began, in milliseconds, by the writer's clock. Writes of one millisecond are in no order.
func (r *Record) Time() time.Time { t, _ := engine.TimeOf(r.OperationID); return t }

// String returns the partition, the operation ID, the state and the effects without their payloads, for programs that print a record.
func (r Record) String() string {
	return fmt.Sprintf("%s %s %s %v", r.Partition, r.OperationID, r.State, r.Effects)
}

// LogValue returns what String prints, for slog. It is on the pointer, which methods return and which may be nil after an error.
func (r *Record) LogValue() slog.Value {
	if r == nil {
		return slog.Value{}
	}
	effects := make([]string, len(r.Effects))
	for n, e := range r.Effects {
		effects[n] = e.String()
	}
	return slog.GroupValue(slog.Any("partition", r.Partition), slog.String("operation", r.OperationID), slog.String("state", r.State.String()), slog.Any("effects", effects))
}

// set makes the record one of the engine's.
func (r *Record) set(from *engine.Record) {
	*r = Record{Partition: keys.Stored(from.Partition, "").Partition(), OperationID: from.OperationID, State: State(from.State), etag: from.ETag}
	for _, e := range from.Effects {
		r.Effects = append(r.Effects, Effect(e))
	}
}

// engine returns the record as the engine takes it.
func (r *Record) engine() (*engine.Record, error) {
	pk, err := r.Partition.Result()
	to := &engine.Record{Partition: pk, OperationID: r.OperationID, State: engine.RecordState(r.State), ETag: r.etag}
	for _, e := range r.Effects {
		to.Effects = append(to.Effects, engine.Effect(e))
	}
	return to, err
}

// recordOf returns a record of the engine, nil for nil.
func recordOf(from *engine.Record) *Record {
	if from == nil {
		return nil
	}
	r := new(Record)
	r.set(from)
	return r
}
