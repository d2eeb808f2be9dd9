package logtail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ErrPastRetention: a record, or the position of a cursor, is older than PeriodOptions.Keep allows.
// The call stored nothing.
var ErrPastRetention = errors.New("the time is past the retention of the log")

// PeriodOptions are the options of the periods of a log. The zero value of each field is its
// default.
type PeriodOptions struct {
	// Common bounds the requests.
	table.Common

	// Unit is the length of a period by the calendar of UTC: "day", "month" or "hour", with tables
	// such as claims20140731, claims201407 and claims2014073118. Never change it: the tables of
	// another unit are neither read nor dropped. Defaults to "day".
	Unit string

	// Keep is the number of periods before the present one whose tables are kept, 1 to 100,000.
	// Drop deletes older ones. By default, all are kept.
	Keep int

	// Ahead is the number of periods after the present one whose tables Create makes, 1 to 1,000.
	// Defaults to 2.
	Ahead int
}

const (
	maxKeep      = 100_000
	maxAhead     = 1000
	defaultAhead = 2
)

// Periods are the tables of a log that has one for each day, month or hour, so that old records are
// deleted with their tables. The tables are named by a prefix and digits, as claims20140731. The
// table that has the prefix as its name contains a row for each period, and says whether it is
// dropped. Periods is safe for concurrent use. See [NewByPeriod] for the log.
type Periods struct {
	service engine.Service
	prefix  string
	opt     PeriodOptions
	unit    *unit
	now     func() time.Time
	states  *table.Table[periodRow]

	mu     sync.Mutex
	latest time.Time // that the clock has shown
}

// newPeriods returns the periods of a log.
func newPeriods(h *host.Host, prefix string, o *PeriodOptions) (*Periods, error) {
	service := h.Tables
	p := &Periods{service: service, prefix: prefix}
	if o != nil {
		p.opt = *o
	}
	p.opt.Common = h.Options(p.opt.Common)
	p.opt.Ahead = cmp.Or(p.opt.Ahead, defaultAhead)
	fail := func(err error) (*Periods, error) {
		return nil, fmt.Errorf("logtail: NewByPeriod %s: %w", prefix, err)
	}
	if err := p.opt.check(); err != nil {
		return fail(err)
	}
	p.unit = unitOf(p.opt.Unit)
	var err error
	if p.states, err = bare.NewTable(service, prefix, periodSchema, &table.Options{Common: p.opt.Common}); err != nil {
		return nil, err
	}
	door.Table(p.states).Made = "Periods.Create"
	if last := prefix[len(prefix)-1]; '0' <= last && last <= '9' {
		return fail(&table.ValueError{Field: "prefix", Reason: "must not end with a digit, because the digits of a period follow"})
	}
	p.now = door.Table(p.states).Options.Now
	if _, err = p.table(p.now()); err != nil {
		return fail(err)
	}
	return p, nil
}

func (o *PeriodOptions) check() error {
	switch {
	case unitOf(o.Unit) == nil:
		return &table.ValueError{Field: "PeriodOptions.Unit", Reason: `is not "day", "month" or "hour"`}
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
func (p *Periods) tableName(t time.Time) string { return p.prefix + p.unit.digits(t) }

// table returns a handle of the table of the period of a time, to make and delete it.
func (p *Periods) table(t time.Time) (*table.Table[struct{}], error) {
	return bare.NewTable(p.service, p.tableName(t), table.Schema[struct{}]{}, &table.Options{Common: p.opt.Common})
}

// Horizon returns the beginning of the oldest period that is kept, or the zero time if all are
// kept. Records before it are not stored, and not read. If the clock steps back, Horizon does not.
func (p *Periods) Horizon() time.Time {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest.Before(now) {
		p.latest = now
	}
	if p.opt.Keep == 0 {
		return time.Time{}
	}
	if h := p.unit.add(p.unit.start(p.latest), -p.opt.Keep); h.Year() >= 1 {
		return h
	}
	return time.Time{}
}

// List yields the periods that Create has made, the oldest first, also periods whose tables are
// dropped. Errors: table.ErrNotCreated if Create has not made the table of the states; the other
// errors of a read (see package table). Requests: 1 for each 1,000 periods.
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

// open returns the beginnings of the periods with tables that overlap from ≤ time < to, the oldest
// first, and whether other tables of that time are dropped. A zero time is no bound.
func (p *Periods) open(ctx context.Context, from, to time.Time) (all []time.Time, dropped bool, err error) {
	for e, err := range p.rows(ctx, from, to) {
		if err != nil {
			return nil, false, err
		}
		if e.Value.State == stateOpen {
			all = append(all, e.Value.From)
		} else {
			dropped = true
		}
	}
	return all, dropped, nil
}

// period returns the period of a row.
func (p *Periods) period(r periodRow) Period {
	return Period{r.From, p.unit.add(r.From, 1), p.tableName(r.From), r.State == stateDropped}
}

// rows yields the rows of the periods that overlap from ≤ time < to, the oldest first. A zero time
// is no bound. Rows whose keys are not keys of periods are left out.
func (p *Periods) rows(ctx context.Context, from, to time.Time) iter.Seq2[*table.Entity[periodRow], error] {
	first, last := "0", ":" // the character after 9
	if !from.IsZero() {
		first = p.unit.digits(from)
	}
	if !to.IsZero() {
		last = p.unit.digits(to.Add(-tick)) + " "
	}
	q := table.Query[periodRow]{Partition: periodUnit.Of(p.unit.name), Rows: keys.RawRows(first, last)}
	return func(yield func(*table.Entity[periodRow], error) bool) {
		for e, err := range p.states.List(ctx, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			e.Value.From, err = time.Parse(p.unit.layout, e.Value.Digits)
			if err == nil && !yield(e, nil) {
				return
			}
		}
	}
}

// unit is the length of a period.
type unit struct {
	name     string // as it is stored
	option   string // of PeriodOptions.Unit
	layout   string // how the digits of a period begin a time
	shortest time.Duration
	months   int
	hours    int
}

var units = []unit{
	{name: "daily", option: "day", layout: "20060102", shortest: 24 * time.Hour, hours: 24},
	{name: "monthly", option: "month", layout: "200601", shortest: 28 * 24 * time.Hour, months: 1},
	{name: "hourly", option: "hour", layout: "2006010215", shortest: time.Hour, hours: 1},
}

// unitOf returns the unit of PeriodOptions.Unit, nil for none.
func unitOf(option string) *unit {
	for i, u := range units {
		if u.option == cmp.Or(option, "day") {
			return &units[i]
		}
	}
	return nil
}

func (u *unit) String() string { return u.name }

// start returns the beginning of the period of a time.
func (u *unit) start(t time.Time) time.Time {
	if u.months > 0 {
		return time.Date(t.UTC().Year(), t.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return t.UTC().Truncate(u.shortest)
}

// add returns the beginning of the period n periods after the period that begins at start.
func (u *unit) add(start time.Time, n int) time.Time {
	hours := n * u.hours
	return start.AddDate(0, n*u.months, hours/24).Add(time.Duration(hours%24) * time.Hour)
}

// digits returns the digits of the period of a time.
func (u *unit) digits(t time.Time) string { return t.UTC().Format(u.layout) }

// state is what has become of the table of a period, as it is stored.
type state string

// The states, in their order. The name of a table is never used again.
const (
	stateOpen     state = "open"     // Create has made the table, or is about to
	stateDropping state = "dropping" // Drop has begun to delete the table
	stateDropped  state = "dropped"  // the table does not exist any more
)

// Period is a period of a log, with its table.
type Period struct {
	From, To time.Time // From ≤ time < To
	Table    string
	Dropped  bool // the table does not exist any more
}

// periodRow is the row of a period.
type periodRow struct {
	Unit   string
	Digits string
	State  state
	From   time.Time `table:"-"` // by Digits
}

var (
	periodUnit   = keys.Partition(keys.Text().Named("periods"), func(r *periodRow) *string { return &r.Unit })
	periodDigits = keys.Row(keys.Text(), func(r *periodRow) *string { return &r.Digits })
	periodSchema = table.Schema[periodRow]{
		Partition: periodUnit,
		Row:       periodDigits,
		Type:      "period",
	}
)

// faultyPeriods returns the periods of a log that was declared wrong. Each method returns the
// fault.
func faultyPeriods(prefix string, fault error) *Periods {
	states := door.Faulty[*table.Table[periodRow]](prefix, fault)
	return &Periods{prefix: prefix, opt: PeriodOptions{Keep: 1}, unit: unitOf(""), now: time.Now, states: states}
}

// turn does the work of a day.
func (p *Periods) turn(ctx context.Context) error {
	if _, err := p.Create(ctx); err != nil {
		return err
	}
	_, err := p.Drop(ctx, nil)
	return err
}

// Create makes the tables of the present period and of the next ones, as many as
// PeriodOptions.Ahead says, and returns the periods. The store calls it each day. A program that
// has no store running calls it at least once for each period: an append does not make a table.
// Create also makes the table of the states.
//
// Errors: ErrPastRetention if one of the tables was dropped, because a clock is wrong;
// table.ErrNotCreated while a table of this name is being deleted; errors of a read and of a write
// (see package table). Requests: 1 query; 1 for each table, at the same time, and before it 1
// insert for a new one. Idempotent.
func (p *Periods) Create(ctx context.Context) (periods []Period, err error) {
	ctx, end := door.Table(p.states).Span(ctx, "Create")
	defer func() { end(err) }()
	u, from := p.unit, p.unit.start(p.now())
	known, err := p.statesOf(ctx, from, u.add(from, p.opt.Ahead+1))
	if err != nil {
		return nil, fmt.Errorf("logtail: Create %s: %w", p.prefix, err)
	}
	all := make([]Period, p.opt.Ahead+1)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	for i := range all {
		group.Go(func() (err error) {
			at := u.add(from, i)
			row := &periodRow{u.name, u.digits(at), stateOpen, at}
			all[i] = p.period(*row)
			return p.create(ctx, row, known[row.Digits])
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("logtail: Create %s: %w", p.prefix, err)
	}
	return all, nil
}

// statesOf returns the states of the periods of a range by their digits, and makes the table of the
// states unless it exists.
func (p *Periods) statesOf(ctx context.Context, from, to time.Time) (map[string]state, error) {
	known := map[string]state{}
	for e, err := range p.rows(ctx, from, to) {
		switch {
		case errors.Is(err, errs.ErrTableNotFound):
			return known, tabledoor.Ensure(ctx, p.states)
		case err != nil:
			return nil, err
		}
		known[e.Value.Digits] = e.Value.State
	}
	return known, nil
}

// create makes the table of a period, after its row, so that Drop finds the table. known is the
// state of the period, "" for none.
func (p *Periods) create(ctx context.Context, row *periodRow, known state) error {
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
	if known != "" && known != stateOpen {
		return fmt.Errorf("%s was dropped: %w", p.tableName(row.From), ErrPastRetention)
	}
	t, err := p.table(row.From)
	if err != nil {
		return err
	}
	return tabledoor.Ensure(ctx, t)
}

// tables are the tables of a log: one, or one for each period.
type tables struct {
	name    string   // of the table; by period, the prefix
	periods *Periods // nil for one table
	open    func(name string) (tabledoor.Untyped, error)

	mu     sync.Mutex
	opened map[string]tabledoor.Untyped
}

// maxOpened is the most handles that are kept.
const maxOpened = 100

// periodAt returns the table of the records of a time.
func (s *tables) periodAt(t time.Time) (tabledoor.Untyped, error) {
	name := s.name
	if s.periods != nil {
		name = s.periods.tableName(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.opened[name]; h != nil {
		return h, nil
	}
	h, err := s.open(name)
	if err != nil {
		return nil, err
	}
	if s.opened == nil || len(s.opened) == maxOpened {
		s.opened = map[string]tabledoor.Untyped{}
	}
	s.opened[name] = h
	return h, nil
}

// ensure makes the tables.
func (s *tables) ensure(ctx context.Context) error {
	if s.periods != nil {
		_, err := s.periods.Create(ctx)
		return err
	}
	t, err := s.periodAt(time.Time{})
	if err != nil {
		return err
	}
	return tabledoor.Ensure(ctx, t)
}

// keeps returns ErrPastRetention for a time whose table is dropped, or may be.
func (s *tables) keeps(t time.Time) error {
	if s.periods == nil {
		return nil
	}
	if h := s.periods.Horizon(); t.Before(h) {
		return fmt.Errorf("%w: %s is before %s", ErrPastRetention, t.Format(time.RFC3339), h.Format(time.RFC3339))
	}
	return nil
}

// isEmpty reports whether an error of a read says that a period has no records.
func (s *tables) isEmpty(err error) bool {
	return s.periods != nil && errors.Is(err, errs.ErrTableNotFound)
}

// all returns the tables of a range of times, the newest first. They may not exist.
func (s *tables) all(from, to time.Time) (all []tabledoor.Untyped, err error) {
	if s.periods == nil {
		t, err := s.periodAt(time.Time{})
		return []tabledoor.Untyped{t}, err
	}
	u := s.periods.unit
	for p := u.start(to.Add(-tick)); err == nil && u.add(p, 1).After(from); p = u.add(p, -1) {
		all, err = s.add(all, p)
	}
	return all, err
}

func (s *tables) add(all []tabledoor.Untyped, period time.Time) ([]tabledoor.Untyped, error) {
	t, err := s.periodAt(period)
	return append(all, t), err
}

// groups yields the tables with the records of a range, the newest first. The tables of a group are
// to be read at the same time. A log of one table has one group. By period, the first group has the
// newest tables: the table of the present, and tables that begin before soon. Older tables are
// looked up when they are needed, and then more of them come with each group, at most so many.
func (s *tables) groups(
	ctx context.Context, from, to, now, soon time.Time, most int,
) iter.Seq2[[]tabledoor.Untyped, error] {
	return func(yield func([]tabledoor.Untyped, error) bool) {
		if s.periods == nil {
			yield(s.all(from, to))
			return
		}
		from = slices.MaxFunc([]time.Time{nextTick(from), s.periods.Horizon()}, time.Time.Compare)
		if !to.IsZero() {
			to = nextTick(to)
		}
		if to.IsZero() || soon.Before(to) {
			to = soon
		}
		if !from.Before(to) {
			return
		}
		newest := s.periods.unit.start(earlier(now, to.Add(-tick))) // the oldest of the first group
		newest = slices.MaxFunc([]time.Time{newest, from}, time.Time.Compare)
		if !yield(s.all(newest, to)) || !from.Before(newest) {
			return
		}
		older, _, err := s.periods.open(ctx, from, newest)
		if err != nil {
			yield(nil, err)
			return
		}
		for n := 1; len(older) > 0; n = min(2*n, most) {
			n = min(n, len(older))
			var group []tabledoor.Untyped
			for i := len(older) - 1; i >= len(older)-n && err == nil; i-- {
				group, err = s.add(group, older[i])
			}
			if !yield(group, err) || err != nil {
				return
			}
			older = older[:len(older)-n]
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
