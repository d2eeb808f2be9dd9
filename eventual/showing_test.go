package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// travelling is a service that takes 5 ms for each request. It notes which kinds of requests travel at the same time.
type travelling struct {
	*storagetest.Service
	showing time.Duration // a message update takes so much more

	mu       sync.Mutex
	now      []string
	arrived  []string
	together map[string]bool // pairs
	most     map[string]int  // of one kind
}

// Do implements policy.Transporter.
func (s *travelling) Do(r *http.Request) (*http.Response, error) {
	kind := string(requests.KindOf(r))
	s.mu.Lock()
	for _, other := range s.now {
		s.together[min(kind, other)+" beside "+max(kind, other)] = true
	}
	s.now, s.arrived = append(s.now, kind), append(s.arrived, kind)
	n := 0
	for _, other := range s.now {
		if other == kind {
			n++
		}
	}
	s.most[kind] = max(s.most[kind], n)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := slices.Index(s.now, kind)
		s.now = slices.Delete(s.now, i, i+1)
	}()
	delay := 5 * time.Millisecond
	if kind == kinds.MessageUpdate {
		delay += s.showing
	}
	time.Sleep(delay) // of the bubble's clock
	return s.Service.Do(r)
}

// take returns which kinds of requests have travelled together, and the most message updates, and forgets them. It reports requests
// that still travel.
func (s *travelling) take(t *testing.T) (pairs string, updates int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.now) > 0 {
		t.Errorf("got requests %v under way after the call; want none", s.now)
	}
	var all []string
	for pair := range s.together {
		all = append(all, pair)
	}
	slices.Sort(all)
	updates = s.most["message-update"]
	s.arrived = nil
	clear(s.together)
	clear(s.most)
	return strings.Join(all, ", "), updates
}

// travellingOffice returns an office on such a service.
func travellingOffice(t *testing.T) (*office, *travelling) {
	t.Helper()
	s := &travelling{Service: storagetest.New(nil), together: map[string]bool{}, most: map[string]int{}}
	o := officeOn(t, s.Service, s, noPauses())
	o.insert(t, clerk{"first", 0, "Jones"})
	s.take(t)
	s.Count()
	return o, s
}

// around is an outbox whose notifications may execute effects when they are shown.
type around struct{ commit.Outbox }

func (a around) Inner() commit.Outbox { return a.Outbox }

// allVisible reports whether the queue has n messages, all of them visible.
func allVisible(s *travelling, n int) bool {
	all := s.Messages("notifications")
	return len(all) == n && !slices.ContainsFunc(all, func(m storagetest.Message) bool { return m.Visible.After(s.Now()) })
}

// TestShownBesideBulk: the notification of a transaction of bulk work is shown while the next transactions travel, of the same
// partition and of others. When Run returns, all are shown.
func TestShownBesideBulk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		partitions, clerks int
		width              int
		showing            time.Duration
		requests           string
		beside             []string
		updates            int
		took               time.Duration
	}{
		"one partition": {1, 400, 0, 0, "5 message-put, 5 message-update, 5 transaction", []string{"message-put beside message-update"}, 1, 55 * time.Millisecond},
		"40 partitions": {40, 40, 4, 0, "40 message-put, 40 message-update, 40 transaction", []string{"message-put beside message-update", "message-update beside message-update"}, 4, 105 * time.Millisecond},
		"slow to show":  {40, 40, 4, 45 * time.Millisecond, "40 message-put, 40 message-update, 40 transaction", []string{"message-put beside message-update", "message-update beside message-update"}, 4, 510 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := travellingOffice(t)
				s.showing = c.showing
				began := time.Now()
				r, err := door.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
					for i := range c.clerks {
						if !yield(o.staff.InsertOp(&clerk{fmt.Sprint("S", i%c.partitions), i, "Jones"}), nil) {
							return
						}
					}
				}, &engine.BulkOptions{Concurrency: c.width})
				noError(t, err)
				took := time.Since(began)
				testkit.Expect(t, "done", r.Applied, c.clerks)
				pairs, updates := s.take(t)
				for _, pair := range c.beside {
					if !strings.Contains(pairs, pair) {
						t.Errorf("requests under way at the same time: got %s; want %s among them", pairs, pair)
					}
				}
				testkit.Expect(t, "notifications shown at a time", updates, c.updates)
				counts := s.Count()
				testkit.Expect(t, "requests", counts.String(), c.requests)
				testkit.Expect(t, "time", took, c.took)
				testkit.Expect(t, "all notifications visible", allVisible(s, 1+counts[kinds.MessagePut]), true)
			})
		})
	}
}

// TestShownAfterMove: the notification of a move with effects is shown when the move is finished,
// so that no worker is faster than the writer. The entity can be written
// by its ETag then.
func TestShownAfterMove(t *testing.T) {
	t.Parallel()
	for _, executes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			o, s := travellingOffice(t)
			if executes {
				o.staff = door.InMode(o.staff, func(m *engine.Mode) { m.Outbox = around{m.Outbox} })
			}
			e, err := o.staff.Get(ctx, at("first", 0))
			noError(t, err)
			s.take(t)
			e.Value.Dept = "second"
			noError(t, o.staff.Move(ctx, e))
			want := "[message-put transaction transaction transaction message-update]"
			testkit.Expect(t, fmt.Sprintf("executes %v: requests", executes), fmt.Sprint(s.arrived), want)
			s.take(t)
			testkit.Expect(t, "all notifications visible", allVisible(s, 2), true)
			e.Value.Last = "Smith"
			noError(t, o.staff.Replace(ctx, e))
		})
	}
}

// afar is a maintainer of rows in so many other partitions.
type afar struct {
	staff *table.Table[clerk]
	n     int
}

func (afar) Name() string   { return "afar" }
func (m afar) MaxRows() int { return 1 }
func (m afar) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[clerk]) error {
	for i := range m.n {
		partition := keys.RawPartition(fmt.Sprint("far", i, c.New.ID))
		q, err := door.Participant(p, door.Table(m.staff), partition.String())
		if err == nil {
			err = q.Insert(&table.Row{Key: keys.At(partition, keys.RawRow("row"))}, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withRows returns the staff of an office with rows in n other partitions, and no effects.
func withRows(t *testing.T, o *office, n int) *table.Table[clerk] {
	t.Helper()
	staff, err := baretest.WithOutbox(o.base, o.out)
	noError(t, err)
	staff, err = bare.With(staff, afar{staff, n})
	noError(t, err)
	return staff
}

// TestEndsItself: a write over several partitions without effects ends itself, with a message that
// no worker sees: finish, mark done, withdraw. If one of these fails, the
// message is shown, and a worker ends the write.
func TestEndsItself(t *testing.T) {
	t.Parallel()
	sent := "message-put transaction transaction transaction transaction transaction "
	ended := sent + "merge message-delete"
	for _, c := range []struct {
		what    string
		fails   requests.Kind // the n-th of the kind, and those behind it for a minute
		n       int
		arrived string
		left    int // messages, when the write has ended
	}{
		{"all is well", "", 0, ended, 0},
		{"a partition cannot be finished", requests.Transaction, 4, sent + "get get get get get get transaction transaction message-update", 1},
		{"the record cannot be marked", requests.Merge, 1, sent + "merge message-update", 1},
		{"the message cannot be withdrawn", kinds.MessageDelete, 1, ended, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := travellingOffice(t)
				staff := withRows(t, o, 2)
				seen := 0
				s.SetFaults(func(q storagetest.Request) storagetest.Fault {
					if q.Kind == c.fails {
						if seen++; seen >= c.n {
							return storagetest.Refuse(403, "AuthorizationFailure")
						}
					}
					return storagetest.Fault{}
				})
				_, err := staff.Insert(t.Context(), &clerk{"S", 1, "Jones"})
				noError(t, err)
				testkit.Expect(t, "requests", strings.Join(s.arrived, " "), c.arrived)
				s.SetFaults(nil)
				testkit.Expect(t, "messages left", len(s.Messages("notifications"))-1, c.left)
				s.take(t)
			})
		})
	}
}

// TestEndsBesideBulk: in bulk work, records are marked as done and messages withdrawn beside the transactions that follow.
func TestEndsBesideBulk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := travellingOffice(t)
		staff := withRows(t, o, 1)
		r, err := door.Bulk(t.Context(), func(yield func(table.Op, error) bool) {
			for i := range 40 {
				if !yield(staff.InsertOp(&clerk{fmt.Sprint("S", i), i, "Jones"}), nil) {
					return
				}
			}
		}, nil)
		noError(t, err)
		testkit.Expect(t, "done", r.Applied, 40)
		pairs, _ := s.take(t)
		testkit.Expect(t, "beside transactions", strings.Contains(pairs, "message-delete beside transaction"), true)
		testkit.Expect(t, "requests", s.Count().String(), "40 merge, 40 message-delete, 40 message-put, 120 transaction")
		testkit.Expect(t, "messages left", len(s.Messages("notifications")), 1)
	})
}

// callsAfter is a maintainer whose plans have a call after the commit.
type callsAfter struct{ call func(context.Context) }

func (callsAfter) Name() string { return "calls" }
func (callsAfter) MaxRows() int { return 0 }
func (c callsAfter) Maintain(_ context.Context, p *extend.Plan, _ *extend.Change[clerk]) error {
	p.AfterCommit("call", c.call)
	return nil
}

// TestShownBesideCalls: the notification is shown while the calls after the commit are made. If one of them panics, or Show does, the
// write panics where it was called, and nothing is under way any more.
func TestShownBesideCalls(t *testing.T) {
	t.Parallel()
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o, s := travellingOffice(t)
			var err error
			o.staff, err = bare.With(o.staff, callsAfter{func(ctx context.Context) {
				if panics {
					panic("in a call")
				}
				_, err := o.sent.Get(ctx, keys.Raw("p", "r"))
				if !errors.Is(err, table.ErrNotFound) {
					t.Errorf("got error %v; want ErrNotFound", err)
				}
			}})
			noError(t, err)
			got := panicOf(func() { o.insert(t, clerk{"S", 1, "Jones"}) })
			testkit.Expect(t, "panic", got, map[bool]string{true: "in a call"}[panics])
			pairs, _ := s.take(t)
			testkit.Expect(t, "shown beside the call", pairs, map[bool]string{false: "get beside message-update"}[panics])
			testkit.Expect(t, "all notifications visible", allVisible(s, 2), true)
		})
	}
}

// panicOf returns the first line of what f panics with, "" if it does not.
func panicOf(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text, _, _ = strings.Cut(fmt.Sprint(v), "\n")
		}
	}()
	f()
	return ""
}

// panics is an outbox whose notifications panic when they are shown.
type panics struct{ commit.Outbox }

type panicsWhenShown struct{ commit.SentNotification }

func (p panics) Notify(ctx context.Context, n commit.Notification) (commit.SentNotification, error) {
	sent, err := p.Outbox.Notify(ctx, n)
	return panicsWhenShown{sent}, err
}

func (panicsWhenShown) Show(context.Context) error { panic("in Show") }

// TestShowPanics: what panics in the Show of an outbox panics where the write was called.
func TestShowPanics(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		o, s := travellingOffice(t)
		e, err := o.staff.Get(ctx, at("first", 0))
		noError(t, err)
		o.staff, err = baretest.WithOutbox(o.base, panics{o.out}, lettersOnNewName())
		noError(t, err)
		e.Value.Dept = "second"
		for name, write := range map[string]func(){
			"Insert": func() { o.insert(t, clerk{"S", 1, "Jones"}) },
			"Move":   func() { _ = o.staff.Move(ctx, e) },
			"Bulk": func() {
				_, _ = door.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(o.staff.InsertOp(&clerk{"S", 2, "Jones"}), nil) }, nil)
			},
		} {
			testkit.Expect(t, name+": panic", panicOf(write), "in Show")
		}
		s.take(t)
	})
}

// TestResolvedAfterBulk: a transaction of bulk work whose outcome was unknown is resolved once the work has ended.
func TestResolvedAfterBulk(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		o, s := travellingOffice(t)
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind == requests.Transaction {
				return storagetest.LostResponse()
			}
			return storagetest.Fault{}
		})
		stopped, stop := context.WithTimeout(ctx, 12*time.Millisecond)
		defer stop()
		_, err := door.Bulk(stopped, func(yield func(table.Op, error) bool) { yield(o.staff.InsertOp(&clerk{"S", 1, "Jones"}), nil) }, nil)
		var ue *table.UnknownError
		if !errors.As(err, &ue) {
			t.Fatalf("got error %v; want an *UnknownError", err)
		}
		s.SetFaults(nil)
		done, err := ue.Resolve(ctx)
		if err != nil || !done {
			t.Errorf("Resolve: got %v, error %v; want true and no error", done, err)
		}
		s.take(t)
		testkit.Expect(t, "all notifications visible", allVisible(s, 2), true)
	})
}
