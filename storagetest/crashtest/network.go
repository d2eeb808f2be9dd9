package crashtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// network connects the processes of a run with the account. It holds each request until the run
// releases the request, injects faults, and records what reaches the account.
type network struct {
	service   *storagetest.Service
	invariant func(*storagetest.Service) error // may be nil
	start     time.Time
	wake      chan struct{} // signals that a request is held or a process has ended

	mu        sync.Mutex
	waiting   []*heldRequest
	running   int          // processes
	sending   *heldRequest // the request on its way to the account
	senders   map[int]string
	sent      []storagetest.Request // by the processes under test
	injected  []string              // into those requests
	trace     []string
	watching  bool // the invariant must hold
	violation error
}

// heldRequest is a request that waits for its release.
type heldRequest struct {
	process  string
	tested   bool // the process is under test
	request  storagetest.Request
	checksum uint64
	released chan struct{}
	fault    storagetest.Fault
	crash    bool // the process crashes with this request
}

// newNetwork connects processes with a new account.
func newNetwork(o storagetest.Options, invariant func(*storagetest.Service) error) *network {
	n := &network{invariant: invariant, start: time.Now(), wake: make(chan struct{}, 1), senders: map[int]string{}}
	o.Faults, o.AfterRequest = n.choose, n.afterRequest
	n.service = storagetest.New(&o)
	return n
}

// update changes the state and wakes the run.
func (n *network) update(f func()) {
	n.mu.Lock()
	f()
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// hold holds a request until its release, or until its context ends.
func (n *network) hold(ctx context.Context, h *heldRequest) error {
	n.update(func() { n.waiting = append(n.waiting, h) })
	select {
	case <-h.released:
		return nil
	case <-ctx.Done():
		n.remove(h)
		return context.Cause(ctx)
	}
}

// release releases a request with a fault.
func (n *network) release(h *heldRequest, f storagetest.Fault, crash bool) {
	h.fault, h.crash = f, crash
	n.remove(h)
	close(h.released)
}

func (n *network) remove(h *heldRequest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = slices.DeleteFunc(n.waiting, func(o *heldRequest) bool { return o == h })
}

// send sends a released request to the account.
func (n *network) send(h *heldRequest, req *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.sending = h
	n.mu.Unlock()
	resp, err := n.service.Do(req)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sending == h {
		n.sending = nil // the request has not arrived
	}
	return resp, err
}

// choose is the FaultFunc of the account.
func (n *network) choose(r storagetest.Request) storagetest.Fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.sending
	if h == nil {
		return storagetest.Fault{} // a request of Check or Invariant
	}
	n.sending = nil
	n.senders[r.Number] = h.process
	if !h.tested {
		return storagetest.Fault{}
	}
	n.sent = append(n.sent, r)
	if h.fault != (storagetest.Fault{}) || h.crash {
		i := injection{len(n.sent), h.fault, h.crash}
		n.injected = append(n.injected, fmt.Sprintf("%v (%s, number %d)", i, h.process, r.Number))
	}
	if h.crash {
		n.note("%s crashes", h.process)
	}
	return h.fault
}

// afterRequest records a request that has reached the account, and checks the invariant.
func (n *network) afterRequest(r storagetest.Request) {
	n.mu.Lock()
	sender, known := n.senders[r.Number]
	if known && n.watching {
		n.note("%s: %v", sender, r)
	}
	n.mu.Unlock()
	if known {
		n.checkInvariant(r.String())
	}
}

// note adds a line to the trace. The caller holds the lock.
func (n *network) note(format string, args ...any) {
	n.trace = append(n.trace, fmt.Sprintf("%8.3fs  ", time.Since(n.start).Seconds())+fmt.Sprintf(format, args...))
}

// checkInvariant checks the invariant after an event.
func (n *network) checkInvariant(event string) {
	n.mu.Lock()
	skip := !n.watching || n.invariant == nil || n.violation != nil
	n.mu.Unlock()
	if skip {
		return
	}
	if _, err := recovered("Invariant", func() error { return n.invariant(n.service) }); err != nil {
		n.mu.Lock()
		n.violation = fmt.Errorf("after %s: %w", event, err)
		n.mu.Unlock()
	}
}

// firstViolation returns the first violation of the invariant.
func (n *network) firstViolation() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.violation
}
