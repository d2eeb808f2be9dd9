package index_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// pointerWorkload runs programs on a table with such pointers. What crashed programs have left,
// look-ups a day later delete.
func pointerWorkload(programs story) func() crashtest.Workload {
	open := func(p *crashtest.Process) (*movers, error) { return openMovers(p, newPost()) }
	return func() crashtest.Workload {
		w := crashtest.Workload{Invariant: pointersThere, Check: pointersRight}
		w.Setup = func(ctx context.Context, p *crashtest.Process) error {
			m, err := open(p)
			if err != nil {
				return err
			}
			w, err := m.worker()
			if err != nil {
				return err
			}
			if err := errors.Join(w.Ensure(ctx), tabledoor.Ensure(ctx, m.staff), baretest.Ensure(ctx, m.staff)); err != nil {
				return err
			}
			for _, w := range []worker{{"S", 1, "Jones", "a", 30, nil}, {"T", 2, "Jones", "b", 40, nil}} {
				if _, err := m.staff.Insert(ctx, &w); err != nil {
					return err
				}
			}
			return nil
		}
		w.Drain = func(ctx context.Context, p *crashtest.Process) error {
			post := newPost()
			m, err := openMoversAt(p, p.Service().Now, post)
			if err != nil {
				return err
			}
			p.Service().Deliver() // nothing arrives later than a day
			if err := m.drain(ctx, p); err != nil {
				return err
			}
			p.Service().Advance(26 * time.Hour)
			for _, mail := range []string{"a", "b", "c"} {
				for _, err := range post.List(ctx, m.staff, mail) {
					if err != nil {
						return err
					}
				}
			}
			return nil
		}
		for _, program := range programs {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				m, err := open(p)
				if err != nil {
					return err
				}
				_ = program(ctx, m) // some programs are refused even without faults
				return nil
			})
		}
		return w
	}
}

func upsertsWorker(w worker) func(context.Context, *movers) error {
	return func(ctx context.Context, m *movers) error {
		_, err := m.staff.Upsert(ctx, &w, table.ReplaceExisting)
		return err
	}
}

// pointerStories are those of unique values, and upserts: an insert may become a change.
func pointerStories() map[string]story {
	all := claimStories()
	all["upserts and deletes"] = []func(context.Context, *movers) error{
		inOrder(insertsWorker(worker{"S", 3, "Smith", "b", 20, nil}), deletesWorker("S", 3)), upsertsWorker(worker{"S", 3, "Smith", "c", 20, nil}),
	}
	return all
}

// pointerSample leaves out faults.
var pointerSample = testkit.Count("pointersample", 8, "of so many faults of pointers over all partitions, one is tried")

// TestPointersEveryFault: with each fault at each request, each worker names a pointer that is
// stored, at every instant, and a day later no other pointer is left.
func TestPointersEveryFault(t *testing.T) {
	t.Parallel()
	testEveryFault(t, pointerStories(), pointerWorkload, *pointerSample)
}

// TestPointersSchedules is TestPointersEveryFault for programs that run at the same time.
func TestPointersSchedules(t *testing.T) {
	t.Parallel()
	testSchedules(t, pointerStories(), pointerWorkload)
}
