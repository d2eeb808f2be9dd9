package eventual_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestQueueDown: where the queue does not take the announcement, the write is refused before anything is written.
func TestQueueDown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, fault := range map[string]storagetest.Fault{
		"busy": storagetest.Refuse(503, "ServerBusy"), "not there": storagetest.NotSent(), "missing": storagetest.Refuse(404, "QueueNotFound"), "lost": storagetest.LostReply(),
	} {
		synctest.Test(t, func(t *testing.T) {
			o, s := opened(t, quick())
			s.SetFaults(storagetest.OfKind("message-put", fault))
			_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
			if !errors.Is(err, table.ErrOutbox) || errors.Is(err, table.ErrUnknownOutcome) || len(s.Rows("staff")) > 0 {
				t.Error(what, err)
			}
			got, want := s.Count(), map[string]string{"missing": "1 message-put", "busy": "more"}[what]
			if want == "" {
				want = "4 message-put"
			}
			if busy, _ := strconv.Atoi(strings.TrimSuffix(got, " message-put")); what == "busy" && busy > 4 && busy < 40 {
				want = got // for as long as the write may take
			}
			if got != want {
				t.Errorf("%s: got %s, want %s", what, got, want)
			}
			s.SetFaults(nil)
			if _, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"}); err != nil {
				t.Error(what, err)
			}
			check(o.worker(options()).Drain(ctx))
			if len(s.Rows("sent")) != 1 || len(poisonOf(t, o)) > 0 {
				t.Error(what, s.Rows("sent"))
			}
		})
	}
}

// TestNotificationHidden: an announcement is hidden for twice the time that its write may take, seen at once when the write is done, and taken back
// when it is refused.
func TestNotificationHidden(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	var hidden time.Duration
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == "transaction" {
			m := s.Messages("notifications")[0]
			hidden = m.Visible.Sub(s.Now())
			if m.Expires.Year() < 9000 {
				t.Error("it expires:", m.Expires)
			}
		}
		return storagetest.Fault{}
	})
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	if err != nil || hidden < 59*time.Second || hidden > time.Minute {
		t.Error(hidden, err)
	}
	if m := s.Messages("notifications")[0]; m.Visible.After(s.Now()) {
		t.Error(m.Visible)
	}
	check(o.worker(options()).Drain(ctx))
	if _, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"}); !errors.Is(err, table.ErrExists) || len(s.Messages("notifications")) > 0 {
		t.Error(err, s.Messages("notifications"))
	}
	long, err := o.plain.With(longing{o.out}, letters())
	check(err)
	var le *table.LimitError
	if _, err := long.Insert(ctx, &clerk{"S", 2, "Jones"}); !errors.As(err, &le) || le.Max != 7*24*3600 {
		t.Error(err)
	}
}

// longing is an outbox that asks for more than a queue can.
type longing struct{ *eventual.Outbox }

func (l longing) Notify(ctx context.Context, a table.Notification) (table.SentNotification, error) {
	a.Hidden = 8 * 24 * time.Hour
	return l.Outbox.Notify(ctx, a)
}

// TestEffectsLimit: effects that are too many for an intent are refused before the queue hears of them.
func TestEffectsLimit(t *testing.T) {
	t.Parallel()
	o, s := opened(t, quick())
	staff, err := o.plain.With(o.out, eventual.OnChange("letter", func(*table.Change[clerk]) (string, bool) { return strings.Repeat("x", 300_000), true }))
	check(err)
	var le *table.LimitError
	if _, err := staff.Insert(context.Background(), &clerk{"S", 1, "Jones"}); !errors.As(err, &le) || s.Count() != "none" {
		t.Error(err)
	}
	staff, err = o.plain.With(o.out, eventual.OnChange("letter", func(*table.Change[clerk]) (func(), bool) { return func() {}, true }))
	check(err)
	if _, err := staff.Insert(context.Background(), &clerk{"S", 1, "Jones"}); err == nil || s.Count() != "none" {
		t.Error(err)
	}
}
