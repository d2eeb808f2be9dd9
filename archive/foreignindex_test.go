package archive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// newIndexTable returns the table of the foreign index: a row for each clerk, whose property Is contains the clerk's Last, or
// "gone".
func newIndexTable(fx *fixture) (*table.Table[table.Row], error) {
	return bare.NewTable(fx.account.Tables(), "index", table.Schema[table.Row]{}, &table.Options{Common: fx.common})
}

// addIndex gives the fixture a foreign index. Each insertion and each deletion has the effect to update the index, those of moves
// and restores included.
func addIndex(fx *fixture) error {
	rows, err := newIndexTable(fx)
	if err != nil {
		return err
	}
	due := bare.OnChange("index", func(c *extend.Change[clerk]) (struct{}, bool) {
		return struct{}{}, c.Old == nil || c.New == nil || c.Old.Last != c.New.Last
	})
	base := fx.current
	if fx.current, err = baretest.WithOutbox(base, fx.outbox, due); err != nil {
		return err
	}
	fx.handlers = append(fx.handlers, bare.NewHandler("index", fx.current, func(ctx context.Context, j eventual.Job, _ struct{}) error {
		return updateIndexRow(ctx, base, rows, j)
	}))
	return nil
}

// updateIndexRow derives a row of the index from its entity. It reads the row first and the entity second, and writes the row by
// its ETag even if nothing changes, so that the row never becomes older than it is.
func updateIndexRow(ctx context.Context, of *table.Table[clerk], rows *table.Table[table.Row], j eventual.Job) error {
	k := keys.At(keys.RawPartition("all"), keys.RawRow(j.Key.RowKey()))
	row, err := rows.Get(ctx, k)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	is := "gone"
	switch e, err := of.Get(ctx, keys.Raw(j.Key.Partition().String(), j.Key.RowKey())); {
	case err == nil:
		is = e.Value.Last
	case !errors.Is(err, table.ErrNotFound):
		return err
	}
	if row == nil {
		r := &table.Row{Key: k}
		if err := r.Set("Is", is); err != nil {
			return err
		}
		_, err := rows.Insert(ctx, r)
		if errors.Is(err, table.ErrExists) {
			err = table.ErrChanged
		}
		return err
	}
	if err := row.Value.Set("Is", is); err != nil {
		return err
	}
	return rows.Replace(ctx, row)
}

// checkIndex returns an error unless the index agrees with the table.
func checkIndex(s *storagetest.Service) error {
	want := map[string]string{}
	for _, r := range s.Rows("current") {
		if strings.HasPrefix(r.RowKey, "c_") {
			want[r.RowKey] = fmt.Sprint(r.Get("Last"))
		}
	}
	for _, r := range s.Rows("index") {
		last, exists := want[r.RowKey]
		if !exists {
			last = "gone"
		}
		if got := r.Get("Is"); got != last {
			return fmt.Errorf("index row %s: got %v; want %s", r.RowKey, got, last)
		}
		delete(want, r.RowKey)
	}
	if len(want) > 0 {
		return fmt.Errorf("the index lacks %v", want)
	}
	return nil
}

// TestForeignIndex: an index in another table follows an entity that is moved and restored, through the same commit record and the
// same message. The worker that deletes the entity finds the index's effect in the commit record, and so does a worker that
// continues after a crash.
func TestForeignIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, addIndex)
	rows, err := newIndexTable(fx)
	must(t, err)
	must(t, tabledoor.Ensure(ctx, rows))
	e := insertClerk(t, fx, s, 1)
	must(t, fx.work(ctx))
	s.Count()
	must(t, fx.mover.Archive(ctx, e))
	testkit.Expect(t, "requests of Archive", s.Count().String(), "1 message-put, 1 message-update, 1 transaction")
	must(t, fx.work(ctx))
	testkit.Expect(t, "requests of the move and of the index", s.Count().String(), "5 get, 1 merge, 1 message-delete, 2 message-get, 1 replace, 2 transaction")
	noError(t, checkIndex(s))
	_, err = fx.mover.Restore(ctx, at(1))
	must(t, err)
	must(t, fx.work(ctx))
	noError(t, checkIndex(s))
}

// indexed opens a fixture with the foreign index.
var indexed = fixtureOf(addIndex)

// Processes on the foreign index.
var (
	indexWorking   = on(indexed, (*fixture).work)
	indexArchiving = on(indexed, (*fixture).archiveClerk)
	indexRestoring = on(indexed, (*fixture).restoreClerk)
	indexDeleting  = on(indexed, func(fx *fixture, ctx context.Context) error { return ignoreConflicts(fx.current.DeleteAny(ctx, at(1))) })
)

// indexWorkload returns processes on an account with a clerk, and with the foreign index.
func indexWorkload(processes ...process) func() crashtest.Workload {
	return func() crashtest.Workload {
		o := newOracle()
		return crashtest.Workload{
			Setup:     setUpIndex,
			Processes: processes,
			Drain:     drainQueue(indexed),
			Invariant: o.always,
			Check:     func(s *storagetest.Service) error { return errors.Join(o.atEnd(s), checkIndex(s)) },
		}
	}
}

// setUpIndex fills an account with the tables, a clerk, and the clerk's row in the index.
func setUpIndex(ctx context.Context, p *crashtest.Process) error {
	fx, err := indexed(p)
	if err != nil {
		return err
	}
	rows, err := newIndexTable(fx)
	if err != nil {
		return err
	}
	if err := errors.Join(fx.ensure(ctx), tabledoor.Ensure(ctx, rows)); err != nil {
		return err
	}
	_, err = fx.current.Insert(ctx, &clerk{"S", 1, "1"})
	return errors.Join(err, fx.work(ctx))
}

// TestEveryFaultForeignIndex: the index agrees with the table in the end, whatever request fails and whatever process crashes.
func TestEveryFaultForeignIndex(t *testing.T) {
	t.Parallel()
	r := crashtest.Enumerate(t, indexWorkload(testkit.InSequence(indexArchiving, indexWorking), testkit.InSequence(indexRestoring, indexWorking)), testkit.Crash(crashtest.Options{PairLimit: -1, MaxLateness: 4, Sample: testkit.Sample(2)}))
	r.Require(t)
	t.Log(r)
}

// TestSchedulesForeignIndex: the index agrees with the table after concurrent moves, restores and deletions in random orders.
func TestSchedulesForeignIndex(t *testing.T) {
	t.Parallel()
	build := indexWorkload(testkit.InSequence(indexArchiving, indexRestoring), testkit.InSequence(indexWorking, indexWorking),
		testkit.InSequence(indexWorking, indexRestoring, indexArchiving), testkit.InSequence(indexDeleting, indexWorking))
	r := crashtest.Schedules(t, build, testkit.Crash(crashtest.Options{Runs: *schedules / 6}))
	r.Require(t)
	t.Log(r)
}
