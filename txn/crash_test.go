package txn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// schedules is how many random schedules each test runs.
var schedules = testkit.Count("schedules", 150, "schedules of transactions")

// inRegisters calls a function with registers.
func inRegisters(do func(ctx context.Context, p *crashtest.Process, b *registers) error) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		acc, err := account.FromTransport(p, nil)
		if err != nil {
			return err
		}
		return do(ctx, p, openRegisters(acc, &aztablekit.Options{Daily: -1}))
	}
}

// drainRegisters ends what crashed programs have left.
func drainRegisters(ctx context.Context, _ *crashtest.Process, b *registers) error {
	time.Sleep(2 * time.Minute)
	return testkit.WithoutFailures(b.Drain(ctx))
}

// left returns an error if something of a transaction is left in a table.
func left(s *storagetest.Service, tables ...string) error {
	for _, of := range tables {
		for _, r := range s.Rows(of) {
			mark, _ := r.Get("_tx").(string)
			if mark != "" || r.Get("State") == "pending" || strings.HasPrefix(r.RowKey, "~t|") && strings.Count(r.RowKey, "|") > 1 {
				return fmt.Errorf("%s in %s of %s is left: %v", r.RowKey, r.PartitionKey, of, r)
			}
		}
	}
	return nil
}

// finalOf returns what the registers contain.
func finalOf(s *storagetest.Service) map[where]string {
	final := map[where]string{}
	for i, of := range []string{"first", "second"} {
		for _, r := range s.Rows(of) {
			for _, w := range everywhere {
				if w.table == i && r.PartitionKey == w.key().PartitionKey() && r.RowKey == w.key().RowKey() {
					final[w], _ = r.Get("Log").(string)
				}
			}
		}
	}
	return final
}

// onlyRegisters returns an error for a row that was only reserved, and has stayed.
func onlyRegisters(s *storagetest.Service) error {
	for _, r := range slices.Concat(s.Rows("first"), s.Rows("second")) {
		if !strings.HasPrefix(r.RowKey, "~") && r.Get("Log") == nil {
			return fmt.Errorf("got the row %v; want only registers", r)
		}
	}
	return nil
}

// registersWorkload is programs that write registers. Their history is checked, and that nothing is left.
func registersWorkload(programs ...func(ctx context.Context, b *registers, h *history, r *rand.Rand) error) crashtest.Workload {
	h := &history{}
	w := crashtest.Workload{
		Setup: inRegisters(func(ctx context.Context, _ *crashtest.Process, b *registers) error { return b.Ensure(ctx) }),
		Drain: inRegisters(drainRegisters),
		Check: func(s *storagetest.Service) error {
			return errors.Join(left(s, "first", "second"), onlyRegisters(s), h.check(finalOf(s)))
		},
	}
	for _, program := range programs {
		w.Processes = append(w.Processes, inRegisters(func(ctx context.Context, p *crashtest.Process, b *registers) error {
			_ = program(ctx, b, h, p.Rand()) // the history says what has become of it
			return nil
		}))
	}
	return w
}

// some are random transactions.
func some(n int) func(context.Context, *registers, *history, *rand.Rand) error {
	return func(ctx context.Context, b *registers, h *history, r *rand.Rand) error {
		for range n {
			if r.IntN(5) == 0 {
				_ = b.write(ctx, h, everywhere[r.IntN(len(everywhere))])
				continue
			}
			var reads, appends []where
			for _, i := range r.Perm(len(everywhere))[:1+r.IntN(3)] {
				reads = append(reads, everywhere[i])
			}
			appends = reads[:r.IntN(len(reads)+1)]
			_ = b.transact(ctx, h, reads, appends)
		}
		return nil
	}
}

// TestHistories: what transactions and direct writers have read and written has a serial order, in which each comes behind those that had ended when it began; with crashes,
// lost and late requests.
func TestHistories(t *testing.T) {
	t.Parallel()
	r := crashtest.Schedules(t, func() crashtest.Workload { return registersWorkload(some(3), some(3), some(3)) }, testkit.Crash(crashtest.Options{Runs: *schedules}))
	r.Require(t)
	t.Log(r)
}

// stories are programs whose every request meets every fault.
var stories = map[string][]func(context.Context, *registers, *history, *rand.Rand) error{
	"a transfer":                      {story([]where{at(2), at(3)}, []where{at(2), at(3)})},
	"a transfer between tables":       {story([]where{at(0), at(4)}, []where{at(0), at(4)})},
	"one of two that are read":        {story([]where{at(2), at(3)}, []where{at(2)})},
	"an absent row of the home":       {story([]where{at(0), at(1)}, []where{at(0)})},
	"absent rows alone":               {story([]where{at(2), at(3)}, nil)},
	"a partition":                     {story([]where{at(0), at(1)}, []where{at(0), at(1)})},
	"three partitions":                {story([]where{at(0), at(2), at(3)}, []where{at(0), at(2), at(3)})},
	"one after the other":             {story([]where{at(2), at(3)}, []where{at(2), at(3)}), story([]where{at(3), at(2)}, []where{at(3), at(2)})},
	"each writes one of two it reads": {story([]where{at(2), at(3)}, []where{at(2)}), story([]where{at(2), at(3)}, []where{at(3)})},
	"each writes one of a partition":  {story([]where{at(0), at(1)}, []where{at(0)}), story([]where{at(0), at(1)}, []where{at(1)})},
	"a direct writer":                 {story([]where{at(2), at(3)}, []where{at(2)}), func(ctx context.Context, b *registers, h *history, _ *rand.Rand) error { return b.write(ctx, h, at(3)) }},
}

// TestSchedules is TestEveryFault for programs beside each other.
func TestSchedules(t *testing.T) {
	t.Parallel()
	for name, programs := range stories {
		if len(programs) < 2 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Schedules(t, func() crashtest.Workload { return registersWorkload(programs...) }, testkit.Crash(crashtest.Options{Runs: max(*schedules/3, 1)}))
			r.Require(t)
			t.Log(r)
		})
	}
}

func at(i int) where { return everywhere[i] }

// story is a program that does a transaction twice.
func story(reads, appends []where) func(context.Context, *registers, *history, *rand.Rand) error {
	return func(ctx context.Context, b *registers, h *history, _ *rand.Rand) error {
		return errors.Join(b.transact(ctx, h, reads, appends), b.transact(ctx, h, reads, appends))
	}
}

// TestEveryFault: with each fault at each request, the history has a serial order, and nothing is left.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for name, programs := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, func() crashtest.Workload { return registersWorkload(programs...) }, testkit.Crash(crashtest.Options{PairLimit: -1, Sample: testkit.Sample(14)}))
			r.Require(t)
			t.Log(r)
		})
	}
}
