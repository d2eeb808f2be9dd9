package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// preparationFilter finds what writes over several partitions have prepared in a partition, or in all if it is "", before a time.
func preparationFilter(partition string, before time.Time) string {
	return filterIn(partition, fmt.Sprintf("%s ge '%s' and %s lt '%s'", edm.RowKey, reserved.Prepared, edm.RowKey, reserved.Prepared+IDTime(before)))
}

// unendedFilter is preparationFilter that also finds what is of a time more than a day in the future: of writers whose clocks are ahead.
func unendedFilter(partition string, before, now time.Time) string {
	ahead, end := reserved.Prepared+IDTime(now.Add(Retention)), strings.TrimSuffix(reserved.Prepared, "|")+"}"
	return filterIn(partition, fmt.Sprintf("(%s or (%s ge '%s' and %s lt '%s'))", preparationFilter("", before), edm.RowKey, ahead, edm.RowKey, end))
}

func filterIn(partition, rows string) string {
	if partition == "" {
		return rows
	}
	return fmt.Sprintf("%s eq %s and %s", edm.PartitionKey, edm.Quote(partition), rows)
}

// sweepRemotes deletes what the write of a commit record that is to be swept has prepared in other partitions. 1 request for each, and 2
// for those of an abort record, which a forged message may have stored for a write that has another home.
func (t *Table) sweepRemotes(ctx context.Context, r *Row) error {
	rec, err := recordOf(r)
	if err != nil {
		return nil // the row is no commit record
	}
	for _, e := range rec.Effects {
		var work RemoteWork
		if e.Kind != RemoteEffect || json.Unmarshal(e.Payload, &work) != nil {
			continue
		}
		for _, at := range work.Remotes {
			if checkRemote(at) != nil {
				continue
			}
			err := t.sweepRemote(ctx, rec, at)
			if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrTableNotFound) {
				return err
			}
		}
	}
	return nil
}

// sweepRemote deletes what the write of a commit record has prepared in another partition.
func (t *Table) sweepRemote(ctx context.Context, rec *Record, at Remote) error {
	in, k, match := t.sibling(at.Table), preparationKey(at.Partition, rec.OperationID), azcore.ETagAny
	if rec.State == RecordAborted {
		f, err := in.readStored(ctx, k)
		if err != nil || f.row == nil {
			return err
		}
		p, err := preparationOf(f.row)
		if err != nil || p.home.folded() != (Remote{t.Name, rec.Partition}).folded() {
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

// FinishPrepared ends the writes over several partitions that began before a time and have not ended in a partition, or in any if it
// is "", which takes a scan of the table; see commit.Records.FinishPrepared.
// It goes on behind orphans, and returns those that are left.
func (t *Table) FinishPrepared(ctx context.Context, partition string, before time.Time, orphans Orphans) (finished int, left []*HomeError, err error) {
	var all []keys.Key
	plain, now := t.Plain(), t.Options.Now()
	err = plain.each(ctx, unendedFilter(partition, before, now), "", func(r *Row) bool {
		id := strings.TrimPrefix(r.Key.RowKey(), reserved.Prepared)
		p, err := preparationOf(r)
		switch {
		case err != nil || p.over || len(id) != idLength: // it is a new content, or has ended
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
		by := finisher{}
		if t.recent(id) != nil { // the table of the commit record of a younger write may be back in a moment
			by.orphans = orphans
		}
		var orphan *HomeError
		err = plain.finishPrepared(ctx, k.PartitionKey(), id, by)
		switch {
		case err == nil:
			finished++
		case errors.As(err, &orphan):
			left, err = append(left, orphan), nil
		case isDamage(damaged(err)): // it is forged, or of a newer release
			left, err = append(left, &HomeError{Row: k, Err: err}), nil
		}
	}
	if err == nil && t.RangedRows() {
		err = ErrRanged
	}
	return finished, left, err
}
