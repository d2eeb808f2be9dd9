package verify

import (
	"cmp"
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// session implements derived.Session.
type session struct {
	run         *run
	comparisons []derived.Comparison
}

func (s *session) Table() tabledoor.Untyped { return s.run.handle }

func (s *session) Repair() bool { return !s.run.opt.DryRun }

func (s *session) Contains(entity keys.Key) bool {
	return s.run.whole() || s.run.opt.Partitions.Contains(entity.PartitionKey())
}

func (s *session) Whole() bool { return s.run.readsAll() }

func (s *session) RecordsOnly() bool { return s.run.opt.RecordsOnly }

func (s *session) Spend(ctx context.Context, rows int) error { return s.run.pacer.Spend(ctx, rows) }

func (s *session) Fault(f derived.Fault) { s.run.noteFault(Fault(f)) }

func (s *session) Count(name string, n int) { s.run.count(name, n) }

func (s *session) Confirm(ctx context.Context, attempts int, attempt func() (changed bool, err error)) error {
	return s.run.untilConfirmed(ctx, engine.Retry{Attempts: attempts, Wait: -1}, engine.Log{}, attempt)
}

// verify lets all comparers compare their rows with the entities.
func (s *session) verify(ctx context.Context) error {
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

// readEntities reads the rows of the entities, with their parts, and compares several entities at a
// time.
func (s *session) readEntities(ctx context.Context) error {
	r := s.run
	q := table.Query[table.Row]{Partitions: r.opt.Partitions, Rows: r.schema.Rows(), TableScan: r.whole()}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(width)
	var listed error
	n := 0
	rows := door.Rows[table.Table[table.Row]](door.Table(r.handle), true)
	for e, err := range tabledoor.Complete(rows, rows.List(ctx, q)) {
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
	return cmp.Or(g.Wait(), listed)
}

// compareEntity compares an entity with the rows of all comparers.
func (s *session) compareEntity(ctx context.Context, row *table.Row) error {
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
	r.countEntity()
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
