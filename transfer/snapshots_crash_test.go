package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

var snapshotSchedules = testkit.Count("schedules", 60, "schedules of an export with snapshots beside writers, twice")

// smallPages is a process whose lists have two rows on a page.
type smallPages struct{ *crashtest.Process }

// Do implements the Transport of a client.
func (p smallPages) Do(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "()") {
		q := r.URL.Query()
		q.Set("$top", "2")
		r.URL.RawQuery = q.Encode()
	}
	return p.Process.Do(r)
}

// counting is an export beside writers that change the first and the last of some counters of a team alike.
type counting struct {
	counters int // of a team: an even number, and a page has rows of both teams
	place    transfer.Memory
	report   table.Progress
	ended    bool

	whole, torn *atomic.Int64 // exports without and with a torn partition, of all runs
}

const countingTeams = 2

func (c *counting) opens(do func(ctx context.Context, b *bank) error) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		acc, err := account.FromTransport(smallPages{p}, nil)
		if err != nil {
			return err
		}
		b := &bank{Store: aztablekit.Open(acc, "bank", &aztablekit.Options{Daily: -1}), service: p.Service()}
		b.counters = aztablekit.Table(b.Store, "counters", counterTeam, counterID, transfer.Snapshots[counter]("snapshots"))
		return do(ctx, b)
	}
}

func (c *counting) setUp(ctx context.Context, b *bank) error {
	if err := b.Ensure(ctx); err != nil {
		return err
	}
	for team := range countingTeams {
		var ops []table.Op
		for id := range c.counters {
			ops = append(ops, b.counters.InsertOp(&counter{Team: fmt.Sprint("team", team), ID: id}))
		}
		if _, err := table.Transact(ctx, ops...); err != nil {
			return err
		}
	}
	return nil
}

// writes changes counters, and moves one between those that matter to the other team.
func (c *counting) writes(ctx context.Context, b *bank) (err error) {
	for range 2 {
		for team := range countingTeams {
			err = errors.Join(err, b.add(ctx, fmt.Sprint("team", team), c.counters))
		}
	}
	e, failed := b.counters.Get(ctx, keys.At(counterTeam.Of("team0"), counterID.Of(2)))
	if failed != nil {
		return errors.Join(err, failed)
	}
	e.Value.Team, e.Value.ID = "team1", 1
	if moved := b.counters.Move(ctx, e); !errors.Is(moved, table.ErrExists) { // team1 has 1, so that the move is rolled back
		err = errors.Join(err, moved)
	}
	return err
}

func (c *counting) exports(ctx context.Context, b *bank) (err error) {
	c.report, err = transfer.Export(ctx, b.counters, &c.place, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 2}, ChunkBytes: 200})
	c.ended = err == nil
	return err
}

// finishes ends an export that has crashed.
func (c *counting) finishes(ctx context.Context, b *bank) error {
	time.Sleep(2 * time.Minute) // what processes that have crashed have sent is over
	if c.ended {
		return nil
	}
	return c.exports(ctx, b)
}

func (c *counting) check(*storagetest.Service) error {
	first, last, rows := map[string]any{}, map[string]any{}, 0
	to := storagetest.New(nil)
	counters := aztablekit.Table(aztablekit.Open(to, "bank", nil), "counters", counterTeam, counterID)
	if _, err := transfer.Import(context.Background(), transfer.Exported(&c.place), counters, &transfer.ImportOptions{OtherDefinitions: true}); err != nil {
		return err
	}
	for _, r := range to.Rows("counters") {
		if n := r.Get("N"); n != nil && !strings.HasPrefix(r.RowKey, "~") {
			if rows++; r.RowKey == "000000" {
				first[r.PartitionKey] = n
			}
			last[r.PartitionKey] = n
		}
	}
	torn := 0
	for team := range first {
		if first[team] != last[team] {
			torn++
		}
	}
	switch {
	case rows != countingTeams*c.counters:
		return fmt.Errorf("got %d counters; want %d", rows, countingTeams*c.counters)
	case c.report.Counts["snapshots"] != 1 || torn > c.report.Counts["torn"]:
		return fmt.Errorf("got %+v; want %d torn: first %v, last %v", c.report, torn, first, last)
	}
	if torn > 0 {
		c.torn.Add(1)
	}
	if c.report.Counts["torn"] == 0 {
		c.whole.Add(1)
	}
	return nil
}

func newCounting(counters int, whole, torn *atomic.Int64) func() crashtest.Workload {
	return func() crashtest.Workload {
		c := &counting{counters: counters, whole: whole, torn: torn}
		return crashtest.Workload{
			Setup:     c.opens(c.setUp),
			Processes: []func(context.Context, *crashtest.Process) error{c.opens(c.writes), c.opens(c.exports)},
			Drain:     c.opens(c.finishes),
			Check:     c.check,
		}
	}
}

// TestSnapshotsSchedules: an export whose requests come between those of writers, with crashes and faults of both, never calls a partition of two moments one of one
// moment, and has each row once.
func TestSnapshotsSchedules(t *testing.T) {
	t.Parallel()
	for _, counters := range []int{4, 5} {
		t.Run(fmt.Sprint(counters), func(t *testing.T) {
			t.Parallel()
			var whole, torn atomic.Int64
			crashtest.Schedules(t, newCounting(counters, &whole, &torn), testkit.Crash(crashtest.Options{Runs: *snapshotSchedules})).Require(t)
			t.Logf("%d exports without a torn partition, %d with one", whole.Load(), torn.Load())
			if w, n := whole.Load(), torn.Load(); w+n >= 100 && (w == 0 || n == 0) { // a sample may have only the one or the other
				t.Errorf("got %d exports without a torn partition, and %d with one; want some of both", w, n)
			}
		})
	}
}

// TestSnapshotsEveryFault: the same with each fault at each request, one process after the other.
func TestSnapshotsEveryFault(t *testing.T) {
	t.Parallel()
	for _, counters := range []int{4, 5} {
		t.Run(fmt.Sprint(counters), func(t *testing.T) {
			t.Parallel()
			var whole, torn atomic.Int64
			crashtest.Enumerate(t, newCounting(counters, &whole, &torn), testkit.Crash(crashtest.Options{Sample: testkit.Sample(6)})).Require(t)
			t.Logf("%d exports without a torn partition, %d with one", whole.Load(), torn.Load())
		})
	}
}
