package eventual_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// waits is a handler that asks for a delay until a time, and counts its calls.
func (o *office) waits(until time.Time, calls *int) host.Handler {
	return bare.NewHandler("letter", o.base, func(context.Context, eventual.Job, letter) error {
		*calls++
		if left := time.Until(until); left > 0 {
			return eventual.RetryAfter(left, errors.New("not yet"))
		}
		return nil
	})
}

// TestWaits: an effect whose handler asks for six days has one message and two calls, whatever other messages of its write come, such as
// those of a repair of lost messages; and so for each fault at each request of the worker.
func TestWaits(t *testing.T) {
	t.Parallel()
	for fault, is := range map[string]storagetest.Fault{"none": {}, "a lost response": storagetest.LostResponse(), "busy": storagetest.Refuse(503, "ServerBusy")} {
		for at := 1; at <= 5; at++ {
			synctest.Test(t, func(t *testing.T) {
				o, s := newOffice(t, noPauses())
				calls := 0
				w := o.worker(t, fastPolling(), o.waits(time.Now().Add(6*24*time.Hour), &calls))
				o.insert(t, clerk{"S", 1, "Jones"})
				first := s.Messages("notifications")[0]
				n := 0
				s.SetFaults(func(q storagetest.Request) storagetest.Fault {
					if q.Kind != kinds.MessageGet {
						if n++; n == at {
							return is
						}
					}
					return storagetest.Fault{}
				})
				drain(t, w)
				s.SetFaults(nil)
				for hour := 0; hour < 6*24+8; hour += 4 {
					if hour < 6*24 {
						o.put(t, "notifications", first.Text)
					}
					drain(t, w)
					time.Sleep(4 * time.Hour)
					if got := len(s.Messages("notifications")); got > 1 {
						t.Fatalf("fault %s at request %d: got %d messages, want one at most", fault, at, got)
					}
				}
				drain(t, w)
				if want := 2; calls < want || calls > want+1 || fault == "none" && calls != want { // after a fault, the handler may be called again
					t.Errorf("fault %s at request %d: got %d calls, want %d", fault, at, calls, want)
				}
				testkit.Expect(t, "messages at the end", len(s.Messages("notifications")), 0)
				testkit.Expect(t, "records", recordStates(s), "done")
			})
		}
	}
}

// TestWaitsEarly: a message that comes back before its effects are due, since its worker could not hide
// it, waits on.
func TestWaitsEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		calls := 0
		w := o.worker(t, fastPolling(), o.waits(time.Now().Add(6*24*time.Hour), &calls))
		o.insert(t, clerk{"S", 1, "Jones"})
		s.SetFaults(storagetest.When(
			func(r storagetest.Request) bool { return r.Kind == kinds.MessageUpdate },
			storagetest.Refuse(503, "ServerBusy")))
		drain(t, w)
		s.SetFaults(nil)
		time.Sleep(2 * time.Minute)
		drain(t, w)
		testkit.Expect(t, "calls before the effect is due", calls, 1)
		time.Sleep(6 * 24 * time.Hour)
		drain(t, w)
		testkit.Expect(t, "calls", calls, 2)
		testkit.Expect(t, "records", recordStates(s), "done")
	})
}

// TestWaitsRequests: a delay takes no request more if the effect is executed before the repair of lost messages looks for it, and otherwise
// one.
func TestWaitsRequests(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]int{9 * time.Minute: 0, 11 * time.Minute: 1} {
		synctest.Test(t, func(t *testing.T) {
			o, s := newOffice(t, noPauses())
			calls := 0
			w := o.worker(t, fastPolling(), o.waits(time.Now().Add(delay), &calls))
			o.insert(t, clerk{"S", 1, "Jones"})
			s.Count()
			drain(t, w)
			merges := s.Count()[requests.Merge]
			testkit.Expect(t, "merges for a delay of "+delay.String(), merges, want)
		})
	}
}

// TestPassedOver: the repair of lost messages passes over records whose effects wait: after RetryAfter, for an unknown kind, and as
// poison; but with Grace below 0, it finds all. When the time is over, it finds a record whose message was lost.
func TestPassedOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		handler func(o *office) host.Handler
		passed  time.Duration // at least
	}{
		{"RetryAfter", func(o *office) host.Handler { return o.waits(time.Now().Add(6*24*time.Hour), new(int)) }, 6 * 24 * time.Hour},
		{"a short RetryAfter, again and again", func(o *office) host.Handler {
			return bare.NewHandler("letter", o.base, func(context.Context, eventual.Job, letter) error {
				return eventual.RetryAfter(5*time.Minute, errors.New("not yet"))
			})
		}, 24 * time.Hour},
		{"an unknown kind", func(o *office) host.Handler {
			return bare.NewHandler("other", o.base, func(context.Context, eventual.Job, letter) error { return nil })
		}, 24 * time.Hour},
		{"poison", func(o *office) host.Handler {
			return bare.NewHandler("letter", o.base, func(context.Context, eventual.Job, letter) error {
				return eventual.Poison(errors.New("never"))
			})
		}, 6 * 24 * time.Hour},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				o, _ := newOffice(t, noPauses())
				w := o.worker(t, fastPolling(), c.handler(o))
				o.insert(t, clerk{"S", 1, "Jones"})
				drain(t, w)
				notify := func(grace time.Duration) int {
					t.Helper()
					result, err := o.out.NotifyPending(ctx, o.staff, grace, nil)
					noError(t, err)
					return result.Changed
				}
				for range 3 { // the message comes back when the record is old
					time.Sleep(6 * time.Minute)
					drain(t, w)
				}
				began := time.Now()
				for time.Since(began) < c.passed-time.Hour {
					testkit.Expect(t, "notifications after "+time.Since(began).String(), notify(0), 0)
					time.Sleep(5 * time.Hour)
				}
				testkit.Expect(t, "notifications with Grace below 0", notify(-1), 1)
				o.clear(t, "notifications")
				o.clear(t, "poison")
				time.Sleep(8 * 24 * time.Hour)
				testkit.Expect(t, "notifications of a lost message, later", notify(0), 1)
			})
		})
	}
}

// TestWaitsDone: a worker that asks for a delay, while another one executes the effect, leaves the record done and the time out of it.
func TestWaitsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		text := s.Messages("notifications")[0].Text
		calls := 0
		slow := o.worker(t, fastPolling(), bare.NewHandler("letter", o.base, func(context.Context, eventual.Job, letter) error {
			if calls++; calls == 1 {
				o.put(t, "notifications", text)
				drain(t, o.worker(t, fastPolling()))
			}
			return eventual.RetryAfter(24*time.Hour, errors.New("not yet"))
		}))
		drain(t, slow)
		testkit.Expect(t, "records", recordStates(s), "done")
		for _, r := range s.Rows("staff") {
			if r.Get("NotBefore") != nil {
				t.Errorf("got %v, want no time in a record that is done", r)
			}
		}
		testkit.Expect(t, "messages", len(s.Messages("notifications")), 0)
	})
}
