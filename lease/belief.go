package lease

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
)

// allowance is how much older than its time to live a lease must be before it is over: a date has
// whole seconds, and is of another server than a timestamp.
const allowance = time.Second

// belief returns for how long a holder believes in its lease, from before it has sent the request
// that was applied: a second less than the time to live, and a 50th for clocks of different rates.
func belief(timeToLive time.Duration) time.Duration { return timeToLive - time.Second - timeToLive/50 }

// holder is a Lease by which the engine writes: a request is sent only while the holder believes in
// its lease, and ends with it.
type holder Lease

// Write implements engine.Guard.
func (h *holder) Write(ctx context.Context) (engine.Lease, error) {
	if err := (*Lease)(h).Err(); err != nil {
		return nil, err
	}
	return (*believed)(h), ctx.Err()
}

// LookUp implements engine.Guard.
func (h *holder) LookUp(ctx context.Context, _ string) (engine.Lease, error) { return h.Write(ctx) }

// Keeps implements engine.Guard: no definition depends on the lease.
func (h *holder) Keeps(context.Context, string) (bool, error) { return true, nil }

// believed is a Lease as the engine's lease of a write.
type believed Lease

// Left implements engine.Lease.
func (b *believed) Left() time.Duration { return (*Lease)(b).left() }

// Suffices implements engine.Lease.
func (b *believed) Suffices() bool { return b.Left() > 0 }

// Keeps implements engine.Lease.
func (b *believed) Keeps(string) bool { return true }

// IsOthers implements engine.Guard: the table has one type.
func (*holder) IsOthers(string, string) bool { return false }

// Again implements engine.Lease: a lease that is over stays over.
func (b *believed) Again(context.Context) (engine.Lease, error) { return nil, nil }
