package storagetest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

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

	// Key is the key of the account, without base64. Defaults to a key that is the same for all
	// accounts.
	Key []byte

	// Addresses are the addresses at which Listen opens the services. Default to free ports of the
	// loopback interface.
	Addresses Addresses

	// Client contains the options of the clients that Tables, Queues, Blobs and so on return:
	// retries, policies, tracing. Its Transport is replaced by the Service. Use table.ClientOptions
	// for the options that aztablekit recommends.
	Client azcore.ClientOptions

	// Now is the clock, to which Advance adds. Defaults to time.Now, which in a bubble of
	// testing/synctest is the bubble's clock. Now must not call the methods of the Service.
	Now func() time.Time

	// Faults chooses the faults of requests until SetFaults replaces it. Defaults to no faults.
	Faults FaultFunc

	// AfterRequest is called for each request, after its execution and before its response.
	// AfterRequest is also called for requests that a fault prevents, twice for a request that
	// arrives twice, and again when a late request arrives. AfterRequest may call the methods of
	// the Service and must not send requests.
	AfterRequest func(Request)

	// GeoRedundant adds a second location from which clients can read, as accounts with read-access
	// geo-redundant replication have. See [Service.SecondaryConnectionString] and [Service.SetLag].
	// Each change is then executed twice.
	GeoRedundant bool

	// NameReuseDelay is the time before the name of a deleted table, queue or container can be used
	// again. Defaults to 40 seconds. A negative delay allows reuse at once.
	NameReuseDelay time.Duration

	// ShuffleSeed is the seed of a random order of messages, because the service does not guarantee
	// an order. Defaults to oldest first.
	ShuffleSeed uint64

	// ReceiptMismatch makes an update or a delete with an outdated receipt fail with 400
	// PopReceiptMismatch, as the documentation of the service says. Defaults to 404
	// MessageNotFound, as the service responds.
	ReceiptMismatch bool

	// Lenient executes requests that only the documentation of the service forbids, because no
	// recording shows how the service responds: filters with more than 15 comparisons, keys over 1
	// KiB, deletes without If-Match, unknown versions. Defaults to refusing them.
	Lenient bool

	// MaxSkew is the most time between the date of a request and the account's time, 15 minutes in
	// the live service. A request that is signed with the key and has another date fails with
	// AuthenticationFailed. Defaults to any date.
	MaxSkew time.Duration

	// RequestLogSize is the number of requests that Requests returns. Each operation of a
	// transaction counts as a request. Defaults to 10,000. A negative size turns the log off.
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

	admission sync.Mutex // held while a request is numbered and its fault is chosen

	mu      sync.Mutex // guards the fields below and the state of the services
	ahead   time.Duration
	faults  FaultFunc
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
		faults:       opt.Faults,
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

// SetFaults replaces the FaultFunc. With nil, no request has a fault.
func (s *Service) SetFaults(f FaultFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Requests returns the last requests, oldest first.
func (s *Service) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.list()
}

// Count returns the numbers of requests by kind since the last call of Count. Their text is such as
// "1 get, 2 query", or "none".
func (s *Service) Count() requests.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.takeCounts()
}

// DevelopmentStorage returns options of the account that the connection string
// UseDevelopmentStorage=true stands for, with its name, its key and its ports: a [Service] with
// these options, after [Service.Listen], serves programs that expect an emulator.
func DevelopmentStorage() *Options {
	key, _ := base64.StdEncoding.DecodeString("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
	return &Options{
		Account:   "devstoreaccount1",
		Key:       key,
		Addresses: Addresses{Blob: "127.0.0.1:10000", Queue: "127.0.0.1:10001", Table: "127.0.0.1:10002"},
	}
}

// Message is a stored message of a queue.
type Message struct {
	ID, Text string
	Inserted time.Time
	Expires  time.Time // the end of the year 9999 if the message does not expire
	Visible  time.Time // when the message becomes visible
	Dequeued int       // how often the message was received
}

// Messages returns the messages of a queue, including hidden messages, oldest first. Messages makes
// no request.
func (s *Service) Messages(queue string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Message
	for _, m := range s.queues.Messages(queue, s.now()) {
		all = append(all, Message(m))
	}
	return all
}

// QueueNames returns the names of the queues in order. QueueNames makes no request.
func (s *Service) QueueNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues.Queues()
}

// Blob is a stored blob of a container.
type Blob struct {
	Name        string
	Type        string // "AppendBlob" or "BlockBlob"
	ContentType string
	ETag        string

	// Blocks are the committed blocks of the content in order; the content of a block blob that was
	// written by one request is one block. They must not be modified.
	Blocks [][]byte

	Metadata map[string]string // names are in lower case
	Created  time.Time
	Modified time.Time
}

// Content returns a copy of the content of the blob.
func (b Blob) Content() []byte { return bytes.Join(b.Blocks, nil) }

// StoredBlobs returns the blobs of a container in the order of their names. A blob with uncommitted
// blocks only is not among them. StoredBlobs makes no request.
func (s *Service) StoredBlobs(container string) []Blob {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Blob
	for _, b := range s.blobs.Blobs(container) {
		all = append(all, Blob(b))
	}
	return all
}

// ContainerNames returns the names of the containers in order. ContainerNames makes no request.
func (s *Service) ContainerNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blobs.Containers()
}

// Property is a property of a row. Value is a string (also for GUID, in lower case), int32, bool,
// float64, int64, time.Time or []byte.
type Property struct {
	Name  string
	Type  string // "Edm.String", "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.Boolean", "Edm.DateTime", "Edm.Guid" or "Edm.Binary"
	Value any
}

// String returns the name and the value as text. Bytes are in quotes.
func (p Property) String() string {
	switch v := p.Value.(type) {
	case []byte:
		return fmt.Sprintf("%s: %q", p.Name, v)
	case time.Time:
		return p.Name + ": " + v.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s: %v", p.Name, p.Value)
}

// Row is a stored row.
type Row struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Properties           []Property
}

// String returns the keys and the properties as text, as in "('Sales','Jones') {Salary: 100}".
func (r Row) String() string {
	quote := func(key string) string { return "'" + strings.ReplaceAll(key, "'", "''") + "'" }
	var all []string
	for _, p := range r.Properties {
		all = append(all, p.String())
	}
	return "(" + quote(r.PartitionKey) + "," + quote(r.RowKey) + ") {" + strings.Join(all, ", ") + "}"
}

// Get returns the value of a property, or nil if the row does not have the property.
func (r Row) Get(name string) any {
	for _, p := range r.Properties {
		if p.Name == name {
			return p.Value
		}
	}
	return nil
}

// Rows returns the rows of a table in order. Rows makes no request.
func (s *Service) Rows(table string) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	entities := s.tables.Entities(table)
	if len(entities) == 0 {
		return nil
	}
	rows := make([]Row, 0, len(entities))
	for _, e := range entities {
		r := Row{PartitionKey: e.PartitionKey, RowKey: e.RowKey, ETag: e.ETag, Timestamp: e.Timestamp}
		r.Properties = make([]Property, 0, len(e.Properties))
		for _, p := range e.Properties {
			r.Properties = append(r.Properties, Property{p.Name, string(p.Type), p.Value})
		}
		rows = append(rows, r)
	}
	return rows
}

// TableNames returns the names of the tables in order. TableNames makes no request.
func (s *Service) TableNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables.Tables()
}

// Tables returns the SDK's client of the Table service, with [Options].Client. Tables panics if the
// SDK refuses the name of the account.
func (s *Service) Tables() *aztables.ServiceClient {
	c, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{ClientOptions: s.clientOptions()})
	s.mustAccept(err)
	return c
}

// Queues returns the SDK's client of the Queue service, with [Options].Client. Queues panics if the
// SDK refuses the name of the account.
func (s *Service) Queues() *azqueue.ServiceClient {
	c, err := azqueue.NewServiceClientFromConnectionString(s.ConnectionString(), &azqueue.ClientOptions{ClientOptions: s.clientOptions()})
	s.mustAccept(err)
	return c
}

// Blobs returns the SDK's client of the Blob service, with [Options].Client. Blobs panics if the
// SDK refuses the name of the account.
func (s *Service) Blobs() *service.Client {
	c, err := service.NewClientFromConnectionString(s.ConnectionString(), &service.ClientOptions{ClientOptions: s.clientOptions()})
	s.mustAccept(err)
	return c
}

// clientOptions returns the options of clients in this process.
func (s *Service) clientOptions() azcore.ClientOptions {
	o := s.client
	o.Transport = s
	return o
}

// mustAccept panics if the SDK refuses the account, of which a program chooses only the name.
func (s *Service) mustAccept(err error) {
	if err != nil {
		panic(fmt.Sprintf("storagetest: the SDK refuses the account %q of Options.Account: %v", s.account.Name, err))
	}
}
