package eventual_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
)

// causes collects why handlers were ended.
type causes struct {
	mu  sync.Mutex
	all []error
}

func (c *causes) add(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, cause)
}

// TestRenewal: while a handler runs, its message is renewed at a third of its time, and nobody else gets it.
func TestRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		var why causes
		opt := options()
		opt.Visibility = 30 * time.Second
		w := workerOf(o, slow(o, 95*time.Second, why.add), opt)
		s.Count()
		theirs := o.worker(opt)
		go func() {
			for range 90 {
				time.Sleep(time.Second)
				check(theirs.Drain(context.Background()))
			}
		}()
		check(w.Drain(context.Background()))
		if got := theirs.Stats(); got.Received > 0 {
			t.Error("somebody else gets it:", got)
		}
		if got := w.Stats(); got.Renewed != 9 || got.Done != 1 || got.Effects != 1 {
			t.Error(got)
		}
		if got := s.Count(); got != "1 get, 1 merge, 1 message-delete, 93 message-get, 9 message-update" {
			t.Error(got)
		}
	})
}

// TestLost: a message that cannot be renewed any more is lost: the handler's context ends before others can have it, and what
// they do with it is not disturbed.
func TestLost(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]storagetest.Fault{
		"down":       storagetest.Refuse(503, "ServerBusy"),
		"no answer":  storagetest.Hang(),
		"gone":       storagetest.Refuse(404, "MessageNotFound"),
		"reply lost": storagetest.LostReply(), // so its receipt is not known
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := opened(t, quick())
				_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
				check(err)
				s.SetFaults(storagetest.OfKind("message-update", fault))
				var why causes
				opt := options()
				opt.Visibility = 30 * time.Second
				ctx, cancel := context.WithCancel(context.Background())
				w := workerOf(o, slow(o, time.Hour, func(cause error) { cancel(); why.add(cause) }), opt)
				start := time.Now()
				check(w.Run(ctx))
				if took := time.Since(start); took > 30*time.Second || len(why.all) != 1 || !errors.Is(why.all[0], eventual.ErrLost) || w.Stats().Lost != 1 || w.Stats().Done != 0 {
					t.Error(took, why.all, w.Stats())
				}
				s.SetFaults(nil)
				rounds(o.worker(options()), s, 2*time.Minute)
				if len(s.Rows("sent")) != 1 || len(s.Messages("notifications")) > 0 {
					t.Error("nobody else has carried it out")
				}
			})
		})
	}
}

// TestSlowReceive: the time of a message counts from before the queue was asked, for that is when the queue began to count: where its answer
// takes long, the message is renewed at once, and nobody else gets it meanwhile.
func TestSlowReceive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		c := quick()
		c.Retry.AttemptTimeout = time.Minute
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == "message-get" && visible(s) }, storagetest.Slow(25*time.Second)))
		opt := options()
		opt.Common, opt.Visibility = c, 30*time.Second
		w := workerOf(o, slow(o, 20*time.Second, func(cause error) { t.Error(cause) }), opt)
		var looking sync.WaitGroup
		defer looking.Wait()
		looking.Go(func() {
			theirs := o.worker(opt)
			time.Sleep(time.Second)
			for range 50 {
				check(theirs.Drain(context.Background()))
				time.Sleep(time.Second)
			}
			if got := theirs.Stats(); got.Received > 0 {
				t.Errorf("somebody else gets it: %+v", got)
			}
		})
		check(w.Drain(context.Background()))
		if got := w.Stats(); got.Done != 1 || got.Lost > 0 || got.Renewed < 2 {
			t.Errorf("%+v", got)
		}
	})
}

// visible reports whether a message is to be seen.
func visible(s *storagetest.Service) bool {
	for _, m := range s.Messages("notifications") {
		if !m.Visible.After(s.Now()) {
			return true
		}
	}
	return false
}
