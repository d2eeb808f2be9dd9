package largeentity

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// sweep is a run of Sweep.
type sweep struct {
	store   *Store
	rows    *table.Table[table.Row]
	opt     SweepOptions
	report  SweepReport
	deleted int
	pace    *pace.Limit
	links   *partitionLinks // of the partition of the last blob without a row
}

// errEnough ends a sweep at SweepOptions.MaxDeletes.
var errEnough = errors.New("enough blobs are deleted")

// storedRow is the row of a blob with its ETag.
type storedRow struct {
	blobRow
	foreign bool // the row is of another form
	stored  *table.Row
}

// rowsFrom yields the rows of blobs, from the row of an ID on: those of a partition, or of all if partition is not set.
func (s *sweep) rowsFrom(ctx context.Context, partition keys.Enc, id string) iter.Seq2[storedRow, error] {
	q := table.Query[table.Row]{Partition: partition, Rows: keys.StoredBetween(reserved.Blob+id, reserved.Blob+"\x7f"), TableScan: !partition.IsSet()}
	return func(yield func(storedRow, error) bool) {
		for r, err := range s.rows.Rows(ctx, q) {
			if err == nil && s.rows.Engine().Ranged() {
				err = table.ErrRanged
			}
			if err == nil {
				err = s.pace.Spend(ctx, 1)
			}
			if err != nil {
				yield(storedRow{}, err)
				return
			}
			b, ok := decodeRow(r, s.store.table)
			if !yield(storedRow{b, !ok, r}, nil) {
				return
			}
		}
		if s.rows.Engine().Ranged() { // there may be rows, which the signature hides
			yield(storedRow{}, table.ErrRanged)
		}
	}
}

// delete deletes the blob of a tombstone.
func (w *sweep) delete(ctx context.Context, f Finding, n name) error {
	if w.enough() {
		return errEnough
	}
	if !w.opt.DryRun {
		if err := w.pace.Spend(ctx, 1); err != nil {
			return err
		}
		err := w.store.client.delete(ctx, n.String())
		var re *azcore.ResponseError
		switch {
		case errors.As(err, &re) && (re.StatusCode == http.StatusConflict || re.StatusCode == http.StatusPreconditionFailed):
			w.report.Kept++
			return nil
		case err != nil:
			return err
		}
	}
	w.deleted++
	w.found(f)
	return nil
}

// enough reports whether the sweep may delete no more blobs.
func (w *sweep) enough() bool { return w.opt.MaxDeletes > 0 && w.deleted == w.opt.MaxDeletes }

// found counts a finding.
func (w *sweep) found(f Finding) {
	switch f.Kind {
	case Orphan:
		w.report.Orphans++
	case Replaced:
		w.report.Replaced++
	case Dangling:
		w.report.Dangling++
	case Unrecorded:
		w.report.Relinked++
	}
	if w.opt.Finding != nil {
		w.opt.Finding(f)
	}
}

// mayGo reports whether a tombstone is not needed any more: no request arrives that links its blob. That of an orphan stays for as long
// again, for programs whose clocks are wrong.
func (w *sweep) mayGo(r storedRow) bool {
	now, grace := w.store.opt.Now(), w.store.opt.Grace
	if now.Before(w.store.opt.unlinkable(r.name)) {
		return false
	}
	return r.state != condemned || now.Sub(r.stored.Timestamp) > grace && now.Sub(r.since) > grace
}
