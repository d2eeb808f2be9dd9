package account

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Transport is an account in the program's own process: a *storagetest.Service, or a type that wraps one.
type Transport interface {
	policy.Transporter
	ConnectionString() string
}

// FromTransport opens an account in the program's own process, for tests. The clients send all requests to t, which replaces
// o.Client.Transport. Errors: t is nil, and those of [FromConnectionString].
func FromTransport(t Transport, o *Options) (*Account, error) {
	if t == nil {
		return nil, wrong("t", "is nil; use a *storagetest.Service")
	}
	var opt Options
	if o != nil {
		opt = *o
	}
	opt.Client.Transport = t
	return FromConnectionString(t.ConnectionString(), &opt)
}
