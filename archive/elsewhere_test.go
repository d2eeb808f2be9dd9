package archive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// indexed gives the house an index in another table: a row for each clerk that there is. Its effects come with every insertion and
// deletion, those of moves and restores included.
func indexed(h *house) {
	due := eventual.OnChange("index", func(c *table.Change[clerk]) (struct{}, bool) {
		return struct{}{}, c.Old == nil || c.New == nil || c.Old.Last != c.New.Last
	})
	rows, err := table.New(h.acc.Tables(), "elsewhere", table.Schema[table.Row]{}, &table.Options{Common: h.opt})
	check(err)
	plain := h.current
	h.current, err = plain.With(h.out, due)
	check(err)
	h.more = append(h.more, eventual.NewHandler("index", h.current, func(ctx context.Context, j eventual.Job, _ struct{}) error {
		return reconcile(ctx, plain, rows, j)
	}))
}

// reconcile makes a row of the index follow from the entity: the row is read first, and the entity last; then the row is written by its
// ETag, also where nothing seems to change.
func reconcile(ctx context.Context, of *table.Table[clerk], rows *table.Table[table.Row], j eventual.Job) error {
	k := keys.At(keys.Raw("all"), keys.Raw(j.Effect.RowKey))
	row, err := rows.Get(ctx, k)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	is := "gone"
	switch e, err := of.Get(ctx, keys.Stored(j.Partition.String(), j.Effect.RowKey)); {
	case err == nil:
		is = e.Value.Last
	case !errors.Is(err, table.ErrNotFound):
		return err
	}
	if row == nil {
		r := &table.Row{Key: k}
		check(r.Set("Is", is))
		_, err := rows.Insert(ctx, r)
		if errors.Is(err, table.ErrExists) {
			err = table.ErrChanged
		}
		return err
	}
	check(row.Value.Set("Is", is))
	return rows.Replace(ctx, row)
}

// follows tells whether the index is as the table.
func follows(s *storagetest.Service) error {
	is := map[string]string{}
	for _, r := range s.Rows("current") {
		if strings.HasPrefix(r.RowKey, "c_") {
			is[r.RowKey] = fmt.Sprint(r.Get("Last"))
		}
	}
	for _, r := range s.Rows("elsewhere") {
		want := is[r.RowKey]
		if want == "" {
			want = "gone"
		}
		if got := r.Get("Is"); got != want {
			return fmt.Errorf("%s is %v in the index, not %s", r.RowKey, got, want)
		}
		delete(is, r.RowKey)
	}
	if len(is) > 0 {
		return fmt.Errorf("%v are not in the index", is)
	}
	return nil
}

// TestIndexElsewhere: an index in another table goes with the entity, through the same intent and the same message: the worker that
// deletes the entity finds in the intent what follows from that, and so does whoever takes the message up when it dies.
func TestIndexElsewhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, indexed)
	rows, err := table.New(h.acc.Tables(), "elsewhere", table.Schema[table.Row]{}, nil)
	check(err)
	check(rows.Ensure(ctx))
	e := hire(h, s, 1)
	check(h.work(ctx))
	s.Count()
	check(h.mover.Archive(ctx, e))
	expect(t, "to ask", s.Count(), "1 message-put, 1 message-update, 1 transaction")
	check(h.work(ctx))
	expect(t, "to move, and to reconcile", s.Count(), "5 get, 1 merge, 1 message-delete, 2 message-get, 1 replace, 2 transaction")
	if err := follows(s); err != nil {
		t.Error(err)
	}
	_, err = h.mover.Restore(ctx, at(1))
	check(err)
	check(h.work(ctx))
	if err := follows(s); err != nil {
		t.Error(err)
	}
}

// withIndex is the house of a process, with the index.
func withIndex(p *crashtest.Process) *house {
	c := quick()
	c.NewID = func() string { return fmt.Sprintf("%016X", p.Rand().Uint64()) }
	return open(p.ConnectionString(), p, c, indexed)
}

// What processes with the index do.
var (
	indexWork = do(func(ctx context.Context, h *house) error { return h.work(ctx) })
	indexAsk  = do(func(ctx context.Context, h *house) error {
		e, err := h.current.Get(ctx, at(1))
		if err == nil {
			err = h.mover.Archive(ctx, e)
		}
		return err
	})
	indexRestore = do(func(ctx context.Context, h *house) error {
		_, err := h.mover.Restore(ctx, at(1))
		return err
	})
	indexDelete = do(func(ctx context.Context, h *house) error { return h.current.DeleteAny(ctx, at(1)) })
)

func do(f func(context.Context, *house) error) process {
	return func(ctx context.Context, p *crashtest.Process) error { return fine(f(ctx, withIndex(p))) }
}

// indexWorkload are processes on an account with a clerk, and the index.
func indexWorkload(processes ...process) func() crashtest.Workload {
	return func() crashtest.Workload {
		o := newOracle()
		return crashtest.Workload{
			Setup: func(ctx context.Context, p *crashtest.Process) error {
				h := withIndex(p)
				rows, err := table.New(h.acc.Tables(), "elsewhere", table.Schema[table.Row]{}, nil)
				check(err)
				if err := errors.Join(h.ensure(ctx), rows.Ensure(ctx)); err != nil {
					return err
				}
				_, err = h.current.Insert(ctx, &clerk{"S", 1, "1"})
				return errors.Join(err, h.work(ctx))
			},
			Processes: processes,
			Drain:     drain(withIndex),
			Always:    o.always,
			Check:     func(s *storagetest.Service) error { return errors.Join(o.check(s), follows(s)) },
		}
	}
}

// TestEveryFaultElsewhere: whoever dies, and whatever goes wrong, the index is as the table in the end.
func TestEveryFaultElsewhere(t *testing.T) {
	t.Parallel()
	r := crashtest.Enumerate(t, indexWorkload(then(indexAsk, indexWork), then(indexRestore, indexWork)), brief(crashtest.Options{Pairs: -1, Late: 4}))
	r.Require(t)
	t.Log(r)
}

// TestSchedulesElsewhere: and in whatever order several do it.
func TestSchedulesElsewhere(t *testing.T) {
	t.Parallel()
	build := indexWorkload(then(indexAsk, indexRestore), then(indexWork, indexWork), then(indexWork, indexRestore, indexAsk), then(indexDelete, indexWork))
	r := crashtest.Schedules(t, build, brief(crashtest.Options{Runs: *schedules / 6}))
	r.Require(t)
	t.Log(r)
}
