package archive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

var schedules = testkit.Count("schedules", 200, "how many schedules are run in all")

// opener opens the fixture of a process.
type opener = func(*crashtest.Process) (*fixture, error)

// fixtureOf returns an opener. attach attaches maintainers, if any.
func fixtureOf(attach func(*fixture) error) opener {
	return func(p *crashtest.Process) (*fixture, error) {
		c := noPauses()
		options.SetNewID(&c, testkit.NewID(p))
		return openFixture(p.ConnectionString(), p, c, attach)
	}
}

// plain opens a fixture without maintainers.
var plain = fixtureOf(nil)

// process is what one program of these tests does.
type process = func(context.Context, *crashtest.Process) error

// on returns a process that does something with a fixture of its own.
func on(open opener, do func(*fixture, context.Context) error) process {
	return func(ctx context.Context, p *crashtest.Process) error {
		fx, err := open(p)
		if err != nil {
			return err
		}
		return do(fx, ctx)
	}
}

// ignoreConflicts returns no error for those that concurrent writers cause.
func ignoreConflicts(err error) error {
	for _, is := range []error{table.ErrNotFound, table.ErrChanged, table.ErrExists, table.ErrIncomplete} {
		if errors.Is(err, is) {
			return nil
		}
	}
	return err
}

// What processes do with the clerk. They return no errors that concurrent writers cause.

func (fx *fixture) archiveClerk(ctx context.Context) error {
	e, err := fx.current.Get(ctx, at(1))
	if err == nil {
		err = fx.mover.Archive(ctx, e)
	}
	return ignoreConflicts(err)
}

// archiveTogether moves the clerk as one of all that a query finds.
func (fx *fixture) archiveTogether(ctx context.Context) error {
	_, err := fx.mover.ArchiveAll(ctx, table.Query[clerk]{Partition: at(1).Partition(), Rows: at(1).Row().Point()}, nil)
	return ignoreConflicts(err)
}

func (fx *fixture) restoreClerk(ctx context.Context) error {
	_, err := fx.mover.Restore(ctx, at(1))
	return ignoreConflicts(err)
}

func (fx *fixture) incrementClerk(ctx context.Context) error {
	_, err := fx.current.Update(ctx, at(1), func(c *clerk) error {
		n, err := strconv.Atoi(c.Last)
		c.Last = fmt.Sprint(n + 1)
		return err
	})
	return ignoreConflicts(err)
}

func (fx *fixture) deleteClerk(ctx context.Context) error {
	e, err := fx.current.Get(ctx, at(1))
	if err == nil {
		err = fx.current.Delete(ctx, e)
	}
	return ignoreConflicts(err)
}

func (fx *fixture) insertNewClerk(ctx context.Context) error {
	_, err := fx.current.Insert(ctx, &clerk{"S", 1, "1000"})
	return ignoreConflicts(err)
}

// writeBySDK writes the row as a program does that does not use this library.
func (fx *fixture) writeBySDK(ctx context.Context) error {
	c := fx.account.Tables().NewClient("current")
	_, err := c.UpsertEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"c_000001","Last":"7000"}`), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	return err
}

// The same as processes.
var (
	working   = on(plain, (*fixture).work)
	archiving = on(plain, (*fixture).archiveClerk)
	together  = on(plain, (*fixture).archiveTogether)
	restoring = on(plain, (*fixture).restoreClerk)
	updating  = on(plain, (*fixture).incrementClerk)
	deleting  = on(plain, (*fixture).deleteClerk)
	inserting = on(plain, (*fixture).insertNewClerk)
	bySDK     = on(plain, (*fixture).writeBySDK)
)

// replacing returns a process that reads the clerk, takes some steps, and then replaces the clerk unconditionally.
func replacing(steps ...process) process {
	return func(ctx context.Context, p *crashtest.Process) error {
		return on(plain, func(fx *fixture, ctx context.Context) error {
			e, err := fx.current.Get(ctx, at(1))
			if err == nil {
				err = testkit.InSequence(steps...)(ctx, p)
			}
			if err == nil {
				e.Value.Last = "5000"
				err = fx.current.ReplaceAny(ctx, e)
			}
			return ignoreConflicts(err)
		})(ctx, p)
	}
}

// drainQueue returns a process that works until no message is left, hidden ones included.
func drainQueue(open opener) process {
	return func(ctx context.Context, p *crashtest.Process) error {
		fx, err := open(p)
		if err != nil {
			return err
		}
		w, err := fx.worker(fx.options())
		if err != nil {
			return err
		}
		for {
			messages := p.Service().Messages("moves")
			if len(messages) == 0 {
				return nil
			}
			first := slices.MinFunc(messages, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
			time.Sleep(first.Visible.Sub(p.Service().Now()))
			if err := testkit.WithoutFailures(w.Drain(ctx)); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("%d messages are left: %w", len(messages), err)
			}
		}
	}
}

// setUp fills an account with the tables, the neighbours and a clerk.
func setUp(ctx context.Context, p *crashtest.Process) error {
	fx, err := plain(p)
	if err != nil {
		return err
	}
	if err := errors.Join(fx.ensure(ctx), insertNeighbours(ctx, fx)); err != nil {
		return err
	}
	_, err = fx.current.Insert(ctx, &clerk{"S", 1, "1"})
	return err
}

// workload returns processes on an account with a clerk.
func workload(processes ...process) func() crashtest.Workload {
	return func() crashtest.Workload {
		o := newOracle()
		return crashtest.Workload{Setup: setUp, Processes: processes, Drain: drainQueue(plain), Invariant: o.always, Check: o.atEnd}
	}
}

// TestEveryFault runs moves and concurrent writers one after the other, with each fault at each request of each process, late
// requests included, and with each process crashing at each request.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for name, processes := range map[string][]process{
		"moved":                       {archiving, working},
		"moved together":              {together, working},
		"together, updated":           {together, updating, working},
		"together, deleted, inserted": {together, deleting, inserting, working},
		"together and alone":          {archiving, together, working},
		"together and restored":       {together, restoring, together, working},
		"updated":                     {archiving, updating, working},
		"deleted":                     {archiving, deleting, working},
		"deleted and inserted":        {archiving, deleting, inserting, working},
		"archived twice":              {archiving, archiving, working},
		"restored":                    {testkit.InSequence(archiving, working), restoring, working},
		"restored and archived again": {testkit.InSequence(archiving, working, restoring), archiving, working},
		"restored before the move":    {archiving, restoring, working},
		"replaced":                    {archiving, replacing(working, restoring), archiving},
		"written by the SDK":          {archiving, bySDK, archiving, working},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sample := testkit.Sample(12)
			if strings.Contains(name, "together") { // which have more requests
				sample = testkit.Sample(6)
			}
			r := crashtest.Enumerate(t, workload(processes...), testkit.Crash(crashtest.Options{PairLimit: -1, Sample: sample}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestSchedules runs moves and concurrent writers at the same time, in random orders.
func TestSchedules(t *testing.T) {
	t.Parallel()
	all := map[string][]process{
		"together":             {testkit.InSequence(together, restoring), testkit.InSequence(updating, deleting, inserting), together, testkit.InSequence(archiving, working)},
		"updated":              {archiving, testkit.InSequence(updating, updating), working, working},
		"deleted and inserted": {archiving, testkit.InSequence(deleting, inserting, archiving), working, working},
		"archived twice":       {archiving, testkit.InSequence(archiving, deleting), working, testkit.InSequence(working, working)},
		"restored":             {testkit.InSequence(archiving, working, restoring, updating, archiving), testkit.InSequence(working, restoring), testkit.InSequence(working, restoring, working), testkit.InSequence(updating, working)},
		"replaced":             {testkit.InSequence(archiving, restoring, archiving), replacing(archiving), replacing(), testkit.InSequence(working, working), working},
		"written by the SDK":   {testkit.InSequence(archiving, bySDK, archiving), testkit.InSequence(bySDK, restoring), testkit.InSequence(working, working), working},
		"everything":           {testkit.InSequence(archiving, restoring, archiving), testkit.InSequence(updating, deleting, inserting), testkit.InSequence(restoring, updating), testkit.InSequence(working, working)},
	}
	for name, processes := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Schedules(t, workload(processes...), testkit.Crash(crashtest.Options{Runs: *schedules / (len(all) + 1)}))
			r.Require(t)
			t.Log(r)
		})
	}
}
