package logtail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/table"
)

// Create makes the tables of the present period and of the next ones, as many as PeriodOptions.Ahead says, and returns the periods.
// Call it from a job, at least once for each period: an append does not make a table. Create also makes the table of the states.
//
// Errors: ErrPastRetention if one of the tables was dropped, because a clock is wrong; those of [table.Table.Ensure] and
// [table.Table.Insert]. Requests: 1 query; 1 for each table, at the same time, and before it 1 insert for a new one. Idempotent.
func (p *Periods) Create(ctx context.Context) (periods []Period, err error) {
	ctx, end := p.states.Engine().Span(ctx, "Create")
	defer func() { end(err) }()
	u, from := p.opt.Unit, p.opt.Unit.start(p.opt.Now())
	known, err := p.statesOf(ctx, from, u.add(from, p.opt.Ahead+1))
	if err != nil {
		return nil, fmt.Errorf("logtail: Create %s: %w", p.prefix, err)
	}
	all := make([]Period, p.opt.Ahead+1)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	for i := range all {
		group.Go(func() (err error) {
			row := p.newRow(u.add(from, i), StateOpen)
			all[i] = p.period(*row)
			return p.create(ctx, row, known[row.Digits])
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("logtail: Create %s: %w", p.prefix, err)
	}
	return all, nil
}

// statesOf returns the states of the periods of a range by their digits, and makes the table of the states unless it exists.
func (p *Periods) statesOf(ctx context.Context, from, to time.Time) (map[string]State, error) {
	known := map[string]State{}
	for e, err := range p.rows(ctx, from, to) {
		switch {
		case errors.Is(err, table.ErrTableNotFound):
			return known, p.states.Ensure(ctx)
		case err != nil:
			return nil, err
		}
		known[e.Value.Digits] = e.Value.State
	}
	return known, nil
}

// create makes the table of a period, after its row, so that Drop finds the table. known is the state of the period, "" for none.
func (p *Periods) create(ctx context.Context, row *periodRow, known State) error {
	if known == "" {
		_, err := p.states.Insert(ctx, row)
		if errors.Is(err, table.ErrExists) { // of another job
			var e *table.Entity[periodRow]
			if e, err = p.states.Get(ctx, p.states.Key(*row)); err == nil {
				known = e.Value.State
			}
		}
		if err != nil {
			return err
		}
	}
	if known != "" && known != StateOpen {
		return fmt.Errorf("%s was dropped: %w", p.tableName(row.From), ErrPastRetention)
	}
	t, err := p.table(row.From)
	if err != nil {
		return err
	}
	return t.Ensure(ctx)
}
