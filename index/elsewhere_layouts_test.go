package index_test

import (
	"context"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// idsFound returns the IDs of the workers that a look-up finds.
func idsFound(t testing.TB, all func(func(*table.Entity[worker], error) bool)) map[int]bool {
	t.Helper()
	found := map[int]bool{}
	for e, err := range all {
		check(t, err)
		found[e.Value.ID] = true
	}
	return found
}

// TestElsewhereLayouts: rows elsewhere can have keys that cannot be decoded, and can all be in one partition. They follow a change of
// their entity's value.
func TestElsewhereLayouts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	last := func(w *worker) (string, bool) { return w.Last, w.Last != "" }
	all := keys.Text().PartitionKey("all")
	one := func(*worker) keys.PartitionKey { return all }
	buckets := index.NewGlobal("bucket", keys.Spread(keys.Text(), 1000), last, nil)
	folded := index.NewGlobal("folded", keys.Fold(keys.Text()), last, nil).Only()
	copies := index.NewGlobal("copy", keys.Text(), last, nil).In(one)
	a := openElsewhereOf(t, storagetest.New(nil), "staff", schema, buckets, folded, copies)
	e, err := a.t.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil})
	check(t, err)
	_, err = a.t.Insert(ctx, &worker{"M", 2, "Jones", "b", 44, nil})
	check(t, err)
	expect := func(value string, want ...int) {
		t.Helper()
		a.drain()
		ids := map[int]bool{}
		for _, id := range want {
			ids[id] = true
		}
		testkit.Expect(t, "by the bucket of "+value, idsFound(t, buckets.List(ctx, a.t, value)), ids)
		testkit.Expect(t, "by the folded "+value, idsFound(t, folded.List(ctx, a.t, value)), ids)
		testkit.Expect(t, "in one partition, by "+value, idsFound(t, copies.List(ctx, a.t, all, value)), ids)
	}
	expect("Jones", 1, 2)
	e.Value.Last = "Smith"
	check(t, a.t.Replace(ctx, e))
	expect("Jones", 2)
	expect("Smith", 1)
}

// TestElsewhereStateLost: another program writes an entity without its maintainer state, while an effect of the entity is due. The rows
// follow the content.
func TestElsewhereStateLost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	mail := mailIndex()
	s := storagetest.New(nil)
	a := openElsewhereOf(t, s, "staff", schema, mail)
	e, err := a.t.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil})
	check(t, err)
	base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
	check(t, err)
	_, err = base.Upsert(ctx, &e.Value, table.ReplaceExisting)
	check(t, err)
	a.drain()
	testkit.Expect(t, "by mail", idsFound(t, mail.List(ctx, a.t, "a")), map[int]bool{1: true})
}

// TestVerifyElsewhereForeignRow: a row of another program, among the rows of a definition, is of no entity. Verify leaves it as it is,
// with and without Repair.
func TestVerifyElsewhereForeignRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	_, err := s.staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil})
	check(t, err)
	s.drain(t)
	for name, k := range map[string]keys.Key{"staffmail": keys.Raw("mail_a", "mail_a_S:w_000009"), "staffcopies": keys.Raw("all", "last_Brown!_S:w_000009")} {
		rows, err := bare.NewTable(s.Tables(), name, table.Schema[table.Row]{}, quick())
		check(t, err)
		foreign := &table.Row{Key: k}
		check(t, foreign.Set("Theirs", "S:w_000001"))
		_, err = rows.Insert(ctx, foreign)
		check(t, err)
	}
	before := s.allRows()
	for _, repair := range []bool{false, true} {
		report := s.verifyAll(t, repair)
		testkit.Expect(t, "faults", len(derived.Kinds(report)), 0)
		testkit.Expect(t, "rows", s.allRows(), before)
	}
}
