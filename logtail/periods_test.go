package logtail_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// noon is the time at which the clocks of these tests begin.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// periodic is a log of claims by period, with its clock.
type periodic struct {
	*storagetest.Service
	clock   *clock
	periods *logtail.Periods
	log     *logtail.Log[claim]
}

// newPeriodic returns a log by period, and makes its first tables.
func newPeriodic(t testing.TB, p logtail.PeriodOptions, o logtail.Options) *periodic {
	t.Helper()
	l := &periodic{Service: storagetest.New(nil), clock: &clock{now: noon}}
	options.SetNow(&p.Common, l.clock.Now)
	options.SetNow(&o.Common, l.clock.Now)
	l.open(t, p, o)
	l.create(t)
	l.Count()
	return l
}

// open opens the log for another process.
func (l *periodic) open(t testing.TB, p logtail.PeriodOptions, o logtail.Options) {
	t.Helper()
	acc, err := account.FromTransport(l.Service, nil)
	noError(t, err)
	l.log = logtail.NewByPeriod[claim](&host.Host{Tables: acc.Tables()}, "claims", &p, &o)
	noError(t, l.log.Err())
	l.periods = l.log.Periods()
}

func (l *periodic) create(t testing.TB) {
	t.Helper()
	_, err := l.periods.Create(context.Background())
	noError(t, err)
}

// appendAt makes the tables of a time, and appends claims with these amounts at it.
func (l *periodic) appendAt(t testing.TB, at time.Time, amounts ...int) {
	t.Helper()
	l.clock.set(at)
	l.create(t)
	for _, n := range amounts {
		_, err := l.log.Append(context.Background(), &claim{1, n})
		noError(t, err)
	}
}

// next returns the number of the next request.
func (l *periodic) next() int { all := l.Requests(); return all[len(all)-1].Number + 1 }

// TestPeriodNames: each unit has its calendar, in UTC.
func TestPeriodNames(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 28, 23, 59, 59, 999, time.FixedZone("", -3600)) // in UTC the first of March
	for unit, want := range map[string]string{
		"":      "[claims20260301 claims20260302 claims20260303]",
		"day":   "[claims20260301 claims20260302 claims20260303]",
		"month": "[claims202603 claims202604 claims202605]",
		"hour":  "[claims2026030100 claims2026030101 claims2026030102]",
	} {
		l := newPeriodic(t, logtail.PeriodOptions{Unit: unit}, logtail.Options{})
		l.clock.set(at)
		periods, err := l.periods.Create(context.Background())
		noError(t, err)
		var names []string
		for i, p := range periods {
			names = append(names, p.Table)
			if i > 0 && !p.From.Equal(periods[i-1].To) || p.Dropped {
				t.Errorf("unit %q: got period %v; want one that is open and follows the one before", unit, p)
			}
		}
		testkit.Expect(t, "unit "+unit, fmt.Sprint(names), want)
	}
}

// TestPeriodOptions: what cannot be is refused, by name and limit, before any request.
func TestPeriodOptions(t *testing.T) {
	t.Parallel()
	acc, err := account.FromTransport(storagetest.New(nil), nil)
	noError(t, err)
	for _, c := range []struct {
		prefix string
		o      logtail.PeriodOptions
		want   string
	}{
		{"claims1", logtail.PeriodOptions{}, "prefix must not end with a digit"},
		{"", logtail.PeriodOptions{}, "table name"},
		{"my-claims", logtail.PeriodOptions{}, "table name"},
		{strings.Repeat("c", 55), logtail.PeriodOptions{}, ""},
		{strings.Repeat("c", 56), logtail.PeriodOptions{}, "table name"},
		{"claims", logtail.PeriodOptions{Unit: "daily"}, `Unit is not "day", "month" or "hour"`},
		{"claims", logtail.PeriodOptions{Keep: -1}, "Keep is negative"},
		{"claims", logtail.PeriodOptions{Keep: 100_001}, "Keep has 100001 periods; at most 100000"},
		{"claims", logtail.PeriodOptions{Ahead: -1}, "Ahead is negative"},
		{"claims", logtail.PeriodOptions{Ahead: 1001}, "Ahead has 1001 periods; at most 1000"},
	} {
		err := logtail.NewByPeriod[claim](&host.Host{Tables: acc.Tables()}, c.prefix, &c.o, nil).Err()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("prefix %q, options %+v: got error %v; want %q", c.prefix, c.o, err, c.want)
		}
	}
	if err := logtail.NewByPeriod[claim](nil, "claims", nil, nil).Err(); err == nil {
		t.Error("NewByPeriod(nil): got no error; want one")
	}
	for unit, length := range map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "month": 28 * 24 * time.Hour} {
		for _, keep := range []int{2, 100_000} {
			open := func(overlap time.Duration) error {
				return logtail.NewByPeriod[claim](&host.Host{Tables: acc.Tables()}, "claims", &logtail.PeriodOptions{Unit: unit, Keep: keep}, &logtail.Options{Overlap: overlap}).Err()
			}
			noError(t, open(2*length))
			var ve *table.ValueError
			if err := open(2*length + 1); (keep == 2) != errors.As(err, &ve) {
				t.Errorf("Overlap longer than 2 periods (%s), Keep %d: got error %v; want one for Keep 2", unit, keep, err)
			}
		}
	}
}

// TestCreate: a job makes tables ahead, each once, also if two jobs run at the same time; a name that was dropped is refused.
func TestCreate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{Keep: 1}, logtail.Options{})
	l.create(t)
	testkit.Expect(t, "requests, nothing new", l.Count().String(), "1 query, 3 table-create")
	l.clock.set(noon.AddDate(0, 0, 1))
	l.create(t)
	testkit.Expect(t, "requests, 1 new table", l.Count().String(), "1 insert, 1 query, 3 table-create")
	testkit.Expect(t, "tables", l.TableNames(), []string{"claims", "claims20261122", "claims20261123", "claims20261124", "claims20261125"})

	l.clock.set(noon.AddDate(0, 0, 10))
	var jobs sync.WaitGroup
	for range 4 {
		jobs.Go(func() {
			if _, err := l.periods.Create(ctx); err != nil {
				t.Errorf("Create at the same time: got error %v; want none", err)
			}
		})
	}
	jobs.Wait()
	if _, err := l.periods.Drop(ctx, nil); err != nil {
		t.Fatal(err)
	}
	l.clock.set(noon)
	_, err := l.periods.Create(ctx)
	if !errors.Is(err, logtail.ErrPastRetention) {
		t.Errorf("Create of a dropped table: got error %v; want ErrPastRetention", err)
	}
	testkit.Expect(t, "tables", l.TableNames(), []string{"claims", "claims20261202", "claims20261203", "claims20261204"})
}

// TestDrop: a dry run changes nothing; each drop is one delete and two writes of the state; tables that Create has not made stay,
// whatever their names.
func TestDrop(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{Keep: 2, Ahead: 1}, logtail.Options{})
	for i := range 6 {
		l.appendAt(t, noon.AddDate(0, 0, i), i)
	}
	foreign := []string{"claims20261031", "claims2026112", "claims202611220", "claims2026112213", "claimsold", "xclaims20261122"}
	acc, err := account.FromTransport(l.Service, nil)
	noError(t, err)
	for _, name := range foreign {
		_, err := acc.Tables().NewClient(name).CreateTable(ctx, nil)
		noError(t, err)
	}
	before := l.TableNames()
	l.Count()
	tables := func(periods []logtail.Period) (names []string) {
		for _, p := range periods {
			names = append(names, p.Table)
		}
		return names
	}
	old := []string{"claims20261122", "claims20261123", "claims20261124"}
	would, err := l.periods.Drop(ctx, &table.Pass{DryRun: true})
	noError(t, err)
	testkit.Expect(t, "dry run", tables(would), old)
	testkit.Expect(t, "requests of a dry run", l.Count().String(), "1 query")
	testkit.Expect(t, "tables after a dry run", l.TableNames(), before)
	var progress []table.Progress
	dropped, err := l.periods.Drop(ctx, &table.Pass{Progress: func(p table.Progress) { progress = append(progress, p) }})
	noError(t, err)
	testkit.Expect(t, "dropped", tables(dropped), old)
	testkit.Expect(t, "progress", progress, []table.Progress{{Table: old[0], Changed: 1}, {Table: old[1], Changed: 2}, {Table: old[2], Changed: 3}})
	testkit.Expect(t, "requests for 3 tables", l.Count().String(), "1 query, 6 replace, 3 table-delete")
	for _, name := range before {
		gone := !slices.Contains(l.TableNames(), name)
		testkit.Expect(t, name+" is dropped", gone, slices.Contains(old, name))
	}
	dropped, err = l.periods.Drop(ctx, nil)
	noError(t, err)
	testkit.Expect(t, "dropped again", tables(dropped), nil)
	testkit.Expect(t, "requests", l.Count().String(), "1 query")
	states := map[bool]int{}
	for p, err := range l.periods.List(ctx) {
		noError(t, err)
		states[p.Dropped]++
	}
	testkit.Expect(t, "dropped, and not", states, map[bool]int{true: 3, false: 4})
	testkit.Expect(t, "records", amounts(t, l.log.Tail(ctx, 10)), []int{5, 4, 3})
}

// TestDropPass: Drop refuses what it does not use of a pass.
func TestDropPass(t *testing.T) {
	t.Parallel()
	l := newPeriodic(t, logtail.PeriodOptions{Keep: 1}, logtail.Options{})
	_, err := l.periods.Drop(context.Background(), &table.Pass{Rate: 1})
	var wrong *table.ValueError
	if !errors.As(err, &wrong) || wrong.Field != "Pass.Rate" {
		t.Errorf("Drop with a rate: got error %v; want a *table.ValueError for Pass.Rate", err)
	}
}

// TestDropAfterConflict: if another job has changed a state, Drop returns the state after its own work.
func TestDropAfterConflict(t *testing.T) {
	t.Parallel()
	l := newPeriodic(t, logtail.PeriodOptions{Keep: 1, Ahead: 1}, logtail.Options{})
	l.clock.set(noon.AddDate(0, 0, 2))
	l.SetFaults(storagetest.OfKind(requests.Replace, storagetest.Once(storagetest.Refuse(412, "UpdateConditionNotSatisfied"))))
	dropped, err := l.periods.Drop(context.Background(), nil)
	noError(t, err)
	testkit.Expect(t, "dropped", fmt.Sprint(dropped[0].Table, " ", dropped[0].Dropped), "claims20261122 true")
}

// TestDropWithoutRetention: by default, all periods are kept.
func TestDropWithoutRetention(t *testing.T) {
	t.Parallel()
	l := newPeriodic(t, logtail.PeriodOptions{}, logtail.Options{})
	l.clock.set(noon.AddDate(100, 0, 0))
	dropped, err := l.periods.Drop(context.Background(), nil)
	if len(dropped) > 0 || err != nil {
		t.Errorf("Drop: got %v, error %v; want nothing", dropped, err)
	}
	testkit.Expect(t, "horizon", l.periods.Horizon(), time.Time{})
}

// TestDropHalf: Drop fails half-way, and the next one continues; two jobs drop at the same time.
func TestDropHalf(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{Keep: 1}, logtail.Options{})
	for i := range 6 {
		l.appendAt(t, noon.AddDate(0, 0, i), i)
	}
	l.SetFaults(storagetest.OfKind(kinds.TableDelete, storagetest.Times(10, storagetest.Refuse(403, "AuthorizationFailure"))))
	dropped, err := l.periods.Drop(ctx, nil)
	if len(dropped) > 0 || !errors.Is(err, table.ErrUnreachable) {
		t.Fatalf("Drop: got %v, error %v; want none and ErrUnreachable", dropped, err)
	}
	l.SetFaults(nil)
	l.Count()
	var jobs sync.WaitGroup
	for range 3 {
		jobs.Go(func() {
			if _, err := l.periods.Drop(ctx, nil); err != nil {
				t.Errorf("Drop at the same time: got error %v; want none", err)
			}
		})
	}
	jobs.Wait()
	testkit.Expect(t, "records", amounts(t, l.log.Tail(ctx, 10)), []int{5, 4})
	testkit.Expect(t, "tables", len(l.TableNames()), 1+2+2)
}

// TestPastRetention: records of a dropped period are not stored, also by a clock that has stepped back and by Resend.
func TestPastRetention(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{Unit: "hour", Keep: 2}, logtail.Options{})
	l.appendAt(t, noon, 0)
	r, err := l.log.Append(ctx, &claim{1, 1})
	noError(t, err)
	l.appendAt(t, noon.Add(3*time.Hour), 2)
	l.Count()
	if err := l.log.Resend(ctx, r); !errors.Is(err, logtail.ErrPastRetention) {
		t.Errorf("Resend: got error %v; want ErrPastRetention", err)
	}
	l.clock.set(noon)
	if _, err := l.log.Append(ctx, &claim{1, 3}); !errors.Is(err, logtail.ErrPastRetention) {
		t.Errorf("Append: got error %v; want ErrPastRetention", err)
	}
	if _, err := l.log.AppendAll(ctx, &claim{1, 3}); !errors.Is(err, logtail.ErrPastRetention) {
		t.Errorf("AppendAll: got error %v; want ErrPastRetention", err)
	}
	testkit.Expect(t, "requests", l.Count().String(), "none")
	testkit.Expect(t, "horizon", l.periods.Horizon(), noon.Add(time.Hour))
	l.clock.set(noon.Add(3 * time.Hour))
	testkit.Expect(t, "records", amounts(t, l.log.Tail(ctx, 10)), []int{2})
}

// TestMissingTable: without Create an append fails, and a read finds nothing there. A log that never had a table is no empty log.
func TestMissingTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{Keep: 3}, logtail.Options{})
	l.appendAt(t, noon, 0)
	l.clock.set(noon.AddDate(0, 0, 3))
	if _, err := l.log.Append(ctx, &claim{1, 1}); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("Append: got error %v; want ErrNotCreated", err)
	}
	if _, err := l.log.AppendAll(ctx, &claim{1, 1}, &claim{1, 2}); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("AppendAll: got error %v; want ErrNotCreated", err)
	}
	testkit.Expect(t, "records", amounts(t, l.log.Tail(ctx, 10)), []int{0})
	l.clock.set(noon)
	acc, err := account.FromTransport(l.Service, nil)
	noError(t, err)
	log := logtail.NewByPeriod[claim](&host.Host{Tables: acc.Tables()}, "wrong", nil, nil)
	noError(t, log.Err())
	if _, err := table.Collect(log.Tail(ctx, 1)); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("Tail of a log that does not exist: got error %v; want ErrNotCreated", err)
	}
}

// TestTableBeingDeleted: a service may report a table that is being deleted, instead of one that does not exist.
func TestTableBeingDeleted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{}, logtail.Options{})
	l.appendAt(t, noon, 0)
	l.SetFaults(storagetest.AtRequest(l.next(), storagetest.Refuse(409, "TableBeingDeleted")))
	if _, err := l.log.Append(ctx, &claim{1, 1}); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("Append: got error %v; want ErrNotCreated", err)
	}
	l.SetFaults(storagetest.AtRequest(l.next(), storagetest.Refuse(409, "TableBeingDeleted")))
	testkit.Expect(t, "records", amounts(t, l.log.Tail(ctx, 10)), nil)
}
