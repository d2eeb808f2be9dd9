package archive_test

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestRequests: what a move, a look and a restore cost, to the requester and to the worker.
func TestRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	e := hire(h, s, 1)
	check(h.mover.Archive(ctx, e))
	expect(t, "to ask for a move", s.Count(), "1 message-put, 1 message-update, 1 transaction")
	w := h.worker(h.options())
	check(w.Drain(ctx))
	expect(t, "to move", s.Count(), "3 get, 1 message-delete, 2 message-get, 2 transaction")
	now, old := places(s)
	expect(t, "it is in the archive alone", now, nil)
	expect(t, "", old, []string{"c_000001=Name1"})

	found, archived, err := h.mover.Find(ctx, at(1))
	if err != nil || !archived || found.Value != (clerk{"S", 1, "Name1"}) {
		t.Error(found, archived, err)
	}
	expect(t, "to find it", s.Count(), "1 get, 1 query")
	if err := h.current.Replace(ctx, found); !errors.Is(err, table.ErrNoETag) {
		t.Error("what is archived is written:", err)
	}
	for e, err := range h.mover.Archived(ctx, dept.Of("S")) {
		if err != nil || e.Value.ID != 1 {
			t.Error(e, err)
		}
	}
	s.Count()

	e, err = h.mover.Restore(ctx, at(1))
	if err != nil || e.Value.Last != "Name1" {
		t.Fatal(err)
	}
	expect(t, "to restore", s.Count(), "2 get, 1 message-put, 1 message-update, 1 query, 1 transaction")
	check(w.Drain(ctx))
	expect(t, "to forget", s.Count(), "2 get, 1 merge, 1 message-delete, 2 message-get, 1 transaction")
	now, old = places(s)
	expect(t, "it is back", now, []string{"c_000001=Name1"})
	expect(t, "", old, nil)
	if _, archived, err = h.mover.Find(ctx, at(1)); err != nil || archived {
		t.Error(archived, err)
	}
	expect(t, "to find it where it was", s.Count(), "1 get")
	if _, _, err = h.mover.Find(ctx, at(2)); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
	expect(t, "to find nothing", s.Count(), "2 get, 1 query")
}

// TestRefusals: what cannot be is told before anything is written, with the field's name and the limit.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	var ve *table.ValueError
	self, err := archive.ToTable(h.acc.Tables(), "Current", nil)
	check(err)
	var none *archive.TableDestination
	for what, err := range map[string]error{
		"no kind":           errorOf(archive.New("", h.current, h.old, h.out)),
		"no table":          errorOf(archive.New[clerk]("k", nil, h.old, h.out)),
		"no destination":    errorOf(archive.New("k", h.current, nil, h.out)),
		"a nil destination": errorOf(archive.New("k", h.current, none, h.out)),
		"the table itself":  errorOf(archive.New("k", h.current, self, h.out)),
	} {
		if !errors.As(err, &ve) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if m, err := archive.New("k", h.current, h.old, nil); err != nil {
		t.Error(err)
	} else if e := hire(h, s, 1); !errors.Is(m.Archive(ctx, e), table.ErrNoOutbox) {
		t.Error("it is asked for without an outbox")
	}
	s.Count()

	rows, err := table.New(h.acc.Tables(), "current", table.Schema[table.Row]{}, nil)
	check(err)
	m, err := archive.New("rows", rows, h.old, h.out)
	check(err)
	long := &table.Row{Key: keys.At(keys.Raw("S"), keys.Raw(strings.Repeat("x", 500)))}
	large := &table.Row{Key: keys.At(keys.Raw("S"), keys.Raw("large"))}
	for i := range 15 {
		check(large.Set(fmt.Sprint("P", i), strings.Repeat("x", 32<<10)))
	}
	rest := sort.Search(32<<10, func(n int) bool { // as much as there is room for
		check(large.Set("Rest", strings.Repeat("x", n+1)))
		return rows.InsertOp(large).Err() != nil
	})
	check(large.Set("Rest", strings.Repeat("x", rest)))
	many := &table.Row{Key: keys.At(keys.Raw("S"), keys.Raw("many"))}
	for i := range 251 { // and _op; with _life there is no room for anything else
		check(many.Set(fmt.Sprint("P", i), int64(i)))
	}
	for _, r := range []*table.Row{long, large, many} {
		e, err := rows.Insert(ctx, r)
		check(err)
		s.Count()
		var le *table.LimitError
		if err := m.Archive(ctx, e); !errors.As(err, &le) {
			t.Errorf("%.10s: %v", r.Key.RowKey(), err)
		}
		if got := s.Count(); got != "none" {
			t.Error(got)
		}
	}
}

func errorOf[X any](_ X, err error) error { return err }
