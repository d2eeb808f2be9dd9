package materialized

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Verify compares views with the entities of a table, and repairs them if VerifyOptions.Repair is set: it fills a new view of a
// table in use, follows a changed function, and repairs what other programs have written or deleted. It is safe beside concurrent
// writers and workers, and a second run does no harm. t is a handle of [Attach]; without views, all that are attached to t are
// verified.
//
//	report, err := materialized.Verify(ctx, staff, &materialized.VerifyOptions{Repair: true})
//
// A fault that Verify reports existed, and no worker was about to repair it: Verify reads note, derived entity, entity and pending
// commit records between two reads of an unchanged note. Commit records that have been pending for more than 10 minutes do not
// excuse a fault, because their notifications may be lost; eventual.Outbox.NotifyPending sends those again.
//
// Verify keeps about 200 bytes of each derived entity in memory. Requests: 1 for each 1,000 entities, derived entities and notes; 5
// to confirm a fault, and 3 to repair it. An entity that no handle with the view has written needs no confirmation. Errors:
// *DefinitionError for a view that is not attached; those of reading; table.ErrRanged if the signature of a client is for a range
// of keys. The report counts what was done, also beside an error.
func Verify[T any](ctx context.Context, t *table.Table[T], o *VerifyOptions, views ...Definition[T]) (report Report, err error) {
	if err := engine.CheckHandle("t", t.Engine()); err != nil {
		return Report{}, fmt.Errorf("materialized: Verify: %w", table.ErrorOf(err))
	}
	if o == nil {
		o = &VerifyOptions{}
	}
	r := &run{options: *o, pace: pace.New(o.Rate), report: Report{Faults: map[FaultKind]int{}}}
	fail := func(err error) (Report, error) {
		return r.report, fmt.Errorf("materialized: Verify %s: %w", t.Name(), err)
	}
	if o.Rate < 0 {
		return fail(&table.ValueError{Field: "VerifyOptions.Rate", Reason: "is negative; 0 means no limit"})
	}
	ctx, end := t.Engine().Span(ctx, "Verify")
	defer func() { end(err) }()
	chosen, err := choose(t, views)
	if err != nil {
		return fail(err)
	}
	var all []comparison[T]
	for _, v := range chosen {
		c, err := v.compare(ctx, t, r)
		if err != nil {
			return fail(err)
		}
		all = append(all, c)
	}
	if err := eachEntity(ctx, t, o.Partition, func(row *table.Row) error {
		if err := r.pace.Spend(ctx, 1); err != nil {
			return err
		}
		return compareEntity(ctx, r, t, row, all)
	}); err != nil {
		return fail(err)
	}
	for _, c := range all {
		if err := c.rest(ctx); err != nil {
			return fail(err)
		}
	}
	return r.report, nil
}

// choose returns the views of a handle that are to be verified.
func choose[T any](t *table.Table[T], views []Definition[T]) (chosen []attached[T], err error) {
	if len(views) == 0 {
		if chosen = viewsOf(t); len(chosen) == 0 {
			return nil, &DefinitionError{Field: "table", Reason: "has no views; give a handle that Attach has returned"}
		}
		return chosen, nil
	}
	for _, v := range views {
		if isNil(v) {
			return nil, &table.ValueError{Field: "views", Reason: "contain nil or a zero View; use one of materialized.New"}
		}
		found := false
		for _, a := range viewsOf(t) {
			if a.is(v) {
				chosen, found = append(chosen, a), true
			}
		}
		if !found {
			return nil, &DefinitionError{View: v.Name(), Field: "view", Reason: "is not attached to the table's handle"}
		}
	}
	return chosen, nil
}

// width is how many entities are confirmed and repaired at a time.
const width = 10

// eachEntity calls f for the rows of a table's entities, with their parts, several at a time.
func eachEntity[T any](ctx context.Context, t *table.Table[T], partition keys.Enc, f func(*table.Row) error) error {
	q := table.Query[table.Row]{Partition: partition, Rows: t.Engine().Mode.Schema.Rows(), TableScan: partition == keys.Enc{}}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(width)
	var listed error
	for e, err := range table.RowsOf(t.Engine(), true).List(ctx, q) {
		if err == nil && t.Engine().Ranged() {
			err = table.ErrRanged
		}
		if listed = err; err != nil || ctx.Err() != nil {
			break
		}
		g.Go(func() error { return f(&e.Value) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if listed == nil && t.Engine().Ranged() { // also if the list was empty
		return table.ErrRanged
	}
	return listed
}

// compareEntity compares an entity with all views.
func compareEntity[T any](ctx context.Context, r *run, t *table.Table[T], row *table.Row, all []comparison[T]) error {
	if !t.Engine().Mode.Schema.Mine(row.Engine()) {
		return nil
	}
	e, err := t.Entity(row)
	if isForeign(err) {
		return nil
	}
	r.note(func(report *Report) { report.Entities++ })
	for _, c := range all {
		if err != nil {
			c.unreadable(row, err)
		} else if err := c.entity(ctx, e, row); err != nil {
			return err
		}
	}
	return nil
}
