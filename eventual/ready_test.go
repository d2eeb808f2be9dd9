package eventual_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// expectReady reports a result of Ready that is not the wanted error, or whose text has not the wanted parts.
func expectReady(t *testing.T, when string, w bareworker.Worker, want error, parts ...string) {
	t.Helper()
	got := w.Ready()
	if !errors.Is(got, want) || want == nil && got != nil {
		t.Errorf("%s: got %v, want %v", when, got, want)
		return
	}
	for _, part := range parts {
		if !strings.Contains(got.Error(), part) {
			t.Errorf("%s: got %q, want a text with %q", when, got, part)
		}
	}
}

// TestReady: a worker is ready while it runs and its queue responds. The error says since when the queue cannot be read, and why.
func TestReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		w := o.worker(t, fastPolling())
		expectReady(t, "before Run", w, eventual.ErrNotRunning)

		queueDown := func(f storagetest.Fault) {
			s.SetFaults(storagetest.OfKind(kinds.MessageGet, f))
		}
		queueDown(storagetest.Slow(time.Second))
		stop := start(t, w)
		synctest.Wait()
		expectReady(t, "before the first response", w, table.ErrUnreachable, "no response yet")
		time.Sleep(time.Second)
		synctest.Wait()
		expectReady(t, "after the first response", w, nil)

		s.SetFaults(nil)
		time.Sleep(time.Second)
		queueDown(storagetest.Refuse(503, "ServerBusy"))
		time.Sleep(time.Second)
		synctest.Wait()
		since := time.Now().Add(-time.Second)
		expectReady(t, "queue down", w, table.ErrUnreachable, "503 ServerBusy")
		var re *azcore.ResponseError
		if err := w.Ready(); !errors.As(err, &re) {
			t.Errorf("queue down: got %v, want a *azcore.ResponseError in it", err)
		}
		queueDown(storagetest.Refuse(403, "AuthorizationFailure"))
		time.Sleep(time.Minute)
		synctest.Wait()
		down := w.Ready()
		if down == nil {
			t.Fatal("queue down for a minute: got ready")
		}
		_, text, _ := strings.Cut(down.Error(), " since ")
		text, _, _ = strings.Cut(text, ": ")
		at, err := time.Parse(time.RFC3339, text)
		noError(t, err)
		if d := at.Sub(since); d < -time.Second || d > time.Second {
			t.Errorf("queue down for a minute: got since %v, want %v", at, since)
		}
		expectReady(t, "queue down for another reason", w, table.ErrUnreachable, "403 AuthorizationFailure")

		s.SetFaults(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		expectReady(t, "queue up again", w, nil)
		s.Count()
		expectReady(t, "again", w, nil)
		testkit.Expect(t, "requests of Ready", s.Count().String(), "none")
		stop()
		expectReady(t, "after Run", w, eventual.ErrNotRunning)
	})
}

// TestReadyHang: a queue that does not respond at all makes the worker unready after the time of one attempt.
func TestReadyHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		opt := fastPolling()
		opt.Retry.AttemptTimeout = 3 * time.Second
		w := o.worker(t, opt)
		stop := start(t, w)
		time.Sleep(time.Second)
		expectReady(t, "queue up", w, nil)
		s.SetFaults(storagetest.OfKind(kinds.MessageGet, storagetest.Hang()))
		time.Sleep(2 * time.Second)
		expectReady(t, "within the first attempt", w, nil)
		time.Sleep(2 * time.Second)
		expectReady(t, "after the first attempt", w, table.ErrUnreachable)
		s.SetFaults(nil)
		stop()
	})
}

// TestReadyStops: a worker that waits for its handlers to stop is not ready. A worker whose handlers are all busy, and a paused
// worker, are ready.
func TestReadyStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, _ := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		opt := fastPolling()
		opt.Concurrency = 1
		w := o.worker(t, opt, slowHandler(o, 10*time.Second, func(error) {}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(5 * time.Second)
		expectReady(t, "all handlers busy", w, nil)
		w.Pause()
		time.Sleep(time.Second)
		expectReady(t, "paused", w, nil)
		cancel()
		synctest.Wait()
		expectReady(t, "stopping", w, eventual.ErrNotRunning)
		noError(t, <-ended)
	})
}

// TestReadyAfterError: a worker whose queue does not exist has ended, and is not ready.
func TestReadyAfterError(t *testing.T) {
	t.Parallel()
	o, _ := newOffice(t, noPauses())
	_, err := o.acc.Queues().NewQueueClient("notifications").Delete(context.Background(), nil)
	noError(t, err)
	w := o.worker(t, fastPolling())
	if err := w.Run(context.Background()); !errors.Is(err, table.ErrNotCreated) {
		t.Fatalf("Run: got %v, want ErrNotCreated", err)
	}
	expectReady(t, "after Run", w, eventual.ErrNotRunning)
}
