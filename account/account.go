package account

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// Account returns the clients of the three services. It is safe for concurrent use.
type Account struct {
	tables *aztables.ServiceClient
	queues *azqueue.ServiceClient
	blobs  *service.Client

	key      *aztables.SharedKeyCredential // nil if the account has no key
	endpoint string                        // of the Table service, without a signature
}

// String returns the endpoint of the Table service, and never a key or a signature.
func (a Account) String() string { return a.endpoint }

// Options are the options of an account. The zero value is ready for use.
type Options struct {
	// Client contains the options of the SDK: transport, retries, tracing, cloud. Retry.TryTimeout
	// defaults to ten seconds for tables and queues. It does not apply to blobs, where it would end
	// long downloads.
	Client azcore.ClientOptions

	// Counter counts the requests of all clients. Nil counts nothing.
	Counter *requests.Counter
}

// Endpoints are the addresses of the three services, such as https://NAME.table.core.windows.net.
// The clients of a service without an address exist, and their calls fail with ErrNoEndpoint.
type Endpoints struct {
	Table, Queue, Blob string
}

// FromCredential opens an account with a token credential, such as one of azidentity. Errors:
// *table.ValueError for a nil credential, and if all endpoints are empty; an error without a type
// for an endpoint that is no URL.
func FromCredential(e Endpoints, cred azcore.TokenCredential, o *Options) (*Account, error) {
	if cred == nil {
		return nil, wrong("cred", "is nil; use a token credential, such as one of azidentity")
	}
	return openAll(e, o, clients{
		tables: func(u string, c azcore.ClientOptions) (*aztables.ServiceClient, error) {
			return aztables.NewServiceClient(u, cred, &aztables.ClientOptions{ClientOptions: c})
		},
		queues: func(u string, c azcore.ClientOptions) (*azqueue.ServiceClient, error) {
			return azqueue.NewServiceClient(u, cred, &azqueue.ClientOptions{ClientOptions: c})
		},
		blobs: func(u string, c azcore.ClientOptions) (*service.Client, error) {
			return service.NewClient(u, cred, &service.ClientOptions{ClientOptions: c})
		},
	})
}

// FromSAS opens an account with endpoints that contain shared access signatures, one for each
// service. Errors: *table.ValueError if all endpoints are empty; an error without a type for an
// endpoint that is no URL.
func FromSAS(e Endpoints, o *Options) (*Account, error) { return openAll(e, o, withoutCredential) }

// withoutCredential makes clients that add no credential to their requests.
var withoutCredential = clients{
	tables: func(u string, c azcore.ClientOptions) (*aztables.ServiceClient, error) {
		return aztables.NewServiceClientWithNoCredential(u, &aztables.ClientOptions{ClientOptions: c})
	},
	queues: func(u string, c azcore.ClientOptions) (*azqueue.ServiceClient, error) {
		return azqueue.NewServiceClientWithNoCredential(u, &azqueue.ClientOptions{ClientOptions: c})
	},
	blobs: func(u string, c azcore.ClientOptions) (*service.Client, error) {
		return service.NewClientWithNoCredential(u, &service.ClientOptions{ClientOptions: c})
	},
}

// clients contains the functions that make the clients.
type clients struct {
	tables func(string, azcore.ClientOptions) (*aztables.ServiceClient, error)
	queues func(string, azcore.ClientOptions) (*azqueue.ServiceClient, error)
	blobs  func(string, azcore.ClientOptions) (*service.Client, error)
}

// openAll makes the clients of all three services.
func openAll(e Endpoints, o *Options, with clients) (*Account, error) {
	if o == nil {
		o = &Options{}
	}
	if e == (Endpoints{}) {
		return nil, wrong("Endpoints", "is empty; set Table, Queue or Blob")
	}
	configured := table.ClientOptions(o.Client, o.Counter)
	streaming := configured
	streaming.Retry.TryTimeout = 0
	var (
		a   Account
		err [3]error
	)
	a.tables, err[0] = newClient("Table", e.Table, configured, with.tables, withoutCredential.tables)
	a.queues, err[1] = newClient("Queue", e.Queue, configured, with.queues, withoutCredential.queues)
	a.blobs, err[2] = newClient("Blob", e.Blob, streaming, with.blobs, withoutCredential.blobs)
	if err := errors.Join(err[:]...); err != nil {
		return nil, err
	}
	a.endpoint, _, _ = strings.Cut(e.Table, "?") // without a signature
	return &a, nil
}

// TableSAS returns a URL of the Table service with a shared access signature for a grant, for
// FromSAS and for other SDKs. Errors: *table.ValueError for an account without its key, a grant
// without an operation or a period, and an invalid table name; ErrNoEndpoint; *table.LimitError for
// the length of the table name; *keys.KeyError for a range that no signature can have. Requests:
// none.
func (a *Account) TableSAS(g Grant) (string, error) {
	switch {
	case a.endpoint == "":
		return "", ErrNoEndpoint
	case a.key == nil:
		return "", &errs.ValueError{
			Field:  "the account",
			Reason: "was opened without its key and cannot sign; use FromConnectionString with AccountKey",
		}
	}
	query, err := g.Sign(a.key)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(a.endpoint, "/") + "/?" + query, nil
}

// newClient makes the client of a service. The calls of a client without an endpoint fail with
// ErrNoEndpoint.
func newClient[C any](service, endpoint string, o azcore.ClientOptions, with, without func(string, azcore.ClientOptions) (C, error)) (c C, err error) {
	if endpoint == "" {
		o.Retry.MaxRetries = -1
		o.PerCallPolicies = append(slices.Clone(o.PerCallPolicies), noEndpoint{}) // before the policies that mark a request as sent
		return without("https://nowhere.invalid/", o)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, fmt.Errorf("account: the %s endpoint is not an http or https URL", service) // the value may contain a signature
	}
	if u.Path == "" {
		u.Path = "/" // the SDK appends paths, which requires it before a query
	}
	return with(u.String(), o)
}

// noEndpoint is the policy of a client without an endpoint.
type noEndpoint struct{}

func (noEndpoint) Do(*policy.Request) (*http.Response, error) { return nil, ErrNoEndpoint }

// withSAS appends a shared access signature to each endpoint that has none.
func (e Endpoints) withSAS(sas string) Endpoints {
	sign := func(u string) string {
		if u == "" || strings.Contains(u, "?") {
			return u
		}
		return strings.TrimSuffix(u, "/") + "/?" + strings.TrimPrefix(sas, "?")
	}
	return Endpoints{sign(e.Table), sign(e.Queue), sign(e.Blob)}
}

// Tables returns the client of the Table service.
func (a *Account) Tables() *aztables.ServiceClient { return a.tables }

// Queues returns the client of the Queue service.
func (a *Account) Queues() *azqueue.ServiceClient { return a.queues }

// Blobs returns the client of the Blob service.
func (a *Account) Blobs() *service.Client { return a.blobs }

// Transport is an account in the program's own process: a *storagetest.Service, or a type that
// wraps one.
type Transport interface {
	policy.Transporter
	ConnectionString() string
}

// FromTransport opens an account in the program's own process, for tests. The clients send all
// requests to t, which replaces o.Client.Transport. Errors: *table.ValueError if t is nil; an error
// without a type for an invalid setting of t's connection string.
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

// ErrNoEndpoint means that the account was opened without an endpoint for the service. Such a call
// sends nothing and is not repeated.
var ErrNoEndpoint = errs.ErrNoEndpoint

// wrong returns a *table.ValueError about an argument.
func wrong(argument, reason string) error {
	return fmt.Errorf("account: %w", &table.ValueError{Field: argument, Reason: reason})
}
