package storagetest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options of a service. The zero value is ready for use.
type Options struct {
	// Account is the name of the storage account. Defaults to "storagetest".
	Account string

	// Now is the clock. Defaults to time.Now, which in a bubble of testing/synctest is the bubble's. Advance moves it on. It
	// must not ask the service anything.
	Now func() time.Time

	// Faults decides what goes wrong, from the first request on. Defaults to nothing. See also SetFaults.
	Faults Plan

	// After is called for each request that the service has seen: when it was carried out, if it was, and before anybody
	// sees the response. A request that arrives twice is there twice, one that arrives late when it does. It may look at the
	// service, and must not send requests.
	After func(Request)

	// TableDeletion is for how long the name of a deleted table or queue cannot be used again. Defaults to 40 seconds; below
	// 0 it can be at once.
	TableDeletion time.Duration

	// Shuffle is the seed by which the messages of a queue come in an order of chance, for the service promises none.
	// Defaults to the oldest first.
	Shuffle uint64

	// ReceiptMismatch lets an update or a delete by a receipt that there is a newer one than fail with 400 PopReceiptMismatch,
	// as the documentation has it. Otherwise it fails with 404 MessageNotFound, as the service is known to.
	ReceiptMismatch bool

	// Remember is how many of the last requests can be listed, where a transaction counts for all its operations. Defaults to
	// 10,000; below 0 none.
	Remember int
}

// Service is a storage account in memory. It is safe for concurrent use.
type Service struct {
	account string
	key     []byte
	opt     Options

	planning sync.Mutex // one request at a time is numbered and planned

	mu      sync.Mutex
	state   state
	ahead   time.Duration // what Advance has added to the clock
	plan    Plan
	number  int
	counts  map[string]int
	last    []Request
	weight  int    // of the last requests, by their operations
	held    []held // requests that arrive later
	servers []*http.Server
	ports   map[string]bool // addresses of the Queue service
}

// held is a request on its way.
type held struct {
	request Request
	call    *call
	at      int // before the request with this number; 0: when it is delivered
}

// New makes an empty account.
func New(o *Options) *Service {
	s := &Service{key: []byte("storagetest has no secrets"), counts: map[string]int{}}
	if o != nil {
		s.opt = *o
	}
	s.account, s.plan = s.opt.Account, s.opt.Faults
	if s.account == "" {
		s.account = "storagetest"
	}
	if s.opt.Now == nil {
		s.opt.Now = time.Now
	}
	if s.opt.TableDeletion == 0 {
		s.opt.TableDeletion = 40 * time.Second
	}
	if s.opt.Remember == 0 {
		s.opt.Remember = 10_000
	}
	s.state = state{tables: map[string]*tableData{}, deleted: map[string]deletion{}, queues: map[string]*queueData{}, deletedQueues: map[string]time.Time{}}
	return s
}

// The hosts where clients find the services of an account of this process: nowhere on the network.
const (
	tableHost = ".table.storagetest.test"
	queueHost = ".queue.storagetest.test"
)

// ConnectionString is for clients that have the service as their Transport.
func (s *Service) ConnectionString() string {
	return s.connection("http://"+s.account+tableHost, "http://"+s.account+queueHost)
}

func (s *Service) connection(table, queue string) string {
	return fmt.Sprintf("DefaultEndpointsProtocol=http;AccountName=%s;AccountKey=%s;TableEndpoint=%s;QueueEndpoint=%s;", s.account, s.Key(), table, queue)
}

// Account is the account's name.
func (s *Service) Account() string { return s.account }

// Key is the account's key.
func (s *Service) Key() string { return base64.StdEncoding.EncodeToString(s.key) }

// Now is the service's time.
func (s *Service) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

func (s *Service) now() time.Time { return s.opt.Now().Add(s.ahead) }

// Advance moves the service's clock on, or back.
func (s *Service) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

// SetFaults replaces the plan of faults; nil ends them.
func (s *Service) SetFaults(p Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = p
}

// Do answers a request: Service is a policy.Transporter, to be set as Transport in the options of the SDK's clients.
func (s *Service) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	out := s.answer(r, body)
	if err := out.wait(r.Context()); err != nil {
		return nil, err
	}
	resp := &http.Response{
		StatusCode: out.reply.status, Status: fmt.Sprintf("%d %s", out.reply.status, http.StatusText(out.reply.status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: out.head, Request: r,
		ContentLength: -1, TransferEncoding: []string{"chunked"},
	}
	if out.head.Get("Content-Length") != "" {
		resp.ContentLength, resp.TransferEncoding = int64(len(out.reply.body)), nil
	}
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(out.reply.body), failing{out.broken}))
	return resp, nil
}

// failing is the end of a body: an error, or none.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// carry carries out a call. What it does is rolled back unless it succeeds.
func (s *Service) carry(c *call, f Fault) *reply {
	s.state.commit()
	now := s.now()
	if c.queue {
		return s.serveQueue(c, now, f)
	}
	t, bad := parseTarget(c.path)
	var r *reply
	switch {
	case bad != nil:
		r = refuse(bad)
	case t.table == "$batch" && c.method == http.MethodPost:
		r = s.state.transact(c, now, f)
	case t.table == "$batch":
		r = refuse(errMethod)
	case t.table == "", c.query.Has("comp"), c.query.Has("restype"):
		r = refuse(errUnsupported)
	case t.table == "Tables":
		r = s.state.life(c, t, now, s.opt.TableDeletion)
	case c.method == http.MethodGet && !t.keyed:
		end := -1
		if f.kind == short {
			end = f.n
		}
		r = s.state.query(c, t, end)
	default:
		r = s.state.row(c, t, now)
	}
	if r.failure != nil {
		s.state.rollback()
	}
	return r
}

// receive reads a request's address and head. early is the answer where that is already wrong.
func (s *Service) receive(r *http.Request, body []byte) (c *call, early *reply) {
	header := http.Header{}
	for name, values := range r.Header { // the SDK writes some names in other spellings than Go's
		header[http.CanonicalHeaderKey(name)] = values
	}
	query, err := parseQueryString(r.URL.RawQuery)
	c = &call{
		method: r.Method, header: header, query: query, body: body, account: s.account,
		version: header.Get("x-ms-version"), base: scheme(r) + "://" + r.URL.Host, path: r.URL.EscapedPath(), level: minimal,
	}
	if r.URL.Host == "" {
		c.base = scheme(r) + "://" + r.Host
	}
	c.queue = s.forQueues(r)
	if !strings.HasSuffix(c.base, tableHost) && !strings.HasSuffix(c.base, queueHost) {
		// Over a port the account is the first part of the path.
		rest, ok := strings.CutPrefix(c.path, "/"+s.account)
		if !ok || rest != "" && rest[0] != '/' {
			return c, refuse(errAuth)
		}
		c.base, c.path = c.base+"/"+s.account, rest
	}
	if err != nil {
		return c, refuse(errQuery)
	}
	if c.queue {
		return c, s.receiveQueue(r, c)
	}
	t, _ := parseTarget(c.path)
	var f *failure
	if c.grant, f = s.authenticate(r, header, query, t.table); f != nil {
		return c, refuse(f)
	}
	if c.version == "" {
		return c, refuse(errMedia) // JSON came with versions of the service that had to be asked for
	}
	if len(body) > maxBatch {
		return c, refuse(errTooLarge)
	}
	if t.table == "$batch" || query.Has("comp") {
		return c, nil
	}
	if c.level, f = chooseLevel(header.Get("Accept"), query); f != nil {
		return c, refuse(f)
	}
	return c, nil
}

func scheme(r *http.Request) string {
	if r.URL.Scheme != "" {
		return r.URL.Scheme
	}
	return "http"
}

// copy is the call once more, unread.
func (c *call) copy() *call {
	d := *c
	d.read, d.batch = nil, nil
	return &d
}

// arrive carries out the requests that come before the one with a number.
func (s *Service) arrive(number int) {
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.held, func(h held) bool { return h.at != 0 && h.at <= number })
		s.mu.Unlock()
		if i < 0 {
			return
		}
		s.DeliverOne(i)
	}
}

// Deliver lets all requests arrive that are still on their way, and returns them as they were answered, to nobody.
func (s *Service) Deliver() (all []Request) {
	for range s.Underway() {
		all = append(all, s.DeliverOne(0))
	}
	return all
}

// DeliverOne lets the i-th of the requests arrive that are on their way.
func (s *Service) DeliverOne(i int) Request {
	s.mu.Lock()
	h := s.held[i]
	s.held = slices.Delete(s.held, i, i+1)
	s.mu.Unlock()
	r := s.work(h.call, Fault{})
	h.request.Status, h.request.Code, h.request.Late = r.status, r.code(), true
	s.seen(h.request)
	return h.request
}

// Underway returns the requests that are on their way.
func (s *Service) Underway() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for _, h := range s.held {
		all = append(all, h.request)
	}
	return all
}

// requestID is the id of a request, in the service's form.
func requestID(number int) string {
	return fmt.Sprintf("%08x-0002-%04x-7ebc-3bbd59000000", uint32(number)*2654435761, number&0xffff)
}
