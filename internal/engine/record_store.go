package engine

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/wire"
)

var errRecordLost = errors.New("its commit record was there and is gone")

// recordStep is the step that stores a commit record. It is the first of its transaction: if the transaction arrives once more, it
// fails here, and not at a row where the refusal would read as that of a concurrent write.
func (t *Table) recordStep(partition, id string, state RecordState, effects []Effect) (step, error) {
	s := step{Op: &Op{Table: t, Kind: aztables.TransactionTypeAdd, Key: RecordKey(partition, id)}, opIndex: -1}
	var err error
	s.Body, err = recordBody(s.Key, state, effects, false)
	return s, err
}

// Record reads a commit record, nil if there is none. 1 request.
func (t *Table) Record(ctx context.Context, partition, id string) (*Record, error) {
	f, err := t.readStored(ctx, RecordKey(partition, id))
	if err == nil && f.hidden {
		err = ErrRanged
	}
	if err != nil || f.row == nil {
		return nil, err
	}
	return recordOf(f.row)
}

// Resolve reads a commit record, or stores an abort record if there is none; see commit.Records.Resolve.
func (t *Table) Resolve(ctx context.Context, partition, id string, remotes ...Remote) (*Record, error) {
	rec, err := t.Record(ctx, partition, id)
	if err != nil || rec != nil {
		return rec, err
	}
	if err := t.recent(id); err != nil {
		return nil, err
	}
	ctx, cancel := Bound(ctx, t.Options.WriteTimeout)
	defer cancel()
	switch state, err := t.abort(ctx, partition, id, remotes...); {
	case err != nil:
		return nil, err
	case state != RecordAborted:
		if rec, err = t.Record(ctx, partition, id); err == nil && rec == nil {
			err = errRecordLost
		}
		return rec, err
	}
	return &Record{Partition: partition, OperationID: id, State: RecordAborted}, nil
}

// abort stores an abort record in the place of a commit record, so that the write can never commit, or finds that it did. It
// repeats this until the context ends, or for the default WriteTimeout if the context has no end. Errors: those of recent, if there
// is no commit record.
func (t *Table) abort(ctx context.Context, partition, id string, remotes ...Remote) (state RecordState, err error) {
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
		if state, final, err = t.abortOnce(ctx, partition, id, remotes); err == nil || final {
			return state, err
		}
		wait := backOff(attempt, pause, max(t.Options.Retry.MaxWait, pause))
		t.Log("Resolve", RecordKey(partition, id)).repeats(ctx, attempt, wait, err)
		if sleep(ctx, wait) != nil {
			return 0, err
		}
	}
}

// abortOnce is one attempt of abort. final reports that another one would fail with the same error. The age of the write is
// compared before each request, and again when the abort record is stored: this machine may have been suspended in between, and the
// write's own commit record swept.
func (t *Table) abortOnce(ctx context.Context, partition, id string, remotes []Remote) (state RecordState, final bool, err error) {
	if old := t.recent(id); old != nil {
		rec, err := t.Record(ctx, partition, id)
		if err != nil || rec == nil {
			return 0, err == nil, firstError(err, old)
		}
		return rec.State, true, nil
	}
	var effects []Effect
	if len(remotes) > 0 { // not to be executed: what the write has prepared there is swept with the abort record
		e, err := remoteEffect(remotes)
		if err != nil {
			return 0, true, err
		}
		effects = []Effect{e}
	}
	s, err := t.recordStep(partition, id, RecordAborted, effects)
	if err != nil {
		return 0, true, err
	}
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
			return 0, err == nil, firstError(err, errRecordLost)
		}
		return rec.State, true, nil
	}
	return 0, verdict == wire.Refused || verdict == wire.NotSent && !dialing(err), err
}

// ErrAhead: the clock of the writer is ahead. An abort record would stay until the time of the write, so none is stored.
var ErrAhead = errors.New("the operation ID is of a time more than a day in the future")

// recent returns an error if the write is so old that a missing commit record does not prove that it was not applied, or if it lies in
// the future. Errors: ErrExpired; a *ValueError, with ErrAhead for a time in the future.
func (t *Table) recent(id string) error {
	began, err := TimeOf(id)
	switch age := t.Options.Now().Sub(began); {
	case err != nil:
		return err
	case age > Retention:
		return ErrExpired
	case age < -Retention:
		return &ValueError{Field: "operation ID", Reason: "is of a time more than a day in the future; set the clock of its writer", Err: ErrAhead}
	}
	return nil
}
