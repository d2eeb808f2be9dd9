package logtail_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// processPeriods opens the periods of claims for a process whose clock is some days ahead.
func processPeriods(p *crashtest.Process, days int) (*logtail.Periods, error) {
	acc, err := account.FromTransport(p, nil)
	if err != nil {
		return nil, err
	}
	o := &logtail.PeriodOptions{Keep: 1, Ahead: 1}
	o.Retry.Wait = -1
	options.SetNow(&o.Common, func() time.Time { return time.Now().AddDate(0, 0, days) })
	log := logtail.NewByPeriod[claim](&host.Host{Tables: acc.Tables()}, "claims", o, nil)
	return log.Periods(), log.Err()
}

// makeDays makes the tables of two days, and one that is not the log's.
func makeDays(ctx context.Context, p *crashtest.Process) error {
	days, err := processPeriods(p, 0)
	if err != nil {
		return err
	}
	if _, err := days.Create(ctx); err != nil {
		return err
	}
	acc, err := account.FromTransport(p, nil)
	if err != nil {
		return err
	}
	_, err = acc.Tables().NewClient("claims19991231").CreateTable(ctx, nil)
	return err
}

// dropDays drops the first of the days.
func dropDays(ctx context.Context, p *crashtest.Process) error {
	days, err := processPeriods(p, 2)
	if err != nil {
		return err
	}
	_, err = days.Drop(ctx, nil)
	return err
}

// checkDays: the table of the first day is dropped, and its state says so; all else is as it was.
func checkDays(s *storagetest.Service) error {
	want := []string{"claims", "claims19991231"}
	for i, r := range s.Rows("claims") {
		state := "dropped"
		if i >= 1 {
			state = "open"
			want = append(want, "claims"+r.RowKey)
		}
		if got := r.Get("State"); got != state {
			return fmt.Errorf("state of %s: got %s; want %s", r.RowKey, got, state)
		}
	}
	if got := s.TableNames(); !slices.Equal(got, want) || len(want) != 3 {
		return fmt.Errorf("tables: got %v; want %v", got, want)
	}
	return nil
}

// TestDropEveryFault: under each fault at each request of two jobs, a run of Drop ends with the old table dropped, no other, and each
// state right.
func TestDropEveryFault(t *testing.T) {
	t.Parallel()
	drops := func() crashtest.Workload {
		return crashtest.Workload{Setup: makeDays, Processes: []func(context.Context, *crashtest.Process) error{dropDays, dropDays}, Drain: dropDays, Check: checkDays}
	}
	crashtest.Enumerate(t, drops, testkit.Crash(crashtest.Options{})).Require(t)
	crashtest.Schedules(t, drops, testkit.Crash(crashtest.Options{Runs: *schedules})).Require(t)
}

// TestCreateEveryFault: under each fault at each request of two jobs, a run of Create ends with the tables of the present day and the
// next one, and no table without its state.
func TestCreateEveryFault(t *testing.T) {
	t.Parallel()
	create := func(ctx context.Context, p *crashtest.Process) error {
		days, err := processPeriods(p, 0)
		if err != nil {
			return err
		}
		_, err = days.Create(ctx)
		return err
	}
	creates := func() crashtest.Workload {
		return crashtest.Workload{
			Setup:     func(context.Context, *crashtest.Process) error { return nil },
			Processes: []func(context.Context, *crashtest.Process) error{create, create},
			Drain:     create,
			Invariant: func(s *storagetest.Service) error {
				for _, name := range s.TableNames() {
					day, is := strings.CutPrefix(name, "claims")
					if is && day != "" && !slices.ContainsFunc(s.Rows("claims"), func(r storagetest.Row) bool { return r.RowKey == day && r.Get("State") == "open" }) {
						return fmt.Errorf("table %s: got no row with its state; want one that is open", name)
					}
				}
				return nil
			},
			Check: func(s *storagetest.Service) error {
				if n := len(s.TableNames()); n != 3 {
					return fmt.Errorf("tables: got %v; want 3", s.TableNames())
				}
				return nil
			},
		}
	}
	crashtest.Enumerate(t, creates, testkit.Crash(crashtest.Options{})).Require(t)
	crashtest.Schedules(t, creates, testkit.Crash(crashtest.Options{Runs: *schedules})).Require(t)
}
