package testkit

import (
	"net/http"
	"sync"

	"github.com/aztablekit/aztablekit/storagetest"
)

// Hooked is a service in memory that calls a function before each request.
type Hooked struct {
	*storagetest.Service
	BeforeRequest func(*http.Request)
	Serial        bool // one request at a time, each with its call

	mu sync.Mutex
}

// Do calls the function, and executes the request.
func (h *Hooked) Do(r *http.Request) (*http.Response, error) {
	if h.Serial {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	if f := h.BeforeRequest; f != nil {
		f(r)
	}
	return h.Service.Do(r)
}
