package largeentity

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// sweepRows sweeps by the list of the rows: it finds links without blobs, blobs of entities that are not archived any more, and
// tombstones that are not needed any more, which it deletes in batches.
func (w *sweep) sweepRows(ctx context.Context) error {
	var failed error
	_, err := bulk.Run(ctx, func(yield func(table.Op, error) bool) {
		failed = w.eachRow(ctx, func(n name) bool {
			w.report.RowsGone++
			return w.opt.DryRun || yield(w.rows.DeleteAnyOp(n.key()), nil)
		})
	}, &bulk.Options{Rate: w.opt.Rate})
	if errors.Is(failed, errEnough) && err != nil { // the error counts
		w.report.Incomplete, failed = true, nil
	}
	return errors.Join(failed, err)
}

// eachRow looks at each row. gone is called for each tombstone that is to be deleted, and returns false to stop.
func (w *sweep) eachRow(ctx context.Context, gone func(name) bool) error {
	stored := &merged[listed]{
		open: func(partition, _ string) iter.Seq2[listed, error] {
			return w.store.client.list(ctx, name{table: w.store.table, partition: partition}.String())
		},
		nameOf: func(b listed) (name, bool) { return b.name, !b.foreign },
	}
	defer stored.close()
	for r, err := range w.rowsFrom(ctx, keys.Enc{}, "") {
		if err != nil {
			return err
		}
		w.report.Rows++
		if r.foreign {
			w.report.Foreign++
			continue
		}
		blob, err := stored.find(r.name)
		if err == nil && r.state == moved {
			err = w.movedRow(ctx, r, blob != nil)
		}
		switch {
		case err != nil:
			return err
		case blob == nil && r.state == live:
			err = w.missing(ctx, r)
		// sweepBlobs has deleted the blob of a tombstone, but for a dry run.
		case (blob == nil || w.opt.DryRun) && r.isTombstone() && w.mayGo(r):
			if !gone(r.name) {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missing reports a link without a blob, once both are read again: the value may have been replaced since the row was read, or the
// blob stored since it was listed.
func (w *sweep) missing(ctx context.Context, r storedRow) error {
	_, err := w.store.client.properties(ctx, r.String())
	if !errors.Is(err, ErrBlobNotFound) {
		return err
	}
	now, err := w.rows.GetRow(ctx, r.key())
	switch {
	case errors.Is(err, table.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if is, ok := decodeRow(now, w.store.table); ok && !is.isTombstone() {
		w.found(Finding{Dangling, r.String(), r.entityKey()})
	}
	return nil
}

// movedRow asks the destination of package archive about an entity that was moved, and deletes its blob if the destination does not
// contain it any more. The row was read before the destination is asked, and is changed by its ETag: a restored entity keeps its
// blob.
func (w *sweep) movedRow(ctx context.Context, r storedRow, exists bool) error {
	if w.opt.Archived != nil {
		contains, err := w.opt.Archived(ctx, r.entityKey(), r.incarnation)
		if err != nil {
			return err
		}
		if !contains {
			return w.notArchived(ctx, r)
		}
	}
	if exists {
		return nil
	}
	return w.missing(ctx, r)
}

// notArchived makes a moved row unlinked, and deletes its blob.
func (w *sweep) notArchived(ctx context.Context, r storedRow) error {
	if w.enough() {
		return errEnough
	}
	if !w.opt.DryRun {
		b := r.blobRow
		b.state, b.incarnation = unlinked, ""
		row, err := b.row()
		if err != nil {
			return err
		}
		e, err := w.rows.Entity(r.stored)
		if err != nil {
			return err
		}
		e.Value = *row
		switch err := w.rows.Replace(ctx, e); {
		case errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrNotFound):
			return nil // the entity was restored meanwhile
		case err != nil:
			return err
		}
	}
	return w.delete(ctx, Finding{Replaced, r.String(), r.entityKey()}, r.name)
}
