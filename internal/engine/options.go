package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// Options are those of table.Common, with their defaults filled in.
type Options struct {
	WriteTimeout    time.Duration
	ReadTimeout     time.Duration
	Retry           Retry
	OmitOperationID bool
	Now             func() time.Time
	NewID           func() string
	Tracing         tracing.Provider
	Logger          *slog.Logger
}

// Retry is table.Retry.
type Retry struct {
	AttemptTimeout                time.Duration
	Attempts                      int
	Wait, MaxWait                 time.Duration
	ConflictAttempts              int
	ConflictWait, MaxConflictWait time.Duration
}

// The defaults.
const (
	DefaultAttemptTimeout = 10 * time.Second

	defaultWriteTimeout     = 30 * time.Second
	defaultConflictWait     = 20 * time.Millisecond
	defaultConflictAttempts = 100
)

// WithDefaults fills the defaults in.
func (o Options) WithDefaults() Options {
	def := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.WriteTimeout, defaultWriteTimeout)
	def(&o.ReadTimeout, time.Minute)
	def(&o.Retry.AttemptTimeout, DefaultAttemptTimeout)
	def(&o.Retry.Wait, 200*time.Millisecond)
	def(&o.Retry.MaxWait, 3*time.Second)
	def(&o.Retry.ConflictWait, defaultConflictWait)
	def(&o.Retry.MaxConflictWait, time.Second)
	if o.Retry.ConflictAttempts <= 0 {
		o.Retry.ConflictAttempts = defaultConflictAttempts
	}
	if o.Retry.Attempts < 0 {
		o.Retry.Attempts = 1
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	return o
}

// Bound gives a context a deadline; a negative d means none. The cause tells a request without a response from one that its caller
// ended.
func Bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d < 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, wire.ErrRequestTimeout)
}

// newOperationID names a write that begins now.
func (o *Options) newOperationID() (string, error) {
	id := o.NewID()
	if !IsID(id) {
		return "", errNewID
	}
	return string(append(appendIDTime(make([]byte, 0, idLength), o.Now()), id...)), nil
}

var errNewID = &ValueError{Field: "Common.NewID", Reason: "must make 16 of the characters 0-9 and A-Z"}
