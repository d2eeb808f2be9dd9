package table_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// absentRow is the state of a missing row.
const absentRow = int32(-1)

// rowCall is a call on a row, and rowResult its result.
type (
	rowCall struct {
		method string // get, insert, update, delete
		value  int32  // written
	}
	rowResult struct {
		outcome string // done, exists, missing, given up, unknown
		was     int32  // the value that was read or overwritten
	}
)

// rowModel returns the states that a row may have after a call.
var rowModel = testkit.Model(absentRow, func(now int32, a rowCall, s rowResult) []int32 {
	after := map[string]int32{"get": now, "insert": a.value, "update": a.value, "delete": absentRow}[a.method]
	possible := (a.method == "insert") == (now == absentRow)
	switch {
	case s.outcome == "unknown" && possible && a.method != "get":
		return []int32{now, after}
	case s.outcome == "unknown", s.outcome == "given up":
		return []int32{now}
	case s.outcome == "exists" && a.method == "insert" && now != absentRow, s.outcome == "missing" && a.method != "insert" && now == absentRow:
		return []int32{now}
	case s.outcome == "done" && possible && (a.method == "insert" || a.method == "delete" || s.was == now):
		return []int32{after}
	}
	return nil
})

// numberRow is a row with a number, by the calls of one program.
type numberRow interface {
	call(ctx context.Context, a rowCall) (was int32, err error)
}

// call calls a method of the table on employee 1, whose age is the number.
func (staff employeeRow) call(ctx context.Context, a rowCall) (was int32, err error) {
	was = absentRow
	switch k := employeeKey("Sales", 1); a.method {
	case "get":
		var e *table.Entity[employee]
		if e, err = staff.Get(ctx, k); err == nil {
			was = e.Value.Age
		}
	case "insert":
		_, err = staff.Insert(ctx, &employee{"Sales", 1, "x", a.value})
	case "update":
		_, err = staff.Update(ctx, k, func(e *employee) error { was, e.Age = e.Age, a.value; return nil })
	case "delete":
		err = staff.DeleteAny(ctx, k)
	}
	return was, err
}

type employeeRow struct{ *table.Table[employee] }

// employeeRowOf returns the row of a process.
func employeeRowOf(open staffOpener) func(*crashtest.Process) (numberRow, error) {
	return func(p *crashtest.Process) (numberRow, error) {
		staff, err := open(p)
		return employeeRow{staff}, err
	}
}

// ensureStaff creates the table.
func ensureStaff(ctx context.Context, p *crashtest.Process) error {
	staff, err := processStaff(p)
	if err != nil {
		return err
	}
	return tabledoor.Ensure(ctx, staff)
}

// do calls a method and records its result.
func do(ctx context.Context, h *testkit.History[rowCall, rowResult], row numberRow, a rowCall) {
	h.Do(a, func() (s rowResult, known bool) {
		var err error
		s.was, err = row.call(ctx, a)
		switch {
		case err == nil:
			s.outcome = "done"
		case errors.Is(err, table.ErrExists):
			s.outcome = "exists"
		case errors.Is(err, table.ErrNotFound):
			s.outcome = "missing"
		case errors.Is(err, table.ErrGivenUp):
			s.outcome = "given up"
		default:
			s.outcome = "unknown" // or not applied, which "unknown" includes
		}
		return s, s.outcome != "unknown"
	})
}

// TestLinearizable: three programs work on one row, and responses are lost. Their results are linearizable. None deletes the
// row: an insert that is sent again after a delete is applied twice, and a deleted row has no property that could prevent it.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	lost := func(q storagetest.Request) []storagetest.Fault {
		return []storagetest.Fault{
			storagetest.LostResponse(), storagetest.LostRequest(), storagetest.NotSent(), storagetest.ExecuteThenHang(), storagetest.Refuse(503, "ServerBusy"), storagetest.ExecuteThenRefuse(503, "ServerBusy"),
		}
	}
	testLinearizable(t, employeeRowOf(processStaff), ensureStaff, []string{"get", "insert", "update"}, crashtest.Options{Faults: lost, MaxLateness: -1, FaultRate: 0.2})
}

// TestExactLinearizable: exact writes are linearizable with deletes too, and with duplicated and late requests.
func TestExactLinearizable(t *testing.T) {
	t.Parallel()
	testLinearizable(t, employeeRowOf(exactProcessStaff), ensureStaff, []string{"get", "insert", "update", "delete"}, crashtest.Options{Faults: faultsWithReason, FaultRate: 0.2})
}

// faultsWithReason returns the faults without refusals that have no reason in the row.
func faultsWithReason(q storagetest.Request) []storagetest.Fault {
	return slices.DeleteFunc(crashtest.Faults(q), func(f storagetest.Fault) bool { return strings.HasPrefix(f.String(), "refused in transaction 4") })
}

// testLinearizable runs three processes that call random methods on one row, and checks their history.
func testLinearizable(t *testing.T, open func(*crashtest.Process) (numberRow, error), setup func(context.Context, *crashtest.Process) error, methods []string, o crashtest.Options) {
	build := func() crashtest.Workload {
		h := &testkit.History[rowCall, rowResult]{}
		w := crashtest.Workload{Setup: setup}
		for i := range int32(3) {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				row, err := open(p)
				if err != nil {
					return err
				}
				for j := range int32(4) {
					method := methods[p.Rand().IntN(len(methods))]
					do(ctx, h, row, rowCall{method, 10*i + j})
				}
				return nil
			})
		}
		w.Drain = func(ctx context.Context, p *crashtest.Process) error {
			row, err := open(p)
			if err != nil {
				return err
			}
			do(ctx, h, row, rowCall{method: "get"})
			return nil
		}
		w.Check = func(*storagetest.Service) error { return h.Check(rowModel) }
		return w
	}
	r := crashtest.Schedules(t, build, crashOptions(o))
	r.Require(t)
	t.Log(r)
}
