package largeentity

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/table"
)

// Sweep deletes the blobs of a table that nothing refers to, and reports links to blobs that do not exist:
//
//   - blobs without a row and without an entity that are older than Options.Grace: their upload was never stored. Sweep first inserts
//     a row that lets a slow writer fail with ErrUploadAgain.
//   - blobs that were replaced, or whose entity was deleted, and whose writer has not deleted them.
//   - blobs of archived entities that are not in the archive any more; see SweepOptions.Archived.
//   - old rows of blobs that do not exist any more.
//
// If an entity links a blob and no row says so, rows of the table were lost, and Sweep fails before it deletes a blob of that partition.
// With SweepOptions.Relink, it stores these rows again and deletes nothing.
//
// It reads the list of the blobs in the container below the name of the table, and the list of their rows, and then the same from the
// rows' side. Blobs with names of another form, and those of other tables, stay as they are. Writers may go on, and several sweeps may
// run at the same time. t may be any handle of the table, with or without [Attach].
//
// Sweep is idempotent: after an error or a crash, run it again. An error leaves the report as it is. Errors: *table.ValueError for
// wrong options; *UnrecordedLinkError; table.ErrRanged if the client's signature is for a range of keys; ErrContainerNotFound; those
// of [table.Table.List], of SweepOptions.Archived and of the service.
//
// Requests: 1 for each page of blobs and 1 or more for the rows of each partition in it; 1 for each page of rows of the whole table,
// which the service finds by a scan, and 1 or more for the blobs of each of their partitions; 1 for each deleted blob, and 1 more for
// an orphan; 1 for each 1,000 rows of each partition with a blob without a row, whose entities Sweep reads first; 1 for each 100 deleted
// rows. Memory: a page of each list, and the links of such a partition.
func Sweep[T any](ctx context.Context, t *table.Table[T], s *Store, o *SweepOptions) (report SweepReport, err error) {
	w := &sweep{store: s}
	if o != nil {
		w.opt = *o
	}
	w.pace = pace.New(w.opt.Rate)
	err = w.opt.check()
	switch {
	case t.Engine() == nil:
		err = table.ErrorOf(engine.CheckHandle("t", nil))
	case s == nil:
		err = &table.ValueError{Field: "s", Reason: "is nil"}
	case !strings.EqualFold(t.Name(), s.table):
		err = &table.ValueError{Field: "s", Reason: fmt.Sprintf("is the store of the table %s, and not of %s", s.table, t.Name())}
	}
	if err == nil {
		spanned, end := t.Engine().Span(ctx, "Sweep")
		defer func() { end(err) }()
		w.rows = table.RowsOf(t.Engine(), true) // an operation ID tells the outcome after a lost response
		if err = w.sweepBlobs(spanned); err == nil && !w.opt.Relink {
			err = w.sweepRows(spanned)
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
