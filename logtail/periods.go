package logtail

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ErrPastRetention: a record, or the position of a cursor, is older than PeriodOptions.Keep allows. The call stored
// nothing.
var ErrPastRetention = errors.New("the time is past the retention of the log")

// PeriodOptions are the options of the periods of a log. The zero value of each field is its default.
type PeriodOptions struct {
	// Common bounds the requests. Now is the clock that says which periods are past the retention, and the default of that of the log.
	table.Common

	// Unit is the length of a period. Never change it: the tables of another unit are neither read nor dropped. Defaults to Daily.
	Unit Unit

	// Keep is the number of periods before the present one whose tables are kept, 1 to 100,000. Drop deletes older ones. By default,
	// all are kept.
	Keep int

	// Ahead is the number of periods after the present one whose tables Create makes, 1 to 1,000. Defaults to 2.
	Ahead int
}

const (
	maxKeep      = 100_000
	maxAhead     = 1000
	defaultAhead = 2
)

// Periods are the tables of a log that has one for each day, month or hour, so that old records are deleted with their tables. The
// tables are named by a prefix and digits, as claims20140731. The table that has the prefix as its name contains a row for each
// period, with its [State]. Periods is safe for concurrent use. See [NewByPeriod] for the log.
type Periods struct {
	service table.Service
	prefix  string
	opt     PeriodOptions
	states  *table.Table[periodRow]

	mu     sync.Mutex
	latest time.Time // that the clock has shown
}

// NewPeriods returns the periods of a log. It sends nothing.
//
//	days, err := logtail.NewPeriods(acc.Tables(), "claims", &logtail.PeriodOptions{Keep: 30})
//
// Errors: those of [table.New] for the table with the prefix as its name; *table.ValueError for a prefix that ends with a digit;
// *table.ValueError and *table.LimitError for an option out of range, or a name that becomes longer than 63 characters.
func NewPeriods(service table.Service, prefix string, o *PeriodOptions) (*Periods, error) {
	p := &Periods{service: service, prefix: prefix}
	if o != nil {
		p.opt = *o
	}
	if p.opt.Ahead == 0 {
		p.opt.Ahead = defaultAhead
	}
	fail := func(err error) (*Periods, error) {
		return nil, fmt.Errorf("logtail: NewPeriods %s: %w", prefix, err)
	}
	if err := p.opt.check(); err != nil {
		return fail(err)
	}
	var err error
	if p.states, err = table.New(service, prefix, periodSchema, &table.Options{Common: p.opt.Common}); err != nil {
		return nil, err
	}
	p.states.Engine().Made = "Periods.Create"
	if last := prefix[len(prefix)-1]; '0' <= last && last <= '9' {
		return fail(&table.ValueError{Field: "prefix", Reason: "must not end with a digit, because the digits of a period follow"})
	}
	p.opt.Common.Now = p.states.Engine().Options.Now
	if _, err = p.table(p.opt.Now()); err != nil {
		return fail(err)
	}
	return p, nil
}

func (o *PeriodOptions) check() error {
	switch {
	case o.Unit.String() == "invalid":
		return &table.ValueError{Field: "PeriodOptions.Unit", Reason: "is not Daily, Monthly or Hourly"}
	case o.Keep < 0:
		return &table.ValueError{Field: "PeriodOptions.Keep", Reason: "is negative"}
	case o.Keep > maxKeep:
		return &table.LimitError{Field: "PeriodOptions.Keep", Limit: "periods", Got: o.Keep, Max: maxKeep}
	case o.Ahead < 0:
		return &table.ValueError{Field: "PeriodOptions.Ahead", Reason: "is negative"}
	case o.Ahead > maxAhead:
		return &table.LimitError{Field: "PeriodOptions.Ahead", Limit: "periods", Got: o.Ahead, Max: maxAhead}
	}
	return nil
}

// tableName returns the name of the table of the period of a time.
func (p *Periods) tableName(t time.Time) string { return p.prefix + p.opt.Unit.digits(t) }

// table returns a handle of the table of the period of a time, to make and delete it.
func (p *Periods) table(t time.Time) (*table.Table[struct{}], error) {
	return table.New(p.service, p.tableName(t), table.Schema[struct{}]{}, &table.Options{Common: p.opt.Common})
}

// Horizon returns the beginning of the oldest period that is kept, or the zero time if all are kept. Records before it are not
// stored, and not read. If the clock steps back, Horizon does not.
func (p *Periods) Horizon() time.Time {
	now := p.opt.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest.Before(now) {
		p.latest = now
	}
	if p.opt.Keep == 0 {
		return time.Time{}
	}
	if h := p.opt.Unit.add(p.opt.Unit.start(p.latest), -p.opt.Keep); h.Year() >= 1 {
		return h
	}
	return time.Time{}
}

// List yields the periods that Create has made, the oldest first, also those whose tables are dropped. Errors: those of
// [table.Table.List]. Requests: 1 for each 1,000 periods.
func (p *Periods) List(ctx context.Context) iter.Seq2[Period, error] {
	return func(yield func(Period, error) bool) {
		for e, err := range p.rows(ctx, time.Time{}, time.Time{}) {
			if err != nil {
				yield(Period{}, fmt.Errorf("logtail: List %s: %w", p.prefix, err))
				return
			}
			if !yield(p.period(e.Value), nil) {
				return
			}
		}
	}
}

// open returns the beginnings of the periods with tables that overlap from ≤ time < to, the oldest first, and whether others
// of that time are dropped. A zero time is no bound.
func (p *Periods) open(ctx context.Context, from, to time.Time) (all []time.Time, dropped bool, err error) {
	for e, err := range p.rows(ctx, from, to) {
		if err != nil {
			return nil, false, err
		}
		if e.Value.State == StateOpen {
			all = append(all, e.Value.From)
		} else {
			dropped = true
		}
	}
	return all, dropped, nil
}

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
