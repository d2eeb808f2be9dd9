package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestMaintainedRequests: the number of requests of each method on a table with derived rows.
func TestMaintainedRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		do   func(*table.Table[resident], *table.Entity[resident]) error
		want string
	}{
		"Insert": {func(p *table.Table[resident], _ *table.Entity[resident]) error {
			_, err := p.Insert(ctx, &resident{"S", 9, "Smith", "s"})
			return err
		}, "1 transaction"},
		"Replace": {func(p *table.Table[resident], e *table.Entity[resident]) error {
			e.Value.Email = "new"
			return p.Replace(ctx, e)
		}, "1 transaction"},
		"Merge": {func(p *table.Table[resident], e *table.Entity[resident]) error {
			return p.Merge(ctx, e, eMail.Set("new"))
		}, "1 transaction"},
		"Delete": {func(p *table.Table[resident], e *table.Entity[resident]) error { return p.Delete(ctx, e) }, "1 transaction"},
		"Update": {func(p *table.Table[resident], e *table.Entity[resident]) error {
			_, err := p.Update(ctx, e.Key, func(v *resident) error { v.Email = "new"; return nil })
			return err
		}, "1 get, 1 transaction"},
		"Upsert of a new one": {func(p *table.Table[resident], _ *table.Entity[resident]) error {
			_, err := p.Upsert(ctx, &resident{"S", 9, "Smith", "s"}, table.ReplaceExisting)
			return err
		}, "1 get, 1 transaction"},
		"Upsert": {func(p *table.Table[resident], _ *table.Entity[resident]) error {
			_, err := p.Upsert(ctx, &resident{"S", 1, "Jones", "s"}, table.ReplaceExisting)
			return err
		}, "1 get, 1 transaction"},
		"Upsert that merges": {func(p *table.Table[resident], _ *table.Entity[resident]) error {
			_, err := p.Upsert(ctx, &resident{"S", 1, "Jones", "s"}, table.MergeExisting)
			return err
		}, "1 get, 1 transaction"},
		"MergeAny": {func(p *table.Table[resident], e *table.Entity[resident]) error {
			return p.MergeAny(ctx, e.Key, eMail.Set("new"))
		}, "1 get, 1 transaction"},
		"ReplaceAny": {func(p *table.Table[resident], e *table.Entity[resident]) error {
			e.Value.Email = "new"
			return p.ReplaceAny(ctx, e)
		}, "1 get, 1 transaction"},
		"DeleteAny": {func(p *table.Table[resident], e *table.Entity[resident]) error { return p.DeleteAny(ctx, e.Key) }, "1 get, 1 transaction"},
		"Delete by hand": {func(p *table.Table[resident], e *table.Entity[resident]) error {
			return p.Delete(ctx, &table.Entity[resident]{Key: e.Key, ETag: e.ETag})
		}, "1 get, 1 transaction"},
		"Rekey": {func(p *table.Table[resident], e *table.Entity[resident]) error {
			e.Value.ID = 7
			return p.Move(ctx, e)
		}, "1 transaction"},
		"Transact": {func(p *table.Table[resident], e *table.Entity[resident]) error {
			e.Value.Email = "new"
			_, err := table.Transact(ctx, p.ReplaceOp(e), p.InsertOp(&resident{"S", 9, "Smith", "j"}))
			return err
		}, "1 transaction"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, s := newTown(t, nil)
			people, err := bare.NewTable(serviceOf(t, s), "people", peopleSchema, blindOptions())
			noError(t, err)
			people, err = bare.With(people, byEmail{}) // byLast would load a list
			noError(t, err)
			e := insertAll(t, people, s, resident{"S", 1, "Jones", "j"})[0]
			noError(t, c.do(people, e))
			if got := s.Count().String(); got != c.want {
				t.Errorf("got %s; want %s", got, c.want)
			}
			var strange []storagetest.Row
			for _, r := range s.Rows("people") {
				if !strings.HasPrefix(r.RowKey, "p_") && !strings.HasPrefix(r.RowKey, "email_") {
					strange = append(strange, r)
				}
			}
			if strange != nil {
				t.Errorf("got %v; want nil", strange)
			}
		})
	}
}

// TestSharedRow: two entities in one transaction that share a derived row write it once. A transaction is replanned if a
// concurrent writer changes the shared row.
func TestSharedRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	if _, err := table.Transact(ctx, people.InsertOp(&resident{"S", 1, "Jones", "a"}), people.InsertOp(&resident{"S", 2, "Jones", "b"}), people.InsertOp(&resident{"S", 3, "Smith", ""})); err != nil {
		t.Fatal(err)
	}
	if got := s.Count().String(); got != "2 get, 1 transaction" { // two lists
		t.Errorf("got %q; want %q", got, "2 get, 1 transaction")
	}
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
	// A concurrent writer adds to the list between the read and the write.
	first := true
	s.BeforeRequest = func(r *http.Request) {
		if strings.Contains(r.URL.Path, "$batch") && first {
			first = false
			if _, err := people.Insert(ctx, &resident{"S", 5, "Jones", "e"}); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := people.Insert(ctx, &resident{"S", 4, "Jones", "d"}); err != nil {
		t.Fatal(err)
	}
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
}

// TestUniqueValueSwapped: a unique value can move from one entity to another in one transaction, in either order.
func TestUniqueValueSwapped(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, giverFirst := range []bool{true, false} {
		people, s := newTown(t, nil)
		es := insertAll(t, people, s, resident{"S", 1, "Jones", "a"}, resident{"S", 2, "Smith", "b"})
		es[0].Value.Email, es[1].Value.Email = "new", "a"
		ops := []table.Op{people.ReplaceOp(es[0]), people.ReplaceOp(es[1])}
		if !giverFirst {
			ops[0], ops[1] = ops[1], ops[0]
		}
		if _, err := table.Transact(ctx, ops...); err != nil {
			t.Fatal(err)
		}
		if got := s.Count().String(); got != "1 transaction" {
			t.Errorf("got %q; want %q", got, "1 transaction")
		}
		if err := checkDerivedRows(s.Service); err != nil {
			t.Error(err)
		}
		// The renewed entities swap the value back.
		es[0].Value.Email, es[1].Value.Email = "a", "new"
		if _, err := table.Transact(ctx, people.ReplaceOp(es[0]), people.ReplaceOp(es[1])); err != nil {
			t.Fatal(err)
		}
		if err := checkDerivedRows(s.Service); err != nil {
			t.Error(err)
		}
	}
}

// TestUniqueValueTaken: a unique value that another entity has, stored or in the same transaction, is refused. The error
// contains the maintainer's error, the operation, the maintainer and the row.
func TestUniqueValueTaken(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	es := insertAll(t, people, s, resident{"S", 1, "Jones", "a"}, resident{"S", 2, "Smith", "b"})
	before := storedPeople(s)
	refused := func(err error, index int) {
		t.Helper()
		var de *table.DerivedError
		if !errors.Is(err, errTaken) || !errors.As(err, &de) || de.Maintainer != "email" || de.Key.RowKey() != "email_a" {
			t.Errorf(`got %v; want errTaken and a *DerivedError and de.Maintainer == "email" and de.Key.RowKey() == "email_a"`, err)
		}
		var be *table.BatchError
		if errors.As(err, &be) != (index >= 0) || be != nil && be.Index != index {
			t.Errorf("got %v; want a *BatchError of operation %d, or none if that is -1", err, index)
		}
		if after := storedPeople(s); after != before {
			t.Errorf("got %q; want %q", after, before)
		}
	}
	_, err := people.Insert(ctx, &resident{"S", 3, "New", "a"})
	refused(err, -1)
	es[1].Value.Email = "a"
	refused(people.Replace(ctx, es[1]), -1)
	_, err = table.Transact(ctx, people.InsertOp(&resident{"S", 4, "New", "x"}), people.ReplaceOp(es[1]))
	refused(err, 1)
	s.Count()
	noError(t, people.Delete(ctx, es[0]))
	before = storedPeople(s)
	_, err = table.Transact(ctx, people.InsertOp(&resident{"S", 4, "New", "a"}), people.ReplaceOp(es[1]))
	refused(err, 1)
}

// TestRepairedRows: an entity stays writable if its derived rows were deleted or overwritten.
func TestRepairedRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	rows, err := bare.NewTable(serviceOf(t, s), "people", table.Schema[table.Row]{}, nil)
	noError(t, err)
	noError(t, rows.DeleteAny(ctx, keys.At(keys.RawPartition("S"), keys.RawRow("email_a"))))
	s.Count()
	if err := people.Merge(ctx, e, eMail.Set("a")); err != nil { // email_a is missing
		t.Fatal(err)
	}
	if got := s.Count().String(); got != "1 get, 2 transaction" {
		t.Errorf("got %q; want %q", got, "1 get, 2 transaction")
	}
	if err := checkDerivedRows(s.Service); err != nil || baretest.Repaired(people) != 1 {
		t.Errorf("got %v, %v; want no error and people.Repaired() == 1", err, baretest.Repaired(people))
	}
	noError(t, rows.DeleteAny(ctx, keys.At(keys.RawPartition("S"), keys.RawRow("email_a"))))
	if err := people.Delete(ctx, e); err != nil || baretest.Repaired(people) != 2 {
		t.Errorf("got %v, %v; want no error and people.Repaired() == 2", err, baretest.Repaired(people))
	}
	if got := s.Rows("people"); len(got) != 0 {
		t.Errorf("got %v; want len(got) == 0", got)
	}
}

// manyRows is a maintainer that declares and writes numbers of rows.
type manyRows struct {
	name             string
	declared, writes int
}

func (w manyRows) Name() string { return w.name }
func (w manyRows) MaxRows() int { return w.declared }
func (w manyRows) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	for i := range w.writes {
		r := &table.Row{Key: keys.At(keys.RawPartition("S"), keys.RawRow(fmt.Sprint(w.name, "_", c.New.ID, "_", i)))}
		if err := p.Insert(r, nil); err != nil {
			return err
		}
	}
	return nil
}

// TestAttachLimits: With refuses maintainers beyond the limits, and a plan refuses rows beyond them.
func TestAttachLimits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	var le *table.LimitError
	if _, err := bare.With(people, manyRows{"w", 94, 94}); !errors.As(err, &le) || le.Got != 98 || le.Max != 97 {
		t.Errorf("got %v; want a *LimitError and le.Got == 98 and le.Max == 97", err)
	}
	full, err := bare.With(people, manyRows{"w", 93, 93})
	noError(t, err)
	if _, err := full.Exact().Insert(ctx, &resident{"S", 1, "Jones", "a"}); err != nil {
		t.Error(err)
	}
	if got := s.Count().String(); got != "1 get, 1 transaction" {
		t.Errorf("got %q; want %q", got, "1 get, 1 transaction")
	}
	for what, m := range map[string]extend.Maintainer[resident]{"nil": nil, "taken": byEmail{}, "nil pointer": (*pointerMaintainer)(nil)} {
		var ve *table.ValueError
		if _, err := bare.With(people, m); !errors.As(err, &ve) {
			t.Errorf("%v: got %v; want a *ValueError", what, err)
		}
	}
	liar, err := bare.With(people, manyRows{"w", 1, 2})
	noError(t, err)
	if _, err := liar.Insert(ctx, &resident{"S", 2, "Jones", "b"}); !errors.As(err, &le) || le.Got != 2 {
		t.Errorf("got %v; want a *LimitError and le.Got == 2", err)
	}
	many, err := bare.With(people, manyRows{"w", 60, 60})
	noError(t, err)
	s.Count()
	_, err = table.Transact(ctx, many.InsertOp(&resident{"S", 3, "Smith", "c"}), many.InsertOp(&resident{"S", 4, "Smith", "d"}))
	if !errors.As(err, &le) || le.Got != 125 || s.Count().String() != "1 get" {
		t.Errorf(`got %v; want a *LimitError and le.Got == 125 and s.Count().String() == "1 get"`, err)
	}
}

type pointerMaintainer struct{ manyRows }

// writesRow is a maintainer that inserts one row.
type writesRow struct{ at keys.Key }

func (writesRow) Name() string { return "writer" }
func (writesRow) MaxRows() int { return 1 }
func (s writesRow) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	return p.Insert(&table.Row{Key: s.at}, nil)
}

// TestPlanRefuses: a plan refuses rows that a maintainer must not write, before any request.
func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	_, s := newTown(t, nil)
	base := peopleOf(t, s, nil)
	for _, c := range []struct {
		at   keys.Key
		want error
	}{
		{keys.Raw("S", "~i|01KAJ5ZVW0ABCDEFGHJKMNPQRS"), nil},
		{keys.Raw("S", "a/b"), nil},
		{keys.At(keys.RawPartition("T"), keys.RawRow("x")), errs.ErrOtherPartition},
		{residentAt(1), errs.ErrDuplicateRow},
	} {
		people, err := bare.With(base, writesRow{c.at})
		noError(t, err)
		_, err = people.Insert(context.Background(), &resident{"S", 1, "Jones", "a"})
		var de *table.DerivedError
		if !errors.As(err, &de) || de.Maintainer != "writer" || c.want != nil && !errors.Is(err, c.want) || s.Count().String() != "none" {
			t.Errorf("row %v: got %v; want a *DerivedError with %v, and no request", c.at, err, c.want)
		}
	}
}

// TestPlainHandle: a handle without the maintainers of a row does not write it.
func TestPlainHandle(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	insertAll(t, people, s, resident{"S", 1, "Jones", "a"})
	base, err := bare.NewTable(serviceOf(t, s), "people", peopleSchema, blindOptions())
	noError(t, err)
	e, err := base.Get(ctx, residentAt(1))
	noError(t, err)
	s.Count()
	_, terr := table.Transact(ctx, base.DeleteOp(e))
	for _, err := range []error{base.Replace(ctx, e), base.Merge(ctx, e, eMail.Set("b")), base.Delete(ctx, e), terr} {
		if !errors.Is(err, table.ErrNotDeclared) {
			t.Errorf("got %v; want ErrUnknownMaintainer", err)
		}
	}
	half, err := bare.With(base, byLast{})
	noError(t, err)
	if err := half.DeleteAny(ctx, e.Key); !errors.Is(err, table.ErrNotDeclared) || s.Count().String() != "1 get" {
		t.Errorf(`got %v; want ErrUnknownMaintainer and s.Count().String() == "1 get"`, err)
	}
}
