package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/options"
)

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
		want     error
	}{
		{"other work", func(ctx context.Context) context.Context { return ctx }, true, time.Minute, busy},
		{"an outage at the beginning", Enduring, false, time.Minute, busy},
		{"an outage of minutes", Enduring, true, 9 * time.Minute, nil},
		{"an outage of an hour", Enduring, true, time.Hour, busy},
		{"a worker's", func(ctx context.Context) context.Context { return Enduring(Impatient(ctx)) }, true, time.Minute, busy},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := Retry(WithDefaults(options.Common{}).Retry)
				ctx := c.of(t.Context())
				if c.answered { // a refusal is an answer, too
					_ = r.Endure(ctx, Log{}, func() error { return &azcore.ResponseError{StatusCode: 404} })
				}
				began := time.Now()
				err := r.Endure(Enduring(ctx), Log{}, func() error {
					if time.Since(began) < c.outage {
						return busy
					}
					return nil
				})
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
