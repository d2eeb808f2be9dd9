package archive_test

import (
	"context"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// journeys are the ways on which clerk 1 leaves its key and comes back.
var journeys = map[string]struct {
	leave, back func(*fixture, context.Context) error
}{
	"Rekey": {
		func(fx *fixture, ctx context.Context) error { return fx.rekeyClerk(ctx, 1, 77) },
		func(fx *fixture, ctx context.Context) error { return fx.rekeyClerk(ctx, 77, 1) },
	},
	"Move": {
		func(fx *fixture, ctx context.Context) error { return fx.moveClerk(ctx, "S", "T") },
		func(fx *fixture, ctx context.Context) error { return fx.moveClerk(ctx, "T", "S") },
	},
}

func (fx *fixture) rekeyClerk(ctx context.Context, from, to int) error {
	e, err := fx.current.Get(ctx, at(from))
	if err == nil {
		e.Value.ID = to
		err = fx.current.Move(ctx, e)
	}
	return ignoreConflicts(err)
}

func (fx *fixture) moveClerk(ctx context.Context, from, to string) error {
	clerks, err := baretest.WithOutbox(fx.current, fx.outbox)
	if err != nil {
		return err
	}
	e, err := clerks.Get(ctx, keys.At(dept.PartitionKey(from), cid.RowKey(1)))
	if err == nil {
		e.Value.Dept = to
		err = clerks.Move(ctx, e)
	}
	return ignoreConflicts(err)
}

// TestThereAndBack: an entity whose move was requested leaves its key, the worker finds no entity, and the entity comes back with the
// same incarnation. Another request archives it, once for each such journey, and a restore brings it back.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, journey := range journeys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx, s, _ := newPendingMove(t)
			for range 2 {
				must(t, journey.leave(fx, ctx))
				must(t, fx.work(ctx))
				must(t, journey.back(fx, ctx))
				wantClerks(t, s, []string{"c_000001=Name1"}, nil)
				must(t, fx.archiveClerk(ctx))
			}
			before := storedIncarnation(s)
			s.Count()
			must(t, fx.work(ctx))
			// None is of the journey.
			want := "5 get, 1 message-delete, 2 message-get, 3 transaction"
			testkit.Expect(t, "requests", s.Count().String(), want)
			wantClerks(t, s, nil, []string{"c_000001=Name1"})
			_, err := fx.mover.Restore(ctx, at(1))
			must(t, err)
			must(t, fx.work(ctx))
			wantClerks(t, s, []string{"c_000001=Name1"}, nil)
			if after := storedIncarnation(s); after == before {
				t.Errorf("got incarnation %s before and after; want another", after)
			}
			must(t, pendingRecords(s))
			wantNoMessages(t, s)
		})
	}
}

// TestThereAndBackEveryFault is TestEveryFault for an entity that leaves its key and comes back with the same incarnation, with
// fewer of the faults.
func TestThereAndBackEveryFault(t *testing.T) {
	t.Parallel()
	for name, journey := range journeys {
		leaving, back := on(plain, journey.leave), on(plain, journey.back)
		for name, processes := range map[string][]process{
			name + " behind a worker":   {testkit.InSequence(archiving, leaving, working), back, archiving, working},
			name + " between requests":  {archiving, leaving, back, archiving, working},
			name + " and then restored": {testkit.InSequence(archiving, leaving, working, back, archiving), working, restoring, working},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := crashtest.Enumerate(t, workload(processes...), testkit.Crash(crashtest.Options{PairLimit: -1, Sample: testkit.Sample(18)}))
				r.Require(t)
				t.Log(r)
			})
		}
	}
}

// TestThereAndBackSchedules is TestSchedules for such entities.
func TestThereAndBackSchedules(t *testing.T) {
	t.Parallel()
	for name, journey := range journeys {
		leaving, back := on(plain, journey.leave), on(plain, journey.back)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workload(testkit.InSequence(archiving, leaving, archiving), testkit.InSequence(working, back, archiving, restoring), testkit.InSequence(back, updating, working), testkit.InSequence(working, working))
			r := crashtest.Schedules(t, w, testkit.Crash(crashtest.Options{Runs: *schedules / (2 * len(journeys))}))
			r.Require(t)
			t.Log(r)
		})
	}
}
