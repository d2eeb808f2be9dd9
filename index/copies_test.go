package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestWriteRequests: the requests of each operation with four indexes.
func TestWriteRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		do   func(*table.Table[worker], *table.Entity[worker]) error
		want string
	}{
		"Insert": {func(p *table.Table[worker], _ *table.Entity[worker]) error {
			_, err := p.Insert(ctx, &worker{"S", 9, "Smith", "s", 30, nil})
			return err
		}, "1 transaction"},
		"Replace": {func(p *table.Table[worker], e *table.Entity[worker]) error {
			e.Value = worker{"S", 1, "Smith", "new", 31, []string{"b", "c"}}
			return p.Replace(ctx, e)
		}, "1 transaction"},
		"Merge": {func(p *table.Table[worker], e *table.Entity[worker]) error {
			return p.Merge(ctx, e, email.Set("new"))
		}, "1 transaction"},
		"Delete": {func(p *table.Table[worker], e *table.Entity[worker]) error { return p.Delete(ctx, e) }, "1 transaction"},
		"Update": {func(p *table.Table[worker], e *table.Entity[worker]) error {
			_, err := p.Update(ctx, e.Key, func(v *worker) error { v.Age++; return nil })
			return err
		}, "1 get, 1 transaction"},
		"Upsert": {func(p *table.Table[worker], _ *table.Entity[worker]) error {
			_, err := p.Upsert(ctx, &worker{"S", 1, "Smith", "s", 30, nil}, table.ReplaceExisting)
			return err
		}, "1 get, 1 transaction"},
		"MergeAny": {func(p *table.Table[worker], e *table.Entity[worker]) error {
			return p.MergeAny(ctx, e.Key, last.Set("Smith"))
		}, "1 get, 1 transaction"},
		"DeleteAny": {func(p *table.Table[worker], e *table.Entity[worker]) error { return p.DeleteAny(ctx, e.Key) }, "1 get, 1 transaction"},
		"Rekey": {func(p *table.Table[worker], e *table.Entity[worker]) error {
			e.Value.ID = 7
			return p.Move(ctx, e)
		}, "1 transaction"},
		"Transact": {func(p *table.Table[worker], e *table.Entity[worker]) error {
			e.Value.Email = "new"
			_, err := table.Transact(ctx, p.ReplaceOp(e), p.InsertOp(&worker{"S", 9, "Smith", "j", 3, nil}))
			return err
		}, "1 transaction"},
		"a taken value": {func(p *table.Table[worker], _ *table.Entity[worker]) error {
			_, err := p.Insert(ctx, &worker{"S", 9, "Smith", "J", 3, nil})
			var de *table.DerivedError
			if !errors.Is(err, table.ErrTaken) || !errors.As(err, &de) || de.Owner != at(1) || de.Maintainer != "email" {
				return fmt.Errorf("got error %v; want ErrTaken in a *DerivedError of email with the owner %v", err, at(1))
			}
			return nil
		}, "1 get, 1 transaction"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			staff, s := newStaff(t, copyDefinitions()...)
			e := insertAll(t, staff, s, worker{"S", 1, "Jones", "j", 30, []string{"a", "b"}})[0]
			check(t, c.do(staff, e))
			testkit.Expect(t, "requests", s.Count().String(), c.want)
			right(t, s)
		})
	}
}

// TestLookups: the entities that each look-up finds, their order, and the requests.
func TestLookups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, copyDefinitions()...)
	insertAll(t, staff, s,
		worker{"S", 1, "Jones", "jonesj@contoso.com", 44, []string{"a", "b", "a"}}, worker{"S", 2, "Jones", "Other@contoso.com", 30, []string{"b"}},
		worker{"S", 3, "Jon", "", 30, nil}, worker{"S", 4, "Brown", "brown@x", 65, nil}, worker{"T", 5, "Jones", "jonesj@contoso.com", 44, nil})
	right(t, s)

	e, err := byEmail.Get(ctx, staff, sales, "JonesJ@Contoso.COM")
	if err != nil || e.Value.ID != 1 || e.Value.Age != 44 || e.Key != at(1) || e.ETag != "" {
		t.Fatalf("look-up of JonesJ@Contoso.COM: got %v, error %v; want worker 1 of age 44 with the key %v and no ETag", e, err, at(1))
	}
	testkit.Expect(t, "full copy", s.Count().String(), "1 get")
	for name, get := range map[string]func(context.Context, *table.Table[worker], keys.PartitionKey, string) (*table.Entity[worker], error){"email": byEmail.Get, "last": byLast.Get} {
		_, err := get(ctx, staff, sales, "nobody")
		const advice = "(an entity that was stored without the index is found after verify.Repair)"
		if want := "index " + name + ": no such row with this value in the index " + advice; !errors.Is(err, table.ErrNotFound) || err.Error() != want {
			t.Errorf("look-up of nobody: got error %v; want ErrNotFound: %s", err, want)
		}
	}
	s.Count()
	testkit.Expect(t, "Between", ids(t, byEmail.Between(ctx, staff, sales, "a", "k")), []int{4, 1})
	testkit.Expect(t, "Between", s.Count().String(), "1 query")
	testkit.Expect(t, "Prefix", ids(t, byEmail.Prefix(ctx, staff, sales, "O")), []int{2})
	s.Count()

	testkit.Expect(t, "pointers", ids(t, byLast.List(ctx, staff, sales, "Jones")), []int{1, 2})
	testkit.Expect(t, "pointers", s.Count().String(), "2 get, 1 query")
	testkit.Expect(t, "Between", ids(t, byLast.Between(ctx, staff, sales, "Brown", "Jon")), []int{4, 3})
	testkit.Expect(t, "Prefix", ids(t, byLast.Prefix(ctx, staff, sales, "Jon")), []int{3, 1, 2})
	testkit.Expect(t, "in order", ids(t, byLast.Query(ctx, staff, table.Query[worker]{Partition: sales, Limit: 2})), []int{4, 3})
	s.Count()
	var members []string
	for k, err := range byLast.Keys(ctx, staff, table.Query[worker]{Partition: sales, Rows: byLast.Value("Jones")}) {
		check(t, err)
		members = append(members, k.RowKey())
	}
	testkit.Expect(t, "members", members, []string{"w_000001", "w_000002"})
	testkit.Expect(t, "members", s.Count().String(), "1 query")
	jon, err := byLast.Get(ctx, staff, sales, "Jon")
	if err != nil || jon.Value.ID != 3 || jon.ETag == "" {
		t.Errorf("look-up of Jon: got %v, error %v; want worker 3 with an ETag", jon, err)
	}
	testkit.Expect(t, "pointer", s.Count().String(), "1 get, 1 query")
	if _, err := byLast.Get(ctx, staff, sales, "Jones"); err == nil || !strings.Contains(err.Error(), "several entities have the value") {
		t.Errorf("look-up of one Jones: got error %v; want several entities", err)
	}

	s.Count()
	testkit.Expect(t, "projected", ids(t, byAge.Between(ctx, staff, sales, 30, 50)), []int{2, 3, 1})
	testkit.Expect(t, "projected", s.Count().String(), "1 query")
	old, err := byAge.Get(ctx, staff, sales, 65)
	if err != nil || old.Value.Last != "Brown" || old.Value.Email != "" || old.Key != at(4) {
		t.Errorf("look-up of age 65: got %v, error %v; want Brown with the key %v and no email", old, err, at(4))
	}
	for verb, err := range map[string]error{"Replace": staff.Replace(ctx, old), "Merge": staff.Merge(ctx, old, last.Set("x")), "Delete": staff.Delete(ctx, old)} {
		if !errors.Is(err, table.ErrNotRead) {
			t.Errorf("%s by a projection: got error %v; want ErrNoETag", verb, err)
		}
	}
	testkit.Expect(t, "at least", ids(t, byAge.Query(ctx, staff, table.Query[worker]{Partition: sales, Rows: byAge.Rows().AtLeast(44)})), []int{1, 4})
	testkit.Expect(t, "at most", ids(t, byAge.Query(ctx, staff, table.Query[worker]{Partition: sales, Rows: byAge.Rows().AtMost(44)})), []int{2, 3, 1})
	testkit.Expect(t, "at least", ids(t, byEmail.Query(ctx, staff, table.Query[worker]{Partition: sales, Rows: byEmail.Rows().AtLeast("o")})), []int{2})
	testkit.Expect(t, "at most", ids(t, byEmail.Query(ctx, staff, table.Query[worker]{Partition: sales, Rows: byEmail.Rows().AtMost("brown@x")})), []int{4})

	testkit.Expect(t, "tags", ids(t, byTag.List(ctx, staff, sales, "b")), []int{1, 2})
	testkit.Expect(t, "conditions", ids(t, byTag.Query(ctx, staff, table.Query[worker]{Partition: sales, Rows: byTag.Value("b"), Where: age.Gt(40)})), []int{1})
	s.Count()
	// Lists of the entities see each once, and none of the index rows.
	testkit.Expect(t, "primaries", ids(t, staff.List(ctx, table.Query[worker]{Partition: sales})), []int{1, 2, 3, 4})

	var ve *table.ValueError
	err = onlyError(t, "query by pointers with a condition", byLast.Query(ctx, staff, table.Query[worker]{Partition: sales, Where: age.Gt(40)}))
	if !errors.As(err, &ve) || ve.Field != "Query.Where" {
		t.Errorf("query by pointers with a condition on the age: got error %v; want a *ValueError of Query.Where", err)
	}
	err = onlyError(t, "query without a partition", byLast.Query(ctx, staff, table.Query[worker]{}))
	if !errors.Is(err, table.ErrTableScan) {
		t.Errorf("query without a partition: got error %v; want ErrTableScan", err)
	}
}

// TestCursor: a list by an index resumes at its cursor, for copies and for pointers.
func TestCursor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, copyDefinitions()...)
	for i := range 25 {
		insertAll(t, staff, s, worker{"S", i, "Jones", "", 30, nil})
	}
	for name, query := range map[string]func(table.Query[worker]) func(func(*table.Entity[worker], error) bool){
		"copies": func(q table.Query[worker]) func(func(*table.Entity[worker], error) bool) {
			return byAge.Query(ctx, staff, q)
		},
		"pointers": func(q table.Query[worker]) func(func(*table.Entity[worker], error) bool) {
			return byLast.Query(ctx, staff, q)
		},
	} {
		token, seen := "", []int{}
		for len(seen) < 25 {
			cursor := table.NewCursor(token)
			seen = append(seen, ids(t, query(table.Query[worker]{Partition: sales, Limit: 7, Cursor: cursor}))...)
			if token = cursor.Token(); token == "" {
				break
			}
		}
		testkit.Expect(t, name, len(seen), 25)
		for i, id := range seen {
			testkit.Expect(t, name, id, i)
		}
	}
}

// TestCopiesAreEntities: an entity from a full copy can be written with 1 read and 1 transaction, and fails with ErrChanged if the
// entity has changed.
func TestCopiesAreEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	find := func(t *testing.T, staff *table.Table[worker]) *table.Entity[worker] {
		t.Helper()
		e, err := byEmail.Get(ctx, staff, sales, "j")
		check(t, err)
		return e
	}
	for what, write := range map[string]func(*table.Table[worker], *table.Entity[worker]) error{
		"Replace": func(p *table.Table[worker], e *table.Entity[worker]) error {
			e.Value.Last, e.Value.Email = "Smith", "new"
			return p.Replace(ctx, e)
		},
		"Merge":  func(p *table.Table[worker], e *table.Entity[worker]) error { return p.Merge(ctx, e, last.Set("Smith")) },
		"Delete": func(p *table.Table[worker], e *table.Entity[worker]) error { return p.Delete(ctx, e) },
		"Rekey":  func(p *table.Table[worker], e *table.Entity[worker]) error { e.Value.ID = 8; return p.Move(ctx, e) },
		"Transact": func(p *table.Table[worker], e *table.Entity[worker]) error {
			e.Value.Email = "new"
			_, err := table.Transact(ctx, p.ReplaceOp(e))
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			staff, s := newStaff(t, copyDefinitions()...)
			before := insertAll(t, staff, s, worker{"S", 1, "Jones", "j", 44, []string{"a"}})[0]

			// A concurrent writer changes the entity.
			e := find(t, staff)
			check(t, staff.Merge(ctx, before, age.Set(45)))
			if err := write(staff, e); !errors.Is(err, table.ErrChanged) {
				t.Fatalf("write by a copy of an entity that has changed: got error %v; want ErrChanged", err)
			}
			right(t, s)
			e = find(t, staff)
			s.Count()
			check(t, write(staff, e))
			testkit.Expect(t, "requests", s.Count().String(), "1 get, 1 transaction")
			right(t, s)
			if what == "Delete" {
				return
			}
			// From here on, it is an entity with an ETag.
			if e.ETag == "" {
				t.Fatal("ETag after a write by a copy: got none; want one")
			}
			e.Value.Last = "Weber"
			check(t, staff.Replace(ctx, e))
			testkit.Expect(t, "requests", s.Count().String(), "1 transaction")
			right(t, s)
		})
	}
	// A handle without the indexes cannot write by a copy.
	staff, s := newStaff(t, copyDefinitions()...)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "j", 44, nil})
	if err := openAs(t, s.ConnectionString(), s, schema).Replace(ctx, find(t, staff)); !errors.Is(err, table.ErrNotRead) {
		t.Errorf("replace by a copy, by a handle without the index: got error %v; want ErrNoETag", err)
	}
	_, err := table.Transact(ctx, tabledoor.PinOp(staff, find(t, staff)))
	if !errors.Is(err, table.ErrNotRead) {
		t.Errorf("pin by a copy: got error %v; want ErrNoETag", err)
	}
	if err := openAs(t, s.ConnectionString(), s, schema).Delete(ctx, insertMore(t, staff, s)); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("delete of an indexed entity, by a handle without the indexes: got error %v; want ErrUnknownMaintainer", err)
	}
}

func insertMore(t *testing.T, staff *table.Table[worker], s *storagetest.Service) *table.Entity[worker] {
	return insertAll(t, staff, s, worker{"S", 77, "Cao", "", 1, nil})[0]
}

// TestColumnsSurvive: full copies contain properties that the type does not know, and a replace by a copy keeps them.
func TestColumnsSurvive(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, copyDefinitions()...)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "j", 44, nil})
	rows := openAs(t, s.ConnectionString(), s, table.Schema[table.Row]{})
	check(t, rows.MergeAny(ctx, at(1), table.PropertyOf[string]("Note").Set("kept")))
	_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
	check(t, err)
	e, err := byEmail.Get(ctx, staff, sales, "j")
	check(t, err)
	e.Value.Email = "k"
	check(t, staff.Replace(ctx, e))
	right(t, s)
	row, err := tabledoor.GetRow(ctx, staff, keys.At(sales, keys.RawRow("email_k")))
	check(t, err)
	if note, _ := row.Get("Note"); note != "kept" {
		t.Errorf("Note of the copy %v: got %v; want kept", row, note)
	}
}

// TestProjectionIsRefreshed: a projection follows a change of a field that it copies, although its key stays, and although the
// digest of its contents in _ix happens to stay, too, as it does from age 55389 to 302504.
func TestProjectionIsRefreshed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byMail := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, w.Email != "" },
		nil).Only(email, age)
	staff, s := newStaff(t, byMail)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	for _, want := range []int{55389, 302504} {
		check(t, staff.MergeAny(ctx, at(1), age.Set(want)))
		if e, err := byMail.Get(ctx, staff, sales, "a"); err != nil || e.Value.Age != want {
			t.Errorf("got %v, %v; want age %d", e, err, want)
		}
	}
}

// TestReplaceFromCopy: an entity that was found by its copy can be written, also if a program has stored the entity again without the types of
// JSON.
func TestReplaceFromCopy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byMail := index.New("email", keys.Text(), func(w *worker) (string, bool) { return w.Email, w.Email != "" }, nil)
	staff, s := newStaff(t, byMail)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	overwrite(t, s, at(1), func(c map[string]any) { delete(c, "_op@odata.type") })
	e, err := byMail.Get(ctx, staff, sales, "a")
	check(t, err)
	e.Value.Age = 31
	check(t, staff.Replace(ctx, e))
	got, err := staff.Get(ctx, at(1))
	check(t, err)
	if got.Value.Age != 31 {
		t.Errorf("got age %d; want 31", got.Value.Age)
	}
}
