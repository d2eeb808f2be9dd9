package index_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

type sceneOf[T any] struct {
	t     *table.Table[T]
	drain func()
	clean func() // deletes what is old
}

// openElsewhereOf opens a table of a type with definitions elsewhere, on a service that others may use too.
func openElsewhereOf[T any](t *testing.T, s *storagetest.Service, name string, schema table.Schema[T], definitions ...extend.Definition[T]) sceneOf[T] {
	t.Helper()
	ctx := context.Background()
	acc, err := account.FromTransport(s, nil)
	check(t, err)
	o := quick()
	o.BlindWrites = false
	options.SetNow(&o.Common, s.Now)
	base, err := bare.NewTable(acc.Tables(), name, schema, o)
	check(t, err)
	effects, poison := name+"effects", name+"poison"
	out, err := bareworker.NewOutbox(acc.Queues().NewQueueClient(effects), &o.Common)
	check(t, err)
	staff, err := baretest.WithOutbox(base, out)
	check(t, err)
	staff, err = baretest.Attach(staff, definitions...)
	check(t, err)
	w, err := bareworker.New(acc.Queues().NewQueueClient(effects), acc.Queues().NewQueueClient(poison), baretest.Handlers(staff),
		&eventual.WorkerOptions{Common: o.Common, Wait: time.Second, MaxWait: time.Second})
	check(t, err)
	check(t, errors.Join(tabledoor.Ensure(ctx, staff), baretest.Ensure(ctx, staff), w.Ensure(ctx)))
	return sceneOf[T]{staff, func() {
		t.Helper()
		check(t, w.Drain(ctx))
		if n := len(s.Messages(poison)); n > 0 {
			t.Errorf("got %d poison messages; want none", n)
		}
	}, func() {
		t.Helper()
		check(t, workertest.CleanAll(ctx, w, staff))
	}}
}

func mailIndex() *index.Global[worker, string] {
	return index.NewGlobal("mail", keys.Fold(keys.Text()), func(w *worker) (string, bool) { return w.Email, w.Email != "" }, nil)
}

// TestElsewhereDuplicatesBefore: step 1 of docs/indexes.md, "Adding an index".
func TestElsewhereDuplicatesBefore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, repair := range []bool{false, true} {
		s := storagetest.New(nil)
		acc, err := account.FromTransport(s, nil)
		check(t, err)
		base, err := bare.NewTable(acc.Tables(), "staff", schema, quick())
		check(t, err)
		check(t, tabledoor.Ensure(ctx, base))
		for _, d := range []string{"M", "S"} {
			_, err = base.Insert(ctx, &worker{Dept: d, ID: 1, Email: "ann"})
			check(t, err)
		}
		a := openElsewhereOf(t, s, "staff", schema, newLogin())
		report, err := verify.Repair(ctx, a.t, &verify.Options{Pass: table.Pass{DryRun: !repair}})
		check(t, err)
		if report.Counts[verify.DuplicateValue] == 0 {
			t.Errorf("repair %v: got faults %v, unconfirmed %d; want a DuplicateValue", repair, derived.Kinds(report), report.Counts["unconfirmed"])
		}
	}
}

// TestElsewhereTombstones: tombstones of effects that were executed late are swept.
func TestElsewhereTombstones(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	d := mailIndex()
	a := openElsewhereOf(t, s, "staff", schema, d)
	e, err := a.t.Insert(ctx, &worker{Dept: "S", ID: 1, Email: "ann"})
	check(t, err)
	a.drain()
	e.Value.Email = "bob"
	check(t, a.t.Replace(ctx, e))
	// No worker runs for 5 hours.
	s.Advance(5 * time.Hour)
	a.drain()
	for range 80 {
		s.Advance(time.Hour)
		a.clean()
	}
	if n := len(s.Rows("staffmail")); n != 1 {
		t.Errorf("got %d rows; want 1", n)
	}
}

// TestElsewhereDuplicatesAgain: a second Repair, when one of the two has the value.
func TestElsewhereDuplicatesAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	acc, err := account.FromTransport(s, nil)
	check(t, err)
	base, err := bare.NewTable(acc.Tables(), "staff", schema, quick())
	check(t, err)
	check(t, tabledoor.Ensure(ctx, base))
	for _, d := range []string{"M", "S"} {
		_, err = base.Insert(ctx, &worker{Dept: d, ID: 1, Email: "ann"})
		check(t, err)
	}
	a := openElsewhereOf(t, s, "staff", schema, newLogin())
	for i := range 3 {
		report, err := verify.Repair(ctx, a.t, nil)
		check(t, err)
		if report.Counts[verify.DuplicateValue] != 1 && i > 0 {
			t.Errorf("run %d: got faults %v, unconfirmed %d; want a DuplicateValue", i, derived.Kinds(report), report.Counts["unconfirmed"])
		}
	}
	report, err := verify.Check(ctx, a.t, nil)
	check(t, err)
	if report.Counts[verify.DuplicateValue] != 1 {
		t.Errorf("without Repair: got faults %v, unconfirmed %d; want a DuplicateValue", derived.Kinds(report), report.Counts["unconfirmed"])
	}
}

// TestElsewhereMixedDuplicate: one entity's duplicate keeps verify.Repair from filling another
// index of that entity and reports neither.
func TestElsewhereMixedDuplicate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
	check(t, err)
	check(t, tabledoor.Ensure(ctx, base))
	for _, d := range []string{"M", "S"} {
		_, err = base.Insert(ctx, &worker{Dept: d, ID: 1, Email: "ann", Last: "Jones"})
		check(t, err)
	}
	byLast := index.NewGlobal("last", keys.Text(), func(w *worker) (string, bool) { return w.Last, true }, nil)
	a := openElsewhereOf(t, s, "staff", schema, newLogin(), byLast)
	for range 2 {
		_, err := verify.Repair(ctx, a.t, nil)
		check(t, err)
		a.drain()
	}
	report, err := verify.Repair(ctx, a.t, nil)
	check(t, err)
	if report.Counts[verify.DuplicateValue] != 1 || report.Counts[verify.Missing] != 1 {
		t.Errorf("got %+v; want the duplicate, and the missing row of the other index with its error", report)
	}
}
