package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// TestLateConflicts: the time of the conflicts of a write that endures counts from the first one.
func TestLateConflicts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := WithDefaults(options.Common{})
		usual, late := o.NewConflicts(), o.NewConflicts()
		late.late = true
		time.Sleep(5 * time.Minute)
		for name, c := range map[string]*Conflicts{"usual": &usual, "late": &late} {
			began, n := time.Now(), 0
			for again := true; again; n++ {
				again, _ = c.Wait(t.Context(), Log{}, errs.ErrChanged)
			}
			if more := n > 1; more != (name == "late") || time.Since(began) > o.WriteTimeout {
				t.Errorf("%s: got %d attempts in %v; want more than one within %v: %v", name, n, time.Since(began), o.WriteTimeout, name == "late")
			}
		}
	})
}

// TestEndureAnswers: the end of a context, and what another server says, are no answers of the
// service.
func TestEndureAnswers(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want bool
	}{
		"done":            {t.Context(), nil, true},
		"refused":         {t.Context(), &azcore.ResponseError{StatusCode: 409}, true},
		"busy":            {t.Context(), &azcore.ResponseError{StatusCode: 503}, false},
		"ended":           {over, errors.New("the request was canceled"), false},
		"no response":     {t.Context(), context.DeadlineExceeded, false},
		"another server":  {t.Context(), &wire.NotServiceError{Status: 404}, false},
		"not reached yet": {t.Context(), errs.With(errs.ErrUnreachable, errors.New("dial tcp")), false},
	} {
		if got := isAnswer(c.ctx, c.err); got != c.want {
			t.Errorf("%s: got %v; want %v", name, got, c.want)
		}
	}
}

// TestEndure: only work on a whole table goes on behind an outage of minutes, only once a request
// of it was answered, and not for ever.
func TestEndure(t *testing.T) {
	t.Parallel()
	busy := &azcore.ResponseError{StatusCode: 503}
	for _, c := range []struct {
		what     string
		of       func(context.Context) context.Context
		answered bool
		outage   time.Duration
		loops    int // around the one that sends
		attempts int
		want     error
	}{
		{"other work", func(ctx context.Context) context.Context { return ctx }, true, time.Minute, 0, 0, busy},
		{"an outage at the beginning", Enduring, false, time.Minute, 0, 0, busy},
		{"an outage of minutes", Enduring, true, 9 * time.Minute, 0, 0, nil},
		{"an outage of an hour", Enduring, true, time.Hour, 0, 0, busy},
		{"an outage of an hour, in loops", Enduring, true, time.Hour, 2, 0, busy},
		{"a number of attempts", Enduring, true, time.Minute, 0, 3, busy},
		{"a worker's", func(ctx context.Context) context.Context { return Enduring(Impatient(ctx)) }, true, time.Minute, 0, 0, busy},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := Retry(WithDefaults(options.Common{Retry: options.Retry{Attempts: c.attempts}}).Retry)
				ctx := c.of(t.Context())
				if c.answered { // a refusal is an answer, too
					_ = r.Endure(ctx, Log{}, func() error { return &azcore.ResponseError{StatusCode: 404} })
				}
				began := time.Now()
				send := func() error {
					if time.Since(began) < c.outage {
						return busy
					}
					return nil
				}
				for range c.loops {
					once := send
					send = func() error { return r.Endure(Enduring(ctx), Log{}, once) }
				}
				err := r.Endure(Enduring(ctx), Log{}, send)
				if !errors.Is(err, c.want) {
					t.Errorf("got %v after %v; want %v", err, time.Since(began), c.want)
				}
				if most := mostOutage + time.Minute; time.Since(began) > most {
					t.Errorf("got an error after %v; want one within %v", time.Since(began), most)
				}
			})
		})
	}
}
