package catalogue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/pace"
)

// defaultLease is a minute, and what a request may take.
const defaultLease = 66 * time.Second

// A lease is divided by parts: enough for a request is one part, and a program reads the row again
// when less than one and a half are left.
const parts = 11

// Catalogue is the row of a table as this process knows it. All handles of the table in a store
// share it.
type Catalogue struct {
	table  *engine.Table
	lease  time.Duration // of a row that Ensure makes
	guards []*Guard
	known  atomic.Pointer[reading]
	lasts  atomic.Int64 // the lease of the row, as far as it is known
	told   sync.Once    // that the row is hidden

	mu      sync.Mutex
	current *read // in progress; nil for none
}

// New returns the catalogue of a table, without declared types. A lease of 0 is the default.
func New(t *engine.Table, lease time.Duration) *Catalogue {
	if lease == 0 {
		lease = defaultLease
	}
	return &Catalogue{table: t.LibraryHandle(), lease: lease}
}

// CheckLease returns an error for a lease that no row can have.
func CheckLease(lease time.Duration) error {
	if lease != 0 && (lease < leastLease || lease > mostLease) {
		return &errs.ValueError{Field: "Options.CatalogueAge", Reason: "must be from 10 ms to 1 h; leave it out for the default"}
	}
	return nil
}

// reading is what was read of the row.
type reading struct {
	at     pace.Moment // before the request was sent
	row    *Row        // nil if there is none
	etag   azcore.ETag
	hidden bool  // the client may not see the row, or whether there is one
	broken error // why the row cannot be used
	lasts  time.Duration
}

func (c *Catalogue) now() pace.Moment { return pace.MomentOf(c.table.Options.Now) }

// left returns for how long one may go by the reading.
func (r *reading) left(now pace.Moment) time.Duration { return r.lasts - now.Since(r.at) }

// read is what is under way to read the row: a request, and those that have overtaken it because it
// does not end.
type read struct {
	done   chan struct{} // closed when there is a result
	result *reading
	err    error
	last   time.Time // when the last request began
	open   int       // the requests that have not ended
}

// reading returns what is known of the row, and reads it if that is too old. Requests: none or 1.
func (c *Catalogue) reading(ctx context.Context) (*reading, error) {
	if r := c.recent(ctx); r != nil {
		return r, nil
	}
	return c.readNow(ctx)
}

// readingLong is reading, and reads again during an outage: for look-ups. A write repeats its whole
// plan instead.
func (c *Catalogue) readingLong(ctx context.Context) (*reading, error) {
	if r := c.recent(ctx); r != nil {
		return r, nil
	}
	return c.repeat(ctx, c.readNow)
}

// recent returns what is known of the row, nil if it is too old. It reads the row ahead.
func (c *Catalogue) recent(ctx context.Context) *reading {
	r := c.known.Load()
	if r == nil {
		return nil
	}
	left, part := r.left(c.now()), r.lasts/parts
	switch {
	case left < part:
		return nil
	case left < part*3/2:
		c.begin(ctx, c.patience(ctx)) // ahead: nothing waits for it
	}
	return r
}

// readNow reads the row, together with others that wait for it. Requests: 1, and 1 more each time
// that a request takes too long.
func (c *Catalogue) readNow(ctx context.Context) (*reading, error) {
	patience := c.patience(ctx)
	for {
		f, rest := c.begin(ctx, patience)
		overtake := time.NewTimer(rest)
		select {
		case <-f.done:
			overtake.Stop()
			return f.result, f.err
		case <-ctx.Done():
			overtake.Stop()
			return nil, engine.Ended(ctx)
		case <-overtake.C:
		}
	}
}

// repeat reads the row, and again during an outage, as long as a read may take.
func (c *Catalogue) repeat(ctx context.Context, read func(context.Context) (*reading, error)) (r *reading, err error) {
	ctx, cancel := engine.Bound(ctx, engine.Retry(c.table.Options.Retry).Timeout(ctx, c.table.Options.ReadTimeout))
	defer cancel()
	err = engine.Retry(c.table.Options.Retry).Repeat(ctx, c.table.Log("Catalogue", key), func() (again bool, err error) {
		r, err = read(ctx)
		return engine.Outage(err), err
	})
	return r, err
}

// begin sends a request for the row, unless one was sent that has not taken too long so far. rest
// is when it has.
func (c *Catalogue) begin(ctx context.Context, patience time.Duration) (f *read, rest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		c.current = &read{done: make(chan struct{})}
	}
	f = c.current
	rest = patience - time.Since(f.last)
	if rest > 0 {
		return f, rest
	}
	f.last = time.Now()
	f.open++
	ctx = engine.Impatient(context.WithoutCancel(ctx)) // it is the request of all that wait for it
	go func() {
		r, err := c.fetchOnce(ctx)
		c.end(f, r, err)
	}()
	return f, patience
}

// end ends a request. An outage is a result only if no other request may have a better one.
func (c *Catalogue) end(f *read, r *reading, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.open--
	if c.current != f || f.open > 0 && engine.Outage(err) {
		return
	}
	c.current = nil
	f.result, f.err = r, err
	close(f.done)
}

// patience returns for how long one waits for a request before another overtakes it: a quarter of
// what it may take, and of the time that the caller has.
func (c *Catalogue) patience(ctx context.Context) time.Duration {
	most := c.timeout()
	if end, bounded := ctx.Deadline(); bounded {
		most = min(most, time.Until(end))
	}
	return most / 4
}

// timeout bounds a request for the row.
func (c *Catalogue) timeout() time.Duration {
	if most := c.table.Options.Retry.AttemptTimeout; most > 0 {
		return most
	}
	return engine.DefaultAttemptTimeout
}

// fetch reads the row, and again during an outage. 1 request.
func (c *Catalogue) fetch(ctx context.Context) (*reading, error) { return c.repeat(ctx, c.fetchOnce) }

// fetchOnce reads the row. 1 request.
func (c *Catalogue) fetchOnce(ctx context.Context) (*reading, error) {
	ctx, cancel := engine.Bound(ctx, c.timeout())
	defer cancel()
	r := &reading{at: c.now(), lasts: c.lease}
	found, err := c.table.GetReserved(ctx, "Catalogue", key)
	row, hidden := found.Row, found.Hidden
	var re *azcore.ResponseError
	mayNotRead := errors.As(err, &re) && re.ErrorCode == "AuthorizationPermissionMismatch" && c.lasts.Load() == 0
	switch {
	case mayNotRead, err == nil && row == nil && hidden:
		r.hidden = true
		c.told.Do(func() {
			if log := c.table.Options.Logger; log != nil {
				log.WarnContext(ctx, "the catalogue of the table cannot be read; only rows tell which definitions other programs keep", "table", c.table.Name)
			}
		})
	case err != nil:
		return nil, err
	case row != nil:
		r.etag = row.ETag
		r.row, r.broken = Decode(row)
		if r.broken == nil {
			r.lasts = r.row.Lease
			c.lasts.Store(int64(r.lasts))
		}
	}
	c.learn(r)
	return r, nil
}

// learn keeps the newest reading.
func (c *Catalogue) learn(r *reading) {
	for {
		old := c.known.Load()
		if old != nil && old.at.Monotonic.After(r.at.Monotonic) || c.known.CompareAndSwap(old, r) {
			return
		}
	}
}

// fail returns an error about the row.
func (c *Catalogue) fail(definition string, state State, is error, reason string, cause error) error {
	return &errs.CatalogueError{Table: c.table.Name, Definition: definition, State: string(state), Is: is, Reason: reason, Err: cause}
}

// unusable returns why nothing can be done by a reading, nil if the row can be used or is hidden.
func (c *Catalogue) unusable(r *reading) error {
	switch {
	case r.broken != nil:
		return c.fail("", "", nil, "its catalogue, the row ('~c','~c'), cannot be used; if it is damaged, delete it, call Store.Ensure, and then Store.Fill", r.broken)
	case r.row == nil && !r.hidden:
		return c.fail("", "", errs.ErrNotRecorded, "it has no catalogue; call Store.Ensure", nil)
	}
	return nil
}

// Stamps is the form of a definition because of which writes store the stamps of partitions. No
// rows follow from it. While one of them is kept, whichever type has it, types without one are
// refused, whatever their keys are, and writers of all others store stamps, whatever the state of
// their own is.
const Stamps = "stamps"

// Stamps returns what the stamps of the table go by now, "" if not all writers store them. As long
// as it is the same, they do. Requests: none or 1.
func (c *Catalogue) Stamps(ctx context.Context) (string, error) {
	r, err := c.readingLong(ctx)
	if err != nil || r.row == nil || r.broken != nil {
		return "", err
	}
	return r.row.Stamps(), nil
}

// Stamps returns what the stamps of the table go by, "" if not all writers that see the catalogue
// store them.
func (r *Row) Stamps() (id string) {
	for _, d := range r.Definitions {
		if d.Form == Stamps && d.State == Readable {
			id += d.ID
		}
	}
	return id
}

// keepsStamps reports whether writers store stamps.
func (r *Row) keepsStamps() bool {
	return slices.ContainsFunc(r.Definitions, func(d Definition) bool { return d.Form == Stamps && d.State.kept() })
}
