package storagetest

import (
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/blobs"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/queues"
	"github.com/aztablekit/aztablekit/storagetest/internal/tables"
)

// Options of an account. The zero value is ready for use.
type Options struct {
	// Account is the name of the storage account. Defaults to "storagetest".
	Account string

	// Key is the key of the account, without base64. Defaults to a key that is the same for all accounts.
	Key []byte

	// Addresses are the addresses at which Listen opens the services. Default to free ports of the loopback interface.
	Addresses Addresses

	// Client contains the options of the clients that Tables, Queues, Blobs and so on return: retries, policies, tracing. Its
	// Transport is replaced by the Service. Use table.ClientOptions for the options that aztablekit recommends.
	Client azcore.ClientOptions

	// Now is the clock, to which Advance adds. Defaults to time.Now, which in a bubble of testing/synctest is the bubble's clock.
	// Now must not call the methods of the Service.
	Now func() time.Time

	// Faults is the first plan of faults. Defaults to no faults. See SetFaults.
	Faults Plan

	// AfterRequest is called for each request, after its execution and before its response. AfterRequest is also called for
	// requests that a fault prevents, twice for a request that arrives twice, and again when a late request arrives. AfterRequest
	// may call the methods of the Service and must not send requests.
	AfterRequest func(Request)

	// GeoRedundant adds a second location from which clients can read, as accounts with read-access geo-redundant replication have. See
	// [Service.SecondaryConnectionString] and [Service.SetLag]. Each change is then executed twice.
	GeoRedundant bool

	// NameReuseDelay is the time before the name of a deleted table, queue or container can be used again. Defaults to 40 seconds. A negative
	// delay allows reuse at once.
	NameReuseDelay time.Duration

	// ShuffleSeed is the seed of a random order of messages, because the service does not guarantee an order. Defaults to oldest
	// first.
	ShuffleSeed uint64

	// ReceiptMismatch makes an update or a delete with an outdated receipt fail with 400 PopReceiptMismatch, as the documentation
	// of the service says. Defaults to 404 MessageNotFound, as the service responds.
	ReceiptMismatch bool

	// Lenient executes requests that only the documentation of the service forbids, because no recording shows how the service
	// responds: filters with more than 15 comparisons, keys over 1 KiB, deletes without If-Match, unknown versions. Defaults to
	// refusing them.
	Lenient bool

	// MaxSkew is the most time between the date of a request and the account's time, 15 minutes in the live service. A request that is
	// signed with the key and has another date fails with AuthenticationFailed. Defaults to any date.
	MaxSkew time.Duration

	// RequestLogSize is the number of requests that Requests returns. Each operation of a transaction counts as a request. Defaults
	// to 10,000. A negative size turns the log off.
	RequestLogSize int
}

// Addresses are addresses of services, such as "127.0.0.1:10002". Port 0 is a free port.
type Addresses struct{ Table, Queue, Blob string }

// Service is a storage account in memory. It is safe for concurrent use.
type Service struct {
	account      protocol.Account
	lenient      bool
	addresses    Addresses
	client       azcore.ClientOptions
	clock        func() time.Time
	afterRequest func(Request)
	tables       *tables.Service
	queues       *queues.Service
	blobs        *blobs.Service

	planning sync.Mutex // held while a request is numbered and planned

	mu      sync.Mutex // guards the fields below and the state of the services
	ahead   time.Duration
	plan    Plan
	number  int // of the last request
	log     requestLog
	late    lateRequests
	replica replica
	servers []*http.Server
	ports   map[string]string // the service at each address that Listen has opened
}

// New returns an empty account.
func New(o *Options) *Service {
	var opt Options
	if o != nil {
		opt = *o
	}
	if opt.Account == "" {
		opt.Account = "storagetest"
	}
	if opt.Key == nil {
		opt.Key = []byte("storagetest has no secrets")
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.NameReuseDelay == 0 {
		opt.NameReuseDelay = 40 * time.Second
	}
	if opt.RequestLogSize == 0 {
		opt.RequestLogSize = 10_000
	}
	s := &Service{
		account:      protocol.Account{Name: opt.Account, Key: opt.Key, MaxSkew: opt.MaxSkew},
		lenient:      opt.Lenient,
		addresses:    opt.Addresses,
		client:       opt.Client,
		clock:        opt.Now,
		afterRequest: opt.AfterRequest,
		plan:         opt.Faults,
		log:          requestLog{size: opt.RequestLogSize},
		ports:        map[string]string{},
	}
	s.tables, s.queues, s.blobs = newServices(&opt)
	if opt.GeoRedundant {
		t, q, b := newServices(&opt)
		s.replica.services = map[string]protocol.Service{"table": t, "queue": q, "blob": b}
	}
	return s
}

// newServices returns the services of one location.
func newServices(o *Options) (*tables.Service, *queues.Service, *blobs.Service) {
	return tables.New(tables.Options{NameReuseDelay: o.NameReuseDelay, Lenient: o.Lenient}),
		queues.New(queues.Options{NameReuseDelay: o.NameReuseDelay, ShuffleSeed: o.ShuffleSeed, ReceiptMismatch: o.ReceiptMismatch}),
		blobs.New(blobs.Options{NameReuseDelay: o.NameReuseDelay})
}

// Account returns the account's name.
func (s *Service) Account() string { return s.account.Name }

// Key returns the account's key.
func (s *Service) Key() string { return base64.StdEncoding.EncodeToString(s.account.Key) }

// Now returns the account's time.
func (s *Service) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// now returns the account's time. The caller holds the lock.
func (s *Service) now() time.Time { return s.clock().Add(s.ahead) }

// Advance sets the account's clock forward by d, or back if d is negative.
func (s *Service) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

// SetFaults replaces the plan of faults. A nil plan has no faults.
func (s *Service) SetFaults(p Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = p
}

// Requests returns the last requests, oldest first.
func (s *Service) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.list()
}

// Count returns the numbers of requests by kind since the last call of Count. Their text is such as "1 get, 2 query", or "none".
func (s *Service) Count() requests.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.takeCounts()
}
