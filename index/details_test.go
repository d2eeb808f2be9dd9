package index_test

import (
	"context"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestHeadMoves: details follow their source to another key, and are written again after bulk work on the target.
func TestHeadMoves(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	service := serviceOf(t, s.ConnectionString(), s) // one, or they are other tables to Bulk
	base, err := bare.NewTable(service, "staff", schema, quick())
	check(t, err)
	check(t, tabledoor.Ensure(ctx, base))
	d, err := bare.NewTable(service, "staff", depts, quick())
	check(t, err)
	_, err = d.Insert(ctx, &department{Name: "S", Budget: 7})
	check(t, err)
	staff, err := baretest.Attach(base, sharedDefinitions()...)
	check(t, err)
	e := insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})[0]
	e.Value.ID = 9
	check(t, staff.Move(ctx, e))
	checkAll(t, s)

	// A department and its head are deleted together, and inserted together.
	result, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		_ = yield(staff.DeleteOp(e), nil) && yield(d.DeleteAnyOp(keys.At(sales, keys.RawRow("department"))), nil)
	}, nil)
	if err != nil || result.Applied != 2 {
		t.Fatalf("delete of the head and the department: got %+v, error %v; want 2 done", result, err)
	}
	result, err = door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		_ = yield(d.InsertOp(&department{Name: "S", Budget: 7}), nil) && yield(staff.InsertOp(&worker{"S", 2, "Cao", "a", 1, nil}), nil)
	}, nil)
	if err != nil || result.Applied != 2 {
		t.Fatalf("insert of the department and its head: got %+v, error %v; want 2 done", result, err)
	}
	checkAll(t, s)
}

// TestStaleSource: a department that names a worker who is not its head does not keep the right head from being stored.
func TestStaleSource(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := newCampus(t)
	es := insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
	old, err := d.Get(ctx, keys.At(sales, keys.RawRow("department")))
	check(t, err)
	_, err = table.Transact(ctx, staff.MergeOp(es[0], email.Set("")), staff.MergeOp(es[1], email.Set("a")))
	check(t, err)
	check(t, d.ReplaceAny(ctx, old)) // which restores the name of the former head
	s.Count()
	check(t, staff.Merge(ctx, es[1], last.Set("Smith")))
	testkit.Expect(t, "requests", s.Count().String(), "6 get, 1 transaction") // lists, groups, the department, and whom that names
	checkAll(t, s)
	check(t, staff.Delete(ctx, es[0]))
	check(t, staff.Delete(ctx, es[1]))
	checkAll(t, s)
}

// living gives each department an incarnation, and has no rows.
type living struct{}

func (living) Name() string { return "living" }
func (living) MaxRows() int { return 0 }
func (living) Maintain(_ context.Context, _ *extend.Plan, c *extend.Change[department]) error {
	c.Incarnation()
	return nil
}

// TestTargetKeepsItsLife: the system properties of a target stay if details are written into it.
func TestTargetKeepsItsLife(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, unnamed := range []bool{false, true} {
		s := storagetest.New(nil)
		o := quick()
		o.OmitOperationID = unnamed
		base, err := bare.NewTable(serviceOf(t, s.ConnectionString(), s), "staff", depts, o)
		check(t, err)
		check(t, tabledoor.Ensure(ctx, base))
		d, err := bare.With(base, living{})
		check(t, err)
		_, err = d.Insert(ctx, &department{Name: "S", Budget: 7})
		check(t, err)
		life := func() any {
			row, err := tabledoor.GetRow(ctx, d, rowAt("department"))
			check(t, err)
			v, _ := row.Get("_life")
			return v
		}
		was := life()
		staff, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema), head)
		check(t, err)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 1, nil})
		if was == nil || life() != was {
			t.Errorf("without operation IDs %v: incarnation: got %v; want %v, which is not nil", unnamed, life(), was)
		}
	}
}

// TestTargetWithDefinitions: a department that holds details and gets an index of its own can be written by its copies, and keeps
// the tag.
func TestTargetWithDefinitions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := newCampus(t)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	byBudget := index.New("budget", keys.Digits[int](4), func(d *department) (int, bool) { return d.Budget, true }, &index.Options{Unique: true})
	indexed, err := baretest.Attach(d, byBudget)
	check(t, err)
	e, err := indexed.Get(ctx, rowAt("department"))
	check(t, err)
	e.Value.Budget = 8
	check(t, indexed.Replace(ctx, e))
	for budget := 8; budget < 10; budget++ {
		if e, err = byBudget.Get(ctx, indexed, sales, budget); err != nil || e.Key != rowAt("department") || e.Value.HeadLast != "Jones" {
			t.Fatalf("look-up of budget %d: got %v, error %v; want the department with the head Jones", budget, e, err)
		}
		e.Value.Budget++
		check(t, indexed.Replace(ctx, e))
		if row, err := tabledoor.GetRow(ctx, indexed, rowAt("department")); err != nil || len((*stored.Row)(row).Tags()) != 1 {
			t.Errorf("department of budget %d: got %v, error %v; want one tag", budget, row, err)
		}
	}
	r, err := verify.Check(ctx, indexed, nil, byBudget)
	if err != nil || r.Faults > 0 {
		t.Errorf("verify: got %+v, error %v; want a sound report", r, err)
	}
	// The department has derived rows by now, so that its head can leave, and verify.Check reports
	// the details.
	check(t, staff.DeleteAny(ctx, at(1)))
	if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, head); r.Counts[verify.Dangling] != 1 {
		t.Errorf("verify: got %+v and faults %v; want 1 dangling", r, faults)
	}
}

// TestStaleSourceInTransaction: the worker whom a department names wrongly may be written in the same transaction.
func TestStaleSourceInTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := newCampus(t)
	es := insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
	old, err := d.Get(ctx, rowAt("department"))
	check(t, err)
	check(t, staff.Merge(ctx, es[0], email.Set("")))
	check(t, d.ReplaceAny(ctx, old))
	_, err = table.Transact(ctx, staff.MergeOp(es[0], age.Set(31)), staff.MergeOp(es[1], email.Set("a")))
	check(t, err)
	checkAll(t, s)
	// A repair that deletes details deletes the tag, too.
	check(t, rawTable(t, s).DeleteAny(ctx, at(2)))
	r, _ := mustVerify(t, staff, verify.Options{}, sharedDefinitions()...)
	row, err := tabledoor.GetRow(ctx, staff, rowAt("department"))
	if err != nil || r.Faults > 0 || len((*stored.Row)(row).Tags()) != 0 || row.Type("HeadRowKey") != "" {
		t.Errorf("verify with repair: got %+v, row %v, error %v; want a sound report and a department without tag and HeadRowKey", r, row, err)
	}
}
