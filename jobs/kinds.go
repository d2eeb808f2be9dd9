package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/split"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// onRows is a kind of work on the entities of a query, which can stop between two of them.
func onRows[T, P any](
	name string, query func(arg P) table.Query[T], work func(ctx context.Context, s *slice, q table.Query[T], arg P) error,
) *Job[T, P] {
	if query == nil {
		query = func(P) table.Query[T] { return table.Query[T]{} }
	}
	j := newJob[T, P](name)
	j.k.work = func(ctx context.Context, s *slice, arg any) error {
		of := argOf[P](arg)
		q, err := restricted(s, query(of))
		if err != nil {
			return err
		}
		return work(ctx, s, q, of)
	}
	j.k.rows, j.k.byRows = always, true
	j.k.check = func(arg any) error {
		q := query(argOf[P](arg))
		return queriedOf(&q).check()
	}
	return j
}

func always(table.Handle, any) bool { return true }

// Rows is a kind of work on the entities of a query, page by page. do works on a page of at most
// 1,000 entities; it writes by s.Table, and may add to the counts of s, which has counted the
// entities as rows. query may be nil, for all entities.
//
//	pay := jobs.Rows("pay", nil, func(ctx context.Context, s *jobs.Slice[Employee], page []*table.Entity[Employee], atLeast int) error { … })
//
// do must be idempotent: a page is repeated after a crash of its worker, and two workers may work
// on it at the same time. An error ends the slice behind the page before; the page counts an
// attempt when it fails at the beginning of a slice. See [New] for the argument. Queries cannot
// have a Partition, a Limit, a Cursor, Stats or a Budget, which give a *table.ValueError.
//
// Requests: those of [table.Table.Page], and of do; for each slice 2 to read the rows of the job, 3
// or more to find the middle of what is left, 3 to store it, and those of the worker.
func Rows[T, P any](kind string, query func(arg P) table.Query[T], do func(ctx context.Context, s *Slice[T], page []*table.Entity[T], arg P) error) *Job[T, P] {
	if do == nil {
		return New[T, P](kind, nil)
	}
	return onRows(kind, query, func(ctx context.Context, s *slice, q table.Query[T], arg P) error {
		token, of := "", typed[T](s)
		for {
			page, err := of.Table.Page(ctx, q, token)
			if err != nil {
				return err
			}
			n := len(page.Entities)
			s.Count(n, 0, 0)
			if n > 0 {
				err = do(ctx, of, page.Entities, arg)
			}
			token = page.Token
			if err != nil || token == "" {
				return err
			}
			if n > 0 {
				err = s.passRow(ctx, page.Entities[n-1].Key)
			} else {
				err = s.Check(ctx)
			}
			if err != nil {
				return err
			}
		}
	})
}

// Delete is a kind that deletes the entities of a query, with their derived rows. query must not be
// nil. An entity that is changed meanwhile is read again, and deleted if the query still finds it.
// Requests: those of [table.BulkDelete]; see also [Rows].
func Delete[T, P any](kind string, query func(arg P) table.Query[T]) *Job[T, P] {
	if query == nil {
		return New[T, P](kind, nil)
	}
	return onRows(kind, query, func(ctx context.Context, s *slice, q table.Query[T], _ P) error {
		for {
			more, err := s.deleteSome(ctx, &q)
			if err != nil || !more {
				return err
			}
		}
	})
}

// deleteSome deletes as many rows as there may be between two looks at the time, and reports
// whether there may be more. The list begins again each time; what is deleted is not in it any
// more. q is a *table.Query.
func (s *slice) deleteSome(ctx context.Context, q any) (more bool, err error) {
	n := 0
	var last keys.Key
	_, err = door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for op, err := range s.table.DeleteOps(ctx, q) {
			more = n == s.atMost(mostDeleted)
			if more || !yield(op, err) {
				return
			}
			last = door.Op(op).Key
			n++
		}
	}, &engine.BulkOptions{Rate: s.rate, Skip: func(_ int, err error) bool {
		return errors.Is(err, table.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound)
	}})
	s.Count(n, n, 0)
	if err != nil || !more {
		return false, err
	}
	return true, s.passRow(ctx, last)
}

const mostDeleted = 5000

// Upgrade is a kind that stores entities in the schema's version; see [table.Upgrade]. pass may be
// nil; the job has a Token, a Rate and a Progress of its own, and the declaration refuses those of
// the pass.
func Upgrade[T any](kind string, pass *table.Pass) *Job[T, struct{}] {
	var opt table.Pass
	if pass != nil {
		opt = *pass
	}
	j := onRows(kind, nil, func(ctx context.Context, s *slice, q table.Query[T], _ struct{}) error {
		o, p := opt, newPieces(ctx, s)
		o.Rate = s.rate
		o.Progress = func(r table.Progress) { p.piece(r.Rows, r.Changed, r.Skipped, r.Through, r.Token == "") }
		_, err := table.Upgrade(p.ctx, s.typed.(*table.Table[T]), q, &o)
		return p.end(err)
	})
	for field, isSet := range map[string]bool{"Token": opt.Token != "", "Rate": opt.Rate != 0, "Progress": opt.Progress != nil} {
		if isSet {
			j.k.wrong = errors.Join(j.k.wrong, &table.ValueError{Field: "Pass." + field, Reason: "is not an option of a job, which has its own; leave it out"})
		}
	}
	return j
}

// Archive is a kind that moves the entities of a query by a mover, which is a definition of the
// table, too; see [archive.Mover.ArchiveAll]. query may be nil, for all entities.
func Archive[T, P any](kind string, mover *archive.Mover[T], query func(arg P) table.Query[T]) *Job[T, P] {
	if mover == nil {
		return New[T, P](kind, nil)
	}
	j := onRows(kind, query, func(ctx context.Context, s *slice, q table.Query[T], _ P) error {
		p := newPieces(ctx, s)
		_, err := mover.ArchiveAll(p.ctx, s.typed.(*table.Table[T]), q, &table.Pass{Rate: s.rate, Progress: func(r table.Progress) {
			p.piece(r.Rows, r.Changed, r.Skipped, r.Through, r.Token == "")
		}})
		return p.end(err)
	})
	j.k.needs = func(t table.Handle) error {
		_, err := bare.BoundTo[any](t, mover)
		return err
	}
	return j
}

// Verification is the argument of jobs of [Repair].
type Verification struct {
	Definitions []string // the names of those to verify; all if it is empty
	DryRun      bool     // looks for faults, and changes nothing
	RecordsOnly bool     // compares the entities only with what they record; see verify.Options
}

// Repair is a kind that compares derived rows with the entities, and repairs them; see
// [verify.Repair] with Partitions. Status counts the entities as rows, once for the rows in the
// partition, once for those elsewhere, and once for each view; the repaired faults as changed, and
// the others, and what could not be confirmed, as faults, which are logged (Options.Common.Logger).
// A row elsewhere that no entity records is not found, and writes over several partitions that have
// crashed are not ended.
//
// A slice is of whole partitions, and one of a large partition lasts as long as that:
// WorkerOptions.HandlerTimeout must be longer. With RecordsOnly, and definitions without totals, a
// slice may be a part of a partition.
//
// [aztablekit.Store.Fill] with FillOptions.Workers starts a job of this kind.
func Repair[T any](kind string) *Job[T, Verification] {
	j := newJob[T, Verification](kind)
	j.k.work, j.k.rows = verifySlice, verifiesRows
	return j
}

// verifiesRows reports whether a slice of a Verification may be a part of a partition.
func verifiesRows(t table.Handle, arg any) bool {
	of := arg.(Verification)
	return of.RecordsOnly && !hasTotals(t, of.Definitions)
}

// hasTotals reports whether one of the definitions is verified for whole partitions only.
func hasTotals(t table.Handle, definitions []string) bool {
	return slices.ContainsFunc(door.Table(t).Mode.Maintainers, func(m engine.Maintainer) bool {
		if len(definitions) > 0 && !slices.Contains(definitions, m.Name()) {
			return false
		}
		_, totals := m.Typed().(derived.PerGroup)
		_, view := m.Typed().(derived.Comparer)
		return totals || view
	})
}

func verifySlice(ctx context.Context, s *slice, a any) error {
	arg := a.(Verification)
	of, err := definitionsOf(s.table, arg.Definitions)
	if err != nil {
		return err
	}
	o := &verify.Options{Pass: table.Pass{DryRun: arg.DryRun, Partitions: s.partitions, Rate: s.rate}, RecordsOnly: arg.RecordsOnly, LeavePrepared: true}
	if !s.rows.IsSet() {
		return s.verify(ctx, o, of)
	}
	for {
		next, last, err := s.nextRows(ctx)
		if err != nil || !last.IsSet() {
			return err
		}
		o.Rows = next
		if err := s.verify(ctx, o, of); err != nil {
			return err
		}
		if err := s.passRow(ctx, keys.At(keyrange.Partition(s.partitions), last)); err != nil {
			return err
		}
	}
}

// verify verifies partitions, or a part of one.
func (s *slice) verify(ctx context.Context, o *verify.Options, of []verify.Definition) error {
	p := newPieces(ctx, s)
	var before table.Progress
	var through keys.PartitionKey
	o.Progress = func(r table.Progress) {
		faults := r.Counts[derived.Failed] + r.Counts[verify.DuplicateValue] + r.Counts[derived.Unconfirmed] - before.Counts[derived.Failed] - before.Counts[verify.DuplicateValue] - before.Counts[derived.Unconfirmed]
		if o.DryRun {
			faults = r.Counts[derived.Unconfirmed] - before.Counts[derived.Unconfirmed]
			for kind, n := range derived.Kinds(r) {
				faults += n - before.Counts[kind]
			}
		}
		s.Count(r.Rows-before.Rows, r.Changed-before.Changed, faults)
		before = r
		switch {
		case o.Rows.IsSet():
		case r.Through.Partition() != through:
			through = r.Through.Partition()
			p.passed(s.passPartition(p.ctx, through))
		default:
			p.passed(s.Check(p.ctx))
		}
	}
	o.Fault = s.logFault(ctx)
	_, err := verify.Repair(p.ctx, s.typed, o, of...)
	return p.end(err)
}

// logFault returns a function that logs the faults that are not repaired.
func (s *slice) logFault(ctx context.Context) func(verify.Fault) {
	log := door.Table(s.table).Options.Logger
	return func(f verify.Fault) {
		if log != nil && !f.Repaired {
			log.WarnContext(ctx, "verify has found a fault", "table", f.Table, "definition", f.Definition, "fault", f.Kind, "row", f.Row, "entity", f.Entity, "error", f.Err)
		}
	}
}

// chunk is how many entities of a large partition are verified together.
const chunk = 5000

// nextRows returns the range of the next entities of a slice of rows, and the last of them; an
// unset one if there are no more. 1 request for each 1,000.
func (s *slice) nextRows(ctx context.Context) (next keys.RowRange, last keys.RowKey, err error) {
	next = s.rows
	if s.passed == atRow {
		next = keyrange.RowsBehind(next, s.at.Row())
	}
	for row, err := range s.table.Rows(ctx, table.Query[table.Row]{Partition: keyrange.Partition(s.partitions), Rows: next, Limit: s.atMost(chunk)}) {
		if err != nil {
			return next, last, err
		}
		last = row.Key.Row()
	}
	if last.IsSet() {
		next = next.Intersect(keys.RawRows("", split.Behind(last.String())))
	}
	return next, last, nil
}

// definitionsOf returns the definitions of a table by their names. One that the program does not
// have waits for a worker that has it.
func definitionsOf(t table.Handle, names []string) (all []verify.Definition, err error) {
	for _, name := range names {
		m := door.Table(t).Mode.Maintainer(name)
		if m == nil {
			return nil, eventual.RetryAfter(time.Minute, fmt.Errorf("definition %q of table %s: %w", name, t.Name(), errUnknown))
		}
		of, is := m.Typed().(interface{ Definition() any })
		if !is {
			return nil, eventual.Poison(fmt.Errorf("the definition %q of table %s has no rows", name, t.Name()))
		}
		d, _ := of.Definition().(verify.Definition)
		all = append(all, d)
	}
	return all, nil
}

var errUnknown = errors.New("the program does not declare it; a worker of another release executes the job")

// pieces are what a function with a callback for progress does of a slice. It ends the function's
// context when the time is over.
type pieces struct {
	ctx     context.Context
	cancel  context.CancelFunc
	slice   *slice
	err     error // of the slice: ErrOver, or that of a request
	before  counts
	through keys.Key
}

func newPieces(ctx context.Context, s *slice) *pieces {
	p := &pieces{slice: s}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// piece notes a page, of whose counts those of the pages before are a part.
func (p *pieces) piece(rows, changed, faults int, through keys.Key, last bool) {
	now := counts{rows, changed, faults}
	n := now.rows - p.before.rows
	p.slice.Count(n, now.changed-p.before.changed, now.faults-p.before.faults)
	p.before = now
	switch {
	case last:
	case through != p.through:
		p.through = through
		p.passed(p.slice.passRow(p.ctx, through))
	default:
		p.passed(p.slice.Check(p.ctx))
	}
}

func (p *pieces) passed(err error) {
	if err != nil && p.err == nil {
		p.err = err
		p.cancel()
	}
}

// end returns the error of the slice, or that of the function.
func (p *pieces) end(err error) error {
	p.cancel()
	return cmp.Or(p.err, err)
}
