package archive_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

var schedules = flag.Int("schedules", 2000, "how many schedules are run in all")

// brief is fewer runs under -short.
func brief(o crashtest.Options) *crashtest.Options {
	if testing.Short() {
		o.Runs = min(o.Runs, 60)
		o.MaxLateness, o.Faults = -1, func(storagetest.Request) []storagetest.Fault { // and deaths
			return []storagetest.Fault{storagetest.LostResponse(), storagetest.Refuse(503, "ServerBusy")}
		}
	}
	return &o
}

// of is the house as a process has it.
func of(p *crashtest.Process) *house {
	c := quick()
	c.NewID = func() string { return fmt.Sprintf("%016X", p.Rand().Uint64()) }
	return open(p.ConnectionString(), p, c, nil)
}

// process is what a program of these tests does.
type process = func(context.Context, *crashtest.Process) error

// hired is an account with a clerk.
func hired(ctx context.Context, p *crashtest.Process) error {
	h := of(p)
	if err := h.ensure(ctx); err != nil {
		return err
	}
	bystanders(h)
	_, err := h.current.Insert(ctx, &clerk{"S", 1, "1"})
	return err
}

// drain works until no message is left, hidden ones included.
func drain(of func(*crashtest.Process) *house) process {
	return func(ctx context.Context, p *crashtest.Process) error {
		h := of(p)
		w := h.worker(h.options())
		for {
			left := p.Service().Messages("moves")
			if len(left) == 0 {
				return nil
			}
			first := slices.MinFunc(left, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
			time.Sleep(first.Visible.Sub(p.Service().Now()))
			if err := w.Drain(ctx); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("%d messages are left: %w", len(left), err)
			}
		}
	}
}

// fine are errors that users of racing programs are told, and that are no fault.
func fine(err error) error {
	for _, is := range []error{table.ErrNotFound, table.ErrChanged, table.ErrExists, archive.ErrRestored, archive.ErrUnderway} {
		if errors.Is(err, is) {
			return nil
		}
	}
	return err
}

func working(ctx context.Context, p *crashtest.Process) error { return of(p).work(ctx) }

func asking(ctx context.Context, p *crashtest.Process) error {
	h := of(p)
	e, err := h.current.Get(ctx, at(1))
	if err == nil {
		err = h.mover.Archive(ctx, e)
	}
	return fine(err)
}

func updating(ctx context.Context, p *crashtest.Process) error {
	_, err := of(p).current.Update(ctx, at(1), func(c *clerk) error {
		n, err := strconv.Atoi(c.Last)
		c.Last = fmt.Sprint(n + 1)
		return err
	})
	return fine(err)
}

func deleting(ctx context.Context, p *crashtest.Process) error {
	h := of(p)
	e, err := h.current.Get(ctx, at(1))
	if err == nil {
		err = h.current.Delete(ctx, e)
	}
	return fine(err)
}

func creating(ctx context.Context, p *crashtest.Process) error {
	_, err := of(p).current.Insert(ctx, &clerk{"S", 1, "1000"})
	return fine(err)
}

func restoring(ctx context.Context, p *crashtest.Process) error {
	_, err := of(p).mover.Restore(ctx, at(1))
	return fine(err)
}

// replacing replaces what it read before, whatever has become of it while other steps were taken.
func replacing(steps ...process) process {
	return func(ctx context.Context, p *crashtest.Process) error {
		current := of(p).current
		e, err := current.Get(ctx, at(1))
		if err == nil {
			err = then(steps...)(ctx, p)
		}
		if err == nil {
			e.Value.Last = "5000"
			err = current.ReplaceAny(ctx, e)
		}
		return fine(err)
	}
}

// raw writes the row as programs do that know nothing of this library.
func raw(ctx context.Context, p *crashtest.Process) error {
	c := of(p).acc.Tables().NewClient("current")
	_, err := c.UpsertEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"c_000001","Last":"7000"}`), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	return err
}

// then is one program that does several things.
func then(steps ...process) process {
	return func(ctx context.Context, p *crashtest.Process) error {
		for _, step := range steps {
			if err := step(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}
}

// workload are processes on an account with a clerk.
func workload(processes ...process) func() crashtest.Workload {
	return func() crashtest.Workload {
		o := newOracle()
		return crashtest.Workload{Setup: hired, Processes: processes, Drain: drain(of), Invariant: o.always, Check: o.check}
	}
}

// TestEveryFault: moves and what comes in their way, one after the other, with each fault at each request of everybody, late ones
// included, and everybody dying anywhere.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for name, processes := range map[string][]process{
		"move":                {asking, working},
		"update between":      {asking, updating, working},
		"deleted":             {asking, deleting, working},
		"deleted and new":     {asking, deleting, creating, working},
		"asked twice":         {asking, asking, working},
		"restore":             {then(asking, working), restoring, working},
		"restore and again":   {then(asking, working, restoring), asking, working},
		"restore before move": {asking, restoring, working},
		"replaced":            {asking, replacing(working, restoring), asking},
		"raw write":           {asking, raw, asking, working},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, workload(processes...), brief(crashtest.Options{PairLimit: -1}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestSchedules: the same at once, in any order.
func TestSchedules(t *testing.T) {
	t.Parallel()
	all := map[string][]process{
		"update":          {asking, then(updating, updating), working, working},
		"deleted and new": {asking, then(deleting, creating, asking), working, working},
		"asked twice":     {asking, then(asking, deleting), working, then(working, working)},
		"restores":        {then(asking, working, restoring, updating, asking), then(working, restoring), then(working, restoring, working), then(updating, working)},
		"replaced":        {then(asking, restoring, asking), replacing(asking), replacing(), then(working, working), working},
		"raw writes":      {then(asking, raw, asking), then(raw, restoring), then(working, working), working},
		"everything":      {then(asking, restoring, asking), then(updating, deleting, creating), then(restoring, updating), then(working, working)},
	}
	for name, processes := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Schedules(t, workload(processes...), brief(crashtest.Options{Runs: *schedules / (len(all) + 1)}))
			r.Require(t)
			t.Log(r)
		})
	}
}
