package verify

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Check compares derived rows with the entities of a table, and changes nothing. It finds rows that
// other programs have written or deleted, rows of an earlier key function, and the missing rows of
// a new definition. It is safe beside concurrent writers and workers: it confirms each suspected
// fault by another consistent read. [Repair] repairs what it finds.
//
//	found, err := verify.Check(ctx, staff, nil, byEmail)
//	if err == nil && found.Faults > 0 {
//		log.Print(found)
//	}
//
// t must be a handle that has the definitions, of package index or materialized. Without
// definitions, all that t has are verified. Rows of other types, definitions and programs are left
// as they are. If such a row has the key of a missing row, that fault cannot be repaired, and its
// Err is [table.ErrForeignRow].
//
// Of the Progress, Rows are the entities that were read: for the rows in the partition, those
// elsewhere and the views, all of them each time. Faults are those that stay, with the unconfirmed
// ones, and Changed those that Repair has repaired. Counts has each kind of faults, such as
// [Missing], and
//
//   - "derived rows" that were read, and derived entities of views, and finished "partitions";
//   - "failed": faults with an Err;
//   - "unconfirmed": entities, groups of summaries and derived entities of views of which a
//     suspected fault could not be confirmed, because concurrent writers changed the rows at every
//     attempt;
//   - "pending": entities whose rows elsewhere or derived entities are not compared, because a
//     worker is still to change them;
//   - "unowned": rows in the range of a view's table that the view has not written;
//   - of Repair, "notified": notifications that were sent again for effects that have waited for
//     more than 10 minutes; "finished": writes over several partitions that it has ended;
//     "tombstones": old ones that it has deleted.
//
// First Check verifies the definitions whose rows are in the partitions of their entities. For each
// partition, it reads the derived rows, and keeps about 150 bytes of each in memory, up to
// Options.MostRows; of more rows it keeps sums, and reads the partition again for those that
// differ. Then it reads the entities. For each summary, it reads the entities again. It can be
// interrupted and resumed between partitions; an unfinished partition is begun again.
//
// With Options.Partitions or RecordsOnly, Check goes through the partitions of the range, and
// verifies the definitions elsewhere and the views of the entities of each at once: it reads the
// rows that these record, 1 request each, or none with RecordsOnly.
//
// Errors:
//   - *table.DefinitionError for a definition that t does not have
//   - *keys.KeyError for an invalid range
//   - *table.ValueError for wrong options and a damaged Token, and if there are no definitions
//   - [table.ErrRanged] if the client's signature is for a range of keys, because Check would see a
//     part of the table only
//   - errors of a read (see package table)
//
// The Progress counts what was done, also beside an error.
//
// Requests: those of [table.Table.Partitions], and for each partition:
//
//   - 1 for each 1,000 rows of each definition, and for each 1,000 entities; more if Rate is below
//     1,000.
//   - For details, 1 for each 1,000 rows of the partition.
//   - For a summary, its rows twice and the entities once. Repair reads the same again if an entity
//     was written or the summary is wrong, until it is right.
//   - To confirm the faults of an entity, 2, and 1 for each row in question, or 2 for each row if
//     the entity is gone. A row that names no entity takes 1. If a row names another entity, that
//     entity is confirmed, too.
//   - For a repair, 1 to 3, and 1 for each unique row of the entity. If the table has a unique
//     index of full copies that is not verified with the others, each written entity costs 1 more.
//
// Definitions with rows elsewhere (index.NewGlobal) follow after all partitions, as one part that
// begins again if it is interrupted: 1 request for each 1,000 of their rows, of which about 200
// bytes each stay in memory, up to Options.MostRows as above, and 1 for each 1,000 entities. To
// confirm an entity, 3, and 2 for each row. A row that a worker is still to change is no fault
// ("pending"). A repair takes 3 for a row, and 6 more to write the entity if it does not record the
// row. Entities that only lack rows are written together, up to 99 of a partition: 1 request for
// each row, and 8 for all; 2 for the row of a unique value. The table of the rows must exist;
// Ensure of the store makes it.
//
// Materialized views follow last, as one part, too: 1 request for each 1,000 derived entities,
// notes and entities. Of each derived entity, about 200 bytes stay in memory. To confirm a fault,
// 5, and 3 to repair it. Commit records that have been pending for more than 10 minutes do not
// excuse a fault of a view, because their notifications may be lost; aztablekit.Store.NotifyPending
// sends those again.
//
// An entity needs no confirmation if its own maintainer state shows the fault: it lacks the rows of
// a new definition, or records rows of an earlier key function. Repair writes such entities
// together, as many as a transaction holds. If concurrent writers change what is read, the
// confirmation, repair or summary begins again after a pause, Retry.ConflictAttempts times at most;
// for a view, 5 times without a pause.
func Check(ctx context.Context, t table.Handle, o *Options, definitions ...Definition) (table.Progress, error) {
	var opt Options
	if o != nil {
		opt = *o
	}
	opt.DryRun = true
	return verify(ctx, t, &opt, "Check", definitions)
}

// Repair does what [Check] does, repairs the faults, and deletes old tombstones: by a write of the
// entity by its ETag, or of the row by its own. A second call does no harm. Sound entities and rows
// are not written, except summaries whose bounds it makes exact. With DryRun it is Check.
//
//	done, err := verify.Repair(ctx, staff, nil, byEmail)
//
// If it is interrupted, repairs stay. A repair that writes an entity also notifies the workers that
// keep its rows elsewhere and its views, so that these are pending afterwards. Errors: those of
// Check.
//
// Requests:
//   - with an outbox, first 1 for each 1,000 rows of the table, or of the range, to end the writes
//     over several partitions that have crashed, which the Rate does not limit
//   - without a range, as many for each table with rows elsewhere
//   - then those of Check and of the repairs
func Repair(ctx context.Context, t table.Handle, o *Options, definitions ...Definition) (table.Progress, error) {
	if o == nil {
		o = &Options{}
	}
	return verify(ctx, t, o, "Repair", definitions)
}

func verify(
	ctx context.Context, t table.Handle, o *Options, call string, definitions []Definition,
) (table.Progress, error) {
	if err := engine.CheckHandle("t", door.Table(t)); err != nil {
		return table.Progress{}, fmt.Errorf("verify: %s: %w", call, err)
	}
	r := newRun(tabledoor.Of(t), o, call)
	ctx, end := door.Table(t).Span(ctx, "Verify")
	err := r.verifyTable(ctx, definitions)
	end(err)
	if err != nil {
		err = fmt.Errorf("verify: %s %s: %w", call, t.Name(), err)
	}
	return r.recorder.progress(), err
}

// Definition is what describes derived rows of a table: an index, lists, details or a summary of
// package index, or a view of package materialized.
type Definition interface {
	Name() string
}

// run is a call of Check in progress.
type run struct {
	*recorder
	pacer       *pace.Limit
	handle      tabledoor.Untyped // as the program has given it
	table       tabledoor.Untyped // reads entities whose maintainer state is corrupt, too
	schema      engine.Schema     // of the table
	opt         Options
	maintainers []derived.Maintainer // of the definitions whose rows are in the partitions of their entities
	elsewhere   []derived.Elsewhere  // of those whose rows are elsewhere
	comparers   []derived.Comparer   // of those that compare their rows themselves
	seed        maphash.Seed
	mostRows    int       // that are kept in memory
	firstOwners *sync.Map // by rows elsewhere of unique values that are missing, the first entity that lacks each
}

// verifying is the mode that verifies: what is over and stored is verified, too.
func verifying(m *engine.Mode) {
	m.IgnoreCorruptState = true
	m.SetEnds(nil)
}

func newRun(t tabledoor.Untyped, o *Options, call string) *run {
	return &run{
		recorder:    newRecorder(o, door.Table(t).Log("verify."+call, keys.Key{})),
		pacer:       pace.New(o.Rate),
		handle:      t,
		table:       door.InMode(t, verifying),
		schema:      door.Table(t).Mode.Schema,
		opt:         *o,
		seed:        maphash.MakeSeed(),
		mostRows:    cmp.Or(o.MostRows, 500_000),
		firstOwners: &sync.Map{},
	}
}

// whole reports whether all partitions are verified.
func (r *run) whole() bool { return !r.opt.Partitions.IsSet() }

// rows returns the range of the entities.
func (r *run) rows() keys.RowRange {
	if !r.opt.Rows.IsSet() {
		return r.schema.Rows()
	}
	return r.schema.Rows().Intersect(r.opt.Rows)
}

// readsAll reports whether the rows elsewhere and those of views are read as a whole, after all
// partitions. Otherwise they are compared with the entities of one partition after the other.
func (r *run) readsAll() bool { return r.whole() && !r.opt.RecordsOnly }

func (r *run) verifyTable(ctx context.Context, definitions []Definition) error {
	ctx = engine.Enduring(ctx)
	if err := r.choose(ctx, definitions); err != nil {
		return err
	}
	after, err := r.opt.check()
	if err != nil {
		return err
	}
	if err := r.checkRows(); err != nil {
		return err
	}
	if err := r.finishPrepared(ctx); err != nil {
		return err
	}
	if len(r.maintainers) > 0 || !r.readsAll() {
		if err := r.verifyPartitions(ctx, after); err != nil {
			return err
		}
	}
	if !r.readsAll() {
		return nil
	}
	return r.verifyOthers(ctx)
}

// checkRows fails for a part of a partition if totals of the whole one are verified.
func (r *run) checkRows() error {
	for _, m := range r.maintainers {
		if _, is := m.(derived.PerGroup); is && r.opt.Rows.IsSet() {
			return &table.DefinitionError{Definition: m.Name(), Field: "Options.Rows", Reason: "are a part of a partition, and the definition has totals of the whole one"}
		}
	}
	if len(r.comparers) > 0 && r.opt.Rows.IsSet() {
		return &table.ValueError{Field: "Options.Rows", Reason: "are a part of a partition, which a view is not compared with"}
	}
	return nil
}

// verifyOthers verifies the definitions whose rows are in other partitions and tables.
func (r *run) verifyOthers(ctx context.Context) error {
	if len(r.elsewhere) > 0 {
		if err := newElsewhereRun(r).verify(ctx); err != nil {
			return err
		}
	}
	if len(r.comparers) > 0 {
		return (&session{run: r}).verify(ctx)
	}
	return nil
}

// defined is a maintainer that Check can verify.
type defined interface {
	// Definition returns the definition as the program made it, such as an *index.Index.
	Definition() any
}

// choose sets the maintainers of the definitions, or of all definitions if there are none. Without
// those that no writer keeps, by the catalogue of the table.
func (r *run) choose(ctx context.Context, definitions []Definition) error {
	var lease engine.Lease
	if g := door.Table(r.table).Mode.Guard; g != nil {
		var err error
		if lease, err = g.Write(ctx); err != nil {
			return err
		}
	}
	readsOnly := r.opt.DryRun && len(definitions) > 0 // to find out what a fill would
	var attached, dropped []defined
	for _, m := range door.Table(r.table).Mode.Maintainers {
		into := &attached
		if lease != nil && !lease.Keeps(m.Name()) && !readsOnly {
			into = &dropped
		}
		switch m := m.Typed().(type) {
		case derived.Maintainer:
			*into = append(*into, m)
		case derived.Comparer:
			*into = append(*into, m)
		}
	}
	if len(definitions) == 0 {
		if len(attached)+len(dropped) == 0 {
			return &table.ValueError{Field: "definitions", Reason: "are empty, and the table has none; give the handle of a table with definitions"}
		}
		for _, m := range attached {
			r.add(m)
		}
		return nil
	}
	for _, d := range definitions {
		m, err := maintainerOf(attached, d)
		if err != nil {
			if _, err := maintainerOf(dropped, d); err == nil {
				return &table.DefinitionError{Definition: d.Name(), Field: "definitions", Reason: "contain one that is not filled, or is being retired, so that no writer keeps it; see aztablekit.Store.Fill"}
			}
			return err
		}
		r.add(m)
	}
	return nil
}

// maintainerOf returns the maintainer of a definition.
func maintainerOf(attached []defined, d Definition) (defined, error) {
	if x := reflect.ValueOf(d); d == nil || x.Kind() == reflect.Pointer && (x.IsNil() || x.Elem().IsZero()) {
		return nil, &table.ValueError{Field: "definitions", Reason: "contain nil or a zero definition"}
	}
	for _, m := range attached {
		if m.Definition() == any(d) {
			return m, nil
		}
	}
	return nil, &table.DefinitionError{Definition: d.Name(), Field: "table", Reason: "does not have the definition: use the handle of a table that the same definition was given to"}
}

// add adds the maintainer of a definition to those that are verified, once.
func (r *run) add(m defined) {
	switch m := m.(type) {
	case derived.Elsewhere:
		r.elsewhere = addOnce(r.elsewhere, m)
	case derived.Maintainer:
		r.maintainers = addOnce(r.maintainers, m)
	case derived.Comparer:
		r.comparers = addOnce(r.comparers, m)
	}
}

func addOnce[M defined](all []M, m M) []M {
	if slices.ContainsFunc(all, func(other M) bool { return other.Definition() == m.Definition() }) {
		return all
	}
	return append(all, m)
}

// verifyPartitions verifies the definitions whose rows are in the partitions of their entities,
// from behind a PartitionKey, unless that is nil.
func (r *run) verifyPartitions(ctx context.Context, after *string) error {
	in := keys.RawPartitions("", "")
	if !r.whole() {
		in = r.opt.Partitions
	}
	if after != nil {
		in = in.Behind(keys.Raw(*after, "").Partition())
	}
	if in.IsPoint() {
		pk := keyrange.Partition(in).String()
		r.begin(pk)
		return r.verifyAndFinish(ctx, pk)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(r.opt.Concurrency, 1))
	for pk, err := range tabledoor.Complete(r.table, r.table.Partitions(ctx, in)) {
		if err != nil {
			return cmp.Or(g.Wait(), err) // a failed partition cancels ctx, and so this list
		}
		s := pk.String()
		r.begin(s)
		g.Go(func() error { return r.verifyAndFinish(ctx, s) })
	}
	return g.Wait()
}

func (r *run) verifyAndFinish(ctx context.Context, pk string) error {
	if len(r.maintainers) > 0 {
		if err := r.verifyPartition(ctx, pk); err != nil {
			return err
		}
	}
	if !r.readsAll() {
		one := *r
		one.opt.Partitions = keys.Raw(pk, "").Partition().Point()
		if err := one.verifyOthers(ctx); err != nil {
			return err
		}
	}
	r.count(derived.Partitions, 1)
	r.finish(ctx, pk)
	r.noteProgress()
	return nil
}

// verifies reports whether a definition is one of those that are verified.
func (r *run) verifies(definition string) bool {
	return slices.ContainsFunc(r.maintainers, func(d derived.Maintainer) bool { return d.Name() == definition })
}

// rowsPerWrite returns how many derived rows each write of an entity writes, whatever is repaired.
func (r *run) rowsPerWrite() (n int) {
	for _, d := range derived.MaintainersOf[derived.Maintainer](door.Table(r.table)) {
		n += d.RowsPerWrite()
	}
	return n
}

// unverifiedUnique reports whether each write of an entity writes unique rows that are not
// verified, and so not known.
func (r *run) unverifiedUnique() bool {
	return slices.ContainsFunc(derived.MaintainersOf[derived.PerEntity](door.Table(r.table)), func(d derived.PerEntity) bool {
		return d.RowsPerWrite() > 0 && d.Unique() && !r.verifies(d.Name())
	})
}

// finishPrepared ends the writes over several partitions that crashed programs have left, in the
// table and in those of rows elsewhere. Until then, the rows of such a write are as its commit
// record says, so that nothing is wrong without that.
func (r *run) finishPrepared(ctx context.Context) error {
	e := door.Table(r.table)
	if r.opt.LeavePrepared || r.opt.DryRun || e.Mode.Outbox == nil || len(r.maintainers)+len(r.elsewhere) == 0 {
		return nil // without an outbox there are no such writes, and views follow what the commit record says
	}
	before := e.Options.Now().Add(-leastAge)
	err := r.finishIn(ctx, e, r.opt.Partitions, before)
	if !r.whole() {
		return err
	}
	done := map[string]bool{strings.ToLower(e.Name): true}
	for _, d := range r.elsewhere {
		name := strings.ToLower(d.Table().Name)
		if err != nil || done[name] {
			continue
		}
		done[name] = true
		err = r.finishIn(ctx, d.Table(), keys.PartitionRange{}, before)
	}
	return err
}

// finishIn ends such writes in a table, and reports the orphans that are left.
func (r *run) finishIn(ctx context.Context, t *engine.Table, in keys.PartitionRange, before time.Time) error {
	n, left, err := t.FinishPrepared(ctx, in, before, r.opt.orphans())
	r.count(derived.Finished, n)
	for _, orphan := range left {
		r.recorder.noteFault(Fault{Kind: Unreadable, Row: orphan.Row, Err: orphan})
	}
	return err
}
