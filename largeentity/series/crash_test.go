package series_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

var schedules = testkit.Count("schedules", 300, "random schedules of each test")

// tally is what the processes of one run know of their writes, by slot. An Add counts in its slot, a Set gives its slot the number
// of the process.
type tally struct {
	exact bool

	mu            sync.Mutex
	added, open   map[string]int64 // acknowledged, and with an unknown outcome
	set, maybeSet map[string]bool
}

func newTally(exact bool) *tally {
	return &tally{exact: exact, added: map[string]int64{}, open: map[string]int64{}, set: map[string]bool{}, maybeSet: map[string]bool{}}
}

// visitsOf opens the series for a process.
func (c *tally) visitsOf(p *crashtest.Process) (*series.Series[int64], error) {
	acc, err := account.FromTransport(p, nil)
	if err != nil {
		return nil, err
	}
	o := &series.Options{}
	o.Retry.Wait = -1
	visits := series.New[int64](&host.Host{Tables: acc.Tables()}, "visits", series.Every(time.Hour, nil), o)
	err = visits.Err()
	if err == nil && c.exact {
		visits = visits.Exact()
	}
	return visits, err
}

func (c *tally) setup(ctx context.Context, p *crashtest.Process) error {
	visits, err := c.visitsOf(p)
	if err != nil {
		return err
	}
	return visits.Ensure(ctx)
}

// increment calls add, which adds n to each of some slots, and notes the outcome.
func (c *tally) increment(ctx context.Context, n int64, add func() error, slots ...string) {
	c.mu.Lock()
	for _, slot := range slots {
		c.open[slot] += n // until the outcome is known
	}
	c.mu.Unlock()
	err := add()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, slot := range slots {
		switch {
		case err == nil:
			c.added[slot] += n
			c.open[slot] -= n
		case !errors.Is(err, table.ErrUnknownOutcome) && ctx.Err() == nil && !errors.Is(err, crashtest.ErrCrashed):
			c.open[slot] -= n
		}
	}
}

// process returns a process that adds to H00 and H01 of two days, and sets a slot of its own, H02 or later.
func (c *tally) process(number int) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		visits, err := c.visitsOf(p)
		if err != nil {
			return err
		}
		own := fmt.Sprintf("2014-07-31 H%02d", number)
		c.increment(ctx, 1, func() error { _, err := visits.Add(ctx, july, 1); return err }, "2014-07-31 H00")
		c.mu.Lock()
		c.maybeSet[own] = true
		c.mu.Unlock()
		if visits.Set(ctx, july.Add(time.Duration(number)*time.Hour), int64(number)) == nil {
			c.mu.Lock()
			c.set[own] = true
			c.mu.Unlock()
		}
		next := july.AddDate(0, 0, 1)
		c.increment(ctx, 10, func() error {
			return visits.AddAll(ctx, maps.All(map[time.Time]int64{july: 10, next.Add(time.Hour): 10}))
		}, "2014-07-31 H00", "2014-08-01 H01")
		return nil
	}
}

// check compares the stored values with the acknowledged writes: each of these is stored, increments once, and unknown ones at most
// once.
func (c *tally) check(s *storagetest.Service) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := map[string]int64{}
	for _, row := range s.Rows("visits") {
		for _, p := range row.Properties {
			if p.Name[0] == 'H' {
				got[row.RowKey+" "+p.Name] = row.Get(p.Name).(int64)
			}
		}
	}
	for slot := range c.open {
		if n := got[slot]; n < c.added[slot] || n > c.added[slot]+c.open[slot] {
			return fmt.Errorf("%s: got %d; want at least the %d confirmed, and at most %d unknown ones more", slot, n, c.added[slot], c.open[slot])
		}
		delete(got, slot)
	}
	for slot := range c.maybeSet {
		n, present := got[slot]
		if present && fmt.Sprintf("2014-07-31 H%02d", n) != slot || !present && c.set[slot] {
			return fmt.Errorf("%s: got %d, present: %v; want the value that was set", slot, n, present)
		}
		delete(got, slot)
	}
	if len(got) > 0 {
		return fmt.Errorf("got values %v that no process has written", got)
	}
	return nil
}

// build returns a workload of some processes.
func build(exact bool, processes int) func() crashtest.Workload {
	return func() crashtest.Workload {
		c := newTally(exact)
		w := crashtest.Workload{Setup: c.setup, Check: c.check}
		for i := range processes {
			w.Processes = append(w.Processes, c.process(i+2))
		}
		return w
	}
}

// TestEveryFault: under each fault at each request, each confirmed increment is stored once, and an unknown one at most once.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for name, exact := range map[string]bool{"plain": false, "exact": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := crashtest.Options{}
			if testing.Short() {
				o.PairLimit = -1
			}
			r := crashtest.Enumerate(t, build(exact, 1), testkit.Crash(o))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestSchedules: so it is in random orders of two writers. The schedules of writes that are not exact omit duplicated requests: if a concurrent
// writer overwrites the first copy of an increment, the second one is refused although the increment was applied.
func TestSchedules(t *testing.T) {
	t.Parallel()
	once := func(q storagetest.Request) []storagetest.Fault {
		return slices.DeleteFunc(crashtest.Faults(q), func(f storagetest.Fault) bool { return f == storagetest.Twice() })
	}
	for name, o := range map[string]crashtest.Options{"plain": {Faults: once}, "exact": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Runs, o.FaultRate = *schedules, 0.2
			r := crashtest.Schedules(t, build(name == "exact", 2), testkit.Crash(o))
			r.Require(t)
			t.Log(r)
		})
	}
}
