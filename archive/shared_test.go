package archive_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestNewest: of several lives the newest is the one that was written last in its table, also where a slow worker puts an older one
// once more since.
func TestNewest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	check(h.mover.Archive(ctx, hire(h, s, 1)))
	slow, slows := beside(s)
	fast, fasts := beside(s)
	reads, goesOn, ended := make(chan bool), make(chan bool), make(chan bool)
	slows.do = func(q storagetest.Request) {
		if writes(q, "old") {
			slows.do = nil
			reads <- true // what the other has put, and the entity
			<-goesOn
		}
	}
	fasts.do = func(q storagetest.Request) {
		if writes(q, "current") { // it has put the entity
			fasts.do = nil
			s.Advance(time.Minute)
			go func() { defer close(ended); check(slow.work(ctx)) }()
			<-reads
		}
	}
	check(fast.work(ctx))
	e, err := h.current.Insert(ctx, &clerk{"S", 1, "Newer"})
	check(err)
	check(h.mover.Archive(ctx, e))
	check(h.work(ctx))
	close(goesOn)
	<-ended
	found, archived, err := h.mover.Find(ctx, at(1))
	if err != nil || !archived || found.Value.Last != "Newer" {
		t.Error(found, archived, err)
	}
	if back, err := h.mover.Restore(ctx, at(1)); err != nil || back.Value.Last != "Newer" {
		t.Error(back, err)
	}
}

// TestDestinationDown: while the destination cannot be reached no move is poison; then all are made.
func TestDestinationDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		h, s := opened(t, nil)
		check(h.mover.Archive(ctx, hire(h, s, 1)))
		w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), []eventual.Handler{h.mover.Handler()}, &eventual.WorkerOptions{Common: h.opt})
		check(err)
		down, cancel := context.WithTimeout(ctx, 5*time.Hour)
		defer cancel()
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == "old" }, storagetest.Refuse(503, "ServerBusy")))
		check(w.Run(down))
		if got := w.Stats(); got.Poisoned > 0 || got.Deferred < 20 {
			t.Error(got)
		}
		s.SetFaults(nil)
		time.Sleep(10 * time.Minute)
		check(w.Drain(ctx))
		if _, archived, err := h.mover.Find(ctx, at(1)); err != nil || !archived {
			t.Error(archived, err)
		}
	})
}

// twoMovers are movers of two kinds, with a worker for both.
func twoMovers(h *house, from *table.Table[clerk], to archive.Destination) (*archive.Mover[clerk], *eventual.Worker) {
	m, err := archive.New("second", from, to, h.out)
	check(err)
	w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), []eventual.Handler{h.mover.Handler(), m.Handler()}, &eventual.WorkerOptions{Common: h.opt, Concurrency: 1})
	check(err)
	return m, w
}

// TestSharedDestination: two tables share a destination, and neither finds nor restores what is the other's.
func TestSharedDestination(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	second, err := table.New(h.acc.Tables(), "second", schema, &table.Options{Common: h.opt})
	check(err)
	check(second.Ensure(ctx))
	m, w := twoMovers(h, second, h.old)
	check(h.mover.Archive(ctx, hire(h, s, 1)))
	check(w.Drain(ctx))
	if _, _, err := m.Find(ctx, at(1)); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
	if _, err := m.Restore(ctx, at(1)); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
	for e, err := range m.Archived(ctx, dept.Of("S")) {
		t.Error(e, err)
	}
	other, err := second.Insert(ctx, &clerk{"S", 1, "Other"})
	check(err)
	check(m.Archive(ctx, other))
	check(w.Drain(ctx))
	for _, c := range []struct {
		m    *archive.Mover[clerk]
		want string
	}{{h.mover, "Name1"}, {m, "Other"}} {
		if e, archived, err := c.m.Find(ctx, at(1)); err != nil || !archived || e.Value.Last != c.want {
			t.Error(e, archived, err)
		}
	}
}

// TestSharedTable: two movers of one table, to two destinations: the sweep of one leaves the other's notes alone.
func TestSharedTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	to, err := archive.ToTable(h.acc.Tables(), "older", &table.Options{Common: h.opt})
	check(err)
	check(to.Ensure(ctx))
	m, w := twoMovers(h, h.current, to)
	check(h.mover.Archive(ctx, hire(h, s, 1)))
	check(w.Drain(ctx))
	e, err := h.mover.Restore(ctx, at(1))
	check(err)
	_, err = h.acc.Queue("moves").ClearMessages(ctx, nil) // nobody forgets the old life
	check(err)
	check(h.current.Delete(ctx, e))
	s.Advance(30 * time.Hour)
	check(m.Handler().Sweep(ctx, dept.Of("S"), s.Now().Add(-25*time.Hour)))
	if _, err := h.mover.Restore(ctx, at(1)); !errors.Is(err, archive.ErrRestored) {
		t.Error(err)
	}
}

// TestForeignKeys: what others have written under keys that this library would not make goes, and comes back.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	rows, err := table.New(h.acc.Tables(), "current", table.Schema[table.Row]{}, nil)
	check(err)
	m, w := rowsMover(h, rows)
	for _, k := range [][2]string{{"éa", "x~y"}, {"Größe 'q'", "日本"}, {"a", "b"}, {"a", "b~c"}} {
		_, err := h.acc.Tables().NewClient("current").AddEntity(ctx, []byte(fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,"Last":"x","Empty":"","Empty@odata.type":"Edm.Binary"}`, k[0], k[1])), nil)
		check(err)
		at := keys.Stored(k[0], k[1])
		e, err := rows.Get(ctx, at)
		check(err)
		check(m.Archive(ctx, e))
		check(w.Drain(ctx))
		if _, archived, err := m.Find(ctx, at); err != nil || !archived {
			t.Error(k, archived, err)
		}
		n := 0
		for e, err := range m.Archived(ctx, at.Partition()) {
			if n++; err != nil || e.Key != at {
				t.Error(e, err)
			}
		}
		if n != 1 {
			t.Errorf("%v: %d are listed", k, n)
		}
		back, err := m.Restore(ctx, at)
		if err != nil {
			t.Error(k, err)
			continue
		}
		check(w.Drain(ctx))
		if v, is := back.Value.Get("Empty"); !is || len(v.([]byte)) != 0 {
			t.Error(k, v, is)
		}
	}
	if len(s.Messages("moves"))+len(s.Messages("poison")) > 0 {
		t.Error("something is left to be done")
	}
}

func rowsMover(h *house, rows *table.Table[table.Row]) (*archive.Mover[table.Row], *eventual.Worker) {
	m, err := archive.New("rows", rows, h.old, h.out)
	check(err)
	w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), []eventual.Handler{m.Handler()}, &eventual.WorkerOptions{Common: h.opt, Concurrency: 1})
	check(err)
	return m, w
}

// many is a maintainer of many rows.
type many struct{ n int }

func (many) Name() string                                                      { return "many" }
func (m many) MaxRows() int                                                    { return m.n }
func (many) Maintain(context.Context, *table.Plan, *table.Change[clerk]) error { return nil }

// TestRoomForTheWayBack: a table whose derived rows leave no room for a restore is refused when the mover is made.
func TestRoomForTheWayBack(t *testing.T) {
	t.Parallel()
	h, _ := opened(t, nil)
	for n, ok := range map[int]bool{96: true, 97: false} {
		from, err := h.current.With(nil, many{n})
		check(err)
		var le *table.LimitError
		if _, err := archive.New("k", from, h.old, h.out); (err == nil) != ok || err != nil && !errors.As(err, &le) {
			t.Error(n, err)
		}
	}
}

// TestVersions: a row of a newer version waits for a worker that knows it, and nothing is put until then; one of an older version is
// refused when it is asked for, until it was replaced.
func TestVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	second := schema
	second.Version, second.Upgrade = 1, map[int]func(*table.Row) error{0: func(r *table.Row) error { return r.Set("Last", "upgraded") }}
	newer, err := table.New(h.acc.Tables(), "current", second, &table.Options{Common: h.opt})
	check(err)
	m, err := archive.New("current/old", newer, h.old, h.out)
	check(err)
	hire(h, s, 1)
	e, err := newer.Get(ctx, at(1))
	check(err)
	if err := m.Archive(ctx, e); !errors.Is(err, table.ErrOldVersion) {
		t.Error(err)
	}
	check(newer.Replace(ctx, e))
	check(m.Archive(ctx, e))
	before := h.worker(h.options()) // of a release that does not know the version
	check(before.Drain(ctx))
	if got := before.Stats(); got.Deferred != 1 || len(s.Messages("poison")) > 0 || len(s.Rows("old")) > 0 {
		t.Error(got, s.Rows("old"))
	}
	s.Advance(time.Hour)
	w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), []eventual.Handler{m.Handler()}, nil)
	check(err)
	check(w.Drain(ctx))
	if _, archived, err := m.Find(ctx, at(1)); err != nil || !archived {
		t.Error(archived, err)
	}
}
