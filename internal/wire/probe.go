package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// ErrCosmosDB refuses Cosmos DB, of which the rules of keys, lists and transactions are not those on which the library relies.
var ErrCosmosDB = errors.New("the service is Azure Cosmos DB, which has no order of keys and other limits than Table storage; use an account of Azure Storage")

var errNoResponse = errors.New("the client's pipeline captured no response")

// probe is the part of a call's context that the Probe policies mark.
type probe struct {
	entered, sent atomic.Bool
	changed       atomic.Bool // the SDK or a policy has put values into the context
	max           int64
	outer         context.Context // that the SDK got

	request  *Request                      // nil if the SDK's request is sent
	put      atomic.Bool                   // the request was put in the place of the SDK's
	address  atomic.Pointer[string]        // the path at which it was put there
	response atomic.Pointer[http.Response] // to the request
	reply    http.Response                 // that the SDK gets for a success: it has no headers to read
}

// BodyError reports a request body that exceeds [Call.MaxBody].
type BodyError struct{ Size int } // in bytes

func (e *BodyError) Error() string { return fmt.Sprintf("the request body has %d bytes", e.Size) }

type probeKey struct{}

func probeOf(r *policy.Request) *probe {
	p, _ := r.Raw().Context().Value(probeKey{}).(*probe)
	return p
}

// The Probe policies mark how far a request got, so that a request that failed before the network, for example for lack of a token,
// is not mistaken for one whose outcome is unknown. And they put a [Request] in the place of the SDK's.
type (
	ProbeCall  struct{} // per call: the request entered the pipeline
	ProbeRetry struct{} // per retry, after the credential: the request went on to the transport
)

// Do implements policy.Policy. Errors of the other policies and of the transport lose their signatures; see [Redact].
func (ProbeCall) Do(r *policy.Request) (*http.Response, error) {
	p := probeOf(r)
	if p == nil {
		resp, err := r.Next()
		return resp, Redact(err)
	}
	p.entered.Store(true)
	if isCosmos(r.Raw().URL.Host) {
		return nil, ErrCosmosDB
	}
	if p.request != nil {
		return p.exchange(r)
	}
	p.changed.Store(r.Raw().Context() != p.outer)
	return p.next(r)
}

// exchange sends the library's request. The SDK gets the response only if it is not a success, and an empty success otherwise.
func (p *probe) exchange(r *policy.Request) (*http.Response, error) {
	if err := p.replace(r); err != nil {
		return nil, err
	}
	resp, err := p.next(r)
	if err == nil && resp != nil {
		if _, err = runtime.Payload(resp); err != nil {
			err = Redact(err)
		}
	}
	p.response.Store(resp)
	if err == nil && resp != nil && p.request.succeeded(resp) {
		return &p.reply, nil
	}
	return resp, err
}

// replace puts the library's request in the place of the SDK's. It is there already if a policy in front sends the request again.
func (p *probe) replace(r *policy.Request) error {
	raw := r.Raw()
	if was := p.address.Load(); was == nil || raw.URL.Path != *was || raw.Method != p.request.Method {
		if err := p.request.put(r); err != nil {
			return err
		}
		at := raw.URL.Path
		p.address.Store(&at)
		p.put.Store(true)
	}
	runtime.SkipBodyDownload(r) // ProbeRetry does it
	return p.request.putBody(r)
}

func (p *probe) next(r *policy.Request) (*http.Response, error) {
	if n := r.Raw().ContentLength; p.max > 0 && n > p.max {
		return nil, &BodyError{int(n)}
	}
	resp, err := r.Next()
	return resp, Redact(err)
}

// Do implements policy.Policy.
func (ProbeRetry) Do(r *policy.Request) (*http.Response, error) {
	p := probeOf(r)
	if p == nil {
		return r.Next()
	}
	p.sent.Store(true)
	resp, err := r.Next()
	if err == nil && resp != nil && p.request != nil {
		err = download(resp)
	}
	return resp, err
}

// isCosmos reports whether the SDK takes a host for Cosmos DB. The name of an account of Azure Storage may contain cosmos.
func isCosmos(host string) bool {
	host = strings.ToLower(host)
	return strings.Contains(host, ".table.cosmos.") || strings.Contains(host, ".table.cosmosdb.") || strings.HasPrefix(host, "localhost:8902")
}
