package table_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// maintains is a maintainer that calls a function.
type maintains func(p *extend.Plan, c *extend.Change[employee]) error

func (maintains) Name() string { return "one" }
func (maintains) MaxRows() int { return 1 }

func (m maintains) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	return m(p, c)
}

// maintained returns a table of employees with a maintainer.
func maintained(t testing.TB, m maintains) *table.Table[employee] {
	t.Helper()
	base, _ := newBulkStaff()
	staff, err := bare.With(base, m)
	noError(t, err)
	return staff
}

// refusesFirst refuses employee 1 and inserts a row for employee 2.
func refusesFirst(p *extend.Plan, c *extend.Change[employee]) error {
	switch {
	case c.New == nil:
	case c.New.ID == 1:
		return errors.New("refused")
	case c.New.ID == 2:
		return p.Insert(&table.Row{Key: employeeKey("S", 9)}, nil)
	}
	return nil
}

// TestRunSlowStream: a write does not wait for the next operation of a slow stream, even after a refusal.
func TestRunSlowStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		staff := maintained(t, refusesFirst)
		r, err := door.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
			for i := 1; i <= 6; i++ {
				if i == 3 || i == 5 {
					time.Sleep(time.Hour)
				}
				if !yield(staff.InsertOp(&employee{"S", i, "L", 30}), nil) {
					return
				}
			}
		}, &engine.BulkOptions{Window: 2, Skip: func(int, error) bool { return true }})
		if err != nil || r.Applied != 5 || r.Skipped != 1 {
			t.Errorf("got %+v, %v; want no error and r.Applied == 5 and r.Skipped == 1", r, err)
		}
	})
}

// TestRunMissingBeforeInsert: a delete that finds no row does not conflict with a later insert of the row.
func TestRunMissingBeforeInsert(t *testing.T) {
	t.Parallel()
	staff := maintained(t, refusesFirst)
	ops := []table.Op{staff.DeleteAnyOp(employeeKey("S", 9)), staff.InsertOp(&employee{"S", 2, "L", 30})}
	r, err := door.Bulk(context.Background(), stream(2, func(i int) table.Op { return ops[i] }), nil)
	if err != nil || r.Applied != 1 || r.Missing != 1 {
		t.Errorf("got %+v, %v; want no error and r.Applied == 1 and r.Missing == 1", r, err)
	}
}

// TestRunPanics: a panic in a maintainer reaches the caller of Run.
func TestRunPanics(t *testing.T) {
	t.Parallel()
	staff := maintained(t, func(*extend.Plan, *extend.Change[employee]) error {
		var none *error
		return *none
	})
	defer func() {
		if v := fmt.Sprint(recover()); !strings.Contains(v, "nil pointer") || !strings.Contains(v, "TestRunPanics") {
			t.Errorf(`got %q; want "nil pointer" in v and "TestRunPanics" in v`, v)
		}
	}()
	_, err := door.Bulk(context.Background(), stream(3, inserts(staff)), nil)
	t.Errorf("got %v; want a panic", err)
}

// TestRunGoroutineExits: operations whose goroutine has exited are not counted as done.
func TestRunGoroutineExits(t *testing.T) {
	t.Parallel()
	staff := maintained(t, func(*extend.Plan, *extend.Change[employee]) error {
		runtime.Goexit()
		return nil
	})
	if r, err := door.Bulk(context.Background(), stream(3, inserts(staff)), nil); err == nil || r != (engine.BulkResult{}) {
		t.Errorf("got %+v, %v; want an error and r == engine.BulkResult{}", r, err)
	}
}

// errFull is the refusal of an employee by atMost.
var errFull = errors.New("the department is full")

// atMost returns a maintainer that counts the employees of a department in a shared row. It refuses an employee beyond n, unless the
// employee's age is 0: that begins the count again.
func atMost(n int64) maintains {
	return func(p *extend.Plan, c *extend.Change[employee]) error {
		row, err := p.Load(context.Background(), keys.RawRow("count"))
		switch {
		case err != nil:
			return err
		case row == nil:
			row = &table.Row{Key: keys.At(dept.PartitionKey(c.New.Department), keys.RawRow("count"))}
		}
		count, _ := row.Get("N")
		had, _ := count.(int64)
		switch {
		case c.New.Age == 0:
			had = 0
		case had >= n:
			return errFull
		}
		if err := row.Set("N", had+1); err != nil {
			return err
		}
		return p.Put(row)
	}
}

// TestRunRefusedByKeptRow: before a maintainer's refusal counts, the shared row that bulk has kept is read again.
func TestRunRefusedByKeptRow(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		staff := maintained(t, atMost(99))
		r, err := door.Bulk(context.Background(), stream(150, inserts(staff)), &engine.BulkOptions{Progress: func(r engine.BulkResult) {
			if again && r.Applied == 99 {
				_, err := staff.Insert(context.Background(), &employee{"D", 900, "Jones", 0})
				noError(t, err)
			}
		}})
		switch {
		case again && (err != nil || r.Applied != 150):
			t.Errorf("the count began again after 99: got %+v, error %v; want 150 applied, no error", r, err)
		case !again && (!errors.Is(err, errFull) || r.Applied != 99):
			t.Errorf("the count is 99: got %+v, error %v; want 99 applied, error %v", r, err, errFull)
		}
	}
}
