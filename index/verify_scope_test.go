package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestVerifyScope: rows of definitions that are not verified, and of other types, stay as they are.
func TestVerifyScope(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	// A foreign row with columns that have the names of details.
	staff, s := newStaff(t, sharedDefinitions()...)
	row := &table.Row{Key: keys.At(sales, keys.RawRow("project"))}
	check(t, errors.Join(row.Set("HeadRowKey", "w_000001"), row.Set("HeadLast", "hello")))
	_, err := rawTable(t, s).Insert(ctx, row)
	check(t, err)
	r, faults := mustVerify(t, staff, verify.Options{}, sharedDefinitions()...)
	after, err := tabledoor.GetRow(ctx, staff, row.Key)
	check(t, err)
	if r.Faults > 0 || len(faults) > 0 || !(*stored.Row)(after).Same((*stored.Row)(row)) {
		t.Errorf("foreign row with columns of details: got %+v, faults %v and row %+v; want a sound report, no fault and row %+v", r, faults, after, row)
	}

	// A duplicate value of another definition, and sound rows of a third one.
	byMail := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, &index.Options{Unique: true}).Only()
	staff, s = newStaff(t, byMail, byLast, byAge)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("mail_a")))
	insertAll(t, staff, s, worker{"S", 2, "Cao", "a", 30, nil})
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("last_Jones!_w_000001")))
	age1, err := tabledoor.GetRow(ctx, staff, rowAt("age_030_w_000001"))
	check(t, err)
	if r, _ := mustVerify(t, staff, verify.Options{}, byLast); r.Faults > 0 || r.Changed != 1 {
		t.Errorf("verify of byLast with repair: got %+v; want a sound report with 1 repaired", r)
	}
	if e, err := byMail.Get(ctx, staff, sales, "a"); err != nil || e.Key != at(2) {
		t.Errorf("entity with mail a: got %+v, error %v; want %v and no error", e, err, at(2))
	}
	if again, err := tabledoor.GetRow(ctx, staff, rowAt("age_030_w_000001")); err != nil || again.ETag != age1.ETag {
		t.Errorf("row of byAge after the repair: got %+v, error %v; want ETag %v and no error", again, err, age1.ETag)
	}

	// A program has changed the fields from which the key of an entity is made: the rows still belong to the entity.
	oneWay := schema
	oneWay.Row = keys.RowFunc(wid, func(w *worker) int { return w.Age })
	s = storagetest.New(nil)
	base := openAs(t, s.ConnectionString(), s, oneWay)
	check(t, tabledoor.Ensure(ctx, base))
	staff, err = baretest.Attach(base, byEmail)
	check(t, err)
	insertAll(t, staff, s, worker{"S", 0, "Jones", "a", 7, nil})
	check(t, rawTable(t, s).MergeAny(ctx, at(7), table.PropertyOf[int64]("Age").Set(8)))
	if r, faults := mustVerify(t, staff, verify.Options{}, byEmail); r.Changed > 0 || len(faults) > 0 {
		t.Errorf("entity with fields that give another key: got %+v and faults %v; want nothing repaired and no fault", r, faults)
	}
	if _, err := tabledoor.GetRow(ctx, staff, rowAt("email_a")); err != nil {
		t.Errorf("row of byEmail of this entity: got error %v; want none", err)
	}
}

// TestVerifyUnreadable: an entity whose key function fails is reported, and does not stop the run.
func TestVerifyUnreadable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	base := openAs(t, s.ConnectionString(), s, schema)
	check(t, tabledoor.Ensure(ctx, base))
	for i, tags := range [][]string{{"a"}, {"a", "b", "c", "d"}, {"b"}} {
		_, err := base.Insert(ctx, &worker{fmt.Sprint("S", i/2), i, "Jones", "", 1, tags})
		check(t, err)
	}
	check(t, rawTable(t, s).MergeAny(ctx, keys.Raw("S1", "w_000002"), table.PropertyOf[string]("Age").Set("old")))
	staff, err := baretest.Attach(base, byTag)
	check(t, err)
	var faults []verify.Fault
	r, err := verify.Repair(ctx, staff, &verify.Options{Fault: func(f verify.Fault) { faults = append(faults, f) }}, byTag)
	if err != nil || r.Faults == 0 || r.Counts[verify.Unreadable] != 2 || r.Counts["failed"] != 2 || r.Changed != 1 || r.Counts["partitions"] != 2 {
		t.Fatalf("verify with repair: got %+v, error %v, faults %+v; want a report that is not sound, of 2 partitions, with 2 unreadable, 2 failed and 1 repaired, and no error", r, err, faults)
	}
	var limit *table.LimitError
	if !errors.As(errors.Join(faults[0].Err, faults[1].Err), &limit) {
		t.Errorf("errors of the first two faults: got %+v; want one *table.LimitError", faults)
	}
	testkit.Expect(t, "filled", len(ids(t, byTag.List(ctx, staff, dept.PartitionKey("S0"), "a"))), 1)

	var ve *table.ValueError
	if _, err := verify.Check(ctx, base, nil); !errors.As(err, &ve) {
		t.Errorf("no definitions on a table without any: got error %v; want a *table.ValueError", err)
	}
	if all, err := verify.Check(ctx, staff, nil); err != nil || all.Rows != r.Rows || all.Counts["derived rows"] == 0 {
		t.Errorf("no definitions, which means all of the table: got %+v, error %v; want %d entities, some rows and no error", all, err, r.Rows)
	}
	// The error is that of the failed request, not of the canceled partitions.
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == requests.Query && strings.Contains(q.String(), "'S0'") {
			return storagetest.Refuse(403, "AuthorizationFailure")
		}
		return storagetest.Fault{}
	})
	var refused *azcore.ResponseError
	if _, err := verify.Check(ctx, staff, &verify.Options{Pass: table.Pass{Concurrency: 2}}, byTag); !errors.As(err, &refused) || refused.StatusCode != 403 || errors.Is(err, context.Canceled) {
		t.Errorf("refused query: got error %v; want an *azcore.ResponseError with status 403, and not context.Canceled", err)
	}
}

// TestVerifyLists: a lost list is written with many of its members at a time.
func TestVerifyLists(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, teams)
	_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 300 {
			if !yield(staff.InsertOp(&worker{"S", i, "Jones", "", 1, nil}), nil) {
				return
			}
		}
	}, nil)
	check(t, err)
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("team_Jones")))
	s.Count()
	r, _ := mustVerify(t, staff, verify.Options{Pass: table.Pass{Partitions: sales.Point()}}, teams)
	if r.Faults > 0 || r.Changed != 300 {
		t.Errorf("verify with repair: got %+v; want a sound report with 300 repaired", r)
	}
	testkit.Expect(t, "requests", s.Count().String(), "901 get, 2 query, 4 transaction") // 3 to confirm each entity, and the list once
	k, err := teams.Keys(ctx, staff, sales, "Jones")
	check(t, err)
	testkit.Expect(t, "members", len(k), 300)
}

// TestRepairOfOneDefinition: a definition that cannot be repaired keeps no other from being repaired.
func TestRepairOfOneDefinition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := newCampus(t)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	check(t, d.DeleteAny(ctx, rowAt("department")))
	both, err := baretest.Attach(staff, byLast)
	check(t, err)
	r, faults := mustVerify(t, both, verify.Options{}, head, byLast)
	testkit.Expect(t, "faults", faults, map[string]bool{"head missing department w_000001": true, "last missing last_Jones!_w_000001 w_000001": true})
	if r.Changed != 1 || r.Counts["failed"] != 1 || r.Faults == 0 {
		t.Errorf("verify with repair: got %+v; want a report that is not sound, with 1 repaired and 1 failed", r)
	}
	testkit.Expect(t, "filled", ids(t, byLast.List(ctx, both, sales, "Jones")), []int{1})

	// A row without an owner under the key of a unique row is foreign.
	for rk, d := range map[string]extend.Definition[worker]{"email_a": byEmail, "last_Jones!_w_000001": byLast, "age_030_w_000001": byAge} {
		staff, s := newStaff(t, d)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
		row := &table.Row{Key: rowAt(rk)}
		check(t, row.Set("X", 1))
		_, err = rawTable(t, s).Upsert(ctx, row, table.ReplaceExisting)
		check(t, err)
		before := fmt.Sprint(s.Rows("staff"))
		for _, repair := range []bool{false, true} {
			if r, _ := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, d); r.Faults == 0 || r.Counts[verify.Missing] != 1 || r.Changed != 0 {
				t.Errorf("%s, repair %v: got %+v; want a report that is not sound, with one missing row and nothing repaired", rk, repair, r)
			}
		}
		testkit.Expect(t, "rows", fmt.Sprint(s.Rows("staff")), before)
	}

	// Another definition of the name is not the one that is attached.
	staff, _ = newStaff(t, byEmail)
	other := index.New("email", keys.Text(), func(w *worker) (string, bool) { return strings.ToUpper(w.Email), true }, nil)
	var de *table.DefinitionError
	if _, err := verify.Repair(ctx, staff, nil, other); !errors.As(err, &de) {
		t.Errorf("other definition of the same name: got error %v; want a *table.DefinitionError", err)
	}
	var untyped extend.Definition[worker]
	for _, d := range []extend.Definition[worker]{untyped, (*index.Index[worker, string])(nil), &index.Index[worker, string]{}} {
		var ve *table.ValueError
		if _, err := verify.Check(ctx, staff, nil, d); !errors.As(err, &ve) || ve.Field != "definitions" {
			t.Errorf("definition %#v: got error %v; want a *table.ValueError about definitions", d, err)
		}
	}
	var ve *table.ValueError
	for _, o := range []verify.Options{{Pass: table.Pass{DryRun: true, Rate: -1}}, {Pass: table.Pass{DryRun: true, Concurrency: -1}}, {Pass: table.Pass{DryRun: true}, MostRows: -1}} {
		if _, err := verify.Repair(ctx, staff, &o, byEmail); !errors.As(err, &ve) {
			t.Errorf("options %+v: got error %v; want a *table.ValueError", o, err)
		}
	}
}

func moody() func(*worker) (keys.RowKey, bool) {
	n := 0
	return func(*worker) (keys.RowKey, bool) { n++; return keys.RawRow(fmt.Sprint("x", n)), true }
}

func counting() func(*worker) (int64, bool) {
	n := int64(0)
	return func(*worker) (int64, bool) { n++; return n, true }
}
