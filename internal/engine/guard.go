package engine

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// Guard says what a handle may do by the catalogue of its table; package catalogue implements it. A
// handle without one keeps its own definitions, whatever the catalogue says.
type Guard interface {
	// Write returns a lease to write by. Errors: *errs.CatalogueError for a handle that must not
	// write now; errors of a read.
	Write(ctx context.Context) (Lease, error)

	// LookUp returns a lease to look entities up by a definition. Errors as of Write.
	LookUp(ctx context.Context, definition string) (Lease, error)

	// Keeps reports whether writers keep the rows of a maintainer now, also for a handle that must
	// not write. Errors as of Write, of a catalogue that cannot be used.
	Keeps(ctx context.Context, maintainer string) (bool, error)

	// IsOthers reports whether a row that is not one of the handle's type is one of another type
	// that the program declares for the table, by its RowKey
	// and the name of its type, "" for none.
	IsOthers(rowKey, typeName string) bool
}

// Lease is the right to go by what was read of the catalogue for some time.
type Lease interface {
	// Left returns that time. 0 or less: the lease is over.
	Left() time.Duration

	// Suffices reports whether enough is left to send a request.
	Suffices() bool

	// Keeps reports whether writes keep the rows of a maintainer. If not, they add none, and drop
	// those that the entity records.
	Keeps(maintainer string) bool

	// Again returns a lease by what the catalogue says now, nil if that is not what this lease goes
	// by. Errors of a read.
	Again(ctx context.Context) (Lease, error)
}

// LookUp is the definition by which a handle looks entities up. What it reads is an answer only
// while the definition is readable.
type LookUp struct {
	Guard      Guard
	Definition string
}

// heldLease is a lease by which a write was planned.
type heldLease struct {
	guard Guard
	Lease
}

// takeLeases takes the leases by which the operations of the write are planned.
func (w *write) takeLeases(ctx context.Context) error {
	w.leases = w.leases[:0]
	for _, op := range w.ops {
		if _, err := w.lease(ctx, op.Table.Mode.Guard); err != nil {
			return err
		}
	}
	for _, op := range w.participantOps {
		if _, err := w.lease(ctx, op.Table.Mode.Guard); err != nil {
			return err
		}
	}
	return nil
}

// lease returns the lease of a guard, nil for none.
func (w *write) lease(ctx context.Context, g Guard) (Lease, error) {
	if g == nil {
		return nil, nil
	}
	for _, held := range w.leases {
		if held.guard == g {
			return held.Lease, nil
		}
	}
	l, err := g.Write(ctx)
	if err == nil {
		w.leases = append(w.leases, heldLease{g, l})
	}
	return l, err
}

// lateLease returns the lease that is left for too short a time, nil if there is none.
func (w *write) lateLease() Lease {
	for _, held := range w.leases {
		if !held.Suffices() {
			return held.Lease
		}
	}
	return nil
}

// holds reports whether the transaction may be sent under the leases. A write that is in doubt
// cannot be planned again: it takes the leases
// again, if the catalogue has not changed.
func (w *write) holds(ctx context.Context) bool {
	if w.lateLease() == nil {
		return true
	}
	if w.sent.doubt == nil {
		return false
	}
	for i, held := range w.leases {
		again, err := held.Again(ctx)
		if err != nil || again == nil {
			return false
		}
		w.leases[i].Lease = again
	}
	return w.lateLease() == nil
}

var errLateLease = errors.New("what it has read of the table's catalogue is too old")

// underLease returns the context of a request that is sent under the leases: it ends with the first
// of them. A machine that was suspended before the request was signed does not send it.
func (w *write) underLease(ctx context.Context) (context.Context, context.CancelFunc) {
	if len(w.leases) == 0 {
		return ctx, func() {}
	}
	first := w.leases[0].Lease
	for _, held := range w.leases[1:] {
		if held.Left() < first.Left() {
			first = held.Lease
		}
	}
	if most := w.table.attemptTimeout(); most > 0 && most <= first.Left() {
		return wire.WithEnd(ctx, first), func() {}
	}
	return UnderLease(ctx, first)
}

// UnderLease returns the context of requests that are sent under a lease.
func UnderLease(ctx context.Context, l Lease) (context.Context, context.CancelFunc) {
	return Bound(wire.WithEnd(ctx, l), max(l.Left(), 0))
}

// mostLookUps is how often a look-up is sent whose response comes when its lease is over.
const mostLookUps = 3

var errSlowLookUp = errors.New("each response came so late that the definition may not be readable any more")

// read sends a request of a look-up until the lease still holds when the response is here.
func (l *LookUp) read(ctx context.Context, send func() error) error {
	for range mostLookUps {
		lease, err := l.Guard.LookUp(ctx, l.Definition)
		if err != nil {
			return err
		}
		if err := send(); err != nil || lease.Left() > 0 {
			return err
		}
	}
	return errs.With(errs.ErrUnreachable, errSlowLookUp)
}

// releaseReader releases the reader of a response that is thrown away.
func releaseReader(r *edm.Reader) {
	if r != nil {
		r.Release()
	}
}
