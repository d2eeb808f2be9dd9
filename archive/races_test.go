package archive_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// before is a service to which something happens before a request.
type before struct {
	*storagetest.Service
	do    func(storagetest.Request)
	after func(storagetest.Request) // when the service has it, and before the client sees the response
}

func (b *before) Do(r *http.Request) (*http.Response, error) {
	q, r, err := b.Describe(r)
	if err != nil {
		return nil, err
	}
	if b.do != nil {
		b.do(q)
	}
	resp, err := b.Service.Do(r)
	if b.after != nil {
		b.after(q)
	}
	return resp, err
}

// writes tells whether a request is a transaction of a table.
func writes(q storagetest.Request, table string) bool {
	return q.Kind == "transaction" && q.Table == table
}

// beside is the house as another program has it, whose requests can be preceded by something.
func beside(s *storagetest.Service) (*house, *before) {
	b := &before{Service: s}
	return open(s.ConnectionString(), b, quick(), nil), b
}

// TestDeletedMeanwhile: an entity that is deleted after it was put into the destination is deleted there too.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	e := hire(h, s, 1)
	check(h.mover.Archive(ctx, e))
	slow, b := beside(s)
	b.do = func(q storagetest.Request) {
		if writes(q, "current") {
			b.do = nil
			check(h.current.Delete(ctx, e))
		}
	}
	check(slow.work(ctx))
	now, old := places(s)
	if len(now)+len(old) > 0 {
		t.Error(now, old)
	}
	if _, _, err := h.mover.Find(ctx, at(1)); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
}

// halfWay is a worker that dies when it has put an entity into the destination, and not yet deleted it.
func halfWay(h *house, s *storagetest.Service) {
	dying, cancel := context.WithCancel(context.Background())
	first, b := beside(s)
	s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return writes(q, "current") }, storagetest.LostRequest()))
	b.do = func(q storagetest.Request) {
		if writes(q, "current") {
			cancel()
		}
	}
	opt := first.options()
	opt.StopTimeout, opt.Retry.Attempts = 1, -1
	check(first.worker(opt).Run(dying))
	s.SetFaults(nil)
	s.Advance(time.Hour)
}

// TestChangedMeanwhile: what is written after the worker has read goes with the entity.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	e := hire(h, s, 1)
	check(h.mover.Archive(ctx, e))
	slow, b := beside(s)
	b.do = func(q storagetest.Request) {
		if writes(q, "current") {
			b.do = nil
			e.Value.Last = "Changed"
			check(h.current.Replace(ctx, e))
		}
	}
	check(slow.work(ctx))
	now, old := places(s)
	expect(t, "the last version is archived", old, []string{"c_000001=Changed"})
	expect(t, "", now, nil)
}

// TestSlowWorker: a worker that has read the entity, and others finish: with the same message, or with that of a second request. It
// neither writes what is old, nor takes the move for a deletion.
func TestSlowWorker(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		twice bool
		at    func(q storagetest.Request) bool
	}{
		"before it looks": {false, func(q storagetest.Request) bool {
			return q.Kind == "get" && q.Table == "current" && q.RowKey == "c_000001"
		}},
		"before it looks, another": {true, func(q storagetest.Request) bool {
			return q.Kind == "get" && q.Table == "current" && q.RowKey == "c_000001"
		}},
		"before it puts":          {false, func(q storagetest.Request) bool { return writes(q, "old") }},
		"before it puts, another": {true, func(q storagetest.Request) bool { return writes(q, "old") }},
		"before it deletes":       {false, func(q storagetest.Request) bool { return writes(q, "current") }},
	} {
		for _, before := range []bool{false, true} { // whether there is a version already
			h, s := opened(t, nil)
			e := hire(h, s, 1)
			check(h.mover.Archive(ctx, e))
			if before {
				halfWay(h, s)
			}
			if c.twice {
				check(h.mover.Archive(ctx, e))
			}
			slow, b := beside(s)
			b.do = func(q storagetest.Request) {
				if !c.at(q) {
					return
				}
				b.do = nil
				e.Value.Last = "Changed"
				check(h.current.Replace(ctx, e))
				s.Advance(time.Minute) // its message is seen by others
				check(h.work(ctx))
			}
			check(slow.work(ctx))
			s.Advance(time.Hour)
			check(h.work(ctx))
			now, old := places(s)
			if b.do != nil || len(now) > 0 || fmt.Sprint(old) != "[c_000001=Changed]" || len(s.Messages("moves"))+len(s.Messages("poison")) > 0 {
				t.Errorf("%s, %v: %v %v", what, before, now, old)
			}
		}
	}
}

// TestLateInsert: what a worker puts arrives when the life has gone: after its user's deletion, or after a restore by others. It meets
// a tombstone.
func TestLateInsert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, restored := range []bool{false, true} {
		h, s := opened(t, nil)
		e := hire(h, s, 1)
		check(h.mover.Archive(ctx, e))
		if restored {
			check(h.mover.Archive(ctx, e)) // by two messages
		}
		// A worker puts, and its request is late; it dies.
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == "transaction" && q.Table == "old" }, storagetest.Late(0)))
		dying, cancel := context.WithCancel(ctx)
		slow, b := beside(s)
		b.after = func(q storagetest.Request) {
			if writes(q, "old") {
				cancel()
			}
		}
		opt := slow.options()
		opt.StopTimeout, opt.Retry.Attempts = 1, -1
		check(slow.worker(opt).Run(dying))
		s.SetFaults(nil)
		if len(s.Underway()) == 0 {
			t.Fatal("nothing is late")
		}
		s.Advance(time.Hour)
		if restored {
			check(h.work(ctx)) // both messages
			e, err := h.mover.Restore(ctx, at(1))
			check(err)
			check(h.work(ctx))
			check(h.current.Delete(ctx, e))
		} else {
			check(h.current.Delete(ctx, e))
			check(h.work(ctx))
		}
		late := s.Deliver()
		now, old := places(s)
		if len(now)+len(old) > 0 {
			t.Errorf("restored %v: %v %v after %v", restored, now, old, late)
		}
	}
}

// TestUnderway: what is being moved cannot be restored, for nobody knows yet whether it will be moved, and with what.
func TestUnderway(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	e := hire(h, s, 1)
	check(h.mover.Archive(ctx, e))
	if _, err := h.mover.Restore(ctx, at(1)); !errors.Is(err, table.ErrNotFound) {
		t.Error("nothing is there yet:", err)
	}
	slow, b := beside(s)
	b.do = func(q storagetest.Request) {
		if writes(q, "current") {
			b.do = nil
			if _, err := h.mover.Restore(ctx, at(1)); !errors.Is(err, archive.ErrUnderway) {
				t.Error(err)
			}
			check(h.current.Delete(ctx, e))
			if _, err := h.mover.Restore(ctx, at(1)); !errors.Is(err, archive.ErrUnderway) {
				t.Error("what was deleted comes back:", err)
			}
		}
	}
	check(slow.work(ctx))
	if _, err := h.mover.Restore(ctx, at(1)); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
}

// TestRestoresTheLast: what a restore has read before the move is over may be old; it brings what was moved.
func TestRestoresTheLast(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	e := hire(h, s, 1)
	check(h.mover.Archive(ctx, e))
	slow, b := beside(s)
	restorer, rb := beside(s)
	b.do = func(q storagetest.Request) {
		if writes(q, "current") {
			b.do = nil // the first version is in the destination
			e.Value.Last = "Changed"
			check(h.current.Replace(ctx, e))
		}
	}
	rb.do = func(q storagetest.Request) {
		if strings.HasPrefix(q.RowKey, "~i|") { // it has read the row, and asks for the intent
			rb.do = nil
			check(slow.work(ctx))
		}
	}
	halfWay(h, s)
	_, old := places(s)
	expect(t, "the first version is there", old, []string{"c_000001=Name1"})
	back, err := restorer.mover.Restore(ctx, at(1))
	if err != nil || back.Value.Last != "Changed" {
		t.Error(back, err)
	}
}

// TestRestoredTwice: of two that restore, one of them slow, one does; also where the entity was archived again meanwhile.
func TestRestoredTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	e := hire(h, s, 1)
	check(h.mover.Archive(ctx, e))
	check(h.work(ctx))
	slow, b := beside(s)
	b.do = func(q storagetest.Request) {
		if !writes(q, "current") {
			return
		}
		b.do = nil // its own transaction comes next
		e, err := h.mover.Restore(ctx, at(1))
		check(err)
		e.Value.Last = "Newer"
		check(h.current.Replace(ctx, e))
		check(h.mover.Archive(ctx, e))
		check(h.work(ctx))
	}
	if _, err := slow.mover.Restore(ctx, at(1)); !errors.Is(err, archive.ErrRestored) {
		t.Error(err)
	}
	now, old := places(s)
	expect(t, "the newer one is archived", old, []string{"c_000001=Newer"})
	expect(t, "alone", now, nil)
}

// TestDuplicates: a request for a move that comes a hundred times, to several workers at once, moves the entity once, and never the one
// that comes after it.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	check(h.mover.Archive(ctx, hire(h, s, 1)))
	text := s.Messages("moves")[0].Text
	send := func() {
		for range 99 {
			_, err := h.acc.Queue("moves").EnqueueMessage(ctx, text, nil)
			check(err)
		}
	}
	send()
	opt := h.options()
	opt.Concurrency = 8
	w := h.worker(opt)
	check(w.Drain(ctx))
	_, err := h.current.Insert(ctx, &clerk{"S", 1, "Newer"})
	check(err)
	send()
	check(w.Drain(ctx))
	now, old := places(s)
	expect(t, "the new one stays", now, []string{"c_000001=Newer"})
	expect(t, "the old one is there once", old, []string{"c_000001=Name1"})
	if got := w.Stats(); got.Done != 199 || len(s.Messages("moves"))+len(s.Messages("poison")) > 0 {
		t.Error(got)
	}
}

// TestOldMessage: a message that comes when all that was kept of its move has been swept is given up, and touches nothing.
func TestOldMessage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	check(h.mover.Archive(ctx, hire(h, s, 1)))
	text := s.Messages("moves")[0].Text
	check(h.work(ctx))
	_, err := h.mover.Restore(ctx, at(1))
	check(err)
	check(h.work(ctx))
	later := h.options()
	later.Now = func() time.Time { return time.Now().Add(30 * time.Hour) }
	s.Advance(30 * time.Hour)
	aged, err := table.New(h.acc.Tables(), "current", schema, &table.Options{Common: later.Common})
	check(err)
	n, err := aged.CommitRecords().Sweep(ctx, dept.Of("S"))
	if err != nil || n != 2 {
		t.Error(n, err)
	}
	check(h.mover.Handler().Sweep(ctx, dept.Of("S"), s.Now().Add(-25*time.Hour)))
	_, err = h.acc.Queue("moves").EnqueueMessage(ctx, text, nil)
	check(err)
	m, err := archive.New("current/old", aged, h.old, h.out)
	check(err)
	w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), []eventual.Handler{m.Handler()}, &later)
	check(err)
	check(w.Drain(ctx))
	now, old := places(s)
	expect(t, "it stays", now, []string{"c_000001=Name1"})
	expect(t, "", old, nil)
	if got := s.Messages("poison"); len(got) != 1 || !strings.Contains(got[0].Text, eventual.ClassExpired) {
		t.Error(got)
	}
}

// TestSweep: what late requests meet is kept for a day, and goes then; but not the note of a restore whose old life is still in the
// destination, for it would be restored again.
func TestSweep(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, stuck := range []bool{false, true} {
		h, s := opened(t, nil)
		e := hire(h, s, 1)
		check(h.mover.Archive(ctx, e))
		check(h.work(ctx))
		_, err := h.mover.Restore(ctx, at(1))
		check(err)
		if stuck {
			_, err := h.acc.Queue("moves").ClearMessages(ctx, nil)
			check(err)
		} else {
			check(h.work(ctx))
		}
		sweep := h.mover.Handler().Sweep
		kept := func() int { return len(s.Rows("old")) + strings.Count(keysOf(s, "current"), "~l|") }
		before := kept()
		check(sweep(ctx, dept.Of("S"), s.Now().Add(-25*time.Hour)))
		if kept() != before {
			t.Error("what is young is swept")
		}
		s.Advance(26 * time.Hour)
		check(sweep(ctx, dept.Of("S"), s.Now().Add(-25*time.Hour)))
		check(sweep(ctx, dept.Of("S"), s.Now().Add(-25*time.Hour))) // idempotent
		if want := map[bool]int{false: 0, true: 2}[stuck]; kept() != want {
			t.Errorf("stuck %v: %d are kept: %s / %s", stuck, kept(), keysOf(s, "current"), keysOf(s, "old"))
		}
	}
}

func keysOf(s *storagetest.Service, table string) string {
	var all []string
	for _, r := range s.Rows(table) {
		all = append(all, r.RowKey)
	}
	return strings.Join(all, " ")
}
