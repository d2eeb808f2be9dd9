package storagetest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// endpoint is a service of the account and its name in host names and connection strings.
type endpoint struct {
	name    string // "table"
	setting string // "TableEndpoint"
	address string // at which Listen opens the service
	service protocol.Service
}

// endpoints returns the services of the account. Requests to an unknown host belong to the first
// service.
func (s *Service) endpoints() []endpoint {
	return []endpoint{
		{"table", "TableEndpoint", s.addresses.Table, s.tables}, {"queue", "QueueEndpoint", s.addresses.Queue, s.queues}, {"blob", "BlobEndpoint", s.addresses.Blob, s.blobs},
	}
}

// host returns the suffix of the host name at which clients in this process reach the service. The
// network does not have the host.
func (e endpoint) host() string { return "." + e.name + ".storagetest.test" }

// ConnectionString returns a connection string for clients whose Transport is the Service.
func (s *Service) ConnectionString() string {
	return s.connectionString(func(e endpoint) string { return "http://" + s.account.Name + e.host() })
}

// secondaryAccount returns the name of the account in addresses of the second location.
func (s *Service) secondaryAccount() string { return s.account.Name + "-secondary" }

// SecondaryConnectionString returns a connection string of the second location for clients whose
// Transport is the Service. At a port of Listen, the path of the second location begins with the
// account and "-secondary". See [Options.GeoRedundant].
func (s *Service) SecondaryConnectionString() string {
	return s.connectionString(func(e endpoint) string { return "http://" + s.secondaryAccount() + e.host() })
}

// connectionString returns a connection string with the address of each endpoint.
func (s *Service) connectionString(address func(endpoint) string) string {
	text := fmt.Sprintf("DefaultEndpointsProtocol=http;AccountName=%s;AccountKey=%s;", s.account.Name, s.Key())
	for _, e := range s.endpoints() {
		text += e.setting + "=" + address(e) + ";"
	}
	return text
}

// endpointOf returns the endpoint to which a request was sent: by the host name, or by the port.
// inProcess is false for a port.
func (s *Service) endpointOf(r *http.Request, host string) (e endpoint, inProcess bool) {
	all := s.endpoints()
	for _, e := range all {
		if strings.HasSuffix(host, e.host()) {
			return e, true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && s.ports[at.String()] != "" {
		host = at.String()
	}
	for _, e := range all {
		if e.name == s.ports[host] {
			return e, false
		}
	}
	return all[0], false
}

// receive passes a request to the service that it was sent to.
func (s *Service) receive(r *http.Request, body []byte) *received {
	header := http.Header{}
	for name, values := range r.Header { // the SDK does not use Go's spelling of some names
		if !protocol.IsMetadata(name) {
			name = http.CanonicalHeaderKey(name)
		}
		header[name] = values
	}
	scheme, host := r.URL.Scheme, r.URL.Host
	if _, atPort := r.Context().Value(http.LocalAddrContextKey).(net.Addr); atPort { // what the request says of its scheme is not true
		scheme, host = "", r.Host
		if r.TLS != nil {
			scheme = "https"
		}
	}
	scheme, host = cmp.Or(scheme, "http"), cmp.Or(host, r.Host)
	e, inProcess := s.endpointOf(r, host)
	query, err := protocol.ParseQuery(r.URL.RawQuery)
	req := &protocol.Request{
		Method: r.Method, URL: r.URL, Path: r.URL.EscapedPath(), Query: query, Header: header, Body: body,
		Account: &s.account, Base: scheme + "://" + host, Version: header.Get("x-ms-version"), BadQuery: err != nil,
		Chunked: r.ContentLength < 0, Remote: remoteAddress(r), Secure: scheme == "https", SentMethod: r.Method, Lenient: s.lenient,
	}
	account := strings.TrimSuffix(host, e.host())
	if !inProcess { // at a port, the path begins with the account
		account, req.Path = cutAccount(req.Path)
		req.Base += "/" + account
		req.OtherAccount = account != s.account.Name && account != s.secondaryAccount()
	}
	now, service := s.Now(), e.service
	if account == s.secondaryAccount() {
		req.Secondary, req.LastSync = true, s.lastSync(now)
		if s.replica.services != nil {
			service = s.replica.services[e.name]
		}
	}
	return &received{req, e.name, service.Receive(req, now)}
}

// lastSync returns the time until which the second location has all changes.
func (s *Service) lastSync(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replica.synchronize(now)
}

// cutAccount cuts the account off a path.
func cutAccount(path string) (account, rest string) {
	path = strings.TrimPrefix(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// remoteAddress returns the address of the client of a request that arrived at a port, or "".
func remoteAddress(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// Describe returns the description of a request, and a request that can still be sent. The request
// is not executed.
func (s *Service) Describe(r *http.Request) (Request, *http.Request, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return Request{}, nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	out := newRequest(s.receive(r, body).call.Describe(true))
	out.Method, out.URL, out.Time = r.Method, r.URL.String(), s.Now()
	return out, r, nil
}

// readTimeout is how long a port waits for a whole request.
const readTimeout = 5 * time.Minute

// Listen opens each service at a port, for other processes and other languages, and returns a
// connection string for the ports. By default, the ports are free ports of the loopback interface:
// see Options.Addresses. Close closes the ports.
func (s *Service) Listen() (connectionString string, err error) {
	listeners := map[string]net.Listener{}
	for _, e := range s.endpoints() {
		l, err := net.Listen("tcp", cmp.Or(e.address, "127.0.0.1:0"))
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return "", fmt.Errorf("storagetest: %w", err)
		}
		listeners[e.name] = l
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, l := range listeners {
		server := &http.Server{Handler: s, ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout}
		s.ports[l.Addr().String()] = name
		s.servers = append(s.servers, server)
		go server.Serve(l)
	}
	return s.connectionString(func(e endpoint) string { return "http://" + listeners[e.name].Addr().String() + "/" + s.account.Name }), nil
}

// Close closes all ports. The account keeps its contents.
func (s *Service) Close() error {
	s.mu.Lock()
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	var err error
	for _, server := range servers {
		err = server.Close()
	}
	return err
}

// ServeHTTP executes a request that arrives at a port. If a fault breaks or prevents the
// connection, ServeHTTP closes the connection without a response; Go's client then repeats a GET by
// itself. Go's server omits the Content-Length of a response without content.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o, err := s.receiveAt(w, r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if err := o.wait(r.Context()); err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range o.response.Header {
		if own := strings.ToLower(name); strings.HasPrefix(own, "x-ms-") {
			name = own // as the service writes it, and clients expect it that do not ignore cases
		}
		w.Header()[name] = values
	}
	w.WriteHeader(o.response.Status)
	w.Write(o.response.Body)
	if o.bodyErr != nil {
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	if o.response.Header.Get("Content-Length") == "" {
		http.NewResponseController(w).Flush() // chunked, like the responses of the service
	}
}

// receiveAt reads a request at a port and executes it.
func (s *Service) receiveAt(w http.ResponseWriter, r *http.Request) (*outcome, error) {
	var (
		body []byte
		err  error = &http.MaxBytesError{Limit: maxBody}
	)
	if r.ContentLength <= maxBody {
		body, err = readBody(http.MaxBytesReader(w, r.Body, maxBody), r.ContentLength)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &outcome{response: s.fail(s.receive(r, nil), protocol.RequestBodyTooLarge)}, nil
	case err != nil:
		return nil, err
	}
	return s.handle(r, body), nil
}

// replica is the account at its second location. It executes the requests of the first location
// once more, at their times, when the lag has passed. The services number their ETags, IDs and
// receipts, so the second execution has the same effect.
type replica struct {
	services map[string]protocol.Service // by their names; nil if the account has no second location
	lag      time.Duration
	changes  []change
	synced   time.Time // the second location has all changes until then
}

// change is a request that the second location has not executed.
type change struct {
	at      time.Time
	request *received
	in      protocol.Injection
}

// record keeps a request that may have changed rows, messages or blobs.
func (x *replica) record(r *received, in protocol.Injection, now time.Time) {
	if x.services == nil || r.reads() {
		return
	}
	x.changes = append(x.changes, change{now, r, in})
	x.synchronize(now)
}

// synchronize executes the changes that the second location has now, and returns the time until
// which it has all changes.
func (x *replica) synchronize(now time.Time) time.Time {
	until := now.Add(-x.lag)
	for len(x.changes) > 0 && !x.changes[0].at.After(until) {
		c := x.changes[0]
		x.changes = x.changes[1:]
		x.services[c.request.service].Receive(c.request.Request, c.at).Execute(c.at, c.in)
	}
	if until.After(x.synced) {
		x.synced = until
	}
	return x.synced
}

// SetLag sets how far the second location is behind: it has the changes that are older. The lag is
// 0 first, so that reads of the second location see all changes. A longer lag takes no change away.
// See [Options.GeoRedundant].
func (s *Service) SetLag(lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replica.synchronize(s.now())
	s.replica.lag = lag
}

// executeOnSecondary executes a request to the second location, which permits reads only.
func (s *Service) executeOnSecondary(r *received, in protocol.Injection, now time.Time) *protocol.Response {
	switch {
	case !r.call.Accepted():
	case s.replica.services == nil:
		return r.call.Fail(protocol.NoSecondary, now)
	case !r.reads():
		return r.call.Fail(protocol.SecondaryWrite, now)
	}
	return r.call.Execute(now, in)
}
