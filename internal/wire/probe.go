package wire

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

var errNoResponse = errors.New("the client's pipeline kept no reply")

// probe is carried by a call's context and marked by the two Probe policies, if the client has them.
type probe struct {
	entered, sent atomic.Bool
	max           int64
}

// BodyError is a request body that is too large to be sent.
type BodyError struct{ Size int }

func (e *BodyError) Error() string { return fmt.Sprintf("the request body has %d bytes", e.Size) }

type probeKey struct{}

// Probe are policies that mark how far a request got. A client that has them tells a request that failed on its way to the
// network, for want of a token for instance, from one whose outcome is unknown.
type (
	ProbeCall  struct{} // per call: the request entered the pipeline
	ProbeRetry struct{} // per retry, behind the credential: the request went on to the transport
)

// Do implements policy.Policy.
func (ProbeCall) Do(r *policy.Request) (*http.Response, error) {
	if p, ok := r.Raw().Context().Value(probeKey{}).(*probe); ok {
		p.entered.Store(true)
		if n := r.Raw().ContentLength; p.max > 0 && n > p.max {
			return nil, &BodyError{int(n)}
		}
	}
	return r.Next()
}

// Do implements policy.Policy.
func (ProbeRetry) Do(r *policy.Request) (*http.Response, error) {
	if p, ok := r.Raw().Context().Value(probeKey{}).(*probe); ok {
		p.sent.Store(true)
	}
	return r.Next()
}
