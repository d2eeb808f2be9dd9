package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// The properties of a commit record, besides its version.
const (
	stateProperty   = "State"
	waitsProperty   = "NotBefore" // the effects are not due before
	messageProperty = "Message"   // the ID of the message that waits until then
	passedProperty  = "Waits"     // until when a repair of lost messages passes the record over
	effectsProperty = "Effects"   // as JSON, the rest in Effects1, Effects2, …
	recordVersion   = 1
)

// The most that the effects of a write have as they are stored, and one chunk of them.
const (
	maxEffects      = 256 << 10
	maxEffectsChunk = 30 << 10
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
	return keys.Raw(partition, reserved.CommitRecord+id)
}

// recordBody is the row of a commit record. named reports that it gets the operation ID of a write
// that changes it.
func recordBody(k keys.Key, state commit.State, effects []commit.Effect, named bool) (edm.Body, error) {
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
			return edm.Body{}, &errs.LimitError{Limit: "bytes of the effects of a write", Got: len(b), Max: maxEffects}
		}
		for i, chunk := range chunks(string(b), maxEffectsChunk) {
			w.Put(chunkName(effectsProperty, i), edm.Value{Kind: edm.String, S: chunk})
		}
	}
	if named {
		w.Reserve(stored.UnassignedID)
	}
	return w.Finish()
}

// chunkName is the property of a chunk of a long text.
func chunkName(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprint(name, i)
}

// chunks cuts a text into chunks of at most so many bytes, between characters.
func chunks(s string, most int) (all []string) {
	for len(s) > most {
		cut := most
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		all, s = append(all, s[:cut]), s[cut:]
	}
	return append(all, s)
}

// RecordOf reads a commit record from its row.
func RecordOf(r *stored.Row) (*commit.Record, error) {
	rec := &commit.Record{Partition: r.Key.Partition(), OperationID: strings.TrimPrefix(r.Key.RowKey(), reserved.CommitRecord)}
	commit.SetETag(rec, r.ETag)
	if err := checkVersion(r, "commit record", recordVersion); err != nil {
		return nil, err
	}
	state := stored.Find(r.Columns(), stateProperty)
	if state.Kind == edm.String {
		rec.State = commit.ParseState(state.S)
	}
	if rec.State == 0 {
		return nil, &errs.DecodeError{Field: stateProperty, Reason: "is none of pending, done and aborted"}
	}
	commit.SetWait(rec, waitOf(r.Columns()))
	text, err := longText(r, effectsProperty)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return rec, nil
	}
	var stored []storedEffect
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, &errs.DecodeError{Field: effectsProperty, Reason: "is not the JSON of effects"}
	}
	for _, e := range stored {
		rec.Effects = append(rec.Effects, commit.Effect{Kind: e.Kind, Version: e.Version, RowKey: e.Row, Payload: e.Payload, Table: e.Table, Partition: e.Partition})
	}
	return rec, nil
}

// waitOf reads why the messages of a record wait.
func waitOf(columns []edm.Column) commit.Wait {
	return commit.Wait{NotBefore: stored.Find(columns, waitsProperty).T, Message: stored.Find(columns, messageProperty).S, Until: stored.Find(columns, passedProperty).T}
}

// checkVersion returns a *VersionError for a row of the library whose format this program does not
// read.
func checkVersion(r *stored.Row, format string, want int64) error {
	n, whole := stored.Find(r.Columns(), reserved.Version).Whole()
	if !whole || n != want {
		return &errs.VersionError{Type: format, Got: int(n), Want: int(want)}
	}
	return nil
}

// longText returns the text whose chunks a row contains.
func longText(r *stored.Row, property string) (string, error) {
	var text strings.Builder
	for n := 0; ; n++ {
		name := chunkName(property, n)
		switch chunk := stored.Find(r.Columns(), name); chunk.Kind {
		case edm.Absent:
			return text.String(), nil
		case edm.String:
			text.WriteString(chunk.S)
		default:
			return "", &errs.DecodeError{Field: name, Reason: fmt.Sprintf("is %s, not %s: another program has stored it", chunk.Kind, edm.String)}
		}
	}
}

var errRecordLost = errors.New("its commit record was there and is gone")

// recordStep is the step that stores a commit record. It is the first of its transaction: if the
// transaction arrives once more, it fails here, and not at a row where the refusal would read as
// that of a concurrent write.
func (t *Table) recordStep(partition, id string, state commit.State, effects []commit.Effect) (step, error) {
	s := step{Op: &Op{Table: t, Kind: aztables.TransactionTypeAdd, Key: RecordKey(partition, id)}, opIndex: -1}
	var err error
	s.Body, err = recordBody(s.Key, state, effects, false)
	return s, err
}

// Record reads a commit record, nil if there is none. 1 request.
func (t *Table) Record(ctx context.Context, partition, id string) (*commit.Record, error) {
	f, err := t.readStored(ctx, RecordKey(partition, id))
	if err == nil && f.hidden {
		err = errs.ErrRanged
	}
	if err != nil || f.row == nil {
		return nil, err
	}
	rec, err := RecordOf(f.row)
	if err == nil && !f.date.IsZero() {
		commit.SetSkew(rec, f.date.Sub(t.Options.Now()))
	}
	return rec, err
}

// Resolve reads a commit record, or stores an abort record if there is none; see
// records.Records.Resolve.
func (t *Table) Resolve(ctx context.Context, partition, id string, participants ...commit.Place) (*commit.Record, error) {
	rec, err := t.Record(ctx, partition, id)
	if err != nil || rec != nil {
		return rec, err
	}
	if err := t.recent(id); err != nil {
		return nil, err
	}
	ctx, cancel := Bound(ctx, Retry(t.Options.Retry).Timeout(ctx, t.Options.WriteTimeout))
	defer cancel()
	switch state, err := t.abort(ctx, partition, id, participants...); {
	case err != nil:
		return nil, err
	case state != commit.Aborted:
		if rec, err = t.Record(ctx, partition, id); err == nil && rec == nil {
			err = errRecordLost
		}
		return rec, err
	}
	return &commit.Record{Partition: keys.Raw(partition, "").Partition(), OperationID: id, State: commit.Aborted}, nil
}

// abort stores an abort record in the place of a commit record, so that the write can never commit,
// or finds that it did. It repeats this until the context ends, or for the default WriteTimeout if
// the context has no end. Errors: ErrExpired, or a *ValueError with ErrAhead, if there is no commit
// record.
func (t *Table) abort(ctx context.Context, partition, id string, participants ...commit.Place) (state commit.State, err error) {
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
		if state, final, err = t.abortOnce(ctx, partition, id, participants); err == nil || final {
			return state, err
		}
		wait := backOff(attempt, pause, max(t.Options.Retry.MaxWait, pause))
		t.Log("Resolve", RecordKey(partition, id)).repeats(ctx, attempt, wait, err)
		if sleep(ctx, wait) != nil {
			return 0, err
		}
	}
}

// abortOnce is one attempt of abort. final reports that another one would fail with the same error.
// The age of the write is compared before each request, and again when the abort record is stored:
// this machine may have been suspended in between, and the write's own commit record swept.
func (t *Table) abortOnce(ctx context.Context, partition, id string, participants []commit.Place) (state commit.State, final bool, err error) {
	if old := t.recent(id); old != nil {
		rec, err := t.Record(ctx, partition, id)
		if err != nil || rec == nil {
			return 0, err == nil, cmp.Or(err, old)
		}
		return rec.State, true, nil
	}
	var effects []commit.Effect
	if len(participants) > 0 { // not to be executed: what the write has prepared there is swept with the abort record
		e, err := participantsEffect(participants)
		if err != nil {
			return 0, true, err
		}
		effects = []commit.Effect{e}
	}
	s, err := t.recordStep(partition, id, commit.Aborted, effects)
	if err != nil {
		return 0, true, err
	}
	if err := t.noteRecord(ctx, partition, id); err != nil {
		return 0, !Outage(err), err
	}
	_, verdict, err := s.sendAlone(ctx)
	switch {
	case verdict == wire.Done:
		if old := t.recent(id); old != nil {
			return 0, true, old
		}
		return commit.Aborted, true, nil
	case verdict == wire.Refused && errors.Is(err, errs.ErrExists):
		rec, err := t.Record(ctx, partition, id)
		if err != nil || rec == nil {
			return 0, err == nil, cmp.Or(err, errRecordLost)
		}
		return rec.State, true, nil
	}
	return 0, verdict == wire.Refused || verdict == wire.NotSent && !dialing(err), err
}

// ErrAhead: the clock of the writer is ahead. An abort record would stay until the time of the
// write, so none is stored.
var ErrAhead = errors.New("the operation ID is of a time more than a day in the future")

// recent returns an error if the write is so old that a missing commit record does not prove that
// it was not applied, or if it lies in the future. Errors: ErrExpired; a *ValueError, with ErrAhead
// for a time in the future.
func (t *Table) recent(id string) error {
	began, err := commit.TimeOf(id)
	switch age := t.Options.Now().Sub(began); {
	case err != nil:
		return err
	case age > commit.Retention:
		return errs.ErrExpired
	case age < -commit.Retention:
		return &errs.ValueError{Field: "operation ID", Reason: "is of a time more than a day in the future; set the clock of its writer", Err: ErrAhead}
	}
	return nil
}

// recordFilter finds the library's rows of a partition from one RowKey on, and below the commit
// records of a time.
func recordFilter(partition, from string, before time.Time) string {
	return fmt.Sprintf("%s eq %s and %s %s and %s lt '%s'", edm.PartitionKey, edm.Quote(partition), edm.RowKey, from, edm.RowKey, reserved.CommitRecord+commit.IDTime(before))
}

// Records calls f for the commit and abort records of a partition that are older than a time, until
// f returns false; see records.Records.List. A record that cannot be read comes as an error, with
// its key.
func (t *Table) Records(ctx context.Context, partition string, before time.Time, f func(*commit.Record, keys.Key, error) bool) error {
	return t.each(ctx, recordFilter(partition, "ge '"+reserved.CommitRecord+"'", before), "", func(r *stored.Row) bool {
		rec, err := RecordOf(r)
		return f(rec, r.Key, err)
	})
}

// Pending calls f for the operation IDs of the pending commit records of a partition, and for why
// their messages wait, until f returns false; see records.Records.Pending. A record of a later
// release is left out: its effects wait for workers of that release.
func (t *Table) Pending(ctx context.Context, partition, after string, before time.Time, f func(id string, w commit.Wait) bool) error {
	from := "ge '" + reserved.CommitRecord + "'"
	if after != "" {
		if _, err := commit.TimeOf(after); err != nil {
			return err
		}
		from = "gt '" + reserved.CommitRecord + after + "'"
	}
	filter := recordFilter(partition, from, before) + fmt.Sprintf(" and %s eq '%s'", stateProperty, commit.Pending)
	choice := strings.Join([]string{edm.PartitionKey, edm.RowKey, reserved.Version, waitsProperty, messageProperty, passedProperty}, ",")
	err := t.each(ctx, filter, choice, func(r *stored.Row) bool {
		id := strings.TrimPrefix(r.Key.RowKey(), reserved.CommitRecord)
		if _, err := commit.TimeOf(id); err != nil || checkVersion(r, "commit record", recordVersion) != nil {
			return true // no write of this release has made it
		}
		return f(id, waitOf(r.Columns()))
	})
	if err == nil && t.RangedRows() {
		err = errs.ErrRanged
	}
	return err
}

// Sweep deletes the commit and abort records of a partition that are older than commit.Retention
// and an hour (for clocks that differ), except records whose effects are not executed yet, or that
// cannot be read. It also deletes the preparations of writes over several partitions in the other
// partitions. left is how many records of writes before a time it leaves. Requests: 1 for each
// 1,000 records, 2 for a handle with an outbox; 1 for each 100 that are deleted; and 1 or 2 for
// each other partition of such a write. Idempotent.
func (t *Table) Sweep(ctx context.Context, partition string, through time.Time) (deleted, left int, err error) {
	const method = "SweepCommitRecords"
	library := t.LibraryHandle()
	before := t.Options.Now().Add(-commit.Retention - time.Hour)
	filters := []string{recordFilter(partition, "ge '"+reserved.ScheduledSweep+"'", before)} // also the notes of an older release
	if t.Mode.Outbox != nil {                                                                // else no write prepares anything in the table
		filters = append(filters, preparationFilter(partition, before))
	}
	r, err := Bulk(ctx, func(yield func(*Op, error) bool) {
		for _, filter := range filters {
			goOn, err := library.sweepRows(ctx, filter, before, through, &left, func(r *stored.Row) bool {
				op := &Op{Table: library, Method: method, Kind: aztables.TransactionTypeDelete, Key: r.Key}
				op.Match = cmp.Or(r.ETag, azcore.ETagAny)
				return yield(op, nil)
			})
			if err != nil {
				yield(nil, t.OpError(method, keys.Key{}, err))
			}
			if err != nil || !goOn {
				return
			}
		}
	}, BulkOptions{})
	if be, is := err.(*errs.BatchError); is {
		cause := be.Err
		if oe, is := cause.(*errs.OpError); is {
			cause = oe.Err
		}
		err = t.OpError(method, be.Key, cause)
	}
	return r.Applied, left, err
}

// sweepRows calls f for the rows of a filter that are to be deleted, until f returns false. It adds
// the records of writes before through that it leaves to left.
func (t *Table) sweepRows(
	ctx context.Context, filter string, before, through time.Time, left *int, f func(*stored.Row) bool,
) (goOn bool, err error) {
	goOn = true
	var failed error
	err = t.each(ctx, filter, "", func(r *stored.Row) bool {
		if !swept(r, before) {
			if r.Key.RowKey() < reserved.CommitRecord+commit.IDTime(through) && strings.HasPrefix(r.Key.RowKey(), reserved.CommitRecord) {
				*left++
			}
			return true
		}
		failed = t.sweepParticipants(ctx, r)
		if failed != nil {
			return false
		}
		goOn = f(r)
		return goOn
	})
	return goOn, cmp.Or(err, failed)
}

// swept reports whether a row is to be deleted: a commit record of which nothing is left to be
// done, what was prepared by a write that is over, or a note whose hour is over.
func swept(r *stored.Row, before time.Time) bool {
	if hour, is := strings.CutPrefix(r.Key.RowKey(), reserved.ScheduledSweep); is {
		return hour < hourText(before)
	}
	if strings.HasPrefix(r.Key.RowKey(), reserved.Prepared) {
		p, err := preparationOf(r)
		return err == nil && p.over
	}
	// A record whose effects were executed late is left to a later sweep: it names rows that were
	// written then, and that must be swept with it.
	rec, err := RecordOf(r)
	return err == nil && rec.State != commit.Pending && (len(rec.Effects) == 0 || r.Timestamp.Before(before))
}

func hourText(t time.Time) string { return t.UTC().Format("2006010215") }

// MarkDone marks a pending commit record as done; see records.Records.MarkDone.
func (t *Table) MarkDone(ctx context.Context, rec *commit.Record) (err error) {
	ctx, end := t.Span(ctx, "MarkDone")
	defer func() { end(err) }()
	partition, err := rec.Partition.Result()
	if err != nil {
		return t.OpError("MarkDone", keys.Key{}, err)
	}
	k := RecordKey(partition, rec.OperationID)
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), 1)
	w.Put(stateProperty, edm.Value{Kind: edm.String, S: commit.Done.String()})
	w.Reserve(stored.UnassignedID)
	op := Op{Table: t.LibraryHandle(), Method: "MarkDone", Kind: aztables.TransactionTypeUpdateMerge, Key: k, Match: commit.ETagOf(rec), StoresID: true}
	op.Body, op.Err = w.Finish()
	if err := op.Send(ctx); errors.Is(err, errs.ErrChanged) {
		if now, gerr := t.Record(ctx, partition, rec.OperationID); gerr != nil || now != nil && now.State == commit.Pending {
			return err
		}
	} else if err != nil && !errors.Is(err, errs.ErrNotFound) {
		return err
	}
	rec.State = commit.Done
	return nil
}

// StoreWait stores in a pending commit record why its message does not come yet, by the ETag of the
// record. Errors: ErrChanged if the record has changed; ErrNotFound. 1 request.
func (t *Table) StoreWait(ctx context.Context, rec *commit.Record, wait commit.Wait) (err error) {
	ctx, end := t.Span(ctx, "StoreWait")
	defer func() { end(err) }()
	partition, err := rec.Partition.Result()
	if err != nil {
		return err
	}
	k := RecordKey(partition, rec.OperationID)
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), 4)
	w.Put(passedProperty, edm.Value{Kind: edm.DateTime, T: wait.Until.UTC()})
	if !wait.NotBefore.IsZero() {
		w.Put(waitsProperty, edm.Value{Kind: edm.DateTime, T: wait.NotBefore.UTC()})
		w.Put(messageProperty, edm.Value{Kind: edm.String, S: wait.Message})
	}
	w.Reserve(stored.UnassignedID)
	op := Op{Table: t.LibraryHandle(), Method: "StoreWait", Kind: aztables.TransactionTypeUpdateMerge, Key: k, Match: commit.ETagOf(rec), StoresID: true}
	op.Body, op.Err = w.Finish()
	return op.Send(ctx)
}
