package index_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// placed is where a worker is, and its age.
type placed struct {
	dept string
	age  int
}

// moveCall is a call of a program on one of two workers, and moveResult its result.
type (
	moveCall struct {
		method string // get, find, list, sum, update, move
		id     int    // of the worker: 1 or 2; a list and a sum are of both
		dept   string // where the program looks for the worker
		to     string // of a move
		age    int    // written
	}
	moveResult struct {
		outcome string         // done, missing, refused, unknown
		was     int            // the age that was read or overwritten
		listed  map[int]placed // by a list
		sum     int            // of the ages in the department
	}
)

// moveModel returns the states that the workers may have after a call. An entity in both departments, or in none, is in no state.
var moveModel = testkit.Model([2]placed{{"S", 30}, {"S", 40}}, func(now [2]placed, a moveCall, r moveResult) [][2]placed {
	if a.method == "list" || a.method == "sum" {
		want, sum := map[int]placed{}, 0
		for i, w := range now {
			if w.dept == a.dept {
				want[i+1] = w
				sum += w.age
			}
		}
		if r.outcome == "unknown" || a.method == "sum" && r.sum == sum || a.method == "list" && fmt.Sprint(want) == fmt.Sprint(r.listed) {
			return [][2]placed{now}
		}
		return nil
	}
	after, here := now, now[a.id-1].dept == a.dept
	switch w := &after[a.id-1]; a.method {
	case "update":
		w.age = a.age
	case "move":
		w.dept = a.to
	}
	switch {
	case r.outcome == "unknown" && here:
		return [][2]placed{now, after}
	case r.outcome == "unknown", r.outcome == "refused", r.outcome == "missing" && !here:
		return [][2]placed{now}
	case r.outcome == "done" && here && r.was == now[a.id-1].age:
		return [][2]placed{after}
	}
	return nil
})

// record makes a call and records its result.
func (m *movers) record(ctx context.Context, h *testkit.History[moveCall, moveResult], a moveCall) {
	h.Do(a, func() (moveResult, bool) {
		r, err := m.call(ctx, a)
		switch {
		case err == nil:
			r.outcome = "done"
		case errors.Is(err, table.ErrNotFound) && a.method != "move":
			r.outcome = "missing"
		case errors.Is(err, table.ErrGivenUp), errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrExists), errors.Is(err, table.ErrNotFound):
			r.outcome = "refused"
		default:
			r.outcome = "unknown" // or not applied, which "unknown" includes
		}
		return r, r.outcome != "unknown"
	})
}

// call makes a call. The result has no outcome.
func (m *movers) call(ctx context.Context, a moveCall) (r moveResult, err error) {
	k := workerIn(a.dept, a.id)
	var e *table.Entity[worker]
	switch a.method {
	case "get":
		e, err = m.staff.Get(ctx, k)
	case "find":
		e, err = byEmail.Get(ctx, m.staff, dept.PartitionKey(a.dept), string(rune('a'+a.id-1)))
	case "update":
		_, err = m.staff.Update(ctx, k, func(w *worker) error { r.was, w.Age = w.Age, a.age; return nil })
		return r, err
	case "move":
		if e, err = m.staff.Get(ctx, k); err == nil {
			e.Value.Dept = a.to
			err = m.staff.Move(ctx, e)
		}
	case "sum":
		if a.dept == "T" {
			r.sum = -50 // of the worker that stays there
		}
		for g, err := range ages.All(ctx, m.staff, dept.PartitionKey(a.dept)) {
			if err != nil {
				return r, err
			}
			r.sum += int(g.Measures["Age"].Sum)
		}
	case "list":
		r.listed = map[int]placed{}
		for e, err := range m.staff.List(ctx, table.Query[worker]{Partition: dept.PartitionKey(a.dept)}) {
			if err != nil {
				return r, err
			}
			if e.Value.ID < 3 {
				r.listed[e.Value.ID] = placed{e.Value.Dept, e.Value.Age}
			}
		}
	}
	if err == nil && e != nil {
		r.was = e.Value.Age
	}
	return r, err
}

// TestMoveLinearizable: programs move two workers to and fro, change and read them, by key, by an index and by lists of a
// department. The results are linearizable: each reader sees each worker in one place, and a list is what a department contained at
// one instant.
func TestMoveLinearizable(t *testing.T) {
	t.Parallel()
	depts := []string{"S", "T"}
	methods := []string{"get", "find", "list", "sum", "update", "move", "move", "move"}
	build := func() crashtest.Workload {
		h := &testkit.History[moveCall, moveResult]{}
		w := crashtest.Workload{Setup: setUpMovers}
		for i := range 3 {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				m, err := openMovers(p)
				if err != nil {
					return err
				}
				for j := range 4 {
					from := p.Rand().IntN(2)
					m.record(ctx, h, moveCall{methods[p.Rand().IntN(len(methods))], 1 + p.Rand().IntN(2), depts[from], depts[1-from], 100*i + j})
				}
				return nil
			})
		}
		w.Drain = func(ctx context.Context, p *crashtest.Process) error {
			if err := drainMovers(ctx, p); err != nil {
				return err
			}
			m, err := openMovers(p)
			if err != nil {
				return err
			}
			for _, d := range depts {
				m.record(ctx, h, moveCall{method: "list", dept: d})
			}
			return nil
		}
		w.Invariant = movesRight(1, 2, 3)
		w.Check = func(s *storagetest.Service) error { return cmp.Or(h.Check(moveModel), nothingPrepared(s)) }
		return w
	}
	r := crashtest.Schedules(t, build, crashOptions(t, crashtest.Options{FaultRate: 0.1}))
	r.Require(t)
	t.Log(r)
}
