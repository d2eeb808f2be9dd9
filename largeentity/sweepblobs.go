package largeentity

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// sweepBlobs sweeps by the list of the blobs: it finds those that no row keeps.
func (w *sweep) sweepBlobs(ctx context.Context) error {
	rows := &merged[storedRow]{
		open: func(partition, id string) iter.Seq2[storedRow, error] {
			return w.rowsFrom(ctx, keys.Stored(partition, "").Partition(), id)
		},
		nameOf: func(r storedRow) (name, bool) { return r.name, !r.foreign },
	}
	defer rows.close()
	for b, err := range w.store.client.list(ctx, w.store.table+"/") {
		if err == nil {
			err = w.pace.Spend(ctx, 1)
		}
		if err != nil {
			return err
		}
		w.report.Blobs++
		if b.foreign || b.table != w.store.table {
			w.report.Foreign++
		} else {
			row, err := rows.find(b.name)
			if err == nil {
				err = w.blob(ctx, b, row)
			}
			if err != nil {
				return err
			}
		}
		if w.report.Blobs%1000 == 0 && w.opt.Progress != nil {
			w.opt.Progress(w.report)
		}
	}
	return nil
}

// blob decides about a blob that was listed.
func (w *sweep) blob(ctx context.Context, b listed, row *storedRow) error {
	switch {
	case row == nil && !w.opt.Relink && !w.expired(b):
		w.report.Young++
	case row == nil:
		return w.unrecorded(ctx, b.name)
	case w.opt.Relink && row.isTombstone():
	case row.state == condemned:
		return w.delete(ctx, Finding{Kind: Orphan, Blob: b.String()}, b.name)
	case row.state == unlinked:
		return w.delete(ctx, Finding{Replaced, b.String(), row.entityKey()}, b.name)
	case row.state == live || row.state == moved:
		w.report.Linked++
	default:
		w.report.Foreign++ // of a newer version of this library
	}
	return nil
}

// unrecorded decides about a blob without a row, which an entity may link all the same.
func (w *sweep) unrecorded(ctx context.Context, n name) error {
	if w.links == nil || w.links.partition != n.partition {
		links, err := readLinks(ctx, w.rows, n.partition, w.pace)
		if err != nil {
			return err
		}
		w.links = links
	}
	// A write that links the blob later also inserts its row, and so makes that of an orphan fail.
	entity, linked := w.links.entities[n.id]
	switch {
	case !linked && w.opt.Relink: // it may be that of an archived entity
		return nil
	case !linked:
		return w.orphan(ctx, n)
	}
	if _, err := w.rows.GetRow(ctx, n.key()); !errors.Is(err, table.ErrNotFound) {
		if err == nil {
			w.report.Linked++ // by a write since the rows were listed
		}
		return err
	}
	if !w.opt.Relink {
		return &UnrecordedLinkError{Key: entity, Blob: n.String()}
	}
	if !w.opt.DryRun {
		row := blobRow{name: n, state: live, entity: entity.RowKey()}
		r, err := row.row()
		if err == nil {
			err = w.pace.Spend(ctx, 1)
		}
		if err == nil {
			_, err = w.rows.InsertAt(ctx, r.Key, r)
		}
		if err != nil && !errors.Is(err, table.ErrExists) { // a write was first, or another sweep
			return err
		}
	}
	w.report.Linked++
	w.found(Finding{Unrecorded, n.String(), entity})
	return nil
}

// expired reports whether a blob is older than the grace, both by the clock of the program that has uploaded it and by that of the
// service.
func (w *sweep) expired(b listed) bool {
	from := b.uploaded()
	if b.modified.After(from) {
		from = b.modified
	}
	return w.store.opt.Now().Sub(from) > w.store.opt.Grace
}

// orphan deletes a blob that has no row. Its row comes first, so that no writer can link the blob from now on.
func (w *sweep) orphan(ctx context.Context, n name) error {
	if w.enough() {
		return errEnough
	}
	if !w.opt.DryRun {
		r, err := blobRow{name: n, state: condemned, since: w.store.opt.Now()}.row()
		if err != nil {
			return err
		}
		if err := w.pace.Spend(ctx, 1); err != nil {
			return err
		}
		switch _, err := w.rows.InsertAt(ctx, r.Key, r); {
		case errors.Is(err, table.ErrExists): // a slow writer was first, or another sweep
			w.report.Young++
			return nil
		case err != nil:
			return err
		}
	}
	return w.delete(ctx, Finding{Kind: Orphan, Blob: n.String()}, n)
}
