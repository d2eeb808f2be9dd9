package logtail_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// followed is what a follower has seen, and its stored token.
type followed struct {
	appended
	token string
	seen  map[int]int
	order []string // of each record that is out of its writer's order
	last  map[string]int64
}

// follow follows a log for some time, and stores the token after each record.
func (f *followed) follow(spread int, d time.Duration) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		l, err := processLog(p, spread)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		cursor := logtail.NewCursor(f.token, time.Time{})
		for r, err := range l.Follow(ctx, cursor) {
			if err != nil && ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			f.see(r)
			f.token = cursor.Token()
		}
		return nil
	}
}

func (f *followed) see(r *logtail.Record[claim]) {
	f.seen[r.Value.Amount]++
	if r.Sequence < f.last[r.Writer] {
		f.order = append(f.order, fmt.Sprint(r.Value.Amount))
	}
	f.last[r.Writer] = r.Sequence
}

// check: each acknowledged record is seen once, no record twice, and none out of its writer's order.
func (f *followed) check(s *storagetest.Service) error {
	if err := f.appended.check(s); err != nil {
		return err
	}
	for amount, n := range f.seen {
		if n != 1 {
			return fmt.Errorf("record %d: seen %d times; want once", amount, n)
		}
	}
	for amount := range f.acked {
		if f.seen[amount] != 1 {
			return fmt.Errorf("acknowledged record %d: seen %d times; want once", amount, f.seen[amount])
		}
	}
	if len(f.order) > 0 {
		return fmt.Errorf("records out of order: got %v; want none", f.order)
	}
	return nil
}

// TestFollowEveryFault: under each fault at each request of a writer and a follower that crashes and continues from its stored token,
// each acknowledged record is seen once.
func TestFollowEveryFault(t *testing.T) {
	t.Parallel()
	crashtest.Enumerate(t, func() crashtest.Workload {
		f := newFollowed()
		follow := f.follow(3, 70*time.Second)
		return crashtest.Workload{
			Setup:     ensureLog,
			Processes: []func(context.Context, *crashtest.Process) error{f.appendClaims(0, 3), follow, f.appendClaims(100, 3), follow},
			Drain:     follow,
			Check:     f.check,
		}
	}, testkit.Crash(crashtest.Options{})).Require(t)
}

// TestFollowSchedules: so it is in random orders of two writers and a follower.
func TestFollowSchedules(t *testing.T) {
	t.Parallel()
	crashtest.Schedules(t, func() crashtest.Workload {
		f := newFollowed()
		return crashtest.Workload{
			Setup:     ensureLog,
			Processes: []func(context.Context, *crashtest.Process) error{f.appendClaims(0, 3), f.appendClaims(100, 3), f.follow(3, 3*time.Minute)},
			Drain:     f.follow(3, 70*time.Second),
			Check:     f.check,
		}
	}, testkit.Crash(crashtest.Options{Runs: *schedules})).Require(t)
}

func newFollowed() *followed {
	return &followed{appended: appended{acked: map[int]int{}}, seen: map[int]int{}, last: map[string]int64{}}
}
