package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

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

// mostResolutions is how often one row is read that is prepared by another write each time.
const mostResolutions = 20

var errPrepared = errors.New("the row is prepared by a write over several partitions, again and again")

// sibling returns a handle for the library's rows in another table of the service. It also believes
// commit records in this table.
func (t *Table) sibling(name string) *Table {
	c := t.LibraryHandle()
	if !strings.EqualFold(name, t.Name) {
		c.Name, c.client, c.shared, c.homes = name, t.Service.NewClient(name), new(shared), t.Homes()
	}
	return c
}

// atHome returns a *HomeError if the table of the commit record of a write that has prepared a row
// is gone, and any other error of the request for the commit record with its condition. If the
// clock of the writer is ahead, no repetition helps: the *HomeError says so at once.
func atHome(ctx context.Context, row keys.Key, home commit.Place, err error) error {
	if errors.Is(err, ErrAhead) {
		return &errs.HomeError{Row: row, Table: home.Table, Partition: home.Partition, Err: err}
	}
	if err = conditioned(ctx, err); !errors.Is(err, errs.ErrTableNotFound) {
		return err
	}
	return &errs.HomeError{Row: row, Table: home.Table, Partition: home.Partition, Gone: true, Err: errs.Cause(err)} // not ErrTableNotFound: this table exists
}

// EndParticipant ends what a write of a partition of this table has prepared, or may have, in a
// participant: by the commit record of the write, it finishes or rolls back. Requests: 1 if nothing
// is to be done; else 1 for the commit record, 1 for each prepared row and each new content, and 1.
// Idempotent.
//
// If exclude is set and the write has prepared nothing there yet, a request that prepares and is
// still under way will fail.
func (t *Table) EndParticipant(ctx context.Context, partition, id string, r commit.Place, exclude bool) error {
	if err := r.Check(); err != nil {
		return err
	}
	return t.sibling(r.Table).endPrepared(ctx, r.Partition, id, ender{home: &commit.Place{Table: t.Name, Partition: partition}, exclude: exclude})
}

// ender is what a program that ends a write knows of it.
type ender struct {
	home    *commit.Place // the place of its commit record; nil if only the preparation names it
	exclude bool          // a request that prepares may still be under way
	orphans commit.Orphans
}

// is reports whether the ender is that of a write with a home.
func (f ender) is(home commit.Place) bool {
	return f.home == nil || f.home.Same(home)
}

// endPrepared ends what a write has prepared in a partition. It starts again after a conflict. If
// the write has prepared nothing yet and never commits, and by says so, endPrepared excludes that
// it prepares later. Errors: *HomeError.
func (t *Table) endPrepared(ctx context.Context, partition, id string, by ender) error {
	ctx, cancel := Bound(ctx, Retry(t.Options.Retry).Timeout(ctx, t.Options.WriteTimeout))
	defer cancel()
	tries := attempts{retry: Retry(t.Options.Retry), log: t.Log("Resolve", preparationKey(partition, id))}
	conflicts := t.Options.NewConflicts()
	for {
		again, err := t.endOnce(ctx, partition, id, by)
		switch {
		case err == nil && !again:
			return nil
		case err == nil:
			if more, err := conflicts.Wait(ctx, tries.log, errs.ErrChanged); !more {
				return cmp.Or[error](err, errs.With(errs.ErrContended, errPrepared))
			}
		case !again || !tries.wait(ctx, err):
			return err
		}
	}
}

// endOnce is one attempt of endPrepared. again reports that another one may succeed.
func (t *Table) endOnce(ctx context.Context, partition, id string, by ender) (again bool, err error) {
	f, err := t.readStored(ctx, preparationKey(partition, id))
	switch {
	case err != nil:
		return Outage(err), err
	case f.hidden:
		return false, errs.ErrRanged
	case f.row == nil && by.exclude:
		return t.excludePreparation(ctx, partition, id, *by.home)
	case f.row == nil:
		return false, nil
	}
	p, err := preparationOf(f.row)
	if err != nil || p.over {
		return false, damaged(err)
	}
	if !by.is(p.home) { // another program has written it
		return false, nil
	}
	committed, err := false, error(&errs.HomeError{Row: p.key, Table: p.home.Table, Partition: p.home.Partition})
	if t.Knows(p.home.Table) {
		committed, err = t.resolveAtHome(ctx, p.home, id, partition, isOld(f.row, t.Options.Now()))
		err = damaged(atHome(ctx, p.key, p.home, err))
	}
	mayCommit := errors.Is(err, ErrAhead)
	if isHomeError(err) && !mayCommit && by.orphans != commit.LeaveOrphans {
		committed, err = by.orphans == commit.CommitOrphans, nil
	}
	if err != nil {
		return Outage(err), err
	}
	steps, err := t.endingSteps(ctx, p, id, committed)
	if err != nil {
		return Outage(err), err
	}
	return t.sendSteps(ctx, id, steps, p.stamped)
}

// excludePreparation stores the preparation of a write that never commits as if it had been rolled
// back: a request that prepares and is still under way then fails.
func (t *Table) excludePreparation(ctx context.Context, partition, id string, home commit.Place) (again bool, err error) {
	if committed, err := t.resolveAtHome(ctx, home, id, partition, false); err != nil || committed {
		return Outage(err), err
	}
	p := &preparation{key: preparationKey(partition, id), home: home, over: true}
	s := step{Op: &Op{Table: t, Kind: aztables.TransactionTypeAdd, Key: p.key}, opIndex: -1}
	if s.Body, err = p.body(); err != nil {
		return false, err
	}
	return t.sendSteps(ctx, id, []step{s}, false)
}

// sendSteps sends steps as a transaction of the library's own. again reports that another program
// has changed a row of them, or that the outcome is unknown.
func (t *Table) sendSteps(ctx context.Context, id string, steps []step, stamped bool) (again bool, err error) {
	if err := sized(steps, 0); err != nil {
		return false, err
	}
	if stamped {
		stamp, err := stampStep(t, steps[0].Key.PartitionKey())
		if err != nil {
			return false, err
		}
		steps = append(steps, stamp)
	}
	withID(steps, id)
	_, _, verdict, err := t.transact(ctx, steps)
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, errs.ErrChanged), errors.Is(err, errs.ErrNotFound), errors.Is(err, errs.ErrExists):
		return true, nil
	}
	return verdict != wire.Refused, err
}

// resolveAtHome reports whether a write is committed. If it is not, resolveAtHome stores an abort
// record, so that it never will be. A pending commit record is never deleted, so that a missing one
// whose time is over is none of a committed write. If the writer's clock is ahead, old reports
// whether it is over.
func (t *Table) resolveAtHome(ctx context.Context, home commit.Place, id, partition string, old bool) (bool, error) {
	at := t.sibling(home.Table)
	rec, err := at.Resolve(ctx, home.Partition, id, commit.Place{Table: t.Name, Partition: partition})
	if errors.Is(err, errs.ErrExpired) || old && errors.Is(err, ErrAhead) {
		// The time may have passed between the read and the look at the clock, and the write have
		// committed: a read after it counts.
		rec, err = at.Record(ctx, home.Partition, id)
	}
	return err == nil && rec != nil && rec.State != commit.Aborted, err
}

// isOld reports whether the service stored a row so long ago that a write which began before cannot
// commit any more.
func isOld(r *stored.Row, now time.Time) bool { return now.Sub(r.Timestamp) > commit.Retention }

// endingSteps returns the steps that end a preparation. A row that does not have the mark any more
// is left as it is: another program has written it.
func (t *Table) endingSteps(ctx context.Context, p *preparation, id string, committed bool) ([]step, error) {
	partition := p.key.PartitionKey()
	first, err := p.end(t)
	if err != nil {
		return nil, err
	}
	steps := []step{first}
	InOrder(ctx, p.rows, func(ctx context.Context, r preparedRow) (more []step, err error) {
		return t.endingOfRow(ctx, partition, id, r, committed)
	}, func(more []step, e error) bool {
		steps, err = append(steps, more...), e
		return e == nil
	})
	return steps, err
}

// largeRow is the size in bytes of a row whose mark is not removed when it is rolled back, but made
// empty: a hundred smaller rows fit into one transaction.
const largeRow = 30 << 10

// endingOfRow returns the steps that end the preparation of a row.
func (t *Table) endingOfRow(ctx context.Context, partition, id string, r preparedRow, committed bool) (steps []step, err error) {
	k := keys.Raw(partition, r.RowKey)
	add := func(kind aztables.TransactionType, k keys.Key, match azcore.ETag, columns []edm.Column) {
		s, e := libraryStep(t, kind, k, match, columns)
		err = cmp.Or(err, e)
		steps = append(steps, s)
	}
	var image *stored.Row
	if r.Fate == stored.FateReplace {
		f, err := t.readStored(ctx, imageKey(partition, id, r.Image))
		if err != nil {
			return nil, err
		}
		if image = f.row; image != nil {
			add(aztables.TransactionTypeDelete, image.Key, azcore.ETagAny, nil)
		}
	}
	if r.Fate == stored.FatePart {
		f, err := t.readStored(ctx, k)
		if err != nil || f.row == nil || committed || stored.Find(f.row.Columns(), reserved.Part).Kind == edm.Absent {
			return nil, err
		}
		add(aztables.TransactionTypeDelete, k, azcore.ETagAny, nil)
		return steps, err
	}
	f, err := t.readStored(ctx, k)
	if err != nil || f.row == nil {
		return steps, err
	}
	if m, _ := stored.MarkIn(f.row.Columns()); m.ID != id { // a row without a mark has no ID either
		return steps, err
	}
	columns := stored.Unmarked(f.row.Columns())
	switch {
	case r.Fate == stored.FateInsert && !committed, r.Fate == stored.FateDelete && committed, r.Fate == stored.FateReserve:
		add(aztables.TransactionTypeDelete, k, f.row.ETag, nil)
	case r.Fate == stored.FateReplace && committed && image == nil:
		return nil, &errs.DecodeError{Field: k.RowKey(), Reason: "is prepared, and the row with its new content is missing"}
	case r.Fate == stored.FateReplace && committed:
		add(aztables.TransactionTypeUpdateReplace, k, f.row.ETag, image.Columns())
	case f.row.JSON().Len() > largeRow: // the old contents of all rows might not fit into one transaction
		add(aztables.TransactionTypeUpdateMerge, k, f.row.ETag, []edm.Column{{Name: reserved.Mark, Value: edm.Value{Kind: edm.String}}})
	default:
		add(aztables.TransactionTypeUpdateReplace, k, f.row.ETag, columns)
	}
	return steps, err
}

// endWriteOf ends the write that has prepared a row, so that the row can be read and written. If
// the write began just now, endWriteOf lets it end itself, and only waits. If its preparation is
// missing, the write has ended before.
func (t *Table) endWriteOf(ctx context.Context, k keys.Key, m stored.Mark, attempt int) (ended bool, err error) {
	began, err := commit.TimeOf(m.ID)
	if err != nil {
		return false, err
	}
	patience := min(mostPatience, t.Options.Retry.MaxConflictWait)
	if age := t.Options.Now().Sub(began); age > -patience && age < patience && attempt < mostWaits && t.Options.Retry.ConflictWait > 0 {
		pause := min(backOff(attempt+1, t.Options.Retry.ConflictWait, patience), patience-age)
		if sleep(ctx, pause) == nil {
			return false, nil
		} // else there is no time to wait
	}
	return true, t.endPrepared(ctx, k.PartitionKey(), m.ID, ender{})
}

// A reader does not end a write over several partitions that is younger than mostPatience by the
// reader's clock, unless it has waited mostWaits times. The writer's clock may be ahead by up to
// mostPatience.
const (
	mostPatience = time.Second
	mostWaits    = 10
)

// mayNotWrite reports whether an error means that the client may only read.
func mayNotWrite(err error) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && re.StatusCode == http.StatusForbidden
}

// FinishPrepared ends the writes over several partitions that began before a time, by their
// writers' clocks, and have not ended in a range of partitions, or in any if it is unset, which
// takes a scan of the table. A committed write is finished there, any other is rolled back. Workers
// do that when they receive the message of the write, and so does each program that reads such a
// row by its key; FinishPrepared is for messages that were lost. Give a time at least a few minutes
// ago, or writes that are under way are rolled back. It goes on behind orphans, and returns those
// that are left. Requests: 1 for each 1,000 rows, and for each write 3 and 1 for each of its rows.
// Idempotent.
func (t *Table) FinishPrepared(ctx context.Context, in keys.PartitionRange, before time.Time, orphans commit.Orphans) (finished int, left []*errs.HomeError, err error) {
	var all []keys.Key
	library, now := t.LibraryHandle(), t.Options.Now()
	err = library.each(ctx, unendedFilter(in, before, now), "", func(r *stored.Row) bool {
		id := strings.TrimPrefix(r.Key.RowKey(), reserved.Prepared)
		p, err := preparationOf(r)
		switch {
		case err != nil || p.over || len(id) != commit.IDLength: // it is a new content, or has ended
		case errors.Is(t.recent(id), ErrAhead) && !isOld(r, now):
		default:
			all = append(all, r.Key)
		}
		return true
	})
	for _, k := range all {
		if err != nil {
			return finished, left, err
		}
		id := strings.TrimPrefix(k.RowKey(), reserved.Prepared)
		by := ender{}
		if t.recent(id) != nil { // the table of the commit record of a younger write may be back in a moment
			by.orphans = orphans
		}
		var orphan *errs.HomeError
		err = library.endPrepared(ctx, k.PartitionKey(), id, by)
		switch {
		case err == nil:
			finished++
		case errors.As(err, &orphan):
			left, err = append(left, orphan), nil
		case isDamage(damaged(err)): // it is forged, or of a newer release
			left, err = append(left, &errs.HomeError{Row: k, Err: err}), nil
		}
	}
	if err == nil && t.RangedRows() {
		err = errs.ErrRanged
	}
	return finished, left, err
}

// sweepParticipants deletes what the write of a commit record that is to be swept has prepared in
// other partitions. 1 request for each, and 2 for those of an abort record, which a forged message
// may have stored for a write that has another home.
func (t *Table) sweepParticipants(ctx context.Context, r *stored.Row) error {
	rec, err := RecordOf(r)
	if err != nil {
		return nil // the row is no commit record
	}
	for _, e := range rec.Effects {
		var work ParticipantsWork
		if e.Kind != ParticipantsEffect || json.Unmarshal(e.Payload, &work) != nil {
			continue
		}
		for _, at := range work.Participants {
			if at.Check() != nil {
				continue
			}
			err := t.sweepParticipant(ctx, rec, r.Key.PartitionKey(), at)
			if err != nil && !errors.Is(err, errs.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound) {
				return err
			}
		}
	}
	return nil
}

// sweepParticipant deletes what the write of a commit record has prepared in another partition.
func (t *Table) sweepParticipant(ctx context.Context, rec *commit.Record, home string, at commit.Place) error {
	in, k, match := t.sibling(at.Table), preparationKey(at.Partition, rec.OperationID), azcore.ETagAny
	if rec.State == commit.Aborted {
		f, err := in.readStored(ctx, k)
		if err != nil || f.row == nil {
			return err
		}
		p, err := preparationOf(f.row)
		if err != nil || !p.home.Same(commit.Place{Table: t.Name, Partition: home}) {
			return nil // it is another program's
		}
		match = f.row.ETag
	}
	s, err := libraryStep(in, aztables.TransactionTypeDelete, k, match, nil)
	if err == nil {
		_, _, err = s.sendAlone(ctx)
	}
	return err
}
