package wire

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestUnreached: a request without a response has not reached the service, unless its caller ended it.
func TestUnreached(t *testing.T) {
	t.Parallel()
	background := context.Background()
	cancelled, cancel := context.WithCancel(background)
	cancel()
	late, cancel := context.WithDeadline(background, time.Unix(0, 0))
	defer cancel()
	slow, cancel := context.WithDeadlineCause(background, time.Unix(0, 0), ErrRequestTimeout)
	defer cancel()
	slowOfCancelled, cancel := context.WithDeadlineCause(cancelled, time.Unix(0, 0), ErrRequestTimeout)
	defer cancel()
	for what, c := range map[string]struct {
		ctx  context.Context
		want bool
	}{
		"no end":                      {background, true},
		"the caller's cancel":         {cancelled, false},
		"the caller's deadline":       {late, false},
		"the library's timeout":       {slow, true},
		"the caller's before timeout": {slowOfCancelled, false},
	} {
		if got := Unreached(c.ctx, errors.New("no response")); got != c.want {
			t.Errorf("%s: got %v; want %v", what, got, c.want)
		}
	}
}
