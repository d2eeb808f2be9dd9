package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// openClaimers is openMovers for workers whose addresses are unique in all departments.
func openClaimers(p *crashtest.Process) (*movers, error) { return openMovers(p, newLogin()) }

// setUpClaimers inserts two workers, with the addresses a and b.
func setUpClaimers(ctx context.Context, p *crashtest.Process) error {
	m, err := openClaimers(p)
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
	return m.drain(ctx, p)
}

// drainClaimers is drainMovers for a worker that knows the addresses.
func drainClaimers(ctx context.Context, p *crashtest.Process) error {
	m, err := openClaimers(p)
	if err != nil {
		return err
	}
	return m.drain(ctx, p)
}

// claimsRight returns an error unless, at this instant, each address of a worker belongs to the worker, and no other address to any.
func claimsRight(s *storagetest.Service) error {
	staff, err := committedRows(s, "staff")
	if err != nil {
		return err
	}
	logins, err := committedRows(s, "stafflogin")
	if err != nil {
		return err
	}
	want, got := map[string]string{}, map[string]string{}
	for _, r := range staff {
		if mail, _ := r.Get("Email").(string); mail != "" {
			if other := want["login_"+mail]; other != "" {
				return fmt.Errorf("%s and %s/%s have the address %s", other, r.PartitionKey, r.RowKey, mail)
			}
			want["login_"+mail] = r.RowKey + "//" + r.PartitionKey
		}
	}
	for _, r := range logins {
		got[r.RowKey] = fmt.Sprint(r.Get("_sys"))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("the addresses belong to %v; want %v", got, want)
	}
	return nil
}

func setMail(d string, id int, mail string) func(context.Context, *movers) error {
	return func(ctx context.Context, m *movers) error {
		_, err := m.staff.Update(ctx, workerIn(d, id), func(w *worker) error { w.Email = mail; return nil })
		return err
	}
}

func inOrder(all ...func(context.Context, *movers) error) func(context.Context, *movers) error {
	return func(ctx context.Context, m *movers) (err error) {
		for _, f := range all {
			err = errors.Join(err, f(ctx, m))
		}
		return err
	}
}

func insertsWorker(w worker) func(context.Context, *movers) error {
	return func(ctx context.Context, m *movers) error {
		_, err := m.staff.Insert(ctx, &w)
		return err
	}
}

func deletesWorker(d string, id int) func(context.Context, *movers) error {
	return func(ctx context.Context, m *movers) error { return m.staff.DeleteAny(ctx, workerIn(d, id)) }
}

// claimStories are the programs of workloads that change unique values.
func claimStories() map[string]story {
	type programs = []func(context.Context, *movers) error
	return map[string]story{
		"change":                   programs{setMail("S", 1, "c")},
		"handed over":              programs{setMail("S", 1, "c"), setMail("T", 2, "a")},
		"there and back":           programs{inOrder(setMail("S", 1, "c"), setMail("S", 1, "a")), setMail("T", 2, "a")},
		"two claims":               programs{setMail("S", 1, "c"), setMail("T", 2, "c")},
		"given up and claimed":     programs{setMail("S", 1, ""), setMail("T", 2, "a")},
		"delete and claim":         programs{deletesWorker("S", 1), setMail("T", 2, "a")},
		"two inserts":              programs{insertsWorker(worker{"S", 3, "Smith", "c", 20, nil}), insertsWorker(worker{"T", 4, "Smith", "c", 20, nil})},
		"insert, exists, delete":   programs{insertsWorker(worker{"S", 1, "Smith", "c", 20, nil}), deletesWorker("S", 1)},
		"move":                     programs{moves("S", "T", 1)},
		"move and change":          programs{moves("S", "T", 1), setMail("S", 1, "c")},
		"move, and give up a name": programs{inOrder(moves("S", "T", 1), setMail("T", 1, "c")), setMail("T", 2, "a")},
	}
}

func claimWorkload(programs story) func() crashtest.Workload {
	return func() crashtest.Workload {
		w := crashtest.Workload{Setup: setUpClaimers, Drain: drainClaimers, Invariant: claimsRight, Check: nothingPrepared}
		for _, program := range programs {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				m, err := openClaimers(p)
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

// claimSample leaves out faults: 1 takes 5 minutes.
var claimSample = testkit.Count("claimsample", 48, "of so many faults of writes of unique values, one is tried")

// story is programs that run on one table.
type story = []func(context.Context, *movers) error

// testEveryFault tries each fault of a sample at each request of each story.
func testEveryFault(t *testing.T, all map[string]story, workload func(story) func() crashtest.Workload, sample int) {
	for name, programs := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, workload(programs), sampled(t, sample))
			r.Require(t)
			t.Log(r)
		})
	}
}

// testSchedules runs the programs of each story at the same time.
func testSchedules(t *testing.T, all map[string]story, workload func(story) func() crashtest.Workload) {
	for name, programs := range all {
		if len(programs) < 2 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Schedules(t, workload(programs), crashOptions(t, crashtest.Options{Runs: 12}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestClaimEveryFault: with each fault at each request of programs that change unique values, each
// value belongs to the entity that has it at each instant, and nothing stays prepared.
func TestClaimEveryFault(t *testing.T) {
	t.Parallel()
	testEveryFault(t, claimStories(), claimWorkload, *claimSample)
}

// TestClaimSchedules is TestClaimEveryFault for programs that run at the same time.
func TestClaimSchedules(t *testing.T) {
	t.Parallel()
	testSchedules(t, claimStories(), claimWorkload)
}
