package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestDrainErrors: Drain returns the error of each handler and of each request for a message that
// failed, with the names of the message, and none of an effect that was executed or waits on purpose.
func TestDrainErrors(t *testing.T) {
	t.Parallel()
	wrong := errors.New("it fails")
	for name, c := range map[string]struct {
		result error
		want   bool
	}{
		"executed":      {nil, false},
		"failed":        {wrong, true},
		"poison":        {eventual.Poison(wrong), true},
		"out of reach":  {errors.Join(table.ErrUnreachable, wrong), true},
		"later":         {eventual.RetryAfter(time.Hour, wrong), false},
		"newer release": {fmt.Errorf("%w: %w", &table.VersionError{Got: 2, Want: 1}, wrong), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := newOffice(t, noPauses())
			o.insert(t, clerk{"S", 1, "Jones"})
			o.insert(t, clerk{"R", 2, "Smith"})
			w := o.worker(t, fastPolling(), o.handle(func(context.Context, eventual.Job) error { return c.result }))
			err := w.Drain(t.Context())
			if errors.Is(err, wrong) != c.want || (err != nil) != c.want {
				t.Fatalf("got error %v; want that of the handlers: %v", err, c.want)
			}
			for _, partition := range []string{"S", "R"} {
				text := fmt.Sprintf("table staff, partition %q: effect letter: ", partition)
				testkit.Expect(t, "times of "+text, strings.Count(fmt.Sprint(err), text), map[bool]int{true: 1}[c.want])
			}
		})
	}
}

// TestDrainSeveralErrors: Drain returns the errors of both effects of a write.
func TestDrainSeveralErrors(t *testing.T) {
	t.Parallel()
	first, second := errors.New("no paper"), errors.New("no string")
	o, _ := newOffice(t, noPauses())
	o.addParcels(t)
	o.insert(t, clerk{"S", 1, "Jones"})
	letters := o.handle(func(context.Context, eventual.Job) error { return eventual.Poison(first) })
	parcels := host.Handler{Kind: "parcel", Table: o.base, Handle: func(context.Context, eventual.Job) error { return second }}
	err := o.worker(t, fastPolling(), letters, parcels).Drain(t.Context())
	if !errors.Is(err, first) || !errors.Is(err, second) {
		t.Errorf("got error %v; want those of both effects", err)
	}
}

// TestDrainTableDown: Drain returns the error of a request that a message needs before its handler.
func TestDrainTableDown(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	s.SetFaults(storagetest.OfKind(requests.Get, storagetest.Refuse(403, "AuthorizationFailure")))
	err := o.worker(t, fastPolling(), o.handle(func(context.Context, eventual.Job) error { return nil })).Drain(t.Context())
	if !errors.Is(err, table.ErrUnreachable) || !strings.Contains(err.Error(), `table staff, partition "S"`) {
		t.Errorf("got error %v; want ErrUnreachable with the table and the partition", err)
	}
}

// TestDrainSecondAttempt: an effect that succeeds at a later attempt of the same Drain has no error,
// and Drain returns the errors of 100 messages at most.
func TestDrainSecondAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, _ := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		o.insert(t, clerk{"R", 2, "Smith"})
		var failed atomic.Bool
		w := o.worker(t, fastPolling(), o.handle(func(_ context.Context, j eventual.Job) error {
			if j.Key.Partition().String() == "R" {
				time.Sleep(10 * time.Second) // until the other message is visible again
				return nil
			}
			return errorIf(failed.CompareAndSwap(false, true), errors.New("no paper"))
		}))
		if err := w.Drain(t.Context()); err != nil {
			t.Errorf("got error %v; want none", err)
		}
		testkit.Expect(t, "counters", w.Stats().Retried, 1)
	})
	const messages = 103
	o, _ := newOffice(t, noPauses())
	for n := range messages {
		o.insert(t, clerk{"S", n, "Jones"})
	}
	w := o.worker(t, fastPolling(), o.handle(func(context.Context, eventual.Job) error { return eventual.Poison(errors.New("no paper")) }))
	err := w.Drain(t.Context())
	testkit.Expect(t, "errors", strings.Count(fmt.Sprint(err), "no paper"), 100)
}
