package table

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/requests"
)

// ClientOptions returns a copy of base with what this library adds to a client of the SDK:
//
//   - The text of a transport error contains no signature, nor does the status of a span of base.TracingProvider, also if the answer
//     repeats the URL of its request.
//   - An attempt ends after 10 s, unless base sets Retry.TryTimeout. The SDK waits without a bound.
//   - A write that was never sent, for example because the client got no token, is recognized: its outcome is known.
//   - Entities go past the SDK, which decodes each to a map and encodes it again. The library puts its own request in the place of a
//     small DeleteEntity of the SDK, which still signs, repeats and logs it. The first request of each table is the SDK's. So are all
//     requests of a client with a TracingProvider whose table has no Options.Tracing.
//   - Requests to Azure Cosmos DB, which has other rules, fail with [ErrCosmosDB] and are not sent.
//   - counter counts the requests, if it is not nil.
//   - If base has no Transport, the copy gets one that follows no redirects, because a redirected write would be sent again as a GET,
//     and that keeps up to 100 idle connections to each host, so that a burst of requests opens none if one as large came before it.
//     The default transport of the SDK keeps 10. A Transport of base stays as it is.
//
// Clients that are made without ClientOptions work as well: the library then bounds its own writes, and reports the
// outcome of each write that may have been sent as unknown.
//
// Put your own policies into base. One that you put in front of those of the result sees the small DeleteEntity.
//
// The options are for clients of the Table and the Queue service. For blobs, whose bodies are streams, set Retry.TryTimeout to 0
// afterwards, because a bound on one attempt would cut long downloads.
func ClientOptions(base azcore.ClientOptions, counter *requests.Counter) azcore.ClientOptions {
	o := base
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Retry.TryTimeout == 0 {
		o.Retry.TryTimeout = engine.DefaultAttemptTimeout
	}
	o.TracingProvider = wire.RedactSpans(base.TracingProvider)
	o.PerCallPolicies = append([]policy.Policy{wire.ProbeCall{}}, base.PerCallPolicies...)
	o.PerRetryPolicies = slices.Clone(base.PerRetryPolicies)
	if counter != nil {
		o.PerRetryPolicies = append(o.PerRetryPolicies, counter)
	}
	o.PerRetryPolicies = append(o.PerRetryPolicies, wire.ProbeRetry{})
	return o
}

// newTransport is the SDK's default transport, but that it follows no redirects and keeps more connections: so many for each host,
// since an account has several.
func newTransport() *http.Client {
	const connections = 100
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: connections, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
