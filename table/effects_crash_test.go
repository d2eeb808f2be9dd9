package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// processTown opens the residents for a process, with all maintainers, their outbox and the table of sent letters.
func processTown(open path, p *crashtest.Process) (people *table.Table[resident], out *tableOutbox, sent *table.Table[table.Row], err error) {
	o := &table.Options{}
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	options.SetNewID(&o.Common, testkit.NewID(p))
	service, err := open(p)
	if err != nil {
		return nil, nil, nil, err
	}
	if out, err = newTableOutbox(service, o); err != nil {
		return nil, nil, nil, err
	}
	if sent, err = bare.NewTable(service, "sent", table.Schema[table.Row]{}, o); err != nil {
		return nil, nil, nil, err
	}
	if people, err = openPeople(open, p, o); err != nil {
		return nil, nil, nil, err
	}
	people, err = baretest.WithOutbox(people, out, byLast{}, byEmail{}, letters{})
	return people, out, sent, err
}

// setupTown creates the tables and two residents, and completes their effects.
func setupTown(ctx context.Context, p *crashtest.Process) error {
	people, out, sent, err := processTown(openService, p)
	if err != nil {
		return err
	}
	if err := errors.Join(tabledoor.Ensure(ctx, people), tabledoor.Ensure(ctx, out.rows), tabledoor.Ensure(ctx, sent)); err != nil {
		return err
	}
	for i, mail := range []string{"a", "b"} {
		if _, err := people.Insert(ctx, &resident{"S", i + 1, "Jones", mail}); err != nil {
			return err
		}
	}
	return out.drain(ctx, people, sent)
}

// drainTown completes the effects of all notifications.
func drainTown(ctx context.Context, p *crashtest.Process) error {
	people, out, sent, err := processTown(openService, p)
	if err != nil {
		return err
	}
	return out.drain(ctx, people, sent)
}

// effectsComplete returns an error unless each committed write has had its effects, and no other write has.
func effectsComplete(s *storagetest.Service) error {
	if err := checkDerivedRows(s); err != nil {
		return err
	}
	states, effects := map[string]any{}, map[string]bool{}
	for _, r := range s.Rows("people") {
		if name, is := strings.CutPrefix(r.RowKey, "~i|"); is {
			states[name] = r.Get("State")
			if _, effects[name] = r.Get("Effects").(string); states[name] == "pending" || effects[name] && states[name] != "done" {
				return fmt.Errorf("the commit record %s is %v", name, states[name])
			}
		}
	}
	if left := s.Rows("notifications"); len(left) > 0 {
		return fmt.Errorf("got %d notifications; want none", len(left))
	}
	sent := map[string]bool{}
	for _, r := range s.Rows("sent") {
		sent[r.RowKey] = true
		if states[r.RowKey] != "done" {
			return fmt.Errorf("got a letter for %s, whose commit record is %v; want it done", r.RowKey, states[r.RowKey])
		}
	}
	for name := range effects {
		if effects[name] && !sent[name] {
			return fmt.Errorf("got no letter for %s", name)
		}
	}
	return nil
}

// TestEffectsEveryFault: derived rows are right at every moment, and in the end each committed write has had its effects and no
// other has, under each fault at each request of the writer and the worker.
func TestEffectsEveryFault(t *testing.T) {
	t.Parallel()
	testEffectsEveryFault(t, openService, crashtest.Options{Sample: testkit.Sample(2)})
}

func testEffectsEveryFault(t *testing.T, open path, o crashtest.Options) {
	for name, write := range map[string]func(context.Context, *table.Table[resident]) error{
		"Insert": func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Insert(ctx, &resident{"S", 3, "Smith", "c"})
			return err
		},
		"Update": func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Update(ctx, residentAt(1), func(v *resident) error { return changeResident(v, "Smith", "c") })
			return err
		},
		"Upsert": func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Upsert(ctx, &resident{"S", 1, "Smith", "c"}, table.ReplaceExisting)
			return err
		},
		"Transact": func(ctx context.Context, people *table.Table[resident]) error {
			_, err := table.Transact(ctx, people.DeleteAnyOp(residentAt(1)), baretest.MergeAnyOp(people, residentAt(2), lastName.Set("Smith"), eMail.Set("a")))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := func() crashtest.Workload {
				var returned error
				ended := false
				return crashtest.Workload{
					Setup: setupTown,
					Processes: []func(context.Context, *crashtest.Process) error{
						func(ctx context.Context, p *crashtest.Process) error {
							people, _, _, err := processTown(open, p)
							if err != nil {
								return err
							}
							returned = write(ctx, people)
							ended = ctx.Err() == nil
							return returned
						},
						drainTown,
					},
					Drain:     drainTown,
					Invariant: checkDerivedRows,
					Check: func(s *storagetest.Service) error {
						moved := false
						for _, r := range s.Rows("people") {
							moved = moved || r.RowKey == "last_Smith"
						}
						if ended && (moved != (returned == nil) || errors.Is(returned, table.ErrUnknownOutcome)) {
							return fmt.Errorf("applied: %v, but the write returned: %w", moved, returned)
						}
						return effectsComplete(s)
					},
				}
			}
			r := crashtest.Enumerate(t, build, crashOptions(o))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestEffectsConcurrentWriters: three writers change three residents, swap addresses, delete and insert, while a worker aborts
// slow writes, under faults and crashes.
func TestEffectsConcurrentWriters(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		w := crashtest.Workload{Setup: setupTown, Drain: drainTown, Invariant: checkDerivedRows, Check: effectsComplete}
		for i := range 3 {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				people, _, _, err := processTown(openService, p)
				if err != nil {
					return err
				}
				if i == 2 {
					people = people.Exact()
				}
				for range 2 {
					id, name, mail := 1+p.Rand().IntN(3), string(rune('J'+p.Rand().IntN(2))), string(rune('a'+p.Rand().IntN(3)))
					switch p.Rand().IntN(4) {
					case 0:
						_, _ = people.Insert(ctx, &resident{"S", id, name, mail})
					case 1:
						_ = people.DeleteAny(ctx, residentAt(id))
					default:
						_, _ = people.Update(ctx, residentAt(id), func(v *resident) error { return changeResident(v, name, mail) })
					}
				}
				return nil
			})
		}
		w.Processes = append(w.Processes, drainTown)
		return w
	}
	r := crashtest.Schedules(t, build, crashOptions(crashtest.Options{FaultRate: 0.15}))
	r.Require(t)
	t.Log(r)
}
