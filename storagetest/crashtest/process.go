package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/aztablekit/aztablekit/storagetest"
)

// Process is a program that uses the account. It is the Transport of the program's clients, and is
// safe for concurrent use.
//
// A seed reproduces a run only if the program is deterministic. Turn off the retries of the SDK's
// clients, because they wait for random times, and take random numbers from [Process.Rand].
type Process struct {
	name    string
	network *network
	tested  bool // the process can fail and crash
	ctx     context.Context
	cancel  context.CancelCauseFunc
	rng     *rand.Rand

	mu      sync.Mutex
	crashed bool
}

// ErrCrashed: the process of the request has crashed.
var ErrCrashed = errors.New("crashtest: the process has crashed")

// ConnectionString returns the account's connection string.
func (p *Process) ConnectionString() string { return p.network.service.ConnectionString() }

// Service returns the account.
func (p *Process) Service() *storagetest.Service { return p.network.service }

// Rand returns a source of random numbers, which the seed of the run determines. The source is not
// safe for concurrent use.
func (p *Process) Rand() *rand.Rand { return p.rng }

// Do sends a request, unless the process has crashed: Process is a policy.Transporter. A request
// ends with its own context or with the context of the process, whichever ends first.
func (p *Process) Do(r *http.Request) (*http.Response, error) {
	if p.hasCrashed() {
		return nil, ErrCrashed
	}
	request, r, err := p.network.service.Describe(r)
	if err != nil {
		return nil, err
	}
	ctx, end := joinContexts(r.Context(), p.ctx)
	defer end()
	h := &heldRequest{process: p.name, tested: p.tested, request: request, checksum: checksum(request, r), released: make(chan struct{})}
	if err := p.network.hold(ctx, h); err != nil {
		return nil, err
	}
	switch {
	case h.crash:
		p.crash()
		ctx = context.WithoutCancel(ctx) // the request outlives the process
	case p.hasCrashed():
		return nil, ErrCrashed
	}
	resp, err := p.network.send(h, r.WithContext(ctx))
	if h.crash {
		return nil, ErrCrashed
	}
	return resp, err
}

func (p *Process) crash() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.crashed = true
	p.cancel(ErrCrashed)
}

func (p *Process) hasCrashed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashed
}

// joinContexts returns a context that ends with a or b, whichever ends first.
func joinContexts(a, b context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(a)
	stop := context.AfterFunc(b, func() { cancel(context.Cause(b)) })
	return ctx, func() { stop(); cancel(nil) }
}

// blobHeaders are the headers that distinguish requests for the same blob, in the SDK's spelling.
var blobHeaders = []string{"x-ms-range", "x-ms-blob-condition-appendpos", "x-ms-lease-action", "x-ms-lease-id", "If-None-Match"}

// checksum distinguishes requests for the same row, message or blob by their contents.
func checksum(request storagetest.Request, r *http.Request) uint64 {
	h := fnv.New64a()
	if request.Queue+request.Container != "" {
		io.WriteString(h, r.URL.RawQuery)
	}
	if request.Blob != "" {
		for _, name := range blobHeaders {
			fmt.Fprintf(h, "%q", r.Header[name])
		}
	}
	io.WriteString(h, r.Header.Get("If-Match"))
	if r.Body != nil {
		b, _ := io.ReadAll(r.Body) // a body in memory, since Describe
		h.Write(b)
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	return h.Sum64()
}
