package archive_test

import (
	"context"
	"errors"
	"testing"

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
