package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// exactly is a table whose outcomes are exact.
func exactly(p *crashtest.Process) *table.Table[employee] { return staffOf(p).Exact() }

// TestEveryFaultExact: an exact write, with each fault at each of its requests, and requests that arrive late: what its caller is
// told is what has happened, for good, and it is told always.
func TestEveryFaultExact(t *testing.T) {
	t.Parallel()
	everyFault(t, exactly, func(a attempt) attempt {
		a.unknown, a.gone = nil, nil
		return a
	})
}

// TestEveryPairExact: with two mishaps too, it is told always, and rightly.
func TestEveryPairExact(t *testing.T) {
	t.Parallel()
	all := attempts()
	for _, name := range []string{"Insert", "Merge", "DeleteAny", "Transact"} {
		a := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := a.workloadOn(exactly, func(s *storagetest.Service, told error) error {
				if applied := a.applied(ages(s)); (told == nil) != applied || errors.Is(told, table.ErrUnknownOutcome) {
					return fmt.Errorf("applied %v, and told %w", applied, told)
				}
				return nil
			})
			r := crashtest.Enumerate(t, build, brief(crashtest.Options{}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// townOf is the table of residents of a process, with both indexes, letters and the outbox that announces them.
func townOf(p *crashtest.Process) (people *table.Table[resident], out *hints, sent *table.Table[table.Row]) {
	o := &table.Options{}
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	o.NewID = func() string { return fmt.Sprintf("%016X", p.Rand().Uint64()) }
	people = peopleOf(p.ConnectionString(), p, o)
	acc, err := account.FromConnectionString(p.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: p}})
	check(err)
	out = newHints(acc.Tables(), o)
	sent, err = table.New(acc.Tables(), "sent", table.Schema[table.Row]{}, o)
	check(err)
	people, err = people.With(out, byLast{}, byEmail{}, letters{})
	check(err)
	return people, out, sent
}

// inhabited is an account with two residents and nothing left to be done.
func inhabited(ctx context.Context, p *crashtest.Process) error {
	people, out, sent := townOf(p)
	if err := errors.Join(people.Ensure(ctx), out.rows.Ensure(ctx), sent.Ensure(ctx)); err != nil {
		return err
	}
	for i, mail := range []string{"a", "b"} {
		if _, err := people.Insert(ctx, &resident{"S", i + 1, "Jones", mail}); err != nil {
			return err
		}
	}
	return out.drain(ctx, people, sent)
}

func drained(ctx context.Context, p *crashtest.Process) error {
	people, out, sent := townOf(p)
	return out.drain(ctx, people, sent)
}

// settled tells whether every write that was committed has had its effects, once, and no other has.
func settled(s *storagetest.Service) error {
	if err := derivedRight(s); err != nil {
		return err
	}
	states, effects := map[string]any{}, map[string]bool{}
	for _, r := range s.Rows("people") {
		if name, is := strings.CutPrefix(r.RowKey, "~i|"); is {
			states[name] = r.Get("State")
			if _, effects[name] = r.Get("Effects").(string); states[name] == "pending" || effects[name] && states[name] != "done" {
				return fmt.Errorf("intent %s is %v", name, states[name])
			}
		}
	}
	if left := s.Rows("hints"); len(left) > 0 {
		return fmt.Errorf("%d hints are left", len(left))
	}
	sent := map[string]bool{}
	for _, r := range s.Rows("sent") {
		sent[r.RowKey] = true
		if states[r.RowKey] != "done" {
			return fmt.Errorf("a letter was sent for %s, which is %v", r.RowKey, states[r.RowKey])
		}
	}
	for name := range effects {
		if effects[name] && !sent[name] {
			return fmt.Errorf("no letter was sent for %s", name)
		}
	}
	return nil
}

// renamed is how a resident changes so that both indexes move and a letter is due.
func renamed(v *resident, to, mail string) error {
	v.Last, v.Email = to, mail
	return nil
}

// TestEffectsOfEveryFault: a write with derived rows and effects, with each fault at each request of the writer and of the
// worker: the derived rows are right at every instant, and in the end each committed write has had its effects and no other.
func TestEffectsOfEveryFault(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(context.Context, *table.Table[resident]) error{
		"Insert": func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Insert(ctx, &resident{"S", 3, "Smith", "c"})
			return err
		},
		"Update": func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Update(ctx, residentAt(1), func(v *resident) error { return renamed(v, "Smith", "c") })
			return err
		},
		"Upsert": func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Upsert(ctx, &resident{"S", 1, "Smith", "c"}, table.ReplaceExisting)
			return err
		},
		"Transact": func(ctx context.Context, people *table.Table[resident]) error {
			_, err := table.Transact(ctx, people.DeleteAnyOp(residentAt(1)), people.MergeAnyOp(residentAt(2), lastName.Set("Smith"), eMail.Set("a")))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := func() crashtest.Workload {
				var told error
				ended := false
				return crashtest.Workload{
					Setup: inhabited,
					Processes: []func(context.Context, *crashtest.Process) error{
						func(ctx context.Context, p *crashtest.Process) error {
							people, _, _ := townOf(p)
							told = write(ctx, people)
							ended = ctx.Err() == nil
							return told
						},
						drained,
					},
					Drain:     drained,
					Invariant: derivedRight,
					Check: func(s *storagetest.Service) error {
						moved := false
						for _, r := range s.Rows("people") {
							moved = moved || r.RowKey == "last_Smith"
						}
						if ended && (moved != (told == nil) || errors.Is(told, table.ErrUnknownOutcome)) {
							return fmt.Errorf("done %v, and told %w", moved, told)
						}
						return settled(s)
					},
				}
			}
			r := crashtest.Enumerate(t, build, brief(crashtest.Options{}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestEffectsOfRivals: three writers who change three residents, take addresses from each other and delete and insert again, a
// worker who comes too early and fences those who are merely slow, mishaps and deaths.
func TestEffectsOfRivals(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		w := crashtest.Workload{Setup: inhabited, Drain: drained, Invariant: derivedRight, Check: settled}
		for i := range 3 {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				people, _, _ := townOf(p)
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
						_, _ = people.Update(ctx, residentAt(id), func(v *resident) error { return renamed(v, name, mail) })
					}
				}
				return nil
			})
		}
		w.Processes = append(w.Processes, drained)
		return w
	}
	r := crashtest.Schedules(t, build, brief(crashtest.Options{FaultRate: 0.15}))
	r.Require(t)
	t.Log(r)
}
