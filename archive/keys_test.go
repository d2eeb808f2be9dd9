package archive_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestArchivedEverywhere: whatever a RowKey begins with, what is archived is listed, in the service's order of the archived rows,
// whose RowKeys go on with ~.
func TestArchivedEverywhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	rows, err := table.New(h.acc.Tables(), "current", table.Schema[table.Row]{}, &table.Options{Common: h.opt})
	check(err)
	m, w := rowsMover(h, rows)
	all := []string{" ", "a", "z", "}", "Öblarn", "日本", "\uD7FF", "\U00010000", "😀", "\U0010FFFF", "\uE000x", "\uE000", "ﬁ", "\uFFFD", "\uFFFE", "\uFFFFx", "\uFFFF", "\uFFFF\uFFFF"}
	for _, rk := range all {
		_, err := h.acc.Tables().NewClient("current").AddEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"`+rk+`","Last":"x"}`), nil)
		check(err)
		e, err := rows.Get(ctx, keys.Stored("S", rk))
		check(err)
		check(m.Archive(ctx, e))
	}
	check(w.Drain(ctx))
	list := func() (got []string) {
		for e, err := range m.Archived(ctx, keys.Raw("S")) {
			if err != nil {
				t.Error(err)
				continue
			}
			got = append(got, e.Key.RowKey())
		}
		return got
	}
	if got := list(); !slices.Equal(got, all) {
		t.Errorf("got  %+q\nwant %+q", got, all)
	}
	for _, rk := range all {
		k := keys.Stored("S", rk)
		if _, archived, err := m.Find(ctx, k); err != nil || !archived {
			t.Errorf("Find %+q: got %v, %v; want it archived", rk, archived, err)
		}
		if _, err := m.Restore(ctx, k); err != nil {
			t.Errorf("Restore %+q: %v", rk, err)
		}
	}
	check(w.Drain(ctx))
	s.Advance(30 * time.Hour)
	check(m.Handler().Sweep(ctx, keys.Raw("S"), s.Now().Add(-25*time.Hour)))
	if got := s.Rows("old"); len(list()) > 0 || len(got) > 0 {
		t.Errorf("got %v; want nothing left", got)
	}
}

// TestLooksAlike: of two keys of which one begins as the other's archived rows do, each finds and restores its own.
func TestLooksAlike(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, newest := range []int{0, 1} {
		h, s := opened(t, nil)
		rows, err := table.New(h.acc.Tables(), "current", table.Schema[table.Row]{}, &table.Options{Common: h.opt})
		check(err)
		m, w := rowsMover(h, rows)
		both := []string{"b", "b~c"}
		for i := range both {
			rk := both[(i+1+newest)%2] // the newest last
			_, err := h.acc.Tables().NewClient("current").AddEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"`+rk+`","Is":"`+rk+`"}`), nil)
			check(err)
			e, err := rows.Get(ctx, keys.Stored("S", rk))
			check(err)
			check(m.Archive(ctx, e))
			check(w.Drain(ctx))
			s.Advance(time.Minute)
		}
		for _, rk := range both {
			e, archived, err := m.Find(ctx, keys.Stored("S", rk))
			if err != nil || !archived {
				t.Fatalf("%s: got %v, %v", rk, archived, err)
			}
			if is, _ := e.Value.Get("Is"); is != rk || e.Key.RowKey() != rk {
				t.Errorf("got %v, %v; want %s", is, e.Key, rk)
			}
			n := 0
			for k, err := range h.old.Incarnations(ctx, keys.Stored("S", rk)) {
				if n++; err != nil || k.Key.RowKey() != rk {
					t.Errorf("Lives of %s: got %v, %v", rk, k.Key, err)
				}
			}
			if n != 1 {
				t.Errorf("Lives of %s: got %d; want 1", rk, n)
			}
		}
		back, err := m.Restore(ctx, keys.Stored("S", "b"))
		if err != nil {
			t.Fatal(err)
		}
		if is, _ := back.Value.Get("Is"); is != "b" {
			t.Errorf("Restore: got %v; want b", is)
		}
		check(w.Drain(ctx))
		if _, archived, err := m.Find(ctx, keys.Stored("S", "b~c")); err != nil || !archived {
			t.Errorf("the other: got %v, %v; want it archived still", archived, err)
		}
	}
}

// TestSweptMove: a move whose commit record was swept long ago is over: what it has moved can be restored, and another move finds it.
func TestSweptMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	e := hire(h, s, 1)
	check(h.mover.Archive(ctx, e))
	check(h.mover.Archive(ctx, e)) // by two messages, of which one moves it
	check(h.work(ctx))
	s.Advance(30 * time.Hour)
	later := quick()
	later.Now = s.Now
	aged := open(s.ConnectionString(), s, later, nil)
	if n, err := aged.current.CommitRecords().Sweep(ctx, dept.Of("S")); err != nil || n != 2 {
		t.Fatalf("got %d, %v; want 2 commit records swept", n, err)
	}
	back, err := aged.mover.Restore(ctx, at(1))
	if err != nil || back.Value.Last != "Name1" {
		t.Fatalf("got %v, %v; want the entity", back, err)
	}
	check(aged.work(ctx))
	now, old := places(s)
	expect(t, "it is back", now, []string{"c_000001=Name1"})
	expect(t, "alone", old, nil)
}

// TestSweptMoveOfAnother: nor does a move withdraw what another one has moved, whose commit record was swept.
func TestSweptMoveOfAnother(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	e := hire(h, s, 1)
	check(h.mover.Archive(ctx, e)) // this one's message stays where it is
	first := s.Messages("moves")[0].Text
	_, err := h.acc.Queue("moves").ClearMessages(ctx, nil)
	check(err)
	check(h.mover.Archive(ctx, e))
	check(h.work(ctx))
	s.Advance(30 * time.Hour)
	later := quick()
	later.Now = s.Now
	aged := open(s.ConnectionString(), s, later, nil)
	if n, err := aged.current.CommitRecords().Sweep(ctx, dept.Of("S")); err != nil || n != 1 {
		t.Fatalf("got %d, %v; want the commit record of the second swept", n, err)
	}
	_, err = h.acc.Queue("moves").EnqueueMessage(ctx, first, nil)
	check(err)
	check(aged.work(ctx))
	if e, archived, err := aged.mover.Find(ctx, at(1)); err != nil || !archived || e.Value.Last != "Name1" {
		t.Errorf("got %v, %v, %v; want it archived", e, archived, err)
	}
	if left := len(s.Messages("moves")) + len(s.Messages("poison")); left > 0 {
		t.Errorf("got %d messages; want none", left)
	}
}
