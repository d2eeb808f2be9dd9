package expire

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// SweepOptions are the options of [Ends.Sweep].
type SweepOptions struct {
	// Partitions is the range of partitions to sweep. All if unset.
	Partitions keys.PartitionRange

	// Everywhere looks into each partition also with Options.ManyPartitions: after rows were imported as they are, or the table of the notes was lost.
	Everywhere bool

	// Rate is the most rows that are written in a second, derived rows included. 0 is that of table.BulkOptions.
	Rate int
}

// Swept counts what a sweep has done.
type Swept struct {
	Partitions int // that were looked into
	Due        int // entities whose hour has passed
	Deleted    int // of them. Others have another end by now, or were deleted by others
}

// Sweep deletes the entities that are over, with what follows from them, and runs the effects of their deletion: those that end in an hour that was over a minute ago. The store's RunDaily does it each day. It goes by the end that the
// service has for an entity when it is read, and deletes by ETag: what is extended meanwhile stays. It is safe beside writers and other sweeps, and may be called again at any time. An entity that
// cannot be deleted, such as one that cannot be decoded, does not stop it; its error comes at the end.
//
// Errors: index.ErrNotReadable on a table in use before Fill; *index.DefinitionError for a handle without the definition; *keys.KeyError for an invalid range; table.ErrRanged for a client whose signature is for
// a range of keys; errors of a read and of a write (see package table). Requests: 1 for each partition to find it, 1 for each partition for what is due in it, and for each 1,000 such entities, about 1 to read them and 1 to delete them for each 49, or
// fewer with other definitions; with Options.ManyPartitions 1 for each 1,000 partitions in which something has ended since, and 1 to delete the note of each.
func (e *Ends[T]) Sweep(ctx context.Context, t *table.Table[T], o *SweepOptions) (Swept, error) {
	if err := e.check(t); err != nil {
		return Swept{}, err
	}
	s := &sweep[T]{ends: e, table: t}
	if o != nil {
		s.opt = *o
	}
	now := door.Table(t).Options.Now()
	s.last = hourOf(now.Add(-time.Hour - grace))
	err := s.opt.Partitions.Err()
	switch {
	case err != nil:
	case e.opt.ManyPartitions && !s.opt.Everywhere:
		err = s.noted(ctx)
	default:
		_, err = s.sweep(ctx, s.partitions(ctx))
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
type sweep[T any] struct {
	ends  *Ends[T]
	table *table.Table[T]
	opt   SweepOptions
	last  int // the last hour
	done  Swept

	failed []error // of entities that cannot be deleted
}

// isDamaged reports whether an error is about one entity, which no other sweep could delete either: the others are swept all the same.
func isDamaged(err error) bool {
	var de *table.DecodeError
	var ve *table.VersionError
	var me *table.DerivedError
	return errors.As(err, &de) || errors.As(err, &ve) || errors.As(err, &me)
}

// partitions yields the partitions of the range.
func (s *sweep[T]) partitions(ctx context.Context) iter.Seq2[keys.PartitionKey, error] {
	return func(yield func(keys.PartitionKey, error) bool) {
		in := s.opt.Partitions
		if in.IsPoint() {
			yield(keyrange.Partition(in), nil)
			return
		}
		if !in.IsSet() {
			in = keys.RawPartitions("", "")
		}
		t := door.Table(s.table)
		for partition, err := range door.Rows[table.Table[table.Row]](t, false).PartitionsIn(ctx, in) {
			if err == nil && t.Ranged() {
				break
			}
			if !yield(partition, err) {
				return
			}
		}
		if t.Ranged() { // partitions would be left out
			yield(keys.PartitionKey{}, table.ErrRanged)
		}
	}
}

// sweep deletes what is over in some partitions. It returns those in which something that was due could not be deleted at once.
func (s *sweep[T]) sweep(ctx context.Context, partitions iter.Seq2[keys.PartitionKey, error]) (left map[string]bool, err error) {
	left = map[string]bool{}
	of := door.Table(s.table)
	var entities []keys.Key // by the index of their operations
	result, err := engine.Bulk(ctx, func(yield func(*engine.Op, error) bool) {
		for partition, err := range partitions {
			if err != nil {
				yield(nil, err)
				return
			}
			s.done.Partitions++
			for k, err := range s.ends.hours.Keys(ctx, s.table, table.Query[T]{Partition: partition, Rows: s.ends.hours.AtMost(s.last)}) {
				if err != nil {
					yield(nil, err)
					return
				}
				s.done.Due++
				entities = append(entities, k)
				if !yield(of.EndOp(k), nil) {
					return
				}
			}
		}
	}, engine.BulkOptions{Rate: s.opt.Rate, Skip: func(i int, err error) bool {
		gone := errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrTableNotFound)
		if gone {
			return true
		}
		left[entities[i].PartitionKey()] = true // also of one that is not over: the clock of this program may be ahead
		if errors.Is(err, engine.ErrNotOver) || errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrContended) {
			return true
		}
		damaged := isDamaged(err)
		if damaged {
			s.failed = append(s.failed, err)
		}
		return damaged
	}})
	s.done.Deleted += result.Applied
	return left, err
}

// noted sweeps the partitions of the notes, and deletes these.
func (s *sweep[T]) noted(ctx context.Context) error {
	rows := door.Table(s.table).Mode.Ends.Notes.(*notes).rows
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
		if err := s.sweepNotes(ctx, rows, due); err != nil || page.Token == "" {
			return err
		}
		token = page.Token
	}
}

// sweepNotes sweeps the partitions of a page of notes. A note is deleted by its ETag: it stays if its partition got another entity of its hour meanwhile.
func (s *sweep[T]) sweepNotes(ctx context.Context, rows *table.Table[note], page []*table.Entity[note]) error {
	left, err := s.sweep(ctx, func(yield func(keys.PartitionKey, error) bool) {
		seen := map[string]bool{}
		for _, n := range page {
			in := n.Value.Partition
			if seen[in] || s.opt.Partitions.IsSet() && !s.opt.Partitions.Contains(in) {
				continue
			}
			seen[in] = true
			if !yield(keys.Raw(in, "").Partition(), nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	_, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for _, n := range page {
			in := n.Value.Partition
			if left[in] || s.opt.Partitions.IsSet() && !s.opt.Partitions.Contains(in) {
				continue
			}
			if !yield(rows.DeleteOp(n), nil) {
				return
			}
		}
	}, &table.BulkOptions{Skip: func(_ int, err error) bool {
		return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrTableNotFound)
	}})
	return err
}

// sweepDaily is Sweep for the work of each day. Before the definition is filled, there is nothing to sweep.
func (e *Ends[T]) sweepDaily(ctx context.Context, t *table.Table[T]) error {
	_, err := e.Sweep(ctx, t, nil)
	if errors.Is(err, index.ErrNotReadable) {
		return nil
	}
	return err
}

// Job is a kind of job that sweeps the table, by all workers of a store together: for what outgrows
// one program. It looks into each partition, and waits for the rate of the job between two of them.
// A Status counts what was due as rows, and what was deleted as changed. Requests: those of
// [Ends.Sweep] for each partition; see package jobs.
func (e *Ends[T]) Job(kind string) *jobs.Job[T, struct{}] {
	return jobs.New(kind, func(ctx context.Context, s *jobs.Slice[T], _ struct{}) error {
		all := &sweep[T]{table: s.Table, opt: SweepOptions{Partitions: s.Partitions}}
		for partition, err := range all.partitions(ctx) {
			if err != nil {
				return err
			}
			pk, err := partition.Result()
			if err != nil {
				return err
			}
			done, err := e.Sweep(ctx, s.Table, &SweepOptions{Partitions: keys.Raw(pk, "").Partition().Point(), Everywhere: true})
			if err != nil {
				return err
			}
			s.Count(done.Due, done.Deleted, 0)
			if err := s.Passed(ctx, partition); err != nil {
				return err
			}
		}
		return nil
	})
}
