package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of leases. The zero value of each field is its default.
type Options struct {
	// TTL is the time to live of a lease: how long after its last renewal another program may take
	// it. Whole seconds, from 3 s to 1 h. Defaults to 15 s. A holder renews its lease three times
	// as often. Programs of one lease may have different ones: each lease goes by its holder's.
	TTL time.Duration

	// Owner says who a holder is, to people and in a [HeldError]; at most 200 characters. Nothing
	// else depends on it, and several programs may have one. Defaults to the name of the machine
	// and the ID of the process.
	Owner string

	// Common bounds the requests. One attempt takes at most a quarter of TTL.
	table.Common
}

const (
	leastTimeToLive   = 3 * time.Second
	mostTimeToLive    = time.Hour
	defaultTimeToLive = 15 * time.Second

	mostOwner = 200
	mostName  = 100
)

// Leases are the leases of a store, in a table of their own. Their methods can be called at the
// same time.
type Leases struct {
	rows       *engine.Table
	timeToLive time.Duration
	owner      string
	err        error

	mu    sync.Mutex
	freed map[string]*row // that this process has released last
}

// New declares the leases of a store. New sends nothing: the store's Ensure creates their table.
//
//	leases := lease.New(company, "leases", nil) // in an aztablekit.Store
//
// Nothing else may write the table. Zero fields of Options.Common are those of the store.
//
// Errors, returned by the methods of the store and of the leases:
//   - *table.ValueError or *table.LimitError for a nil store, a wrong option, and a name that no
//     table can have or that something else has
//   - *table.ValueError for a declaration after a method of the store was called
func New(s extend.Store, name string, o *Options) *Leases {
	h, opt := host.Of(s), Options{}
	if o != nil {
		opt = *o
	}
	l := &Leases{timeToLive: cmp.Or(opt.TTL, defaultTimeToLive), owner: opt.Owner, freed: map[string]*row{}}
	if l.owner == "" {
		machine, _ := os.Hostname()
		l.owner = fmt.Sprintf("%s, process %d", machine, os.Getpid())
	}
	var parts host.Parts
	rows, err := host.NewTable(h, name, table.Schema[table.Row]{}, &table.Options{Common: opt.Common})
	err = errors.Join(err, l.checkOptions())
	if err == nil {
		door.Table(rows).Made = "Store.Ensure"
		l.rows = l.bound(door.Table(rows).LibraryHandle())
		parts = host.Parts{Tables: []string{rows.Name()}, Ensure: []host.Task{{Name: "table " + rows.Name(), Do: door.Table(rows).Ensure}}}
	}
	if err != nil {
		err = fmt.Errorf("lease: New %s: %w", name, err)
	}
	l.err = h.Declare("leases "+name, parts, err)
	return l
}

// checkOptions returns what is wrong with the options.
func (s *Leases) checkOptions() error {
	switch ttl := s.timeToLive; {
	case ttl < leastTimeToLive, ttl > mostTimeToLive, ttl%time.Second != 0:
		return &table.ValueError{Field: "Options.TTL", Reason: fmt.Sprintf("is %v; it must be whole seconds from %v to %v; leave it out for %v", ttl, leastTimeToLive, mostTimeToLive, defaultTimeToLive)}
	case !utf8.ValidString(s.owner):
		return &table.ValueError{Field: "Options.Owner", Reason: "is no valid UTF-8"}
	case utf8.RuneCountInString(s.owner) > mostOwner:
		return &table.LimitError{Field: "Options.Owner", Limit: "characters", Got: utf8.RuneCountInString(s.owner), Max: mostOwner}
	}
	return nil
}

// bound bounds the requests of a handle so that several fit into the time to live.
func (s *Leases) bound(t *engine.Table) *engine.Table {
	t.Options.Retry.AttemptTimeout = atMost(t.Options.Retry.AttemptTimeout, s.timeToLive/4)
	t.Options.ReadTimeout = atMost(t.Options.ReadTimeout, s.timeToLive/2)
	return t
}

// atMost returns d, or most if that is less; no bound is more than any.
func atMost(d, most time.Duration) time.Duration {
	if d <= 0 {
		return most
	}
	return min(d, most)
}

// check returns the mistake in the declaration, or in the name of a lease.
func (s *Leases) check(method, name string) (err error) {
	if s.err != nil {
		return s.err
	}
	legal := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_'
	}
	switch {
	case name == "":
		err = &table.ValueError{Field: "name", Reason: "is empty; a lease has a name"}
	case len(name) > mostName:
		err = &table.LimitError{Field: "name", Limit: "characters", Got: len(name), Max: mostName}
	case strings.ContainsFunc(name, func(r rune) bool { return !legal(r) }):
		err = &table.ValueError{Field: "name", Reason: fmt.Sprintf("is %.100q; the name of a lease consists of letters and digits of ASCII, hyphens, dots and underscores", name)}
	default:
		return nil
	}
	return fmt.Errorf("lease: %s: %w", method, err)
}

// Acquire acquires a lease if no program has it: if it was never acquired, was released, or is over
// by the service's clock. It is for a lease that outlasts a function, as a session does. For a job
// use [Leases.Try], which renews the lease.
//
//	held, err := leases.Acquire(ctx, "invoices")
//	var other *lease.HeldError
//	if errors.As(err, &other) {
//		fmt.Println(other.Owner, "has it")
//	}
//
// The caller renews the lease before it ends, and releases it: without a renewal, work that takes
// longer than Options.TTL overlaps with that of the next holder. After a lost response, Acquire
// reads the row and finds its own acquisition by a random number; the name of an owner does not
// matter.
//
// Errors:
//   - *[HeldError]
//   - [ErrLost] if the response came so late that the lease is over
//   - *table.ValueError or *table.LimitError for a name that is empty, longer than 100 characters,
//     or has other characters than letters, digits, hyphens, dots and underscores
//   - *table.DecodeError for a row, or a date of the service, that cannot be used
//   - table.ErrUnknownOutcome if the service could not be asked whether the lease was acquired: it
//     then ends by itself
//   - errors of a read and of a write (see package table)
//
// Requests: 2; 1 if another holder has it, and 1 if this process has released it last; 1 more than
// that if another process has acquired it since. Not idempotent: a second call finds the lease
// held, also by this process.
func (s *Leases) Acquire(ctx context.Context, name string) (*Lease, error) {
	return s.acquireAlone(ctx, "Acquire", name, 0)
}

// Raise makes the next fence of a lease greater than a fence of which the table of leases knows
// nothing, because it was restored, or dropped and made again; see [RestoredError]. It acquires the
// lease and releases it. Errors and requests are those of Acquire and of [Lease.Release];
// *table.ValueError for a negative fence, and for the greatest. Idempotent, but each call uses up a
// fence.
func (s *Leases) Raise(ctx context.Context, name string, above int64) error {
	if above < 0 || above >= mostFence-1 {
		return fmt.Errorf("lease: Raise %.100q: %w", name, &table.ValueError{Field: "above", Reason: fmt.Sprintf("is %d; it must be a fence, from 0 to %d", above, mostFence-2)})
	}
	held, err := s.acquireAlone(ctx, "Raise", name, above)
	if err != nil {
		return err
	}
	return held.Release(ctx)
}

// acquireAlone is acquire for a method that does nothing else.
func (s *Leases) acquireAlone(ctx context.Context, method, name string, above int64) (_ *Lease, err error) {
	if err := s.check(method, name); err != nil {
		return nil, err
	}
	ctx, end := s.rows.Span(ctx, method)
	defer func() { end(err) }()
	return s.acquire(ctx, method, name, above)
}

// acquire acquires a lease with a fence that is greater than a given one.
func (s *Leases) acquire(ctx context.Context, method, name string, above int64) (_ *Lease, err error) {
	if err := ctx.Err(); err != nil {
		return nil, s.rows.OpError(method, keyOf(name), err)
	}
	conflicts := s.rows.Options.NewConflicts()
	seen := s.takeFreed(name)
	for {
		if seen == nil {
			if seen, err = s.read(ctx, method, name); err != nil {
				return nil, err
			}
		}
		if left := seen.left(); left > 0 {
			return nil, &HeldError{Name: name, Owner: seen.owner, Fence: seen.fence, Left: left, timeToLive: seen.timeToLive}
		}
		if seen.fence >= mostFence-1 {
			return nil, s.rows.OpError(method, keyOf(name), &table.LimitError{Field: propertyFence, Limit: "fences", Got: int(seen.fence), Max: int(mostFence - 1)})
		}
		l := s.newLease(name, max(seen.fence, above)+1)
		was := seen.etag
		seen, err = s.take(ctx, method, l, was)
		switch {
		case err == nil && seen == nil:
			if err = l.Err(); err != nil {
				return nil, err
			}
			return l, nil
		case seen == nil:
			return nil, err
		}
		again, ended := conflicts.Wait(ctx, s.rows.Log(method, keyOf(name)), err)
		if !again {
			return nil, errors.Join(err, ended)
		}
	}
}

// take stores the row of a lease for a holder. After a conflict, or an unknown outcome, it returns
// the error and the row as it is then.
func (s *Leases) take(ctx context.Context, method string, l *Lease, was azcore.ETag) (seen *row, err error) {
	bounded, cancel := context.WithTimeout(ctx, belief(s.timeToLive))
	defer cancel()
	l.etag, err = s.store(bounded, method, l, was)
	if err == nil || !isOpen(err) {
		return nil, err
	}
	seen, failed := s.read(ctx, method, l.name)
	switch {
	case failed != nil:
		return nil, errors.Join(err, failed)
	case seen.nonce == l.nonce && !seen.released:
		l.etag = seen.etag
		return nil, nil
	}
	return seen, err
}

// takeFreed returns the row of a lease that this process has released last, nil if it has not. A
// second call returns nil.
func (s *Leases) takeFreed(name string) *row {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.freed[name]
	delete(s.freed, name)
	return r
}

// keepFreed notes the row of a lease that this process has released.
func (s *Leases) keepFreed(name string, r *row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freed[name] = r
}
