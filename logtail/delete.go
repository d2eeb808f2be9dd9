package logtail

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/table"
)

// Delete deletes the records with from ≤ time < to, in transactions of 100; see [bulk.Delete]. It is for logs that
// cannot be by period: [Periods.Drop] deletes a million records in 3 requests, and Delete in 11,000.
//
//	result, err := claims.Delete(ctx, time.Time{}, time.Now().AddDate(0, 0, -30), &bulk.Options{
//		Progress: func(r bulk.Result) { log.Print(r.Applied) },
//	})
//
// A zero to is no bound. Rows of other types are left out; those with a Type that is not the log's, too. The source's partitions
// are deleted at the same time. Errors: those of [bulk.Delete]; *keys.KeyError for a time outside the years 1 to 9999. Requests: 1
// for each 1,000 records to read their keys, and 1 for each 100. Idempotent: after an error, call it again.
func (l *Log[T]) Delete(ctx context.Context, from, to time.Time, o *bulk.Options) (bulk.Result, error) {
	if l.err == nil && !to.IsZero() && !nextTick(from).Before(nextTick(to)) {
		return bulk.Result{}, nil
	}
	rows := between(from, to)
	if err := cmp.Or(l.err, rows.Err()); err != nil {
		return bulk.Result{}, fmt.Errorf("logtail: Delete %s: %w", l.tables.name, err)
	}
	now := l.writer.now().UTC()
	return bulk.Run(ctx, func(yield func(table.Op, error) bool) {
		for group, err := range l.tables.groups(ctx, from, to, now, now.Add(l.opt.Overlap), max(maxConcurrent/len(l.partitions), 1)) {
			if err != nil {
				yield(table.Op{}, err)
				return
			}
			var lists []iter.Seq2[table.Op, error]
			for _, t := range group {
				for _, p := range l.partitions {
					lists = append(lists, t.DeleteOps(ctx, table.Query[T]{Partition: p, Rows: rows}))
				}
			}
			for op, err := range alternate(lists) {
				if l.tables.isEmpty(err) {
					continue
				}
				if _, is := positionOf(op.Engine().Key.RowKey()); err == nil && !is {
					continue
				}
				if !yield(op, err) || err != nil {
					return
				}
			}
		}
	}, o)
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
