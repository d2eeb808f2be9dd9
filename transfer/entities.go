package transfer

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// EntityOptions are the options of [ImportEntities]. The zero value inserts all entities.
type EntityOptions struct {
	// Pass has Concurrency, the transactions that are sent at the same time, 10 by default; Rate,
	// the most rows that are written in a second, derived rows included; Skip and Progress. Skip
	// decides about each entity that cannot be imported, except those that exist already: its key
	// is none of the handle's type, a value does not fit, a unique value is taken. Progress is
	// called after each transaction.
	table.Pass

	// Map returns the row to store in the place of one: with another key ([table.Row.At]), other
	// properties, or nil for none. It may change the row.
	Map func(r *table.Row) (*table.Row, error)
}

// errPrepared is an ErrIncomplete: a row belongs to a write over several partitions that was under
// way when it was exported, so that it may be another one by now. Import all rows by [Import] and
// end the write by verify.Repair, or do that before an export.
var errPrepared = fmt.Errorf("%w: the row belongs to a write over several partitions that was under way", table.ErrIncomplete)

// ImportEntities inserts the entities of an export or of a table by a handle with definitions, so
// that its derived rows, effects and views follow, as by [table.Bulk] with InsertOp. Derived rows
// and rows of the library are left out, and so are the incarnations of entities: an archived entity
// or a blob that goes by one is not found. Properties that T does not have are stored, too.
//
//	done, err := transfer.ImportEntities(ctx, transfer.Exported(transfer.Folder("backup/staff")), staff, nil)
//
// Progress.Rows are the entities that were read, of all types, Changed those that were stored, and
// Skipped those that Skip or Map has left out.
//
// An entity whose key is taken stays as it is, and is one of Counts["kept"], so an import that has
// ended early is repeated as a whole. For a table with several types, import by the handle of each:
// entities of another type that the store declares for the table are left out (Counts["others"]):
// their imports check the keys. A row that is of no declared type is an error about that row, for
// Skip to decide: a spreadsheet has taken the zeros of its key, for example.
//
// Errors:
//   - *table.ValueError for wrong options
//   - *FileError and table.ErrIncomplete for an export, *fs.PathError or table.ErrNotCreated if
//     there is none
//   - table.ErrIncomplete for a row of a write that was under way
//   - *keys.KeyError or table.ErrForeignRow for a row of no declared type
//   - errors of a read
//   - those of [table.Bulk]
//
// The progress counts what is done, also beside an error.
//
// Requests: those that read the rows, and those of table.Bulk: 1 for each 100 rows of a partition
// that are written, 5 more if entities of these exist. Idempotent, except that entities deleted in
// the meantime are inserted again.
func ImportEntities[T any](
	ctx context.Context, from Source, t *table.Table[T], o *EntityOptions,
) (_ table.Progress, err error) {
	e := door.Table(t)
	if err := engine.CheckHandle("t", e); err != nil {
		return table.Progress{}, fmt.Errorf("transfer: ImportEntities: %w", err)
	}
	ctx, end := e.Span(engine.Enduring(ctx), "ImportEntities")
	defer func() { end(err) }()
	if from == nil {
		return table.Progress{}, fmt.Errorf("transfer: ImportEntities %s: %w", e.Name, errNilSource("from"))
	}
	if o == nil {
		o = &EntityOptions{}
	}
	if err := door.CheckPass(&o.Pass, "Concurrency", "Rate", "Skip"); err != nil {
		return table.Progress{}, fmt.Errorf("transfer: ImportEntities %s: %w", e.Name, err)
	}
	m := &entityImport[T]{table: t, mode: &e.Mode, opt: o}
	result, err := door.Bulk(ctx, m.ops(ctx, from), &engine.BulkOptions{
		Concurrency: o.Concurrency, Rate: o.Rate, Skip: m.skip,
		Progress: func(r engine.BulkResult) {
			if o.Progress != nil {
				o.Progress(m.counted(r))
			}
		},
	})
	if err != nil {
		err = fmt.Errorf("transfer: ImportEntities %s: %w", e.Name, err)
	}
	return m.counted(result), err
}

// entityImport is a call of ImportEntities in progress.
type entityImport[T any] struct {
	table    *table.Table[T]
	mode     *engine.Mode
	opt      *EntityOptions
	progress table.Progress // without Changed
}

func (m *entityImport[T]) counted(r engine.BulkResult) table.Progress {
	n := copyOf(m.progress)
	n.Changed = r.Applied
	return n
}

// skip passes over an operation that was refused.
func (m *entityImport[T]) skip(_ int, err error) bool {
	if errors.Is(err, table.ErrExists) && !errors.As(err, new(*table.DerivedError)) { // a derived row that exists is a unique value that is taken
		addCount(&m.progress, "kept", 1)
		return true
	}
	var of *table.BatchError
	errors.As(err, &of)
	return m.leftOut(of.Key, err)
}

func (m *entityImport[T]) leftOut(k keys.Key, err error) bool {
	if m.opt.Skip == nil || !m.opt.Skip(k, err) {
		return false
	}
	m.progress.Skipped++
	return true
}

// ops yields an operation for each entity.
func (m *entityImport[T]) ops(ctx context.Context, from Source) iter.Seq2[table.Op, error] {
	return func(yield func(table.Op, error) bool) {
		for r, err := range joinedEntities(ctx, from, isForeign) {
			if r == nil {
				yield(table.Op{}, err)
				return
			}
			m.progress.Rows++
			op, due, err := m.op(r, err)
			if err != nil && m.leftOut(r.Key, err) {
				continue
			}
			if err != nil {
				yield(table.Op{}, fmt.Errorf("row %v: %w", r.Key, err))
				return
			}
			if due && !yield(op, nil) {
				return
			}
		}
	}
}

// op returns the operation for a row, if it is due.
func (m *entityImport[T]) op(r *stored.Row, unreadable error) (op table.Op, due bool, err error) {
	switch {
	case unreadable != nil:
		return op, false, unreadable
	case stored.HasMark(r.Columns()):
		return op, false, errPrepared
	}
	if m.opt.Map != nil {
		mapped, err := m.opt.Map((*table.Row)(r))
		if err != nil {
			return op, false, err
		}
		if mapped == nil {
			m.progress.Skipped++
			return op, false, nil
		}
		r = (*stored.Row)(mapped)
	}
	if m.isOthers(r) {
		addCount(&m.progress, "others", 1)
		return op, false, nil
	}
	return door.InsertRowOp[table.Op](m.table, r.Key, r), true, nil
}

// isOthers reports whether a row is of another declared type of the table. The insert of any other
// row says whether it is one of T.
func (m *entityImport[T]) isOthers(r *stored.Row) bool {
	if m.mode.Schema.Mine(r) || m.mode.Guard == nil {
		return false
	}
	return m.mode.Guard.IsOthers(r.Key.RowKey(), stored.Find(r.Columns(), reserved.Type).S)
}

// joinedEntities yields entities, wide ones with their parts.
func joinedEntities(ctx context.Context, from Source, is func(*row) bool) iter.Seq2[*stored.Row, error] {
	return engine.Joined(picked(rowsOf(ctx, from), is))
}

// isForeign reports whether a row is neither of the library nor derived.
func isForeign(r *row) bool {
	return !reserved.IsLibrary(r.key.RowKey()) && stored.Find(r.columns, reserved.Owner).Kind == edm.Absent
}

// picked yields some rows as the engine has them.
func picked(rows iter.Seq2[*row, error], is func(*row) bool) iter.Seq2[*stored.Row, error] {
	return func(yield func(*stored.Row, error) bool) {
		for r, err := range rows {
			if err == nil && !is(r) {
				continue
			}
			if !yield(r.stored(), err) {
				return
			}
		}
	}
}
