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

// TestRepeat: Repeat calls a function as often as the policy says.
func TestRepeat(t *testing.T) {
	t.Parallel()
	r := Retry(WithDefaults(options.Common{Retry: options.Retry{Wait: -1}}).Retry)
	n, want := 0, errors.New("no answer")
	err := r.Repeat(context.Background(), Log{}, func() (again bool, err error) {
		n++
		return true, want
	})
	if err != want || n != fewAttempts {
		t.Errorf("got %v after %d calls, want %v after %d", err, n, want, fewAttempts)
	}
	n = 0
	err = r.RepeatRead(context.Background(), Log{}, func(context.Context) error { n++; return want })
	if err != want || n != 1 {
		t.Errorf("got %v after %d calls, want %v after 1, since the service was not busy", err, n, want)
	}
	for _, want := range []error{errs.With(errs.ErrUnreachable, want), errs.With(errs.ErrUnknownOutcome, want), &azcore.ResponseError{StatusCode: 500}} {
		n = 0
		err = r.RepeatRead(context.Background(), Log{}, func(context.Context) error { n++; return want })
		if err != want || n != fewAttempts {
			t.Errorf("got %v after %d calls, want %v after %d, since an outage may pass", err, n, want, fewAttempts)
		}
	}
}

// TestRepeatBounds: time bounds the attempts of a failure that may pass, however long it is; a
// number bounds those of a failure that does not pass, of a request without a deadline, and without
// pauses.
func TestRepeatBounds(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	status := func(status int) error { return &azcore.ResponseError{StatusCode: status} }
	lost, proxy := errors.New("connection reset"), &wire.NotServiceError{Status: 200, Reason: "a page"}
	for _, c := range []struct {
		err         error
		retry       Retry
		timeout     time.Duration // 0 for none
		least, most int
	}{
		{lost, Retry{}, hour, 1000, 3000}, // pauses of 1.5 to 3 s
		{status(408), Retry{}, hour, 1000, 3000},
		{status(429), Retry{}, hour, 1000, 3000},
		{status(500), Retry{}, hour, 1000, 3000},
		{status(502), Retry{}, hour, 1000, 3000},
		{status(503), Retry{}, hour, 1000, 3000},
		{status(504), Retry{}, hour, 1000, 3000},
		{errs.With(errs.ErrUnknownOutcome, lost), Retry{}, hour, 1000, 3000},
		{status(501), Retry{}, hour, fewAttempts, fewAttempts},
		{status(403), Retry{}, hour, fewAttempts, fewAttempts},
		{errs.With(errs.ErrUnreachable, proxy), Retry{}, hour, fewAttempts, fewAttempts},
		{lost, Retry{}, 0, fewAttempts, fewAttempts},
		{lost, Retry{Attempts: 7}, hour, 7, 7},
		{lost, Retry{Attempts: 1}, hour, 1, 1},
		{status(503), Retry{Attempts: 7}, hour, 1000, 3000},
		{status(503), Retry{Attempts: 1}, hour, 1, 1},
		{lost, Retry{Wait: -1}, hour, mostAttempts, mostAttempts},
		{lost, Retry{MaxWait: -1}, hour, mostAttempts, mostAttempts},
		{proxy, Retry{Wait: -1}, hour, fewAttempts, fewAttempts},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if c.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.timeout)
				defer cancel()
			}
			n := 0
			err := Retry(WithDefaults(options.Common{Retry: options.Retry(c.retry)}).Retry).Repeat(ctx, Log{}, func() (again bool, err error) {
				n++
				return true, c.err
			})
			if err != c.err || n < c.least || n > c.most {
				t.Errorf("%#v, %+v, %v: got %T after %d calls; want %T after %d to %d", c.err, c.retry, c.timeout, err, n, c.err, c.least, c.most)
			}
		})
	}
}
