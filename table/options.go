package table

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// Common are the options that all packages of this library share. The zero value of each field is its default.
type Common struct {
	// WriteTimeout bounds a write in all, also where its context has no deadline. Defaults to 30 s; negative means no bound.
	WriteTimeout time.Duration

	// ReadTimeout bounds one request that reads, the client's own repetitions included, for the SDK waits for ever where
	// its options do not say otherwise. A list of many pages has it for each. Defaults to 1 min; negative means no bound.
	ReadTimeout time.Duration

	// Retry bounds tries and rounds.
	Retry Retry

	// NoOp leaves out the property _op, in which every row that is written names the write it is from: one of the 252 that
	// an entity may have. Without it, what has
	// become of a write whose response was lost cannot be told from what others have done, and is ErrUnknownOutcome.
	NoOp bool

	// Now is the clock. Defaults to time.Now.
	Now func() time.Time

	// NewID makes 16 of the characters 0-9 and A-Z at random, for names that must not meet. Defaults to a source of 80 bits.
	NewID func() string

	// Tracing receives a span for each verb, with the requests that it makes as children. Give it the provider that the
	// SDK's clients got in azcore.ClientOptions. The spans of the SDK's own methods are then suppressed, as the SDK does
	// where its methods call each other. The zero value traces nothing.
	Tracing tracing.Provider
}

// Retry bounds tries and rounds.
type Retry struct {
	// TryTimeout bounds one try of a write. Defaults to 10 s; negative means no bound but WriteTimeout.
	TryTimeout time.Duration

	// Tries is how often a write is sent whose outcome is unknown, or that could not be sent. Defaults to 4; 1, or less than 0, means
	// once. A service that is busy (503, 429) uses up no try: the write is sent again until WriteTimeout, or the context, ends, no
	// sooner than the service asks for by Retry-After.
	Tries int

	// Wait is the pause before the second try. It doubles with each try up to MaxWait, and each pause is shortened at random
	// by up to a half. Defaults to 200 ms and 3 s; a negative Wait means no pause.
	Wait, MaxWait time.Duration

	// Rounds is a bound on how often Update reads, changes and writes again because concurrent writers were faster, and everything
	// else that reads and then writes: InPartition, GetOrInsert, writes with derived rows, and bulk deletes. What ends them first, as
	// a rule, is WriteTimeout. Defaults to 100.
	Rounds int

	// Delay is the pause before the second round. It doubles with each round up to MaxDelay, and each pause is shortened
	// at random by up to a half, so that concurrent writers part. Defaults to 20 ms and 1 s; a negative Delay means no pause.
	Delay, MaxDelay time.Duration
}

const (
	defaultWriteTimeout = 30 * time.Second
	defaultDelay        = 20 * time.Millisecond
	defaultRounds       = 100
)

// WithDefaults returns the options with their defaults filled in, for packages that embed them.
func (o Common) WithDefaults() Common {
	def := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.WriteTimeout, defaultWriteTimeout)
	def(&o.ReadTimeout, time.Minute)
	def(&o.Retry.TryTimeout, DefaultTryTimeout)
	def(&o.Retry.Wait, 200*time.Millisecond)
	def(&o.Retry.MaxWait, 3*time.Second)
	def(&o.Retry.Delay, defaultDelay)
	def(&o.Retry.MaxDelay, time.Second)
	if o.Retry.Rounds <= 0 {
		o.Retry.Rounds = defaultRounds
	}
	switch {
	case o.Retry.Tries == 0:
		o.Retry.Tries = 4
	case o.Retry.Tries < 0:
		o.Retry.Tries = 1
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	return o
}

// bound gives a context a deadline; a negative d means none. Its cause tells a request that got no answer from one that its caller ended.
func bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d < 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, wire.ErrBound)
}

// Repeat calls f until it succeeds, says that it is not to be called again, Tries are over, or ctx ends; it waits between, and
// returns the last error. A 503 or 429 of the service uses up no try if ctx has a deadline.
func (r Retry) Repeat(ctx context.Context, f func() (again bool, err error)) error {
	tries := attempts{retry: r}
	for {
		again, err := f()
		if err == nil || !again || !tries.again(ctx, err) {
			return err
		}
	}
}
