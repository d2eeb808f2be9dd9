package logtail

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// periodRow is the row of a period.
type periodRow struct {
	Unit   string
	Digits string
	State  State
	From   time.Time `table:"-"` // by Digits
}

var (
	periodUnit   = keys.Tuple1(keys.Text()).Named("periods")
	periodDigits = keys.Tuple1(keys.Text())
	periodSchema = table.Schema[periodRow]{
		Partition: keys.Bind1(periodUnit, func(r *periodRow) *string { return &r.Unit }),
		Row:       keys.Bind1(periodDigits, func(r *periodRow) *string { return &r.Digits }),
		Type:      "period",
	}
)

// period returns the period of a row.
func (p *Periods) period(r periodRow) Period {
	return Period{r.From, p.opt.Unit.add(r.From, 1), p.tableName(r.From), r.State}
}

// newRow returns the row of the period of a time.
func (p *Periods) newRow(t time.Time, s State) *periodRow {
	return &periodRow{p.opt.Unit.String(), p.opt.Unit.digits(t), s, p.opt.Unit.start(t)}
}

// rows yields the rows of the periods that overlap from ≤ time < to, the oldest first. A zero time is no bound. Rows whose keys are
// not those of periods are left out.
func (p *Periods) rows(ctx context.Context, from, to time.Time) iter.Seq2[*table.Entity[periodRow], error] {
	first, last := "0", ":" // the character after 9
	if !from.IsZero() {
		first = p.opt.Unit.digits(from)
	}
	if !to.IsZero() {
		last = p.opt.Unit.digits(to.Add(-tick)) + " "
	}
	q := table.Query[periodRow]{Partition: periodUnit.Of(p.opt.Unit.String()), Rows: keys.RawBetween(first, last)}
	return func(yield func(*table.Entity[periodRow], error) bool) {
		for e, err := range p.states.List(ctx, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			from, is := p.opt.Unit.parse(e.Value.Digits)
			e.Value.From = from
			if is && !yield(e, nil) {
				return
			}
		}
	}
}
