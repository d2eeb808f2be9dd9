package eventual_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestQueueDown: if the notification cannot be stored, the write fails before anything is written.
func TestQueueDown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		fault       storagetest.Fault
		least, most int // requests
	}{
		"the queue is busy":    {storagetest.Refuse(503, "ServerBusy"), 5, 39}, // until WriteTimeout
		"no connection":        {storagetest.NotSent(), 100, 100},              // without pauses
		"the queue is missing": {storagetest.Refuse(404, "QueueNotFound"), 1, 1},
		"the response is lost": {storagetest.LostResponse(), 100, 100},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, s := newOffice(t, noPauses())
			s.SetFaults(storagetest.OfKind(kinds.MessagePut, c.fault))
			_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
			if !errors.Is(err, table.ErrOutbox) || errors.Is(err, table.ErrUnknownOutcome) || len(s.Rows("staff")) > 0 {
				t.Errorf("%s: got %v and %d rows, want ErrOutbox and none", name, err, len(s.Rows("staff")))
			}
			counted := s.Count()
			puts := counted[kinds.MessagePut]
			testkit.Expect(t, name+": requests of other kinds", counted.Total()-puts, 0)
			atLeast(t, name+": requests", puts, c.least)
			atMost(t, name+": requests", puts, c.most)
			s.SetFaults(nil)
			o.insert(t, clerk{"S", 1, "Jones"})
			drain(t, o.worker(t, fastPolling()))
			testkit.Expect(t, name+": letters", len(s.Rows("sent")), 1)
			o.expectPoison(t)
		})
	}
}

// TestNotificationHidden: a notification never expires, and is hidden for twice the writer's WriteTimeout. A committed write shows
// it at once, and a refused write withdraws it.
func TestNotificationHidden(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := newOffice(t, noPauses())
	var hidden time.Duration
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == requests.Transaction {
			m := s.Messages("notifications")[0]
			hidden = m.Visible.Sub(s.Now())
			atLeast(t, "year in which the message expires", m.Expires.Year(), 9000)
		}
		return storagetest.Fault{}
	})
	o.insert(t, clerk{"S", 1, "Jones"})
	atLeast(t, "hidden", hidden, 59*time.Second)
	atMost(t, "hidden", hidden, time.Minute)
	testkit.Expect(t, "visible after the write", anyVisible(s), true)
	drain(t, o.worker(t, fastPolling()))
	if _, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"}); !errors.Is(err, table.ErrExists) || len(s.Messages("notifications")) > 0 {
		t.Errorf("got %v and messages %v, want ErrExists and none", err, s.Messages("notifications"))
	}
	long, err := baretest.WithOutbox(o.base, longNotifier{o.out}, lettersOnNewName())
	noError(t, err)
	var le *table.LimitError
	if _, err := long.Insert(ctx, &clerk{"S", 2, "Jones"}); !errors.As(err, &le) || le.Max != 7*24*3600 {
		t.Errorf("got %v, want a *LimitError of 7 days", err)
	}
}

// longNotifier is an outbox that hides notifications for longer than a queue can.
type longNotifier struct{ bareworker.Outbox }

func (l longNotifier) Notify(ctx context.Context, n commit.Notification) (commit.SentNotification, error) {
	n.Hidden = 8 * 24 * time.Hour
	return l.Outbox.Notify(ctx, n)
}

// TestEffectsLimit: a write with too many effects for a commit record, or with a payload that cannot be encoded, fails before any
// request.
func TestEffectsLimit(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	staff, err := baretest.WithOutbox(o.base, o.out, bare.OnChange("letter", func(*extend.Change[clerk]) (string, bool) { return strings.Repeat("x", 300_000), true }))
	noError(t, err)
	var le *table.LimitError
	if _, err := staff.Insert(context.Background(), &clerk{"S", 1, "Jones"}); !errors.As(err, &le) || s.Count().String() != "none" {
		t.Errorf("long payload: got %v, want a *LimitError and no requests", err)
	}
	staff, err = baretest.WithOutbox(o.base, o.out, bare.OnChange("letter", func(*extend.Change[clerk]) (func(), bool) { return func() {}, true }))
	noError(t, err)
	if _, err := staff.Insert(context.Background(), &clerk{"S", 1, "Jones"}); err == nil || s.Count().String() != "none" {
		t.Errorf("payload of functions: got %v, want an error and no requests", err)
	}
}
