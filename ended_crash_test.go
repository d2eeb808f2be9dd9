package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// party is a program whose guests have an end, under quotas and in a view.
type party struct {
	store  *aztablekit.Store
	guests *table.Table[partyGuest]
	ends   *expire.Ends[partyGuest]
}

type partyGuest struct {
	House, ID, User, Room string
	Ends                  time.Time
}

type seat struct{ All, User, ID string }

var (
	partyHouse = keys.Partition(keys.Text(), func(g *partyGuest) *string { return &g.House })
	partyID    = keys.Row(keys.Text().Named("guest"), func(g *partyGuest) *string { return &g.ID })
)

func openParty(p *crashtest.Process) (*party, error) {
	store, err := openStore(p)
	if err != nil {
		return nil, err
	}
	seats := aztablekit.Table(store, "seats", keys.RawPartitionOf(func(s *seat) *string { return &s.All }), keys.RawRowOf(func(s *seat) *string { return &s.User }))
	is := &party{store: store, ends: expire.At(func(g *partyGuest) time.Time { return g.Ends }, nil)}
	users := index.NewSummary("users", keys.Text(), func(g *partyGuest) (string, bool) { return "all", g.Room == "" }, &index.SummaryOptions{Most: 2})
	rooms := index.NewSummary("rooms", keys.Text(), func(g *partyGuest) (string, bool) { return g.Room, g.Room != "" }, &index.SummaryOptions{Most: 1})
	view := materialized.New("seats", seats, func(g *partyGuest, _ keys.Key) (seat, bool) { return seat{"all", g.User, g.ID}, g.Room == "" })
	is.guests = aztablekit.Table(store, "guests", partyHouse, partyID, is.ends, users, rooms, view)
	return is, store.Err()
}

// partyStory returns a run in which two users have a guest each, one after another, each of whom ends before the next one comes, and two
// programs send the same guest from room to room: no quota is ever full.
func partyStory() crashtest.Workload {
	wrong := new(atomic.Pointer[error])
	process := func(do func(context.Context, *crashtest.Process, *party) error) func(context.Context, *crashtest.Process) error {
		return func(ctx context.Context, p *crashtest.Process) error {
			is, err := openParty(p)
			if err != nil {
				return err
			}
			err = do(ctx, p, is)
			if full := new(index.FullError); errors.As(err, &full) {
				wrong.CompareAndSwap(nil, &err)
			}
			return err
		}
	}
	user := func(name string) func(context.Context, *crashtest.Process, *party) error {
		return func(ctx context.Context, p *crashtest.Process, is *party) (all error) {
			for n := range 3 {
				time.Sleep(time.Duration(p.Rand().IntN(60)) * time.Minute)
				_, err := is.guests.Insert(ctx, &partyGuest{House: "A", ID: fmt.Sprint(name, n), User: name, Ends: time.Now().Add(20 * time.Minute)})
				all = errors.Join(all, err)
				time.Sleep(25 * time.Minute)
			}
			return all
		}
	}
	roams := func(ctx context.Context, p *crashtest.Process, is *party) (all error) {
		for range 6 {
			_, err := is.guests.Update(ctx, keys.At(partyHouse.Of("A"), partyID.Of("butler")), func(g *partyGuest) error {
				g.Room = []string{"hall", "kitchen"}[p.Rand().IntN(2)]
				return nil
			})
			all = errors.Join(all, err)
		}
		return all
	}
	sweeps := func(ctx context.Context, p *crashtest.Process, is *party) (all error) {
		for range 3 {
			time.Sleep(time.Duration(p.Rand().IntN(90)) * time.Minute)
			_, err := is.ends.Sweep(ctx, is.guests, nil)
			all = errors.Join(all, err, is.store.Drain(ctx))
		}
		return all
	}
	return crashtest.Workload{
		Setup: process(func(ctx context.Context, _ *crashtest.Process, is *party) error {
			err := is.store.Ensure(ctx)
			if err != nil {
				return err
			}
			_, err = is.guests.Insert(ctx, &partyGuest{House: "A", ID: "butler", Room: "hall"})
			return err
		}),
		Processes: []func(context.Context, *crashtest.Process) error{
			process(user("ann")), process(user("bob")), process(roams), process(roams), process(sweeps),
		},
		Drain: process(func(ctx context.Context, _ *crashtest.Process, is *party) error {
			time.Sleep(time.Hour)
			_, err := is.ends.Sweep(ctx, is.guests, nil)
			if err := errors.Join(err, testkit.WithoutFailures(is.store.Drain(ctx))); err != nil {
				return err
			}
			report, err := is.store.Verify(ctx, nil)
			if err == nil && report.Faults > 0 {
				err = fmt.Errorf("after everything: %+v", report)
			}
			return err
		}),
		Invariant: func(*storagetest.Service) error {
			if err := wrong.Load(); err != nil {
				return *err
			}
			return nil
		},
		Check: func(s *storagetest.Service) error {
			if n := len(s.Messages("company-poison")); n > 0 {
				return fmt.Errorf("%d messages are poison", n)
			}
			for _, r := range s.Rows("seats") {
				if !strings.HasPrefix(r.RowKey, "~") {
					return fmt.Errorf("after everything is over, the view has a row %s", r.RowKey)
				}
			}
			return nil
		},
	}
}

var partyRuns = testkit.Count("partyruns", 40, "schedules of entities that end under quotas and in views")

// TestEndedSchedules: entities that end stand in the way of no quota and no view, and no quota is computed from rows of two moments, in
// any order of programs that write, sweep and work, with faults and crashes.
func TestEndedSchedules(t *testing.T) {
	t.Parallel()
	crashtest.Schedules(t, partyStory, punctual(t, crashtest.Options{Runs: *partyRuns, Timeout: 24 * time.Hour})).Require(t)
}
