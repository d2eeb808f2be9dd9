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
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/table"
)

// Account hands out clients for the three services. It is safe for concurrent use.
type Account struct {
	tables *aztables.ServiceClient
	queues *azqueue.ServiceClient
	blobs  *service.Client

	key      *aztables.SharedKeyCredential // nil without an account key
	endpoint string                        // of the Table service
}

// Options of an account. The zero value is ready for use.
type Options struct {
	// Client is the SDK's own options: transport, retries, tracing, cloud. Retry.TryTimeout defaults to ten seconds for
	// tables and queues and is never applied to blobs, where it would cut long downloads.
	Client azcore.ClientOptions

	// Counter counts the requests of all clients, if it is set.
	Counter *table.Counter
}

// Endpoints are the addresses of the three services, such as https://NAME.table.core.windows.net. One that is left out can
// be asked for a client, whose calls then fail with ErrNoEndpoint.
type Endpoints struct {
	Table, Queue, Blob string
}

// ErrNoEndpoint: the account was opened without an endpoint for this service.
var ErrNoEndpoint = errors.New("account: opened without an endpoint for this service")

// ErrNoKey: the account was opened without its key, which alone can sign.
var ErrNoKey = errors.New("account: opened without the account key, so it cannot sign")

// FromCredential opens an account by a token credential, such as azidentity's.
func FromCredential(e Endpoints, cred azcore.TokenCredential, o *Options) (*Account, error) {
	if cred == nil {
		return nil, errors.New("account: the credential is nil")
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

// FromSAS opens an account by URLs that carry shared access signatures, each for its service.
func FromSAS(e Endpoints, o *Options) (*Account, error) { return openAll(e, o, withoutCredential) }

// unsigned are clients that add no credential to their requests.
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

// clients is how each service's client is made.
type clients struct {
	tables func(string, azcore.ClientOptions) (*aztables.ServiceClient, error)
	queues func(string, azcore.ClientOptions) (*azqueue.ServiceClient, error)
	blobs  func(string, azcore.ClientOptions) (*service.Client, error)
}

// open makes the clients for all three services.
func openAll(e Endpoints, o *Options, with clients) (*Account, error) {
	if o == nil {
		o = &Options{}
	}
	if e == (Endpoints{}) {
		return nil, errors.New("account: no endpoint is given")
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
	a.endpoint = e.Table
	return &a, nil
}

// TableSAS makes a URL of the Table service that carries a shared access signature for a grant. FromSAS opens an account by
// it, and other SDKs take it too. It sends nothing. Errors: ErrNoKey; ErrNoEndpoint; those of [table.Grant.Sign].
func (a *Account) TableSAS(g table.Grant) (string, error) {
	switch {
	case a.endpoint == "":
		return "", ErrNoEndpoint
	case a.key == nil:
		return "", ErrNoKey
	}
	query, err := g.Sign(a.key)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(a.endpoint, "/") + "/?" + query, nil
}

// one makes the client of one service, or one whose calls say that there is no endpoint.
func newClient[C any](what, endpoint string, o azcore.ClientOptions, with, without func(string, azcore.ClientOptions) (C, error)) (c C, err error) {
	if endpoint == "" {
		o.Retry.MaxRetries = -1
		o.PerCallPolicies = append(slices.Clone(o.PerCallPolicies), noEndpoint{}) // before anything counts as sent
		return without("https://nowhere.invalid/", o)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, fmt.Errorf("account: the %s endpoint is no http or https URL", what) // its text may hold a signature
	}
	if u.Path == "" {
		u.Path = "/" // before a query the SDK's paths need it
	}
	return with(u.String(), o)
}

// nowhere is the policy of a service without an endpoint.
type noEndpoint struct{}

func (noEndpoint) Do(*policy.Request) (*http.Response, error) { return nil, ErrNoEndpoint }

// signed puts a shared access signature behind each endpoint that has none.
func (e Endpoints) withSAS(sas string) Endpoints {
	sign := func(u string) string {
		if u == "" || strings.Contains(u, "?") {
			return u
		}
		return strings.TrimSuffix(u, "/") + "/?" + strings.TrimPrefix(sas, "?")
	}
	return Endpoints{sign(e.Table), sign(e.Queue), sign(e.Blob)}
}

// Tables returns the client of the Table service, as table.New takes it.
func (a *Account) Tables() *aztables.ServiceClient { return a.tables }

// Queues returns the client of the Queue service.
func (a *Account) Queues() *azqueue.ServiceClient { return a.queues }

// Queue returns the client of one queue.
func (a *Account) Queue(name string) *azqueue.QueueClient { return a.queues.NewQueueClient(name) }

// Blobs returns the client of the Blob service.
func (a *Account) Blobs() *service.Client { return a.blobs }

// Container returns the client of one blob container.
func (a *Account) Container(name string) *container.Client { return a.blobs.NewContainerClient(name) }
