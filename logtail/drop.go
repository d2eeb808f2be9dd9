package logtail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/table"
)

// DropOptions are options of [Periods.Drop]. The zero value of each field is its default.
type DropOptions struct {
	// DryRun drops nothing: Drop returns what it would drop.
	DryRun bool

	// Progress is called after each table that was dropped.
	Progress func(Period)
}

// Drop deletes the tables of the periods past the retention, the oldest first, and returns their periods; with an error, those that
// are dropped. Look at a dry run first:
//
//	old, err := days.Drop(ctx, &logtail.DropOptions{DryRun: true})
//
// Drop deletes no table that [Periods.Create] has not made. A run that has stopped half-way is finished by the next one. Tables are
// dropped once: a name is never used again. Drop trusts PeriodOptions.Now: a clock that is far ahead drops what is still needed.
// Drop may run while others append, read and follow: for them, the table is empty.
//
// Errors: table.ErrUnknownOutcome, after which Drop can be called again; those of [table.Table.List] and [table.Table.Replace].
// Requests: 1 query for each 1,000 periods that ever were; for each table 1 to delete it, and 2 to write its state. Idempotent.
func (p *Periods) Drop(ctx context.Context, o *DropOptions) (dropped []Period, err error) {
	if o == nil {
		o = &DropOptions{}
	}
	horizon := p.Horizon()
	if horizon.IsZero() {
		return nil, nil
	}
	ctx, end := p.states.Engine().Span(ctx, "Drop")
	defer func() { end(err) }()
	for e, err := range p.rows(ctx, time.Time{}, horizon) {
		if err != nil {
			return dropped, fmt.Errorf("logtail: Drop %s: %w", p.prefix, err)
		}
		if e.Value.State == StateDropped {
			continue
		}
		if !o.DryRun {
			if err := p.drop(ctx, e); err != nil {
				return dropped, fmt.Errorf("logtail: Drop %s: %w", p.tableName(e.Value.From), err)
			}
		}
		dropped = append(dropped, p.period(e.Value))
		if o.Progress != nil && !o.DryRun {
			o.Progress(p.period(e.Value))
		}
	}
	return dropped, nil
}

// drop takes a period from state to state until its table is dropped. Another job may do the same: states only move forward.
func (p *Periods) drop(ctx context.Context, e *table.Entity[periodRow]) error {
	for e.Value.State != StateDropped {
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
	case StateOpen:
		e.Value.State = StateDropping
	case StateDropping:
		t, err := p.table(e.Value.From)
		if err != nil {
			return err
		}
		if err := t.Engine().Drop(ctx); err != nil {
			return table.ErrorOf(err)
		}
		e.Value.State = StateDropped
	default:
		return &table.ValueError{Field: "State", Reason: "is not one of this version of the library"}
	}
	return p.states.Replace(ctx, e)
}
