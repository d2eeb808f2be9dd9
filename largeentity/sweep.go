package largeentity

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Sweep deletes the blobs of a table that nothing refers to, and reports links to blobs that do not exist:
//
//   - blobs without a row that are older than Options.Grace: their upload was never stored. Sweep first inserts a row that lets a
//     slow writer fail with ErrUploadAgain.
//   - blobs that were replaced, or whose entity was deleted, and whose writer has not deleted them.
//   - blobs of archived entities that are not in the archive any more; see SweepOptions.Archived.
//   - old rows of blobs that do not exist any more.
//
// It reads the list of the blobs in the container below the name of the table, and the list of their rows, and then the same from the
// rows' side. Blobs with names of another form, and those of other tables, stay as they are. Writers may go on, and several sweeps may
// run at the same time. t may be any handle of the table, with or without [Attach].
//
// Sweep is idempotent: after an error or a crash, run it again. An error leaves the report as it is. Errors: *table.ValueError and
// *table.LimitError for wrong options; table.ErrRanged if the client's signature is for a range of keys; ErrContainerNotFound; those
// of [table.Table.List], of SweepOptions.Archived and of the service.
//
// Requests: 1 for each page of blobs and 1 or more for the rows of each partition in it; 1 for each page of rows of the whole table,
// which the service finds by a scan, and 1 or more for the blobs of each of their partitions; 1 for each deleted blob, and 1 more for
// an orphan; 1 for each 100 deleted rows. Memory: a page of each list.
func Sweep[T any](ctx context.Context, t *table.Table[T], s *Store, o *SweepOptions) (SweepReport, error) {
	w := &sweep{store: s}
	if o != nil {
		w.opt = *o
	}
	if w.opt.PageSize == 0 {
		w.opt.PageSize = 1000
	}
	err := w.opt.check()
	switch {
	case t == nil:
		err = &table.ValueError{Field: "t", Reason: "is nil"}
	case s == nil:
		err = &table.ValueError{Field: "s", Reason: "is nil"}
	case !strings.EqualFold(t.Name(), s.table):
		err = &table.ValueError{Field: "s", Reason: fmt.Sprintf("is the store of the table %s, and not of %s", s.table, t.Name())}
	}
	if err == nil {
		w.rows = table.RowsOf(t.Engine(), true) // an operation ID tells the outcome after a lost response
		if err = w.blobs(ctx); err == nil {
			err = w.tombstones(ctx)
		}
	}
	if errors.Is(err, errEnough) {
		w.report.Incomplete, err = true, nil
	}
	if err != nil {
		err = fmt.Errorf("largeentity: Sweep: %w", err)
	}
	return w.report, err
}

// sweep is a run of Sweep.
type sweep struct {
	store   *Store
	rows    *table.Table[table.Row]
	opt     SweepOptions
	report  SweepReport
	deleted int
}

// errEnough ends a sweep at SweepOptions.MaxDeletes.
var errEnough = errors.New("enough blobs are deleted")

// blobs sweeps by the list of the blobs: it finds those that no row keeps.
func (w *sweep) blobs(ctx context.Context) error {
	rows := &merged[storedRow]{
		open: func(partition, id string) iter.Seq2[storedRow, error] {
			return w.rowsFrom(ctx, keys.Stored(partition, "").Partition(), id)
		},
		nameOf: func(r storedRow) (name, bool) { return r.name, !r.foreign },
	}
	defer rows.close()
	for b, err := range w.store.client.list(ctx, w.store.table+"/", w.opt.PageSize) {
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
		if b.pageEnd && w.opt.Progress != nil {
			w.opt.Progress(w.report)
		}
	}
	return nil
}

// blob decides about a blob that was listed.
func (w *sweep) blob(ctx context.Context, b listed, row *storedRow) error {
	switch {
	case row == nil && !w.expired(b):
		w.report.Young++
	case row == nil:
		return w.orphan(ctx, b.name)
	case row.state == condemned:
		return w.delete(ctx, Finding{Kind: Orphan, Blob: b.String()}, b.name)
	case row.state == dead:
		return w.delete(ctx, Finding{Replaced, b.String(), row.entityKey()}, b.name)
	case row.state == live || row.state == moved:
		w.report.Linked++
	default:
		w.report.Foreign++ // of a newer version of this library
	}
	return nil
}

func (b blobRow) entityKey() keys.Key {
	if b.entity == "" {
		return keys.Key{}
	}
	return keys.Stored(b.partition, b.entity)
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
		r, err := blobRow{name: n, state: condemned}.row()
		if err != nil {
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

// delete deletes the blob of a tombstone.
func (w *sweep) delete(ctx context.Context, f Finding, n name) error {
	if w.enough() {
		return errEnough
	}
	if !w.opt.DryRun {
		if _, err := w.store.client.delete(ctx, n.String()); err != nil {
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
	}
	if w.opt.Finding != nil {
		w.opt.Finding(f)
	}
}

// mayGo reports whether a tombstone is not needed any more: no request arrives that links its blob. That of an orphan stays for as long
// again, for programs whose clocks are wrong.
func (w *sweep) mayGo(r storedRow) bool {
	now := w.store.opt.Now()
	if now.Before(w.store.opt.settled(r.name)) {
		return false
	}
	return r.state != condemned || now.Sub(r.stored.Timestamp) > w.store.opt.Grace
}
