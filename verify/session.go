package verify

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Comparer is a maintainer that compares its rows with the entities itself, such as that of a materialized view. [Run] finds it among
// the maintainers of a handle.
type Comparer[T any] interface {
	// Definition returns the definition as the program gives it to Run.
	Definition() any

	// Compare reads the rows of the definition. The Comparison is then called for all entities.
	Compare(ctx context.Context, s *Session[T]) (Comparison[T], error)
}

// Comparison compares entities with the rows of one definition, as they were read at its beginning. The methods report to the
// [Session]; an error ends Run.
type Comparison[T any] interface {
	// Entity compares an entity. It is called for several entities at a time.
	Entity(ctx context.Context, e *table.Entity[T], row *table.Row) error

	// Unreadable leaves the rows of an entity that cannot be read as they are. Run reports the fault.
	Unreadable(entity keys.Key)

	// Rest compares the rows that no entity has. It is called last.
	Rest(ctx context.Context) error
}

// Session is a call of [Run] in progress, for a [Comparer].
type Session[T any] struct {
	run         *run[T]
	comparisons []Comparison[T]
}

// Table returns the handle that Run was given, for repairs.
func (s *Session[T]) Table() *table.Table[T] { return s.run.handle }

// Repair is Options.Repair.
func (s *Session[T]) Repair() bool { return s.run.opt.Repair }

// Contains reports whether Run verifies an entity: those of Options.Partitions.
func (s *Session[T]) Contains(entity keys.Key) bool {
	return s.run.whole() || s.run.opt.Partitions.Contains(entity.PartitionKey())
}

// Whole reports whether Run verifies the entities of all partitions, and their derived rows. Otherwise a Comparison reads those rows that an
// entity records, if it reads any; see RecordsOnly.
func (s *Session[T]) Whole() bool { return s.run.readsAll() }

// RecordsOnly is Options.RecordsOnly.
func (s *Session[T]) RecordsOnly() bool { return s.run.opt.RecordsOnly }

// Spend waits until a number of rows may be read or written; see Options.Rate.
func (s *Session[T]) Spend(ctx context.Context, rows int) error { return s.run.pacer.Spend(ctx, rows) }

// Fault reports a fault.
func (s *Session[T]) Fault(f Fault) { s.run.noteFault(f) }

// Count adds the numbers of a report to those of Run. Faults are counted by Fault.
func (s *Session[T]) Count(more Report) { s.run.count(more) }

// Confirm calls attempt, which confirms and repairs a suspected fault, until it reports that no concurrent writer has changed what it has
// read, and returns its error. After so many attempts, the fault counts as unconfirmed (Report.Unconfirmed).
func (s *Session[T]) Confirm(ctx context.Context, attempts int, attempt func() (changed bool, err error)) error {
	if attempt == nil {
		return &table.ValueError{Field: "attempt", Reason: "is nil"}
	}
	return s.run.untilConfirmed(ctx, engine.Retry{Attempts: attempts, Wait: -1}, engine.Log{}, attempt)
}

// verify lets all comparers compare their rows with the entities.
func (s *Session[T]) verify(ctx context.Context) error {
	for _, m := range s.run.comparers {
		c, err := m.Compare(ctx, s)
		if err != nil {
			return err
		}
		s.comparisons = append(s.comparisons, c)
	}
	if err := s.readEntities(ctx); err != nil {
		return err
	}
	for _, c := range s.comparisons {
		if err := c.Rest(ctx); err != nil {
			return err
		}
	}
	s.run.noteProgress()
	return nil
}

// width is how many entities are compared, confirmed and repaired at a time.
const width = 10

// readEntities reads the rows of the entities, with their parts, and compares several entities at a time.
func (s *Session[T]) readEntities(ctx context.Context) error {
	r := s.run
	q := table.Query[table.Row]{Partitions: r.opt.Partitions, Rows: r.schema.Rows(), TableScan: r.whole()}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(width)
	var listed error
	n := 0
	for e, err := range door.Rows[table.Table[table.Row]](door.Table(r.handle), true).List(ctx, q) {
		if err == nil && door.Table(r.handle).Ranged() {
			err = table.ErrRanged
		}
		listed = err
		if err != nil || ctx.Err() != nil {
			break
		}
		g.Go(func() error { return s.compareEntity(ctx, &e.Value) })
		n++
		if n%1000 == 0 {
			r.noteProgress()
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if listed == nil && door.Table(r.handle).Ranged() { // also if the list was empty
		return table.ErrRanged
	}
	return listed
}

// compareEntity compares an entity with the rows of all comparers.
func (s *Session[T]) compareEntity(ctx context.Context, row *table.Row) error {
	r := s.run
	if err := r.pacer.Spend(ctx, 1); err != nil {
		return err
	}
	if !r.schema.Mine((*stored.Row)(row)) {
		return nil
	}
	e, err := r.handle.Entity(row)
	if derived.IsForeign(err) {
		return nil
	}
	r.count(Report{Entities: 1})
	if err != nil {
		for _, c := range s.comparisons {
			c.Unreadable(row.Key)
		}
		if len(r.maintainers)+len(r.elsewhere) == 0 { // otherwise it is reported already
			r.noteFault(Fault{Kind: Unreadable, Entity: row.Key, Err: err})
		}
		return nil
	}
	for _, c := range s.comparisons {
		if err := c.Entity(ctx, e, row); err != nil {
			return err
		}
	}
	return nil
}
