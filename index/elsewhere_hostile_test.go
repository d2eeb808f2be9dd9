package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestElsewhereDefinitions: wrong definitions are refused before anything is sent.
func TestElsewhereDefinitions(t *testing.T) {
	t.Parallel()
	s := newElsewhereScene(t, newElsewhere())
	text := keys.Text()
	name := func(w *worker) (string, bool) { return w.Last, true }
	calls := 0
	one := func(table string) extend.Definition[worker] {
		return index.NewGlobal("one", text, name, &index.GlobalOptions{Table: table})
	}
	in := func(partition func(*worker) keys.PartitionKey) extend.Definition[worker] {
		return index.NewGlobal("one", text, name, nil).In(partition)
	}
	base := openAs(t, s.ConnectionString(), s, schema)
	for what, c := range map[string]struct {
		table *table.Table[worker]
		defs  []extend.Definition[worker]
		says  string
	}{
		"no outbox":                  {base, []extend.Definition[worker]{one("")}, "has no outbox"},
		"a wrong table name":         {s.staff, []extend.Definition[worker]{one("a_b")}, "Options.Table"},
		"a reserved table name":      {s.staff, []extend.Definition[worker]{one("tables")}, "Options.Table"},
		"no partition":               {s.staff, []extend.Definition[worker]{in(func(*worker) keys.PartitionKey { return keys.PartitionKey{} })}, "returns no key"},
		"a partition that is random": {s.staff, []extend.Definition[worker]{in(func(*worker) keys.PartitionKey { calls++; return keys.RawPartition(fmt.Sprint(calls)) })}, "is not pure"},
		"a name that is taken":       {s.staff, []extend.Definition[worker]{index.NewGlobal("mail", text, name, nil)}, "name of another definition"},
		"a range that is taken, in the same table": {s.staff, []extend.Definition[worker]{
			index.NewGlobal("one", keys.Text().Named("last"), name, &index.GlobalOptions{Table: "StaffCopies"})}, "overlaps"},
		"the range of the entities, in their table": {s.staff, []extend.Definition[worker]{
			index.NewGlobal("one", keys.Text().Named("w"), name, &index.GlobalOptions{Table: "staff"})}, "overlaps"},
	} {
		s.Count()
		_, err := baretest.Attach(c.table, c.defs...)
		var de *table.DefinitionError
		if !errors.As(err, &de) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got error %v; want a *DefinitionError that says %q", what, err, c.says)
		}
		testkit.Expect(t, what+": requests", s.Count().String(), "none")
	}
	// In another table, the range of the entities is free. A function that panics for a value fails the write of that value.
	other := index.NewGlobal("one", keys.Text().Named("w"), name, nil).In(func(w *worker) keys.PartitionKey {
		if w.Last == "panic" {
			panic("no partition")
		}
		return keys.RawPartition(w.Last)
	})
	staff, err := baretest.Attach(s.staff, other)
	check(t, err)
	ctx := context.Background()
	for _, last := range []string{"panic", "a/b", ""} {
		if _, err := staff.Insert(ctx, &worker{"S", 1, last, "", 1, nil}); err == nil || !strings.Contains(err.Error(), "one") {
			t.Errorf("insert of %q: got error %v; want one of the definition", last, err)
		}
	}
	testkit.Expect(t, "rows", len(s.Rows("staff")), 0)
}

// TestElsewhereLookUps: wrong look-ups are refused before anything is sent.
func TestElsewhereLookUps(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	for what, q := range map[string]table.Query[worker]{"a partition": {Partition: keys.RawPartition("S")}, "a range": {Rows: keys.RawRow("a").Point()}, "a scan": {TableScan: true}} {
		var ve *table.ValueError
		if err := onlyError(t, "Query", s.mail.Query(ctx, s.staff, "a", q)); !errors.As(err, &ve) {
			t.Errorf("Query with %s: got error %v; want a *ValueError", what, err)
		}
		if _, err := table.Collect(s.mail.Keys(ctx, s.staff, "a", q)); !errors.As(err, &ve) {
			t.Errorf("Keys with %s: got error %v; want a *ValueError", what, err)
		}
		if _, err := s.mail.Page(ctx, s.staff, "a", q, ""); !errors.As(err, &ve) {
			t.Errorf("Page with %s: got error %v; want a *ValueError", what, err)
		}
	}
	var zero index.Global[worker, string]
	var de *table.DefinitionError
	if _, err := zero.Only(last).Get(ctx, s.staff, "a"); !errors.As(err, &de) {
		t.Errorf("a zero Global: got %v; want a *DefinitionError", err)
	}
	if err := onlyError(t, "List by an index with partitions", s.last.List(ctx, s.staff, keys.PartitionKey{}, "a")); !errors.Is(err, table.ErrTableScan) {
		t.Errorf("got error %v; want ErrTableScan", err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
}

// TestElsewhereHostileEffects: an effect that names rows that the definition never makes of the entity is poison, and changes nothing.
func TestElsewhereHostileEffects(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, []string{"x"}}, worker{"S", 2, "Jones", "b", 44, nil})
	s.drain(t)
	all := func() string {
		return fmt.Sprint(s.Rows("staff"), s.Rows("staffmail"), s.Rows("staffcopies"))
	}
	before := all()
	h := baretest.Handlers(s.staff)[0]
	for _, c := range []struct{ definition, pk, rk string }{
		{"mail", "mail_a", "mail_a_S:w_000002"},        // of another entity
		{"mail", "mail_b", "mail_a_S:w_000001"},        // in the partition of another value
		{"mail", "mail_a", "other"},                    // not of the definition
		{"mail", "~i|x", "mail_a_S:w_000001"},          // the library's
		{"last", "S", "w_000002"},                      // an entity
		{"last", "S", "~i|01K9ZZZZZZZZZZZZZZZZZZZZZZ"}, // a commit record
		{"last", "all", "last_Jones!_S:w_000002"},
	} {
		payload, _ := json.Marshal(map[string]any{"rows": map[string][][2]string{c.definition: {{c.pk, c.rk}}}})
		err := h.Handle(ctx, host.Job{Key: keys.Raw("S", "w_000001"), Kind: h.Kind, Version: 1, Payload: payload})
		if err == nil || !strings.HasPrefix(err.Error(), "poison") {
			t.Errorf("%v: got error %v; want poison", c, err)
		}
	}
	// Rows that the entity could have, but has not, become tombstones.
	payload := []byte(`{"rows":{"mail":[["mail_zz","mail_zz_S:w_000001"]]}}`)
	check(t, h.Handle(ctx, host.Job{Key: keys.Raw("S", "w_000001"), Kind: h.Kind, Version: 1, Payload: payload}))
	check(t, checkElsewhere(s.Service))
	if all() == before {
		t.Error("got no tombstone; want one")
	}
	if _, err := s.mail.Get(ctx, s.staff, "zz"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got error %v; want ErrNotFound", err)
	}
}

// TestElsewhereForeignRow: a row of another program under the key of an index row makes the message poison, and stays.
func TestElsewhereForeignRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := newElsewhere()
	s := newElsewhereScene(t, d, d.mail)
	rows, err := bare.NewTable(s.Tables(), "staffmail", table.Schema[table.Row]{}, quick())
	check(t, err)
	foreign := &table.Row{Key: keys.Raw("mail_a", "mail_a_S:w_000001")}
	check(t, foreign.Set("Theirs", "x"))
	_, err = rows.Insert(ctx, foreign)
	check(t, err)
	_, err = s.staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil})
	check(t, err)
	testkit.Failed(t, s.worker.Drain(ctx))
	testkit.Expect(t, "poison", len(s.Messages("poison")), 1)
	row, err := tabledoor.GetRow(ctx, rows, foreign.Key)
	check(t, err)
	theirs, _ := row.Get("Theirs")
	testkit.Expect(t, "row", fmt.Sprint(theirs), "x")
	if report := s.verifyReport(t); report.Counts["failed"] != 0 || report.Counts["pending"] == 0 {
		t.Errorf("got report %+v; want a pending row, since the effect is still in its commit record", report)
	}
}

// TestElsewhereReleases: two releases with different key functions write, and workers of either execute the effects. Each entity has
// the rows of its last write, and none of others.
func TestElsewhereReleases(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	release := func(key func(w *worker) (string, bool)) *index.Global[worker, string] {
		return index.NewGlobal("name", keys.Text(), key, nil)
	}
	d := newElsewhere()
	old := release(func(w *worker) (string, bool) { return w.Last, w.Last != "" })
	later := release(func(w *worker) (string, bool) { return w.Last + "." + w.Email, true })
	s := newElsewhereScene(t, d, old)
	acc, err := account.FromTransport(s.Service, nil)
	check(t, err)
	o := quick()
	options.SetNow(&o.Common, s.Now)
	o.Retry.ConflictAttempts = 100
	staff2, _, worker2, err := openElsewhere(acc, o, later, d.mail)
	check(t, err)
	check(t, baretest.Ensure(ctx, staff2))
	rows := func() string {
		var all []string
		for _, r := range s.Rows("staffname") {
			if sys := fmt.Sprint(r.Get("_sys")); !strings.Contains(sys, "/~") {
				all = append(all, r.PartitionKey+"="+fmt.Sprint(r.Get("Email")))
			}
		}
		return strings.Join(all, " ")
	}
	_, err = s.staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil})
	check(t, err)
	check(t, worker2.Drain(ctx))
	testkit.Expect(t, "rows of the old release, by the new worker", rows(), "name_Jones=a")
	check(t, staff2.MergeAny(ctx, at(1), email.Set("b")))
	check(t, s.worker.Drain(ctx)) // does not know the index mail, and leaves the message to others
	testkit.Expect(t, "rows of the new release, by the old worker", rows(), "name_Jones.b=b")
	s.Advance(time.Minute)
	check(t, worker2.Drain(ctx))
	testkit.Expect(t, "rows of mail, by the new worker", len(s.Rows("staffmail")), 2) // one is a tombstone
	testkit.Expect(t, "poison", len(s.Messages("poison")), 0)
	// The old release cannot write an entity of a definition that it lacks.
	if err := s.staff.MergeAny(ctx, at(1), email.Set("c")); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("got error %v; want ErrUnknownMaintainer", err)
	}
	check(t, staff2.DeleteAny(ctx, at(1)))
	check(t, worker2.Drain(ctx))
	testkit.Expect(t, "rows of a deleted entity", rows(), "")
}

// TestElsewhereBefore: a definition cannot get Elsewhere while entities have its rows in their own partitions.
func TestElsewhereBefore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := newElsewhere()
	s := newElsewhereScene(t, d, d.mail)
	key := func(w *worker) (string, bool) { return w.Last, true }
	here := index.New("name", keys.Text(), key, nil)
	staff, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema), here)
	check(t, err)
	_, err = staff.Insert(ctx, &worker{"S", 1, "Jones", "", 44, nil})
	check(t, err)
	there, err := baretest.Attach(s.staff, index.NewGlobal("name", keys.Text(), key, nil))
	check(t, err)
	var de *table.DefinitionError
	if err := there.MergeAny(ctx, at(1), email.Set("a")); !errors.As(err, &de) || de.Field != "name" {
		t.Errorf("got error %v; want a *DefinitionError of name", err)
	}
}
