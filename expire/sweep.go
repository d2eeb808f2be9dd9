package expire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Sweep deletes the entities that are over, with what follows from them, and runs the effects of
// their deletion: those that end in an hour that was over a minute ago. The store's RunDaily does
// it each day. It goes by the end that the service has for an entity when it is read, and deletes
// by ETag: what is extended meanwhile stays. It is safe beside writers and other sweeps, and may be
// called again at any time. An entity that cannot be deleted, such as one that cannot be decoded,
// does not stop it; its error comes at the end, unless Pass.Skip takes it.
//
// It looks into each partition of Pass.Partitions. With Options.ManyPartitions and without
// Pass.Partitions, it looks into those that the notes name. After rows were imported as they are,
// or the table of the notes was lost, look into all:
//
//	ends.Sweep(ctx, sessions, &table.Pass{Partitions: keys.RawPartitions("", "")})
//
// Of a [table.Pass], it uses Partitions, Rate (as [table.Bulk] does), DryRun, Skip and Progress.
// The [table.Progress] has the entities whose hour has passed as Rows, and those that were deleted
// as Changed; others have another end by now, or were deleted by others. Its Counts have the
// partitions that were looked into, as partitions.
//
// Errors:
//   - table.ErrNotReadable on a table in use before Fill
//   - *table.DefinitionError for a handle without the definition
//   - *table.ValueError for another field of the pass
//   - *keys.KeyError for an invalid range
//   - table.ErrRanged for a client whose signature is for a range of keys
//   - errors of a read and of a write (see package table)
//
// Requests:
//   - 1 for each partition to find it, and 1 for what is due in it
//   - 1 more for each 1,000 such entities to read them, and 1 for each 49 to delete them, or fewer
//     with other definitions
//   - with Options.ManyPartitions, 1 for each 1,000 partitions in which something has ended since,
//     in place of 1 to find each, and 1 to delete the note of each
func (e *Ends[T]) Sweep(ctx context.Context, t *table.Table[T], p *table.Pass) (table.Progress, error) {
	return e.core().sweep(ctx, t, p)
}

// sweep is Ends.Sweep.
func (e *core) sweep(ctx context.Context, t table.Handle, p *table.Pass) (table.Progress, error) {
	if err := e.check(t); err != nil {
		return table.Progress{}, err
	}
	ctx = engine.Enduring(ctx)
	s := &sweep{ends: e, table: t}
	if p != nil {
		s.pass = *p
	}
	now := door.Table(t).Options.Now()
	s.last = hourOf(now.Add(-time.Hour - grace))
	err := cmp.Or(door.CheckPass(&s.pass, "Partitions", "Rate", "DryRun", "Skip"), s.pass.Partitions.Err())
	switch {
	case err != nil:
	case e.opt.ManyPartitions && !s.pass.Partitions.IsSet():
		err = s.noted(ctx)
	default:
		_, err = s.sweep(ctx, tabledoor.Partitions(ctx, t, s.pass.Partitions))
	}
	if err == nil {
		err = errors.Join(s.failed...)
	}
	if err != nil {
		err = fmt.Errorf("expire: Sweep %s: %w", t.Name(), err)
	}
	return s.done, err
}

// grace is how long an hour is over before it is swept, by the clock of the program; the ends
// themselves are compared with the service's. A note is stored a moment before its entity, and
// stays until its hour has been over for longer, and it is older, by the service's clock alone.
const (
	grace        = time.Minute
	graceOfNotes = 10 * time.Minute
)

// sweep is one call of Sweep.
type sweep struct {
	ends  *core
	table table.Handle // a *table.Table
	pass  table.Pass
	last  int // the last hour
	done  table.Progress

	failed []error // of entities that cannot be deleted
}

// isDamaged reports whether an error is about one entity, which no other sweep could delete either:
// the others are swept all the same.
func isDamaged(err error) bool {
	var de *table.DecodeError
	var ve *table.VersionError
	var me *table.DerivedError
	return errors.As(err, &de) || errors.As(err, &ve) || errors.As(err, &me)
}

// sweep deletes what is over in some partitions. It returns those in which something that was due
// could not be deleted at once.
func (s *sweep) sweep(
	ctx context.Context, partitions iter.Seq2[keys.PartitionKey, error],
) (left map[string]bool, err error) {
	left = map[string]bool{}
	of := door.Table(s.table)
	var entities []keys.Key // by the index of their operations
	result, err := engine.Bulk(ctx, func(yield func(*engine.Op, error) bool) {
		for partition, err := range partitions {
			if err != nil {
				yield(nil, err)
				return
			}
			s.count()
			for k, err := range s.ends.due(ctx, s.table, partition, s.last) {
				if err != nil {
					yield(nil, err)
					return
				}
				s.done.Rows++
				if s.pass.DryRun {
					s.done.Changed++
					continue
				}
				entities = append(entities, k)
				if !yield(of.EndOp(k), nil) {
					return
				}
			}
		}
	}, engine.BulkOptions{Rate: s.pass.Rate, Skip: func(i int, err error) bool { return s.leave(entities[i], err, left) }})
	s.done.Changed += result.Applied
	if err == nil && s.pass.Progress != nil {
		done := s.done
		done.Counts = maps.Clone(done.Counts)
		s.pass.Progress(done)
	}
	return left, err
}

// leave reports whether an entity that could not be deleted is left as it is. It notes its
// partition, unless the entity is gone.
func (s *sweep) leave(k keys.Key, err error, left map[string]bool) bool {
	if errors.Is(err, table.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound) {
		return true
	}
	left[k.PartitionKey()] = true // also of one that is not over: the clock of this program may be ahead
	for _, of := range []error{engine.ErrNotOver, table.ErrChanged, table.ErrContended} {
		if errors.Is(err, of) {
			return true
		}
	}
	return s.skip(k, err)
}

// count counts a partition.
func (s *sweep) count() {
	if s.done.Counts == nil {
		s.done.Counts = map[string]int{}
	}
	s.done.Counts["partitions"]++
}

// skip reports whether an entity with an error of its own is left as it is, and the others are
// swept.
func (s *sweep) skip(k keys.Key, err error) bool {
	switch {
	case !isDamaged(err):
		return false
	case s.pass.Skip != nil && s.pass.Skip(k, err):
		s.done.Skipped++
	default:
		s.done.Faults++
		s.failed = append(s.failed, err)
	}
	return true
}

// noted sweeps the partitions of the notes, and deletes these.
func (s *sweep) noted(ctx context.Context) error {
	rows := door.Table(s.table).Mode.Ends().Notes.(*notes).rows
	token := ""
	q := table.Query[note]{Partitions: keys.RawPartitions("", fmt.Sprintf("%0*d", hourDigits, s.last+1))}
	for {
		page, err := rows.Page(ctx, q, token)
		if err != nil {
			return err
		}
		now := door.Table(rows).Listed()
		due := slices.DeleteFunc(page.Entities, func(n *table.Entity[note]) bool {
			return n.Value.Hour > hourOf(now.Add(-time.Hour-graceOfNotes)) || now.Sub(n.Timestamp) < graceOfNotes
		})
		err = s.sweepNotes(ctx, rows, due)
		if err != nil || page.Token == "" {
			return err
		}
		token = page.Token
	}
}

// sweepNotes sweeps the partitions of a page of notes. A note is deleted by its ETag: it stays if
// its partition got another entity of its hour meanwhile.
func (s *sweep) sweepNotes(ctx context.Context, rows *table.Table[note], page []*table.Entity[note]) error {
	left, err := s.sweep(ctx, func(yield func(keys.PartitionKey, error) bool) {
		seen := map[string]bool{}
		for _, n := range page {
			in := n.Value.Partition
			if seen[in] {
				continue
			}
			seen[in] = true
			if !yield(keys.Raw(in, "").Partition(), nil) {
				return
			}
		}
	})
	if err != nil || s.pass.DryRun {
		return err
	}
	_, err = door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for _, n := range page {
			if !left[n.Value.Partition] && !yield(rows.DeleteOp(n), nil) {
				return
			}
		}
	}, &engine.BulkOptions{Skip: func(_ int, err error) bool {
		return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound)
	}})
	return err
}

// sweepDaily is Sweep for the work of each day. Before the definition is filled, there is nothing
// to sweep.
func (e *core) sweepDaily(ctx context.Context, t table.Handle) error {
	_, err := e.sweep(ctx, t, nil)
	if errors.Is(err, table.ErrNotReadable) {
		return nil
	}
	return err
}

// Job is a kind of job that sweeps the table, by all workers of a store together: for what outgrows
// one program. It looks into each partition, and waits for the rate of the job between two of them.
// A Status counts as a Progress of Sweep does. Requests: those of
// [Ends.Sweep] for each partition; see package jobs.
func (e *Ends[T]) Job(kind string) *jobs.Job[T, struct{}] {
	return jobs.New(kind, func(ctx context.Context, s *jobs.Slice[T], _ struct{}) error {
		return e.core().sweepSlice(ctx, s.Table, s.Partitions, s)
	})
}

// slice is a jobs.Slice.
type slice interface {
	Count(rows, changed, faults int)
	Passed(ctx context.Context, pk keys.PartitionKey) error
}

// sweepSlice sweeps each partition of a slice.
func (e *core) sweepSlice(ctx context.Context, t table.Handle, in keys.PartitionRange, s slice) error {
	for partition, err := range tabledoor.Partitions(ctx, t, in) {
		if err != nil {
			return err
		}
		done, err := e.sweep(ctx, t, &table.Pass{Partitions: partition.Point()})
		if err != nil {
			return err
		}
		s.Count(done.Rows, done.Changed, 0)
		if err := s.Passed(ctx, partition); err != nil {
			return err
		}
	}
	return nil
}
