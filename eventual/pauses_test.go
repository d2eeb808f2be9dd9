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
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestPauses: how long messages wait by each option that says so, set alone: after failures, and
// for workers that know their kind.
func TestPauses(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	type pauses struct{ first, longest, unknown, poison time.Duration }
	usual := pauses{first: time.Second, longest: 128 * time.Second, unknown: 30 * time.Second, poison: time.Hour}
	for _, c := range []struct {
		what string
		opt  eventual.WorkerOptions
		want func(*pauses)
	}{
		{"none", eventual.WorkerOptions{}, func(*pauses) {}},
		{"Wait", eventual.WorkerOptions{Wait: 20 * time.Second},
			func(p *pauses) { p.first, p.longest = 20*time.Second, 5*minute }},
		{"MaxWait", eventual.WorkerOptions{MaxWait: 10 * time.Second}, func(p *pauses) { p.longest = 10 * time.Second }},
		{"UnknownKindTimeout", eventual.WorkerOptions{UnknownKindTimeout: 10 * minute}, func(p *pauses) { p.poison = 10 * minute }},
		{"Defer", eventual.WorkerOptions{Defer: 4 * minute}, func(p *pauses) { p.unknown = 4 * minute }},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			want, got := usual, pauses{}
			c.want(&want)
			failing := errors.New("not now")
			returns, _ := messagesOf(t, c.opt, func(o *office) host.Handler {
				return o.handle(func(context.Context, eventual.Job) error { return failing })
			})
			got.first = returns[1] - returns[0]
			for i, at := range returns[1:] {
				got.longest = max(got.longest, at-returns[i])
			}
			returns, poison := messagesOf(t, c.opt, func(o *office) host.Handler {
				return bare.NewHandler("other", o.base, func(context.Context, eventual.Job, letter) error { return nil })
			})
			got.unknown, got.poison = returns[1]-returns[0], poison
			for _, p := range []struct {
				what        string
				got, want   time.Duration
				least, most time.Duration
			}{
				{"before the second attempt", got.first, want.first, want.first / 2, want.first},
				{"between two of nine attempts", got.longest, want.longest, want.longest / 2, want.longest},
				{"for another worker", got.unknown, want.unknown, want.unknown, want.unknown},
				{"until an unknown kind is poison", got.poison, want.poison, want.poison, want.poison + want.unknown},
			} {
				const poll = 5 * time.Second // the longest pause of a worker, and a request
				if p.got < p.least || p.got > p.most+poll {
					t.Errorf("%s: got %v, want %v", p.what, p.got, p.want)
				}
			}
		})
	}
}

// messagesOf runs a worker for two hours with a handler and the message of an effect, and returns
// when it returned the message to the queue, and when it moved it to the poison queue.
func messagesOf(t *testing.T, opt eventual.WorkerOptions, handler func(*office) host.Handler) (returns []time.Duration, poison time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		began := time.Now()
		s.SetFaults(func(r storagetest.Request) storagetest.Fault {
			switch {
			case r.Kind == kinds.MessageUpdate:
				returns = append(returns, time.Since(began))
			case r.Kind == kinds.MessagePut && r.Queue == "poison":
				poison = time.Since(began)
			}
			return storagetest.Fault{}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		noError(t, o.worker(t, opt, handler(o)).Run(ctx))
	})
	if len(returns) < 2 {
		t.Fatalf("got %d messages that were returned, want two", len(returns))
	}
	return returns, poison
}
