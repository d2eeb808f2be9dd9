package integration

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// connection is the transport of one process. It loses requests, or the responses to them, as a broken connection does. If the
// process crashes, no later request reaches the service.
type connection struct {
	next  policy.Transporter
	plan  func(n int, r *http.Request) mishap // of request n, which starts with 1; nil for none
	crash context.CancelFunc                  // ends the context of the process; nil if no mishap is a crash

	mu      sync.Mutex
	sent    int
	crashed bool
}

// mishap is a fault of one request, such as those of storagetest.LostRequest and storagetest.LostResponse, in front of any service.
type mishap struct {
	lost     bool // the client gets no response
	executed bool // the service executed the request all the same
	crash    bool // the process crashes with the request
}

func (m mishap) String() string {
	s := "no mishap"
	switch {
	case m.lost && m.executed:
		s = "response lost"
	case m.lost:
		s = "request lost"
	}
	if m.crash {
		s += ", and the process crashes"
	}
	return s
}

var (
	errBroken  = errors.New("the connection broke")
	errCrashed = errors.New("the process has crashed")
)

// transportOf returns the transport of a backend's clients.
func transportOf(b backend) policy.Transporter {
	if t := b.Client().Transport; t != nil {
		return t
	}
	return http.DefaultClient
}

// Do implements policy.Transporter.
func (c *connection) Do(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	if c.crashed {
		c.mu.Unlock()
		return nil, errCrashed
	}
	c.sent++
	var m mishap
	if c.plan != nil {
		m = c.plan(c.sent, r)
	}
	c.crashed = m.crash
	c.mu.Unlock()
	if m.crash {
		defer c.crash()
	}
	if !m.lost {
		return c.next.Do(r)
	}
	if m.executed {
		resp, err := c.next.Do(r)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return nil, errBroken
}

// requests returns how many requests were sent.
func (c *connection) requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}
