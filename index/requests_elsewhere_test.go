package index_test

import (
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
)

// TestRequestsElsewhere: the requests of writers and workers with each kind of index over all
// partitions, as docs/indexes.md says. An idle look at the queue does not count.
func TestRequestsElsewhere(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	key := func(w *worker) (string, bool) { return w.Email, w.Email != "" }
	for _, c := range []struct {
		what                                 string
		definition                           extend.Definition[worker]
		insert, change, remove, other, moves string // writer, worker
	}{
		{"pointers", index.NewGlobal("post", keys.Text(), key, nil).Only(), "2, 0", "3, 0", "2, 0", "1, 0", "8, 0"},
		{"unique value", index.NewUnique("post", keys.Text(), key, nil), "6, 0", "9, 0", "7, 0", "1, 0", "9, 0"},
		{"full copies", index.NewGlobal("post", keys.Text(), key, nil), "3, 7", "3, 9", "3, 7", "3, 7", "5, 11"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := newElsewhereScene(t, elsewhere{}, c.definition)
			insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
			check(t, s.worker.Drain(ctx))
			expect := func(what, want string, write func() error) {
				t.Helper()
				s.Count()
				check(t, write())
				writer := s.Count().Total()
				check(t, s.worker.Drain(ctx))
				byWorker := s.Count()
				idle := byWorker[kinds.MessageGet] - byWorker[kinds.MessageDelete] // one message each
				testkit.Expect(t, what, fmt.Sprintf("%d, %d", writer, byWorker.Total()-idle), want)
			}
			e, err := s.staff.Get(ctx, at(1))
			check(t, err)
			expect("an insert", c.insert, func() error {
				_, err := s.staff.Insert(ctx, &worker{"S", 2, "Jones", "b", 44, nil})
				return err
			})
			e.Value.Last = "Smith"
			expect("another change", c.other, func() error { return s.staff.Replace(ctx, e) })
			e.Value.Email = "c"
			expect("a change of the value", c.change, func() error { return s.staff.Replace(ctx, e) })
			e.Value.Dept = "M"
			expect("a move", c.moves, func() error { return s.staff.Move(ctx, e) })
			expect("a delete", c.remove, func() error { return s.staff.Delete(ctx, e) })
		})
	}
}
