package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// elsewhere is a set of definitions whose rows are elsewhere.
type elsewhere struct {
	mail, tag *index.Global[worker, string]
	last, age *index.Index[worker, string]
}

func newElsewhere() elsewhere {
	text := keys.Ordered()
	return elsewhere{
		// Full copies, a partition for each value, a table of their own.
		mail: index.NewGlobal("mail", keys.Fold(keys.Text()), func(w *worker) (string, bool) { return w.Email, w.Email != "" },
			nil),
		// Projected copies in one partition of another table.
		last: index.NewGlobal("last", text, func(w *worker) (string, bool) { return w.Last, true }, &index.GlobalOptions{Table: "staffcopies"}).Only(last, age).In(func(*worker) keys.PartitionKey { return keys.RawPartition("all") }),
		// Pointers in other partitions of the entities' table.
		age: index.NewGlobal("age", text, func(w *worker) (string, bool) { return fmt.Sprintf("%03d", w.Age), true }, &index.GlobalOptions{Table: "staff"}).Only().In(func(w *worker) keys.PartitionKey { return keys.RawPartition("age_" + w.Dept) }),
		// Several values, in a table that is shared.
		tag: index.NewGlobalMulti("tag", keys.Text(), 3, func(w *worker) []string { return w.Tags }, &index.GlobalOptions{Table: "staffcopies"}).Only(),
	}
}

func (d elsewhere) all() []extend.Definition[worker] {
	return []extend.Definition[worker]{d.mail, d.last, d.age, d.tag}
}

// elsewhereScene is a table with definitions elsewhere, and its worker.
type elsewhereScene struct {
	*storagetest.Service
	elsewhere
	staff  *table.Table[worker]
	out    bareworker.Outbox
	worker bareworker.Worker

	mostRows int // verify.Options.MostRows
}

// openElsewhere opens the table for one program.
func openElsewhere(acc *account.Account, o *table.Options, definitions ...extend.Definition[worker]) (staff *table.Table[worker], out bareworker.Outbox, w bareworker.Worker, err error) {
	base, err := bare.NewTable(acc.Tables(), "staff", schema, o)
	if err != nil {
		return nil, nil, nil, err
	}
	if out, err = bareworker.NewOutbox(acc.Queues().NewQueueClient("effects"), &o.Common); err != nil {
		return nil, nil, nil, err
	}
	if staff, err = baretest.WithOutbox(base, out); err != nil {
		return nil, nil, nil, err
	}
	if staff, err = baretest.Attach(staff, definitions...); err != nil {
		return nil, nil, nil, err
	}
	w, err = bareworker.New(acc.Queues().NewQueueClient("effects"), acc.Queues().NewQueueClient("poison"), baretest.Handlers(staff),
		&eventual.WorkerOptions{Common: o.Common, Wait: time.Second, MaxWait: time.Second})
	return staff, out, w, err
}

func newElsewhereScene(t testing.TB, d elsewhere, definitions ...extend.Definition[worker]) *elsewhereScene {
	t.Helper()
	ctx := context.Background()
	s := &elsewhereScene{Service: storagetest.New(nil), elsewhere: d}
	acc, err := account.FromTransport(s.Service, nil)
	check(t, err)
	if len(definitions) == 0 {
		definitions = d.all()
	}
	o := quick()
	options.SetNow(&o.Common, s.Now)
	o.Retry.ConflictAttempts = 100 // workers that conflict without pauses
	s.staff, s.out, s.worker, err = openElsewhere(acc, o, definitions...)
	check(t, err)
	check(t, errors.Join(tabledoor.Ensure(ctx, s.staff), baretest.Ensure(ctx, s.staff), s.worker.Ensure(ctx)))
	s.Count()
	return s
}

// drain executes all effects. Messages of one entity that conflict are hidden, and executed when they are visible again, one after the
// other.
func (s *elsewhereScene) drain(t testing.TB) {
	t.Helper()
	check(t, s.worker.Drain(context.Background()))
	for range 20 {
		hidden := s.Messages("effects")
		if len(hidden) == 0 {
			break
		}
		first := slices.MinFunc(hidden, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
		s.Advance(first.Visible.Sub(s.Now()))
		check(t, s.worker.Drain(context.Background()))
	}
	testkit.Expect(t, "messages left", len(s.Messages("effects")), 0)
	check(t, checkElsewhere(s.Service))
}

// pointerBase returns the RowKey of a pointer without the operation ID of its write, and whether an entity names the pointer.
func pointerBase(s *storagetest.Service, r storagetest.Row) (base string, named bool) {
	n := max(len(r.RowKey)-27, 0)
	for _, e := range s.Rows("staff") {
		ix, _ := e.Get("_ix").([]byte)
		state, _ := stored.StateIn(edm.Value{Kind: edm.Binary, B: ix}, e.RowKey)
		for _, names := range state {
			named = named || slices.Contains(names, r.PartitionKey+"/"+r.RowKey)
		}
	}
	return r.RowKey[:n], named
}

// checkElsewhere compares the rows of an elsewhere with the entities, by a full scan of all tables. Tombstones are left out, and pointers that no entity names.
func checkElsewhere(s *storagetest.Service) error {
	want, got := map[string]string{}, map[string]string{}
	for _, r := range s.Rows("staff") {
		if strings.HasPrefix(r.RowKey, "~") {
			continue
		}
		if !strings.HasPrefix(r.RowKey, "w_") {
			if base, named := pointerBase(s, r); named {
				got["staff/"+r.PartitionKey+"/"+base] = ""
			}
			continue
		}
		member := r.PartitionKey + ":" + r.RowKey
		name, mail := fmt.Sprint(r.Get("Last")), fmt.Sprint(r.Get("Email"))
		if mail != "" {
			mail = "mail_" + strings.ToLower(mail)
			want["staffmail/"+mail+"/"+mail+"_"+member] = fmt.Sprint(r.Get("_op"), r.Get("Last"), r.Get("Email"), r.Get("Age"), r.Get("Tags"))
		}
		want["staffcopies/all/last_"+name+"!_"+member] = fmt.Sprint(nil, r.Get("Last"), nil, r.Get("Age"), nil)
		want["staff/age_"+r.PartitionKey+"/age_"+fmt.Sprintf("%03d!", r.Get("Age"))+"_"+member] = ""
		tags, _ := r.Get("Tags").(string)
		for _, tag := range strings.Fields(strings.Trim(strings.NewReplacer(`"`, "", ",", " ").Replace(tags), "[]")) {
			if tag != "null" {
				want["staffcopies/tag_"+tag+"/tag_"+tag+"_"+member] = fmt.Sprint(nil, nil, nil, nil, nil)
			}
		}
	}
	for _, name := range []string{"staffmail", "staffcopies"} {
		for _, r := range s.Rows(name) {
			k := name + "/" + r.PartitionKey + "/" + r.RowKey
			if strings.HasPrefix(r.RowKey, "tag_") {
				base, named := pointerBase(s, r)
				if !named {
					continue
				}
				k = name + "/" + r.PartitionKey + "/" + base
			}
			if !strings.Contains(fmt.Sprint(r.Get("_sys")), "/~") {
				got[k] = fmt.Sprint(r.Get("_op"), r.Get("Last"), r.Get("Email"), r.Get("Age"), r.Get("Tags"))
			}
			if r.Get("_ix") != nil || r.Get("_life") != nil {
				return fmt.Errorf("row %s contains properties of an entity", k)
			}
		}
	}
	for k, w := range want {
		if g, is := got[k]; !is || g != w {
			return fmt.Errorf("row %s: got %q, exists %v; want %q", k, g, is, w)
		}
	}
	for k := range got {
		if _, is := want[k]; !is {
			return fmt.Errorf("row %s: got %q; want none", k, got[k])
		}
	}
	return nil
}

// TestElsewhere: all look-ups by definitions elsewhere, whatever the department, after each kind of change.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	all := insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "Jones@x", 44, []string{"a", "b"}}, worker{"M", 1, "Jones", "jo@x", 30, []string{"b"}}, worker{"M", 2, "Smith", "", 30, nil})
	s.drain(t)
	s.Count()
	e, err := s.mail.Get(ctx, s.staff, "JONES@X")
	check(t, err)
	testkit.Expect(t, "entity", fmt.Sprint(e.Value, e.Key), fmt.Sprint(all[0].Value, all[0].Key))
	testkit.Expect(t, "requests of a look-up", s.Count().String(), "1 query")
	testkit.Expect(t, "names", len(ids(t, s.last.List(ctx, s.staff, keys.RawPartition("all"), "Jones"))), 2)
	testkit.Expect(t, "requests of a list", s.Count().String(), "1 query")
	testkit.Expect(t, "ages", len(ids(t, s.age.Between(ctx, s.staff, keys.RawPartition("age_M"), "020", "040"))), 2)
	testkit.Expect(t, "requests of a list by pointers", s.Count().String(), "2 get, 1 query")
	testkit.Expect(t, "tags", len(ids(t, s.tag.List(ctx, s.staff, "b"))), 2)
	page, err := s.tag.Page(ctx, s.staff, "b", table.Query[worker]{Limit: 1}, "")
	check(t, err)
	testkit.Expect(t, "page", len(page.Entities), 1)
	page, err = s.tag.Page(ctx, s.staff, "b", table.Query[worker]{Limit: 1}, page.Token)
	check(t, err)
	testkit.Expect(t, "second page", len(page.Entities), 1)
	n := 0
	for _, err := range s.mail.Query(ctx, s.staff, "jones@x", table.Query[worker]{Where: last.Eq("Jones")}) {
		check(t, err)
		n++
	}
	testkit.Expect(t, "with a condition", n, 1)

	// A copy can be written: the entity is read first, and has its own partition.
	e.Value.Age = 45
	check(t, s.staff.Replace(ctx, e))
	s.drain(t)

	// Values change, go away and come back, and entities are deleted and inserted again.
	for _, change := range []func(w *worker){
		func(w *worker) { w.Last, w.Email, w.Tags = "Smith", "", []string{"c"} },
		func(w *worker) { w.Last, w.Email, w.Tags = "Jones", "Jones@x", []string{"a"} },
	} {
		_, err := s.staff.Update(ctx, all[0].Key, func(w *worker) error { change(w); return nil })
		check(t, err)
		s.drain(t)
	}
	check(t, s.staff.DeleteAny(ctx, all[0].Key))
	_, err = s.staff.Insert(ctx, &worker{"S", 1, "Jones", "b@x", 20, nil})
	check(t, err)
	check(t, s.staff.DeleteAny(ctx, all[1].Key))
	s.drain(t)
	testkit.Expect(t, "poison", len(s.Messages("poison")), 0)
	if e, err := s.mail.Get(ctx, s.staff, "jo@x"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v, %v; want ErrNotFound", e, err)
	}
	if _, err := s.mail.Get(ctx, s.staff, "b@x"); err != nil {
		t.Errorf("got %v; want no error", err)
	}

	// The clean-up deletes the tombstones, and nothing else.
	before := len(s.Rows("staffmail"))
	s.Advance(28 * time.Hour)
	check(t, workertest.CleanAll(ctx, s.worker, s.staff))
	if after := len(s.Rows("staffmail")); after >= before || after != 1 {
		t.Errorf("got %d rows after the clean-up of %d; want 1", after, before)
	}
}

// TestElsewhereRequests: the requests of writes and workers.
func TestElsewhereRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := newElsewhere()
	s := newElsewhereScene(t, d, d.last)
	e := insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})[0]
	check(t, s.worker.Drain(ctx))
	s.Count()
	expect := func(what, want string) {
		t.Helper()
		testkit.Expect(t, "requests of "+what, s.Count().String(), want)
	}
	e.Value.Email = "b"
	check(t, s.staff.Replace(ctx, e))
	expect("a change of no row", "1 replace")
	check(t, s.staff.MergeAny(ctx, e.Key, email.Set("c")))
	expect("a change of no row by key", "1 get, 1 merge")
	check(t, s.worker.Drain(ctx))
	s.Count()
	check(t, s.staff.MergeAny(ctx, e.Key, age.Set(45)))
	expect("a change by key", "1 get, 1 message-put, 1 message-update, 1 transaction")
	check(t, s.worker.Drain(ctx))
	// 1 of the message, 2 that find the queue empty; the record, the entity, and 1 row; the row, and the record is done.
	expect("the worker, for one row", "3 get, 1 merge, 1 message-delete, 3 message-get, 1 replace")
	e, err := s.staff.Get(ctx, e.Key)
	check(t, err)
	s.Count()
	e.Value.Last = "Smith"
	check(t, s.staff.Replace(ctx, e))
	expect("a change", "1 message-put, 1 message-update, 1 transaction")
	check(t, s.worker.Drain(ctx))
	expect("the worker, for two rows", "4 get, 1 insert, 1 merge, 1 message-delete, 3 message-get, 1 replace")
}

// TestElsewhereVerifiedReads: a look-up by pointers leaves out an entity that does not have the value, or not in this partition,
// before a worker has changed the rows.
func TestElsewhereVerifiedReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byAge := index.NewGlobal("place", keys.Digits[int](3), func(w *worker) (int, bool) { return w.Age, true }, nil).Only()
	place := byAge.In(func(w *worker) keys.PartitionKey { return keys.RawPartition("at_" + w.Last) })
	s := newElsewhereScene(t, elsewhere{}, place)
	e := insertAll(t, s.staff, s.Service, worker{"S", 1, "Bern", "", 44, nil})[0]
	check(t, s.worker.Drain(ctx))
	testkit.Expect(t, "workers in Bern", len(ids(t, place.List(ctx, s.staff, keys.RawPartition("at_Bern"), 44))), 1)
	e.Value.Last = "Ulm"
	check(t, s.staff.Replace(ctx, e))
	testkit.Expect(t, "workers in Bern after the move", len(ids(t, place.List(ctx, s.staff, keys.RawPartition("at_Bern"), 44))), 0)
	check(t, s.worker.Drain(ctx))
	testkit.Expect(t, "workers in Ulm", len(ids(t, place.List(ctx, s.staff, keys.RawPartition("at_Ulm"), 44))), 1)
}
