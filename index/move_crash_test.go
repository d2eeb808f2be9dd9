package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// moveStory is a workload with moves. Its programs return the error of each.
type moveStory struct {
	programs []func(context.Context, *movers) error
	stays    []int64 // the workers that no program deletes
	// check is asked at the end, with the error of each program; ended is false for one that crashed.
	check func(places map[int64]storagetest.Row, told []error, ended []bool) error
}

func (w moveStory) workload() crashtest.Workload {
	told, ended := make([]error, len(w.programs)), make([]bool, len(w.programs))
	all := crashtest.Workload{
		Setup: setUpMovers, Drain: drainMovers, Invariant: movesRight(w.stays...),
		Check: func(s *storagetest.Service) error {
			places, err := placesOf(s)
			if err = errors.Join(err, nothingPrepared(s)); err != nil {
				return err
			}
			return w.check(places, told, ended)
		},
	}
	for i, program := range w.programs {
		all.Processes = append(all.Processes, func(ctx context.Context, p *crashtest.Process) error {
			m, err := openMovers(p)
			if err != nil {
				return err
			}
			told[i] = program(ctx, m)
			ended[i] = ctx.Err() == nil
			return nil // some programs are refused even without faults
		})
	}
	return all
}

func moves(from, to string, id int) func(context.Context, *movers) error {
	return func(ctx context.Context, m *movers) error { return m.move(ctx, from, to, id) }
}

// definitely reports whether a program knows that it has done nothing.
func definitely(told error, ended bool) bool {
	return ended && told != nil && !errors.Is(told, table.ErrUnknownOutcome)
}

// movedIf returns an error unless the worker is where the result of its move says.
func movedIf(id int64, to string) func(map[int64]storagetest.Row, []error, []bool) error {
	return func(places map[int64]storagetest.Row, told []error, ended []bool) error {
		moved := places[id].PartitionKey == to
		switch {
		case ended[0] && told[0] == nil && !moved, definitely(told[0], ended[0]) && moved:
			return fmt.Errorf("the move returned %v, and worker %d is in %s", told[0], id, places[id].PartitionKey)
		}
		return nil
	}
}

func fine(map[int64]storagetest.Row, []error, []bool) error { return nil }

// moveStories are moves with and without other programs.
func moveStories() map[string]moveStory {
	setAge := func(n int) func(*worker) error { return func(w *worker) error { w.Age = n; return nil } }
	return map[string]moveStory{
		"move":                     {[]func(context.Context, *movers) error{moves("S", "T", 1)}, []int64{1, 2, 3}, movedIf(1, "T")},
		"move to a new department": {[]func(context.Context, *movers) error{moves("S", "U", 1)}, []int64{1, 2, 3}, movedIf(1, "U")},
		"move to a new department and back": {[]func(context.Context, *movers) error{func(ctx context.Context, m *movers) error {
			return errors.Join(m.move(ctx, "S", "U", 1), m.move(ctx, "U", "S", 1))
		}}, []int64{1, 2, 3}, fine},
		"move there and back": {[]func(context.Context, *movers) error{func(ctx context.Context, m *movers) error {
			return errors.Join(m.move(ctx, "S", "T", 1), m.move(ctx, "T", "S", 1))
		}}, []int64{1, 2, 3}, fine},
		"move against update": {[]func(context.Context, *movers) error{moves("S", "T", 1), func(ctx context.Context, m *movers) error {
			_, err := m.staff.Update(ctx, workerIn("S", 1), setAge(77))
			if errors.Is(err, table.ErrNotFound) {
				_, err = m.staff.Update(ctx, workerIn("T", 1), setAge(77))
			}
			return err
		}}, []int64{1, 2, 3}, func(places map[int64]storagetest.Row, told []error, ended []bool) error {
			if age := places[1].Get("Age"); ended[1] && told[1] == nil && age != int64(77) || definitely(told[1], ended[1]) && age != int64(30) {
				return fmt.Errorf("the update returned %v, and the age is %v", told[1], age)
			}
			return movedIf(1, "T")(places, told, ended)
		}},
		"move against delete": {[]func(context.Context, *movers) error{moves("S", "T", 1), func(ctx context.Context, m *movers) error {
			return errors.Join(m.staff.DeleteAny(ctx, workerIn("S", 1)), m.staff.DeleteAny(ctx, workerIn("T", 1)))
		}}, []int64{2, 3}, fine},
		"move against another move": {[]func(context.Context, *movers) error{moves("S", "T", 1), moves("S", "U", 1)}, []int64{1, 2, 3},
			func(places map[int64]storagetest.Row, told []error, ended []bool) error {
				if ended[0] && ended[1] && told[0] == nil && told[1] == nil {
					return fmt.Errorf("both moves were successful")
				}
				return nil
			}},
		"two moves into a department": {[]func(context.Context, *movers) error{moves("S", "T", 1), moves("S", "T", 2)}, []int64{1, 2, 3}, movedIf(1, "T")},
		"move against a worker with its address": {[]func(context.Context, *movers) error{moves("S", "T", 1), func(ctx context.Context, m *movers) error {
			_, err := m.staff.Insert(ctx, &worker{"T", 4, "Jones", "a", 20, nil})
			return err
		}}, []int64{1, 2, 3}, movedIf(1, "T")},
		"move and move back by another": {[]func(context.Context, *movers) error{moves("S", "T", 1), moves("T", "S", 1)}, []int64{1, 2, 3}, fine},
	}
}

// sampled returns the options of a test of every fault, of which each n-th is tried, and fewer with -short.
func sampled(t testing.TB, n int) *crashtest.Options {
	o := crashOptions(t, crashtest.Options{PairLimit: *pairs, Sample: n})
	if testing.Short() {
		o.Sample = 2 * n
	}
	return o
}

// moveSample leaves out faults: 1 takes a minute.
var moveSample = testkit.Count("movesample", 28, "of so many faults of moves, one is tried")

// TestMoveEveryFault: with each fault at each request of programs that move workers, each worker is in exactly one department at
// each instant, with its derived rows, and nothing stays prepared.
func TestMoveEveryFault(t *testing.T) {
	t.Parallel()
	for name, story := range moveStories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, story.workload, sampled(t, *moveSample))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestMoveSchedules is TestMoveEveryFault for programs that run at the same time.
func TestMoveSchedules(t *testing.T) {
	t.Parallel()
	for name, story := range moveStories() {
		if len(story.programs) < 2 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Schedules(t, story.workload, crashOptions(t, crashtest.Options{Runs: 2}))
			r.Require(t)
			t.Log(r)
		})
	}
}
