package eventual

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrNotRunning: neither Run nor Drain of the worker is running, or its context has ended.
var ErrNotRunning = errors.New("eventual: the worker is not running")

// ErrNotReadable: the worker cannot receive messages from its queue.
var ErrNotReadable = errors.New("eventual: the queue cannot be read")

// errNoResponse: the queue has not responded yet.
var errNoResponse = errors.New("no response yet")

// readability is whether a receiver can read its queue.
type readability struct {
	mu    sync.Mutex
	since time.Time // of err
	err   error     // of the last request, nil if the queue responded with messages or none
}

// newReadability returns the state before the first response.
func newReadability(now time.Time) *readability { return &readability{since: now, err: errNoResponse} }

// failed notes the error of a request to receive messages. The time of the first error in a row stays.
func (r *readability) failed(now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.since = now
	}
	r.err = err
}

// succeeded notes that the queue has responded.
func (r *readability) succeeded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = nil
}

// result returns nil if the queue can be read.
func (r *readability) result() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("%w since %s: %w", ErrNotReadable, r.since.UTC().Format(time.RFC3339), r.err)
}
