package largeentity

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Sweep deletes the blobs of a table that nothing refers to, and counts links to blobs that do not
// exist. The store does it each day.
//
//   - blobs without a row and without an entity that are older than Options.Grace: their upload was
//     never stored. Sweep first inserts a row that lets a slow writer fail with ErrUploadAgain.
//   - blobs that were replaced, or whose entity was deleted, and whose writer has not deleted them.
//   - blobs of archived entities that are not in the archive any more; see Options.Archived.
//   - old rows of blobs that do not exist any more.
//
// If an entity links a blob and no row says so, rows of the table were lost, and Sweep fails before
// it deletes a blob of that partition; see [Values.Relink].
//
// It reads the list of the blobs in the container below the name of the table, and the list of
// their rows, and then the same from the rows' side; with Pass.Partitions of one partition, only
// the blobs of that. Blobs with names of another form, and those of other tables, stay as they are.
// Writers may go on, and several sweeps may run at the same time.
//
// Pass.Concurrency and Skip are refused; Rate is the most blobs and rows that are read, written and
// deleted in a second. A Token goes on behind the last partition that was finished, and lists the
// blobs again, 1 request for each 5,000. Progress.Faults counts links to blobs that do not exist,
// which aztablekit.Store.Verify lists. Progress.Counts has blobs, linked (by an entity, also an
// archived one), young, foreign (of another form), orphans (deleted: no entity has linked them),
// replaced (deleted), tombstones (deleted rows), and kept (the service refuses to delete them).
//
// Sweep is idempotent.
//
// Errors:
//   - *table.ValueError for a field of the pass
//   - *table.DefinitionError for a handle without the values
//   - *UnrecordedLinkError
//   - table.ErrRanged if the client's signature is for a range of keys
//   - table.ErrNotCreated
//   - the error of a destination of package archive
//   - errors of a read and of a write (see package table), and *azcore.ResponseError about a blob
//
// Requests:
//   - 1 for each page of blobs and 1 or more for the rows of each partition in it
//   - 1 for each page of rows of the whole table, which the service finds by a scan, and 1 or more
//     for the blobs of each of their partitions
//   - 1 for each deleted blob, and 1 more for an orphan
//   - 1 for each 1,000 rows of each partition with a blob without a row, whose entities Sweep reads
//     first
//   - 1 for each 100 deleted rows
//
// Memory: a page of each list, and the links of such a partition.
func (v *Values[T]) Sweep(ctx context.Context, t *table.Table[T], p *table.Pass) (table.Progress, error) {
	of, err := v.binding(t)
	if err != nil {
		return table.Progress{}, err
	}
	return of.Sweep(ctx, p)
}

func (v *values) Sweep(ctx context.Context, p *table.Pass) (table.Progress, error) {
	return v.passOf("Sweep", ctx, p, sweepOptions{archived: v.archivedAnywhere()})
}

// Relink stores the rows of blobs that entities link and that have none, of whatever age, and
// deletes nothing: for a table that was restored or copied without its rows that begin with ~.
// Links of archived entities are not known without their rows: see docs/operations.md before the
// next sweep. Pass, errors and requests are those of [Values.Sweep]; Progress.Counts also has
// relinked. Idempotent.
func (v *Values[T]) Relink(ctx context.Context, t *table.Table[T], p *table.Pass) (table.Progress, error) {
	of, err := v.binding(t)
	if err != nil {
		return table.Progress{}, err
	}
	return of.Relink(ctx, p)
}

func (v *values) Relink(ctx context.Context, p *table.Pass) (table.Progress, error) {
	return v.passOf("Relink", ctx, p, sweepOptions{relink: true})
}

// passOf sweeps by a pass of a program.
func (v *values) passOf(method string, ctx context.Context, p *table.Pass, o sweepOptions) (table.Progress, error) {
	if p != nil {
		o.Pass = *p
	}
	ctx = engine.Enduring(ctx)
	err := door.CheckPass(&o.Pass, "Partitions", "Token", "Rate", "DryRun")
	w := &sweep{}
	if err == nil {
		w, err = v.sweep(ctx, o)
	}
	if err != nil {
		err = fmt.Errorf("largeentity: %s: %w", method, err)
	}
	return w.progress(), err
}

// archivedAnywhere returns a function that asks the movers of Options.Archived about an entity, nil
// without movers.
func (v *values) archivedAnywhere() func(context.Context, keys.Key, string) (bool, error) {
	if len(v.archives) == 0 {
		return nil
	}
	return func(ctx context.Context, k keys.Key, incarnation string) (bool, error) {
		for _, a := range v.archives {
			if contains, err := a.Contains(ctx, k, incarnation); contains || err != nil {
				return contains, err
			}
		}
		return false, nil
	}
}

// sweep sweeps by options.
func (v *values) sweep(ctx context.Context, o sweepOptions) (w *sweep, err error) {
	w = &sweep{store: v.store, opt: o, pace: pace.New(o.Rate)}
	if err := o.Partitions.Err(); err != nil {
		return w, err
	}
	if w.at, err = o.position(); err != nil {
		return w, err
	}
	ctx, end := door.Table(v.table).Span(ctx, "Sweep")
	defer func() { end(err) }()
	w.rows = door.Rows[table.Table[table.Row]](door.Table(v.table), true) // an operation ID tells the outcome after a lost response
	w.report.Token = o.Token
	return w, w.sweepAll(ctx)
}

// sweepAll sweeps from the position of the token.
func (w *sweep) sweepAll(ctx context.Context) error {
	if w.at.by == byBlobs {
		if err := w.sweepBlobs(ctx); err != nil {
			return err
		}
		w.move(sweepPosition{by: byRows})
	}
	if !w.opt.relink {
		if err := w.sweepRows(ctx); err != nil {
			return err
		}
	}
	w.report.Token = ""
	return nil
}

// move notes how far the sweep is.
func (w *sweep) move(p sweepPosition) { w.at, w.inside, w.report.Token = p, nil, w.opt.token(p) }

// enter notes that a partition has begun, if it is another one, and that the one before is
// finished.
func (w *sweep) enter(by byte, partition string) {
	if w.inside != nil && *w.inside == partition {
		return
	}
	if w.inside != nil {
		w.move(sweepPosition{by, *w.inside, true})
	}
	w.inside = &partition
}

// sweep is a run of Sweep or Relink.
type sweep struct {
	store  *store
	rows   *table.Table[table.Row]
	opt    sweepOptions
	report sweepReport
	at     sweepPosition
	inside *string // the partition that has begun, nil for none
	pace   *pace.Limit
	links  *partitionLinks // of the partition of the last blob without a row
}

// storedRow is the row of a blob with its ETag.
type storedRow struct {
	blobRow
	foreign bool // the row is of another form
	stored  *table.Row
}

// rowsFrom yields the rows of blobs of a range of partitions, of all if it is unset, from the row
// of an ID on.
func (s *sweep) rowsFrom(ctx context.Context, in keys.PartitionRange, id string) iter.Seq2[storedRow, error] {
	q := table.Query[table.Row]{Partitions: in, Rows: keyrange.Stored(reserved.Blob+id, reserved.Blob+"\x7f"), TableScan: !in.IsSet()}
	return func(yield func(storedRow, error) bool) {
		for r, err := range tabledoor.Complete(s.rows, s.rows.Rows(ctx, q)) {
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
	}
}

// delete deletes the blob of a tombstone. The entity is the one that has linked the blob, the zero
// key if none has.
func (w *sweep) delete(ctx context.Context, n name, entity keys.Key) error {
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
	if entity == (keys.Key{}) {
		w.report.Orphans++
	} else {
		w.report.Replaced++
	}
	w.fault(verify.Fault{Kind: verify.Dangling, Blob: n.String(), Entity: entity, Repaired: !w.opt.DryRun})
	return nil
}

// fault reports a fault.
func (w *sweep) fault(f verify.Fault) {
	f.Table = w.rows.Name()
	if w.opt.fault != nil {
		w.opt.fault(f)
	}
}

// mayGo reports whether a tombstone is not needed any more: no request arrives that links its blob.
// That of an orphan stays for as long again, for programs whose clocks are wrong.
func (w *sweep) mayGo(r storedRow) bool {
	now, grace := w.store.client.opt.Now(), w.store.opt.Grace
	if now.Before(w.store.opt.unlinkable(r.name)) {
		return false
	}
	return r.state != condemned || now.Sub(r.stored.Timestamp) > grace && now.Sub(r.since) > grace
}

// sweepBlobs sweeps by the list of the blobs: it finds those that no row keeps.
func (w *sweep) sweepBlobs(ctx context.Context) error {
	rows := &merged[storedRow]{
		open: func(partition, id string) iter.Seq2[storedRow, error] {
			return w.rowsFrom(ctx, keys.Raw(partition, "").Partition().Point(), id)
		},
		nameOf: func(r storedRow) (name, bool) { return r.name, !r.foreign },
	}
	defer rows.close()
	prefix := w.store.table + "/"
	if one := w.opt.Partitions; one.IsPoint() {
		prefix = name{table: w.store.table, partition: keyrange.Partition(one).String()}.String()
	}
	finished := w.at
	for b, err := range w.store.client.list(ctx, prefix) {
		if err == nil && w.opt.Partitions.IsSet() && !b.foreign && !w.opt.Partitions.Contains(b.partition) {
			continue
		}
		if err == nil && finished.begun && !b.foreign && blobs.Escape(b.partition)+"/" <= blobs.Escape(finished.partition)+"/" { // as names sort
			continue
		}
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
			w.enter(byBlobs, b.partition)
			row, err := rows.find(b.name)
			if err == nil {
				err = w.blob(ctx, b, row)
			}
			if err != nil {
				return err
			}
		}
		w.tell(w.report.Blobs)
	}
	return nil
}

// tell reports progress after each 1,000 blobs or rows.
func (w *sweep) tell(n int) {
	if n%1000 == 0 && w.opt.Progress != nil {
		w.opt.Progress(w.progress())
	}
}

// blob decides about a blob that was listed.
func (w *sweep) blob(ctx context.Context, b listed, row *storedRow) error {
	switch {
	case row == nil && !w.opt.relink && !w.expired(b):
		w.report.Young++
	case row == nil:
		return w.unrecorded(ctx, b.name)
	case w.opt.relink && row.isTombstone():
	case row.state == condemned:
		return w.delete(ctx, b.name, keys.Key{})
	case row.state == unlinked:
		return w.delete(ctx, b.name, row.entityKey())
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
	case !linked && w.opt.relink: // it may be that of an archived entity
		return nil
	case !linked:
		return w.orphan(ctx, n)
	}
	if _, err := tabledoor.GetRow(ctx, w.rows, n.key()); !errors.Is(err, table.ErrNotFound) {
		if err == nil {
			w.report.Linked++ // by a write since the rows were listed
		}
		return err
	}
	if !w.opt.relink {
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
	w.report.Relinked++
	w.fault(verify.Fault{Kind: verify.StateMismatch, Row: n.key(), Blob: n.String(), Entity: entity, Repaired: !w.opt.DryRun})
	return nil
}

// expired reports whether a blob is older than the grace, both by the clock of the program that has
// uploaded it and by that of the service.
func (w *sweep) expired(b listed) bool {
	from := b.uploaded()
	if b.modified.After(from) {
		from = b.modified
	}
	return w.store.client.opt.Now().Sub(from) > w.store.opt.Grace
}

// orphan deletes a blob that has no row. Its row comes first, so that no writer can link the blob
// from now on.
func (w *sweep) orphan(ctx context.Context, n name) error {
	if !w.opt.DryRun {
		r, err := blobRow{name: n, state: condemned, since: w.store.client.opt.Now()}.row()
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
	return w.delete(ctx, n, keys.Key{})
}

// sweepRows sweeps by the list of the rows: it finds links without blobs, blobs of entities that
// are not archived any more, and tombstones that are not needed any more, which it deletes in
// batches.
func (w *sweep) sweepRows(ctx context.Context) error {
	var failed error
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		failed = w.eachRow(ctx, func(n name) bool {
			w.report.RowsGone++
			return w.opt.DryRun || yield(w.rows.DeleteAnyOp(n.key()), nil)
		})
	}, &table.Pass{Rate: w.opt.Rate})
	return errors.Join(failed, err)
}

// eachRow looks at each row. gone is called for each tombstone that is to be deleted, and returns
// false to stop.
func (w *sweep) eachRow(ctx context.Context, gone func(name) bool) error {
	stored := &merged[listed]{
		open: func(partition, _ string) iter.Seq2[listed, error] {
			return w.store.client.list(ctx, name{table: w.store.table, partition: partition}.String())
		},
		nameOf: func(b listed) (name, bool) { return b.name, !b.foreign },
	}
	defer stored.close()
	in := w.opt.Partitions
	if w.at.begun {
		in = in.Behind(keys.Raw(w.at.partition, "").Partition())
	}
	for r, err := range w.rowsFrom(ctx, in, "") {
		if err != nil {
			return err
		}
		w.report.Rows++
		w.tell(w.report.Rows)
		w.enter(byRows, r.stored.Key.PartitionKey())
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

// missing reports a link without a blob, once both are read again: the value may have been replaced
// since the row was read, or the blob stored since it was listed.
func (w *sweep) missing(ctx context.Context, r storedRow) error {
	_, err := w.store.client.properties(ctx, r.String())
	if !errors.Is(err, ErrBlobNotFound) {
		return err
	}
	now, err := tabledoor.FindRow(ctx, w.rows, r.key())
	if err != nil || now == nil {
		return err
	}
	if is, ok := decodeRow(now, w.store.table); ok && !is.isTombstone() {
		w.report.Missing++
		w.fault(verify.Fault{Kind: verify.Missing, Blob: r.String(), Entity: r.entityKey()})
	}
	return nil
}

// movedRow asks the destination of package archive about an entity that was moved, and deletes its
// blob if the destination does not contain it any more. The row was read before the destination is
// asked, and is changed by its ETag: a restored entity keeps its blob.
func (w *sweep) movedRow(ctx context.Context, r storedRow, exists bool) error {
	if w.opt.archived != nil {
		contains, err := w.opt.archived(ctx, r.entityKey(), r.incarnation)
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
	return w.delete(ctx, r.name, r.entityKey())
}

// UnrecordedLinkError: an entity links a blob, and no row of the blob says so. The rows of the
// table that begin with ~b were deleted, or left out when the table was restored or copied. Sweep
// deletes no blob of the partition then.
type UnrecordedLinkError struct {
	Key  keys.Key // of the entity
	Blob string   // its name
}

func (e *UnrecordedLinkError) Error() string {
	return fmt.Sprintf("entity %v links the blob %s, and no row with ~b says so: call Values.Relink, which stores such rows again", e.Key, e.Blob)
}

// partitionLinks are the blobs that the entities of a partition link.
type partitionLinks struct {
	partition string
	entities  map[string]keys.Key // by the IDs of the blobs
}

// readLinks reads the links of a partition. 1 request for each 1,000 rows.
func readLinks(ctx context.Context, rows *table.Table[table.Row], partition string, limit *pace.Limit) (*partitionLinks, error) {
	l := &partitionLinks{partition, map[string]keys.Key{}}
	q := table.Query[table.Row]{Partition: keys.Raw(partition, "").Partition()}
	for r, err := range tabledoor.Complete(rows, rows.Rows(ctx, q)) {
		if err == nil {
			err = limit.Spend(ctx, 1)
		}
		if err != nil {
			return nil, err
		}
		l.add(r)
	}
	return l, nil
}

// add adds the blobs that a row links, unless it is a copy of an entity. No two blobs have the same
// ID.
func (l *partitionLinks) add(r *table.Row) {
	if _, isCopy := (*stored.Row)(r).Primary(); isCopy {
		return
	}
	for property, value := range r.All() {
		text, _ := value.(string) // a link of another type is none that can be read
		if n, is := parseName(text); is && strings.HasSuffix(property, suffixBlob) {
			l.entities[n.id] = r.Key // also a link in a part: Rows returns entities whole
		}
	}
}
