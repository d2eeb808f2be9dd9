package logtail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Delete deletes the records with from ≤ time < to, in transactions of 100; see [table.BulkDelete].
// It is for logs that cannot be by period: [Periods.Drop] deletes a million records in 3 requests,
// and Delete in 11,000.
//
//	done, err := claims.Delete(ctx, time.Time{}, time.Now().AddDate(0, 0, -30), &table.Pass{
//		Progress: func(p table.Progress) { log.Print(p.Changed) },
//	})
//
// It uses Concurrency, Rate, Skip and Progress of the pass, which may be nil, as [table.Bulk] does.
// A zero to is no bound. Rows of other types, or with another Type than the log's, are left out.
// The source's partitions are deleted at the same time.
//
// Errors:
//   - *keys.KeyError for a time outside the years 1 to 9999
//   - *table.ValueError for a field of the pass that is wrong or not used
//   - *table.BatchError around table.ErrUnknownOutcome, table.ErrChanged or another error of a
//     write (see package table)
//   - errors of a read
//
// Requests: 1 for each 1,000 records to read their keys, and 1 for each 100. Idempotent: after an
// error, call it again.
func (l *Log[T]) Delete(ctx context.Context, from, to time.Time, pass *table.Pass) (table.Progress, error) {
	return l.c.delete(ctx, from, to, pass)
}

func (l *core) delete(ctx context.Context, from, to time.Time, pass *table.Pass) (table.Progress, error) {
	if l.err == nil && !to.IsZero() && !nextTick(from).Before(nextTick(to)) {
		return table.Progress{}, nil
	}
	rows := between(from, to)
	if err := cmp.Or(l.err, rows.Err()); err != nil {
		return table.Progress{}, fmt.Errorf("logtail: Delete %s: %w", l.tables.name, err)
	}
	ctx = engine.Enduring(ctx)
	now := l.writer.now().UTC()
	return tabledoor.DeleteAll(ctx, func(yield func(table.Op, error) bool) {
		for group, err := range l.tables.groups(ctx, from, to, now, now.Add(l.opt.Overlap), max(maxConcurrent/len(l.partitions), 1)) {
			if err != nil {
				yield(table.Op{}, err)
				return
			}
			for op, err := range alternate(l.deleteLists(ctx, group, rows)) {
				_, isRecord := positionOf(door.Op(op).Key.RowKey())
				if l.tables.isEmpty(err) || err == nil && !isRecord {
					continue
				}
				if !yield(op, err) || err != nil {
					return
				}
			}
		}
	}, pass)
}

// deleteLists returns the operations that delete rows of each partition of each table.
func (l *core) deleteLists(ctx context.Context, in []tabledoor.Untyped, rows keys.RowRange) (lists []iter.Seq2[table.Op, error]) {
	for _, t := range in {
		for _, p := range l.partitions {
			lists = append(lists, t.DeleteOps(ctx, &table.Query[table.Row]{Partition: p, Rows: rows}))
		}
	}
	return lists
}

// alternate yields the operations of lists in turn.
func alternate(lists []iter.Seq2[table.Op, error]) iter.Seq2[table.Op, error] {
	return func(yield func(table.Op, error) bool) {
		type source = func() (table.Op, error, bool)
		var sources []source
		for _, list := range lists {
			next, stop := iter.Pull2(list)
			defer stop()
			sources = append(sources, next)
		}
		for len(sources) > 0 {
			left := sources[:0]
			for _, next := range sources {
				op, err, more := next()
				if !more {
					continue
				}
				left = append(left, next)
				if !yield(op, err) {
					return
				}
			}
			sources = left
		}
	}
}

// Drop deletes the tables of the periods past the retention, the oldest first, and returns their
// periods; with an error, it returns the periods whose tables are dropped. Look at a dry run first:
//
//	old, err := days.Drop(ctx, &table.Pass{DryRun: true})
//
// It uses DryRun and Progress of the pass, which may be nil. Progress is called after each table,
// with its name; Changed is the number of tables. Drop deletes no table that [Periods.Create] has
// not made. The next run finishes a run that has stopped half-way. Tables are dropped once: a name
// is never used again. Drop trusts the clock of the store: one that is far ahead drops what is
// still needed. Drop may run while other programs append, read and follow: for them, the table is
// empty.
//
// Errors:
//   - *table.ValueError for a field of the pass that is not used
//   - table.ErrUnknownOutcome, after which Drop can be called again
//   - table.ErrChanged if another Drop runs at the same time
//   - table.ErrNotCreated if Create has not made the table of the states
//   - errors of a read and of a write (see package table)
//
// Requests: 1 query for each 1,000 periods that ever were; for each table 1 to delete it, and 2 to
// write its state. Idempotent.
func (p *Periods) Drop(ctx context.Context, pass *table.Pass) (dropped []Period, err error) {
	if pass == nil {
		pass = &table.Pass{}
	}
	if err := door.CheckPass(pass, "DryRun"); err != nil {
		return nil, fmt.Errorf("logtail: Drop %s: %w", p.prefix, err)
	}
	horizon := p.Horizon()
	if horizon.IsZero() {
		return nil, nil
	}
	ctx, end := door.Table(p.states).Span(engine.Enduring(ctx), "Drop")
	defer func() { end(err) }()
	for e, err := range p.rows(ctx, time.Time{}, horizon) {
		if err != nil {
			return dropped, fmt.Errorf("logtail: Drop %s: %w", p.prefix, err)
		}
		if e.Value.State == stateDropped {
			continue
		}
		if !pass.DryRun {
			if err := p.drop(ctx, e); err != nil {
				return dropped, fmt.Errorf("logtail: Drop %s: %w", p.tableName(e.Value.From), err)
			}
		}
		dropped = append(dropped, p.period(e.Value))
		if pass.Progress != nil {
			pass.Progress(table.Progress{Table: p.tableName(e.Value.From), Changed: len(dropped)})
		}
	}
	return dropped, nil
}

// drop takes a period from state to state until its table is dropped. Another job may do the same:
// states only move forward.
func (p *Periods) drop(ctx context.Context, e *table.Entity[periodRow]) error {
	for e.Value.State != stateDropped {
		err := p.step(ctx, e)
		if errors.Is(err, table.ErrChanged) {
			var fresh *table.Entity[periodRow]
			if fresh, err = p.states.Get(ctx, e.Key); err == nil {
				fresh.Value.From = e.Value.From
				*e = *fresh // the caller reports its state
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step takes a period to its next state.
func (p *Periods) step(ctx context.Context, e *table.Entity[periodRow]) error {
	switch e.Value.State {
	case stateOpen:
		e.Value.State = stateDropping
	case stateDropping:
		t, err := p.table(e.Value.From)
		if err != nil {
			return err
		}
		if err := door.Table(t).Drop(ctx); err != nil {
			return err
		}
		e.Value.State = stateDropped
	default:
		return &table.ValueError{Field: "State", Reason: "is not one of this version of the library"}
	}
	return p.states.Replace(ctx, e)
}
