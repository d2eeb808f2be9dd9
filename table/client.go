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

// ClientOptions returns a copy of base with what this library adds to a client of the SDK: no signature in the text of a transport
// error; attempts that end after 10 s unless base says otherwise, since the SDK waits for ever; marks by which a write that never
// left the machine, for want of a token for instance, is told from one whose outcome is unknown; and counter, if it is not nil. If
// base has no Transport, the copy gets one that follows no redirects, because a redirected write would be sent again as a GET, and
// that keeps up to 100 connections to a host. Clients made without it work as well: the library then bounds its own writes and
// treats every doubt as unknown.
//
// It serves clients of the Table and the Queue service. For blobs, whose bodies are streams, set Retry.TryTimeout back to 0
// afterwards: a limit on one try would cut long downloads.
func ClientOptions(base azcore.ClientOptions, counter *requests.Counter) azcore.ClientOptions {
	o := base
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Retry.TryTimeout == 0 {
		o.Retry.TryTimeout = engine.DefaultAttemptTimeout
	}
	o.PerCallPolicies = append([]policy.Policy{wire.RedactPolicy{}, wire.ProbeCall{}}, base.PerCallPolicies...)
	o.PerRetryPolicies = slices.Clone(base.PerRetryPolicies)
	if counter != nil {
		o.PerRetryPolicies = append(o.PerRetryPolicies, counter)
	}
	o.PerRetryPolicies = append(o.PerRetryPolicies, wire.ProbeRetry{})
	return o
}

// newTransport is the SDK's default transport, but that it follows no redirects and keeps more connections.
func newTransport() *http.Client {
	const connections = 100
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			MaxIdleConns: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
