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
	s.now = append(s.now, kind)
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

// TestShownBesideMove: the notification of a move is shown while the move is finished, unless Show may execute effects. When Move
// returns, both are done, and the entity can be written by its ETag.
func TestShownBesideMove(t *testing.T) {
	t.Parallel()
	for _, beside := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			o, s := travellingOffice(t)
			if !beside {
				o.staff = door.InMode(o.staff, func(m *engine.Mode) { m.Outbox = around{m.Outbox} })
			}
			e, err := o.staff.Get(ctx, at("first", 0))
			noError(t, err)
			s.take(t)
			s.Count()
			e.Value.Dept = "second"
			noError(t, o.staff.Move(ctx, e))
			pairs, _ := s.take(t)
			testkit.Expect(t, fmt.Sprintf("beside %v: shown beside a transaction", beside), pairs, map[bool]string{true: "message-update beside transaction"}[beside])
			testkit.Expect(t, "requests", s.Count().String(), "1 message-put, 1 message-update, 3 transaction")
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
func (m afar) Maintain(_ context.Context, p *extend.Plan, _ *extend.Change[clerk]) error {
	for i := range m.n {
		partition := keys.RawPartition(fmt.Sprint("far", i))
		q, err := door.Remote(p, door.Table(m.staff), partition.String())
		if err == nil {
			err = q.Insert(&table.Row{Key: keys.At(partition, keys.RawRow("row"))}, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestShownAfterMany: if not all other partitions of a write are finished at once, the notification is shown after the last, so that no worker
// is faster than the writer.
func TestShownAfterMany(t *testing.T) {
	t.Parallel()
	for n, beside := range map[int]bool{engine.FanOut: true, engine.FanOut + 1: false} {
		synctest.Test(t, func(t *testing.T) {
			o, s := travellingOffice(t)
			var err error
			o.staff, err = bare.With(o.staff, afar{o.staff, n})
			noError(t, err)
			o.insert(t, clerk{"S", 1, "Jones"})
			pairs, _ := s.take(t)
			testkit.Expect(t, fmt.Sprintf("%d partitions: shown beside a transaction", n), strings.Contains(pairs, "message-update beside transaction"), beside)
			testkit.Expect(t, "all notifications visible", allVisible(s, 2), true)
		})
	}
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
		o.staff, err = bare.WithOutbox(o.base, panics{o.out}, lettersOnNewName())
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
