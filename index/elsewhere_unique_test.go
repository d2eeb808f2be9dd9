package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// newLogin is an index by which a worker logs in, whatever the department.
func newLogin() *index.Unique[worker, string] {
	return index.NewUnique("login", keys.Fold(keys.Text()), func(w *worker) (string, bool) { return w.Email, w.Email != "" },
		nil)
}

// checkLogins compares the rows of newLogin with the workers, by a full scan: each address has one owner, and each owner the address.
func checkLogins(s *storagetest.Service) error {
	want, got := map[string]string{}, map[string]string{}
	for _, r := range s.Rows("staff") {
		mail, _ := r.Get("Email").(string)
		if strings.HasPrefix(r.RowKey, "~") || mail == "" {
			continue
		}
		if r.Get("_tx") != nil {
			return fmt.Errorf("%s/%s is prepared", r.PartitionKey, r.RowKey)
		}
		k, owner := "login_"+strings.ToLower(mail), r.RowKey+"//"+r.PartitionKey
		if want[k] != "" {
			return fmt.Errorf("%s belongs to %s and to %s", mail, want[k], owner)
		}
		want[k] = owner
	}
	for _, r := range s.Rows("stafflogin") {
		if strings.HasPrefix(r.RowKey, "~") {
			continue
		}
		got[r.RowKey] = fmt.Sprint(r.Get("_sys"))
		if r.Get("_tx") != nil {
			return fmt.Errorf("%s is prepared", r.RowKey)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("got the owners %v; want %v", got, want)
	}
	return nil
}

// TestGlobal: a value has one owner in all partitions, and goes from one entity to another.
func TestGlobal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byLogin := newLogin()
	s := newElsewhereScene(t, elsewhere{}, byLogin)
	find := func(mail string, want int) {
		t.Helper()
		e, err := byLogin.Get(ctx, s.staff, mail)
		got := 0
		if err == nil {
			got = e.Value.ID
		} else if !errors.Is(err, table.ErrNotFound) {
			t.Error(err)
		}
		testkit.Expect(t, "the owner of "+mail, got, want)
	}
	expect := func(what, want string) {
		t.Helper()
		testkit.Expect(t, "requests of "+what, s.Count().String(), want)
		check(t, checkLogins(s.Service))
		s.Count()
	}
	jones, err := s.staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil})
	check(t, err)
	expect("an insert", "1 merge, 1 message-delete, 1 message-put, 3 transaction")
	find("A", 1)
	expect("a look-up", "2 get")
	_, err = s.staff.Insert(ctx, &worker{"M", 2, "Smith", "A", 44, nil})
	var de *table.DerivedError
	if !errors.Is(err, table.ErrTaken) || !errors.As(err, &de) || de.Owner != jones.Key {
		t.Errorf("got %v; want ErrTaken, of %v", err, jones.Key)
	}
	s.Count()
	smith, err := s.staff.Insert(ctx, &worker{"M", 2, "Smith", "b", 44, nil})
	check(t, err)
	s.Count()
	jones.Value.Age++
	check(t, s.staff.Replace(ctx, jones))
	expect("a write that keeps the value", "1 replace")
	jones.Value.Email = "c"
	check(t, s.staff.Replace(ctx, jones))
	expect("a change of the value", "1 get, 1 merge, 1 message-delete, 1 message-put, 5 transaction")
	smith.Value.Email = "a"
	check(t, s.staff.Replace(ctx, smith))
	find("a", 2)
	find("b", 0)
	find("c", 1)
	s.Count()
	smith.Value.Dept = "S"
	check(t, s.staff.Move(ctx, smith))
	expect("a move", "1 get, 1 merge, 1 message-delete, 1 message-put, 5 transaction")
	find("a", 2)
	check(t, s.staff.Delete(ctx, smith))
	find("a", 0)
	check(t, checkLogins(s.Service))
	check(t, s.worker.Drain(ctx))
	check(t, checkLogins(s.Service))
}

// TestGlobalReader: a client that may only read finds the owner of a value that goes to another entity between its reads, although
// both writes have committed and are not finished, so that their rows have no ETags of their own.
func TestGlobalReader(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byLogin := newLogin()
	s := newElsewhereScene(t, elsewhere{}, byLogin)
	refuseFrom := func(first int) { // the transactions of the writer or the reader
		n := 0
		s.SetFaults(func(r storagetest.Request) storagetest.Fault {
			if r.Kind != requests.Transaction {
				return storagetest.Fault{}
			}
			n++
			if n < first {
				return storagetest.Fault{}
			}
			return storagetest.Refuse(http.StatusForbidden, "AuthorizationPermissionMismatch")
		})
	}
	insertUnfinished := func(w *worker) *table.Entity[worker] {
		t.Helper()
		refuseFrom(3) // after prepare and commit
		e, err := s.staff.Insert(ctx, w)
		check(t, err)
		s.SetFaults(nil)
		return e
	}
	jones := insertUnfinished(&worker{"S", 1, "Jones", "a", 44, nil})
	reads := 0
	hooked := &testkit.Hooked{Service: s.Service, BeforeRequest: func(r *http.Request) {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/staff(") || strings.Contains(r.URL.Path, "~") {
			return
		}
		reads++
		if reads != 1 {
			return
		}
		s.SetFaults(nil)
		jones.Value.Email = "b"
		check(t, s.staff.Replace(ctx, jones))
		insertUnfinished(&worker{"M", 2, "Smith", "a", 44, nil})
		refuseFrom(1)
	}}
	acc, err := account.FromTransport(hooked, nil)
	check(t, err)
	o := quick()
	options.SetNow(&o.Common, s.Now)
	reader, _, _, err := openElsewhere(acc, o, byLogin)
	check(t, err)
	s.Advance(time.Minute) // the reader does not wait for the writer
	refuseFrom(1)
	e, err := byLogin.Get(ctx, reader, "a")
	if err != nil || e.Value.ID != 2 {
		t.Errorf("got %v, %v; want Smith", e, err)
	}
	if reads < 2 {
		t.Errorf("got %d reads of an entity; want at least 2", reads)
	}
}

// TestUniqueScope: a value is unique in the scope that a function of the entity returns.
func TestUniqueScope(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byLogin := index.NewUnique("login", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, nil).In(func(w *worker) keys.PartitionKey { return keys.RawPartition(w.Last) })
	s := newElsewhereScene(t, elsewhere{}, byLogin)
	insert := func(w worker) error { _, err := s.staff.Insert(ctx, &w); return err }
	check(t, insert(worker{"S", 1, "Contoso", "a", 44, nil}))
	check(t, insert(worker{"S", 2, "Fabrikam", "a", 44, nil}))
	if err := insert(worker{"M", 3, "Contoso", "a", 44, nil}); !errors.Is(err, table.ErrTaken) {
		t.Errorf("got %v; want ErrTaken", err)
	}
	e, err := byLogin.Get(ctx, s.staff, keys.RawPartition("Fabrikam"), "a")
	check(t, err)
	testkit.Expect(t, "the owner", e.Value.ID, 2)
	s.Count()
	e.Value.Email = "b"
	check(t, s.staff.Replace(ctx, e))
	testkit.Expect(t, "requests of a change in one partition", s.Count().String(), "1 get, 1 merge, 1 message-delete, 1 message-put, 3 transaction")
}

// TestGlobalOptions: what does not fit together is an error of Attach.
func TestGlobalOptions(t *testing.T) {
	t.Parallel()
	of := func(w *worker) (string, bool) { return w.Email, true }
	for field, definition := range map[string]extend.Definition[worker]{
		"Only":  index.NewUnique("login", keys.Text(), of, nil).In(func(*worker) keys.PartitionKey { return sales }).Only(email),
		"table": index.NewUnique("login", keys.Text(), of, nil), // no outbox
	} {
		base, _ := newStaff(t)
		_, err := baretest.Attach(base, definition)
		var de *table.DefinitionError
		if !errors.As(err, &de) || de.Field != field {
			t.Errorf("got %v; want a *DefinitionError about %s", err, field)
		}
	}
}

// TestGlobalSwapped: two entities of a transaction exchange their values, and a third one takes a value that is given up.
func TestGlobalSwapped(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, elsewhere{}, newLogin())
	all := insertAll(t, s.staff, s.Service, worker{"S", 1, "A", "a", 44, nil}, worker{"S", 2, "B", "b", 44, nil}, worker{"S", 3, "C", "c", 44, nil})
	all[0].Value.Email, all[1].Value.Email = "b", "a"
	_, err := table.Transact(ctx, s.staff.ReplaceOp(all[0]), s.staff.ReplaceOp(all[1]))
	check(t, err)
	check(t, checkLogins(s.Service))
	all[0].Value.Email, all[1].Value.Email = "", "b"
	_, err = table.Transact(ctx, s.staff.ReplaceOp(all[0]), s.staff.ReplaceOp(all[1]))
	check(t, err)
	check(t, checkLogins(s.Service))
	all[1].Value.Email, all[2].Value.Email = "x", "x"
	_, err = table.Transact(ctx, s.staff.ReplaceOp(all[1]), s.staff.ReplaceOp(all[2]))
	var be *table.BatchError
	if !errors.Is(err, table.ErrTaken) && !errors.Is(err, errs.ErrDuplicateRow) || !errors.As(err, &be) || be.Index != 1 {
		t.Errorf("got %v; want ErrTaken of operation 1", err)
	}
	check(t, checkLogins(s.Service))
}

// TestGlobalBulk: entities whose values are taken are left out, and the others are stored.
func TestGlobalBulk(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, elsewhere{}, newLogin())
	insertAll(t, s.staff, s.Service, worker{"M", 1, "A", "m3", 44, nil})
	var skipped []int
	done, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 30 {
			if !yield(s.staff.InsertOp(&worker{"S", i, "B", fmt.Sprint("m", i%28), 44, nil}), nil) {
				return
			}
		}
	}, &engine.BulkOptions{Skip: func(i int, err error) bool {
		skipped = append(skipped, i)
		return errors.Is(err, table.ErrTaken) || errors.Is(err, errs.ErrDuplicateRow)
	}})
	check(t, err)
	check(t, checkLogins(s.Service))
	// 3 is taken by an entity that was there; 28 and 29 by 0 and 1.
	if fmt.Sprint(skipped) != "[3 28 29]" || done.Applied != 27 {
		t.Errorf("skipped %v and stored %d; want [3 28 29] and 27", skipped, done.Applied)
	}
}

// TestGlobalBulkAgain: a bulk load that is repeated finds that its entities exist. Each of its transactions prepares the rows of several unique values, which
// are then rolled back, and so have other ETags at the next attempt.
func TestGlobalBulkAgain(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 40} {
		s := newElsewhereScene(t, elsewhere{}, newLogin())
		load := func() (skipped []error, err error) {
			_, err = door.Bulk(t.Context(), func(yield func(table.Op, error) bool) {
				for i := range n {
					if !yield(s.staff.InsertOp(&worker{"S", i, "B", fmt.Sprint("m", i), 44, nil}), nil) {
						return
					}
				}
			}, &engine.BulkOptions{Skip: func(_ int, err error) bool { skipped = append(skipped, err); return true }})
			return skipped, err
		}
		skipped, err := load()
		if err != nil || len(skipped) > 0 {
			t.Fatalf("got %v, %v; want all stored", skipped, err)
		}
		s.Count()
		skipped, err = load()
		check(t, err)
		got := s.Count()
		t.Logf("%d entities: %s", n, got)
		if len(skipped) != n || got[requests.Transaction] > 10*n {
			t.Errorf("%d entities: got %d left out, %s; want all, and no more than 10 transactions for each", n, len(skipped), got)
		}
		for _, err := range skipped {
			if !errors.Is(err, table.ErrExists) {
				t.Errorf("%d entities: got %v; want ErrExists", n, err)
			}
		}
		check(t, checkLogins(s.Service))
	}
}

// TestRolledBackVersions: a write prepares the rows of several values, one of which another program changes again and again. The rows of the others are rolled
// back each time, and the next attempt knows their new versions.
func TestRolledBackVersions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	h := &testkit.Hooked{Service: storagetest.New(nil)}
	acc, err := account.FromTransport(h, nil)
	check(t, err)
	staff, _, w, err := openElsewhere(acc, quick(), newLogin())
	check(t, err)
	check(t, errors.Join(tabledoor.Ensure(ctx, staff), baretest.Ensure(ctx, staff), w.Ensure(ctx)))
	load := func() error {
		var ops []table.Op
		for i := range 3 {
			ops = append(ops, staff.InsertOp(&worker{"S", i, "B", fmt.Sprint("m", i), 44, nil}))
		}
		_, err := table.Transact(ctx, ops...)
		return err
	}
	check(t, load())
	notified := 0
	h.BeforeRequest = func(r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/effects/messages") {
			return
		}
		if notified++; notified < 2 || notified > 4 {
			return
		}
		row := fmt.Sprintf(`{"PartitionKey":"login_m1","RowKey":"login_m1","Changed":%d}`, notified)
		_, err := h.Service.Tables().NewClient("stafflogin").UpsertEntity(ctx, []byte(row), nil)
		checkInHook(t, err)
	}
	if err := load(); !errors.Is(err, table.ErrExists) || notified != 5 {
		t.Errorf("got %v after %d attempts; want ErrExists after 5: the first, 3 beside changes, and one more", err, notified)
	}
}

// TestVerifyGlobalCrash: the program crashes when the row of a value is prepared, before or after the commit, and its message is lost.
// Verify rolls the write back, or finishes it.
func TestVerifyGlobalCrash(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for sent, want := range map[int]int{1: 0, 2: 1} { // transactions that arrive, and owners in the end
		s := newElsewhereScene(t, elsewhere{}, newLogin())
		n := 0
		s.SetFaults(storagetest.When(func(r storagetest.Request) bool {
			if r.Kind == requests.Transaction {
				n++
			}
			return n > sent
		}, storagetest.LostRequest()))
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		_, err := s.staff.Insert(short, &worker{"S", 1, "Jones", "a", 44, nil})
		cancel()
		s.SetFaults(nil)
		_, cleared := s.Queues().NewQueueClient("effects").ClearMessages(ctx, nil)
		check(t, cleared)
		if checkLogins(s.Service) == nil {
			t.Errorf("%d transactions arrived (%v): got nothing left; want a prepared row", sent, err)
		}
		s.Advance(11 * time.Minute)
		report, err := verify.Repair(ctx, s.staff, nil)
		check(t, err)
		check(t, checkLogins(s.Service))
		if report.Counts["finished"] != 1 || len(derived.Kinds(report)) > 0 || len(s.Rows("stafflogin")) != want+1 {
			t.Errorf("%d transactions arrived: got %+v and the rows %v; want 1 finished, no fault, %d owners and the preparation", sent, report, s.Rows("stafflogin"), want)
		}
	}
}

// TestVerifyGlobal: a table in use gets the index, and rows of values that other programs have damaged are found and repaired. Of two
// entities with one value, the first keeps it.
func TestVerifyGlobal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, elsewhere{}, newLogin())
	base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
	check(t, err)
	rows, err := bare.NewTable(s.Tables(), "stafflogin", table.Schema[table.Row]{}, quick())
	check(t, err)
	insert := func(all ...worker) {
		for _, w := range all {
			_, err := base.Insert(ctx, &w)
			check(t, err)
		}
	}
	insert(worker{"S", 1, "A", "a", 44, nil}, worker{"M", 2, "B", "b", 44, nil})
	run := func(what string, want map[string]int, repaired int) {
		t.Helper()
		report, err := verify.Repair(ctx, s.staff, nil)
		check(t, err)
		if fmt.Sprint(derived.Kinds(report)) != fmt.Sprint(want) || report.Changed != repaired {
			t.Errorf("%s: got %+v; want the faults %v, of which %d are repaired", what, report, want, repaired)
		}
	}
	run("fill", map[string]int{verify.Missing: 2}, 2)
	insert(worker{"M", 3, "C", "A", 44, nil}) // after the fill, so that it is the one that is refused
	run("duplicate", map[string]int{verify.DuplicateValue: 1}, 0)
	_, err = s.staff.Upsert(ctx, &worker{"M", 3, "C", "c", 44, nil}, table.ReplaceExisting)
	check(t, err)
	check(t, checkLogins(s.Service))
	run("sound", map[string]int{}, 0)
	raw := door.Rows[table.Table[table.Row]](door.Table(rows), false)
	a, b := keys.Raw("login_a", "login_a"), keys.Raw("login_b", "login_b")
	check(t, raw.DeleteAny(ctx, a))
	other, err := raw.Get(ctx, b)
	check(t, err)
	other.Value.Key = keys.Raw("login_x", "login_x") // an address that its owner does not have
	_, err = raw.Insert(ctx, &other.Value)
	check(t, err)
	run("damaged", map[string]int{verify.Missing: 1, verify.Dangling: 1}, 2)
	check(t, checkLogins(s.Service))
}

// TestVerifyGlobalVersions: the row of a unique value has neither type nor version, and is right also if its entity has both.
func TestVerifyGlobalVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	versioned := schema
	versioned.Type, versioned.Version = "worker", 1
	inOnePartition := index.NewUnique("one", keys.Text(), func(w *worker) (string, bool) { return w.Last, true },
		nil).In(func(*worker) keys.PartitionKey { return keys.RawPartition("u") })
	for _, ix := range []extend.Definition[worker]{newLogin(), inOnePartition} {
		scene := openElsewhereOf(t, storagetest.New(nil), "staff", versioned, ix)
		_, err := scene.t.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil})
		check(t, err)
		for range 2 {
			report, err := verify.Repair(ctx, scene.t, nil)
			check(t, err)
			if len(derived.Kinds(report)) > 0 || report.Changed+report.Counts["unconfirmed"] > 0 {
				t.Errorf("%s: got %+v; want no fault", ix.Name(), report)
			}
		}
	}
}

// TestVerifyFinishesMoves: a run over the whole table, and one over the partition alone, ends a move of a crashed program.
func TestVerifyFinishesMoves(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, partitions := range map[string]keys.PartitionRange{"whole table": {}, "partition": dept.PartitionKey("M").Point()} {
		s := newElsewhereScene(t, elsewhere{}, newLogin())
		e, err := s.staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil})
		check(t, err)
		n := 0
		short, cancel := context.WithCancel(ctx)
		s.SetFaults(storagetest.When(func(r storagetest.Request) bool {
			if r.Kind == requests.Transaction {
				n++
			}
			if n > 3 { // two prepare, and one commits
				cancel()
			}
			return n > 3
		}, storagetest.LostRequest()))
		e.Value.Dept = "M"
		_ = s.staff.Move(short, e)
		cancel()
		s.SetFaults(nil)
		marked := func() (n int) {
			for _, r := range s.Rows("staff") {
				if r.Get("_tx") != nil {
					n++
				}
			}
			return n
		}
		testkit.Expect(t, what+": prepared rows", marked(), 1)
		s.Advance(11 * time.Minute)
		report, err := verify.Repair(ctx, s.staff, &verify.Options{Pass: table.Pass{Partitions: partitions}})
		check(t, err)
		if marked() != 0 || report.Counts["finished"] == 0 || len(derived.Kinds(report)) > 0 {
			t.Errorf("%s: got %+v, %d prepared rows; want a finished write and none", what, report, marked())
		}
	}
}

// TestOvertakenGlobal: a program moves an entity within its partition, after another one has moved it away, or has given it the value
// that it wants to take. Its error is ErrChanged and not table.ErrTaken, so that UpdateAndMove begins again.
func TestOvertakenGlobal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, elsewhere{}, newLogin())
	for id, overtake := range map[int]func(*worker){1: func(w *worker) { w.Dept = "M" }, 2: func(w *worker) { w.Email = "n" }} {
		e, err := s.staff.Insert(ctx, &worker{"S", id, "Jones", fmt.Sprint(id), 44, nil})
		check(t, err)
		_, err = s.staff.UpdateAndMove(ctx, e.Key, func(w *worker) error { overtake(w); return nil })
		check(t, err)
		e.Value.ID, e.Value.Email = id+10, "n"
		if err = s.staff.Move(ctx, e); !errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrTaken) || errors.Is(err, table.ErrNotFound) != (id == 1) {
			t.Errorf("worker %d: got error %v; want ErrChanged, also ErrNotFound: %v", id, err, id == 1)
		}
	}
	e, err := s.staff.UpdateAndMove(ctx, at(2), func(w *worker) error { w.ID, w.Email = 12, "N"; return nil })
	if err != nil || e.Value.ID != 12 {
		t.Errorf("UpdateAndMove: got %v, error %v; want worker 12", e, err)
	}
	check(t, checkLogins(s.Service))
}
