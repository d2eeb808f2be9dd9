package wire

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

var (
	errNoResponse    = errors.New("the client's pipeline captured no response")
	errOtherResponse = errors.New("a policy in front of those of ClientOptions has replaced the response")
)

// probe is the part of a call's context that the Probe policies mark.
type probe struct {
	entered, sent atomic.Bool
	max           int64
	tap           tapped
}

// BodyError reports a request body that exceeds [Call.MaxBody].
type BodyError struct{ Size int } // in bytes

func (e *BodyError) Error() string { return fmt.Sprintf("the request body has %d bytes", e.Size) }

type probeKey struct{}

// The Probe policies mark how far a request got, so that a request that failed before the network, for example for lack of a token,
// is not mistaken for one whose outcome is unknown.
type (
	ProbeCall  struct{} // per call: the request entered the pipeline
	ProbeRetry struct{} // per retry, after the credential: the request went on to the transport
)

// Do implements policy.Policy.
func (ProbeCall) Do(r *policy.Request) (*http.Response, error) {
	p, ok := r.Raw().Context().Value(probeKey{}).(*probe)
	if !ok {
		return r.Next()
	}
	p.entered.Store(true)
	if err := p.tap.swap(r); err != nil {
		return nil, err
	}
	if n := r.Raw().ContentLength; p.max > 0 && n > p.max {
		return nil, &BodyError{int(n)}
	}
	resp, err := r.Next()
	if err == nil && resp != nil {
		p.tap.take(resp)
	}
	return resp, err
}

// Do implements policy.Policy.
func (ProbeRetry) Do(r *policy.Request) (*http.Response, error) {
	if p, ok := r.Raw().Context().Value(probeKey{}).(*probe); ok {
		p.sent.Store(true)
	}
	return r.Next()
}
