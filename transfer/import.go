package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Mode says what Import does with a row whose key another row has.
type Mode int

// The modes.
const (
	Insert  Mode = iota // leaves the stored row as it is
	Replace             // replaces the stored row
	Newer               // replaces the stored row if the other one was changed later, by the clocks of the service
)

// ImportOptions are the options of [Import]. The zero value inserts all rows.
type ImportOptions struct {
	// Pass has Partitions, the range to import: several machines share a large import, a range
	// each; Concurrency, the transactions that are sent at the same time, 10 by default; Rate, the
	// most rows that are written in a second; and Progress, which is called after each chunk, and
	// each 10,000 rows of a table.
	table.Pass

	// Mode says what to do with a row whose key another row has.
	Mode Mode

	// Map returns the row to store in the place of one: with another key ([table.Row.At]), other
	// properties, or nil for none. It may change the row. It gets the rows as they are stored,
	// derived rows and the library's too, except the row of the definitions. Entities with other
	// keys need other derived rows: export Entities alone, or run aztablekit.Store.Repair. One
	// goroutine calls it.
	Map func(r *table.Row) (*table.Row, error)

	// OtherDefinitions imports into a table whose definitions are others than those of the export.
	// Its derived rows are then not those of its entities until aztablekit.Store.Repair has run.
	OtherDefinitions bool

	// Kept is called for each stored row that differs from the imported one and stays as it is. No
	// two calls of Kept and Progress overlap, and work waits for them.
	Kept func(keys.Key)
}

func (o *ImportOptions) check() error {
	if o.Mode < Insert || o.Mode > Newer {
		return &table.ValueError{Field: "ImportOptions.Mode", Reason: "is none of Insert, Replace and Newer"}
	}
	return cmp.Or(door.CheckPass(&o.Pass, "Partitions", "Concurrency", "Rate"), o.Partitions.Err())
}

// errOtherDefinitions is an ErrNotDeclared: the derived rows of the table would not be those of its
// entities. Import into a table that does not exist, or see ImportOptions.OtherDefinitions.
var errOtherDefinitions = fmt.Errorf("%w: the table has other definitions than the rows that are imported", table.ErrNotDeclared)

// Import stores the rows of an export or of a table as they are, derived rows and rows of the
// library included, and creates the table unless it exists.
//
//	done, err := transfer.Import(ctx, transfer.Exported(transfer.Folder("backup/staff")), staff, nil)
//
// Progress.Rows are the rows that were read, and Changed those that were written. Skipped are those
// for which Map has returned nil, and rows of the holders of leases (~h|), which belong to the
// table that they come from. Counts has "same", rows that were stored already, by an earlier import
// or by a request of this one whose response was lost, and "kept", stored rows that differ and stay
// as they are; in any mode also the row of the table's definitions (~c).
//
// All chunks that are read are compared with the manifest, and a chunk that was altered or cut ends
// the import before its first row is stored. An import that ended early is repeated as a whole:
// rows that are stored already cost 1 request for each 100, and 1 to compare them.
//
// Import while no program writes the table, and before a program calls Ensure, or call
// aztablekit.Store.Repair afterwards. Call aztablekit.Store.NotifyPending, if the export has
// pending effects (Counts["pending"] of [Export]), and Repair also ends the writes over several
// partitions that it has. The work of a day deletes the commit records that an import has brought
// into a table of a store, as it does those of writes.
//
// Errors:
//   - *table.ValueError for wrong options
//   - *FileError and table.ErrIncomplete for an export, *fs.PathError or table.ErrNotCreated if
//     there is none
//   - table.ErrNotDeclared for other definitions
//   - the error of Map, with the row
//   - *keys.KeyError for a key that no row can have, of a file or by Map, before anything is sent
//     with this row
//   - table.ErrRanged for a client whose signature is for a range of keys
//   - errors of a read and of a write (see package table)
//
// The progress counts what is done, also beside an error.
//
// Requests:
//   - 2 at the beginning, 1 more for the definitions of a source table, and those that read the
//     rows
//   - 1 for each 100 rows or 3 MiB of a partition
//   - 1 for each partition with commit records, and perhaps 1 for each batch of it that is sent at
//     the same time
//
// If some of these are stored already, 1 more for each 1,000 stored rows from the first to the last
// of them, 1 for the others, and 1 for those that are newer. Idempotent, except that rows deleted
// in the meantime are inserted again.
func Import(ctx context.Context, from Source, t table.Handle, o *ImportOptions) (_ table.Progress, err error) {
	e := door.Table(t)
	if err := engine.CheckHandle("t", e); err != nil {
		return table.Progress{}, fmt.Errorf("transfer: Import: %w", err)
	}
	ctx, end := e.Span(engine.Enduring(ctx), "Import")
	defer func() { end(err) }()
	if o == nil {
		o = &ImportOptions{}
	}
	m := &importing{table: e, opt: *o, pacer: pace.New(o.Rate)}
	m.opt.Concurrency = cmp.Or(o.Concurrency, engine.FanOut)
	if err = m.run(ctx, from); err != nil {
		err = fmt.Errorf("transfer: Import %s: %w", e.Name, err)
	}
	return m.progress, err
}

// importing is a call of Import in progress.
type importing struct {
	table *engine.Table
	opt   ImportOptions
	pacer *pace.Limit

	own   *row        // the row of the table's definitions, which stays; nil if there is none
	looks atomic.Bool // the store is new, and will look for commit records without notes

	mu       sync.Mutex
	progress table.Progress
}

func (m *importing) run(ctx context.Context, from Source) error {
	if from == nil {
		return errNilSource("from")
	}
	if err := m.opt.check(); err != nil {
		return err
	}
	in, err := spanOf(m.opt.Partitions)
	if err != nil {
		return err
	}
	opened, err := from.open(ctx)
	if err != nil {
		return err
	}
	if err := m.checkDefinitions(ctx, opened); err != nil {
		return err
	}
	if err := m.table.Ensure(ctx); err != nil {
		return err
	}
	for part := range opened.parts(ctx, in) {
		if err := m.importPart(ctx, part); err != nil {
			return err
		}
		m.noteProgress()
	}
	return nil
}

// checkDefinitions fails if the table has definitions that are not those of the source.
func (m *importing) checkDefinitions(ctx context.Context, from rowSource) error {
	theirs, err := from.catalogue(ctx)
	if err != nil {
		return err
	}
	own, err := catalogueOf(ctx, m.table)
	if err == nil && m.table.Ranged() {
		err = table.ErrRanged
	}
	switch {
	case errors.Is(err, errs.ErrTableNotFound), err == nil && own == nil:
		return nil
	case err != nil:
		return err
	}
	m.own = own
	if m.opt.OtherDefinitions {
		return nil
	}
	same, err := catalogue.Same(theirs.stored(), own.stored())
	if err == nil && !same {
		err = errOtherDefinitions
	}
	return err
}

// catalogueKey is the key of the row of a table's definitions.
var catalogueKey = keys.Raw(reserved.Catalogue, reserved.Catalogue)

// catalogueOf returns the row of a table's definitions, nil if there is none.
func catalogueOf(ctx context.Context, t *engine.Table) (found *row, err error) {
	end := behind(catalogueKey)
	err = readSpan(ctx, t, span{place{catalogueKey.PartitionKey(), catalogueKey.RowKey()}, &end}, func(r *row) bool {
		found = r
		return false
	}, nil)
	return found, err
}

// importPart imports some rows, and waits until all of them are stored.
func (m *importing) importPart(ctx context.Context, rows iter.Seq2[*row, error]) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(m.opt.Concurrency)
	var b batch
	send := func() {
		full := b
		b = batch{}
		g.Go(func() error { return m.store(gctx, full) })
	}
	for r, err := range rows {
		if err == nil {
			err = gctx.Err()
		}
		if err != nil {
			return cmp.Or(g.Wait(), err)
		}
		if m.own != nil && r.key == m.own.key {
			m.countDefinitions(r)
			continue
		}
		if strings.HasPrefix(r.key.RowKey(), reserved.Holder) { // a guard that comes back would let a holder write again that has lost its lease
			m.count(table.Progress{Rows: 1, Skipped: 1})
			continue
		}
		if err := engine.QueryErr(r.key); err != nil {
			return cmp.Or(g.Wait(), fmt.Errorf("row %q, %q: %w", r.key.PartitionKey(), r.key.RowKey(), err))
		}
		mapped, err := m.mapped(r)
		if err != nil {
			return cmp.Or(g.Wait(), fmt.Errorf("row %v: %w", r.key, err))
		}
		if mapped == nil {
			continue
		}
		r = mapped
		fits, err := b.add(r)
		if err == nil && !fits {
			send()
			_, err = b.add(r)
		}
		if err != nil {
			return cmp.Or(g.Wait(), fmt.Errorf("row %v: %w", r.key, err))
		}
	}
	if len(b.rows) > 0 {
		send()
	}
	return g.Wait()
}

// mapped returns the row to store in the place of one, nil for none.
func (m *importing) mapped(r *row) (*row, error) {
	if m.opt.Map == nil || r.key == catalogueKey {
		return r, nil
	}
	to, err := m.opt.Map((*table.Row)(r.stored()))
	if err != nil {
		return nil, err
	}
	if to == nil {
		m.count(table.Progress{Rows: 1, Skipped: 1})
		return nil, nil
	}
	if to.Key == catalogueKey {
		return nil, &table.ValueError{Field: "ImportOptions.Map", Reason: "makes a row the row of the definitions"}
	}
	if err := engine.QueryErr(to.Key); err != nil {
		return nil, fmt.Errorf("ImportOptions.Map: %w", err)
	}
	return &row{to.Key, r.timestamp, (*stored.Row)(to).Columns()}, nil
}

// countDefinitions counts the row of definitions, which stays as it is in the table.
func (m *importing) countDefinitions(r *row) {
	if sameColumns(r.columns, m.own.columns) {
		m.count(table.Progress{Rows: 1, Counts: map[string]int{"same": 1}})
		return
	}
	m.count(table.Progress{Rows: 1, Counts: map[string]int{"kept": 1}})
	m.noteKept(r.key)
}

func (m *importing) noteProgress() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opt.Progress != nil {
		m.opt.Progress(copyOf(m.progress))
	}
}

// store stores a batch.
func (m *importing) store(ctx context.Context, b batch) error {
	done := table.Progress{Rows: len(b.rows)}
	defer func() { m.count(done) }()
	if err := m.noteRecords(ctx, b); err != nil {
		return err
	}
	for attempt := 0; len(b.rows) > 0; attempt++ {
		if err := m.pacer.Spend(ctx, len(b.rows)); err != nil {
			return err
		}
		err := m.send(ctx, b)
		switch {
		case err == nil:
			done.Changed += len(b.rows)
			return nil
		case attempt == mostAttempts, !errors.Is(err, errs.ErrExists) && !errors.Is(err, errs.ErrUnknownOutcome):
			return err
		case m.opt.Mode == Replace: // sent again, the batch replaces what it has perhaps stored
			continue
		}
		b, err = m.storeOthers(ctx, b, &done)
		if err != nil {
			return err
		}
	}
	return nil
}

// mostAttempts is how often a batch is sent again because others write its rows, or because its
// outcome is unknown.
const mostAttempts = 10

// send sends a batch as one transaction.
func (m *importing) send(ctx context.Context, b batch) error {
	kind := aztables.TransactionTypeAdd
	if m.opt.Mode == Replace {
		kind = aztables.TransactionTypeInsertReplace
	}
	ops := make([]engine.RawRow, len(b.rows))
	for i := range b.rows {
		ops[i] = engine.RawRow{Kind: kind, Body: b.bodies[i]}
	}
	failed, err := m.table.StoreRaw(ctx, "Import", ops)
	if err != nil && failed >= 0 {
		err = fmt.Errorf("row %v: %w", b.rows[failed].key, err)
	}
	return err
}

// storeOthers looks which rows of a batch are stored, and returns those that are still to be sent.
func (m *importing) storeOthers(ctx context.Context, b batch, done *table.Progress) (left batch, err error) {
	is, err := m.storedRows(ctx, b)
	if err != nil {
		return b, err
	}
	var newer []engine.RawRow
	replaced := map[int]bool{}
	for i, r := range b.rows {
		was := is[r.key.RowKey()]
		switch {
		case was == nil:
		case sameColumns(was.columns, r.columns):
			addCount(done, "same", 1)
		case m.opt.Mode == Newer && r.timestamp.After(was.timestamp):
			replaced[i] = true
			newer = append(newer, engine.RawRow{Kind: aztables.TransactionTypeUpdateReplace, Body: b.bodies[i], Match: was.etag})
		default:
			addCount(done, "kept", 1)
			m.noteKept(r.key)
		}
	}
	_, err = m.table.StoreRaw(ctx, "Import", newer)
	switch {
	case err == nil:
		done.Changed += len(newer)
		clear(replaced)
	case errors.Is(err, errs.ErrChanged), errors.Is(err, errs.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound): // these rows are looked at again
	default:
		return b, err
	}
	return b.rest(func(i int) bool { return is[b.rows[i].key.RowKey()] != nil && !replaced[i] }), nil
}

// storedRow is a row of the table.
type storedRow struct {
	row
	etag azcore.ETag
}

// storedRows returns the rows of a batch that are stored, by their RowKeys.
func (m *importing) storedRows(ctx context.Context, b batch) (map[string]*storedRow, error) {
	wanted := map[string]bool{}
	for _, r := range b.rows {
		wanted[r.key.RowKey()] = true
	}
	first, last := b.rows[0].place(), behind(b.rows[len(b.rows)-1].key)
	found := map[string]*storedRow{}
	err := m.table.Physical(ctx, (span{first, &last}).filters()[0], "", func(in edm.Entity, columns []edm.Column) bool {
		if wanted[in.RowKey] {
			found[in.RowKey] = &storedRow{*newRow(in, columns), azcore.ETag(in.ETag)}
		}
		return true
	}, nil)
	return found, err
}

func (m *importing) count(done table.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tabledoor.AddProgress(&m.progress, done)
}

func (m *importing) noteKept(k keys.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opt.Kept != nil {
		m.opt.Kept(k)
	}
}

// sameColumns reports whether two rows have the same properties.
func sameColumns(a, b []edm.Column) bool {
	if len(a) != len(b) {
		return false
	}
	for _, c := range a {
		if !slices.ContainsFunc(b, c.Same) {
			return false
		}
	}
	return true
}

// Copy is [Import] of a table: it stores the rows of a table in another one, of the same account or
// another.
func Copy(ctx context.Context, from, to table.Handle, o *ImportOptions) (table.Progress, error) {
	return Import(ctx, Of(from), to, o)
}
