package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Do executes a request in this process: Service is a policy.Transporter, for the option Transport
// of the SDK's clients.
func (s *Service) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = readBody(r.Body, r.ContentLength); err != nil {
			return nil, err
		}
	}
	o := s.handle(r, body)
	if err := o.wait(r.Context()); err != nil {
		return nil, err
	}
	out := o.response
	if out.Header.Get("Content-Type") == "" {
		delete(out.Header, "Content-Type")
	}
	resp := &http.Response{
		StatusCode: out.Status, Status: fmt.Sprintf("%d %s", out.Status, http.StatusText(out.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: out.Header, Request: r,
		ContentLength: -1, TransferEncoding: []string{"chunked"},
	}
	if n, err := strconv.ParseInt(out.Header.Get("Content-Length"), 10, 64); err == nil {
		resp.ContentLength, resp.TransferEncoding = n, nil
	}
	b := &responseBody{end: o.bodyErr}
	b.Reset(out.Body)
	resp.Body = b
	return resp, nil
}

// responseBody is the body of a response. It ends with an error, or with io.EOF if the error is
// nil.
type responseBody struct {
	bytes.Reader
	end error
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.end != nil {
		err = b.end
	}
	return n, err
}

// WriteTo implements io.WriterTo.
func (b *responseBody) WriteTo(w io.Writer) (int64, error) {
	n, err := b.Reader.WriteTo(w)
	if err == nil {
		err = b.end
	}
	return n, err
}

func (*responseBody) Close() error { return nil }

// Request is a request to the account.
type Request struct {
	Number int // starts with 1
	Kind   requests.Kind
	Table  string

	// PartitionKey and RowKey are the keys in the address or in the inserted entity, or the keys
	// that a filter requires.
	PartitionKey, RowKey string

	// Operations are the operations of a transaction.
	Operations []Request

	// Queue is the name of a queue, and Message the ID of a message in the queue.
	Queue, Message string

	// Container is the name of a container, and Blob the name of a blob in the container.
	Container, Blob string

	Method, URL string
	Time        time.Time

	Late   bool   // the request arrives after it was sent
	Fault  Fault  // the injected fault
	Status int    // the status of the response, 0 without a response
	Code   string // the error code of the response
}

// newRequest returns the description of a request.
func newRequest(d protocol.Description) Request {
	r := Request{Kind: d.Kind, Table: d.Table, PartitionKey: d.PartitionKey, RowKey: d.RowKey, Queue: d.Queue, Message: d.Message,
		Container: d.Container, Blob: d.Blob}
	if len(d.Operations) > 0 {
		r.Operations = make([]Request, 0, len(d.Operations))
	}
	for _, op := range d.Operations {
		r.Operations = append(r.Operations, newRequest(op))
	}
	return r
}

// String returns the request in one line, as in "3 insert staff('Sales','empid_000223'): 409
// EntityAlreadyExists".
func (r Request) String() string {
	s := r.target()
	if r.Number > 0 {
		s = fmt.Sprintf("%d %s", r.Number, s)
	}
	if r.Late {
		s += " arrives"
	} else if r.Fault != (Fault{}) {
		s += " [" + r.Fault.String() + "]"
	}
	if r.Status > 0 {
		s += fmt.Sprintf(": %d", r.Status)
	}
	if r.Code != "" {
		s += " " + r.Code
	}
	return s
}

// target returns the kind of the request and what the request addresses.
func (r Request) target() string {
	s := string(r.Kind)
	if r.Table != "" {
		s += " " + r.Table
	}
	if r.Queue != "" {
		s += " " + r.Queue
	}
	if r.Message != "" {
		s += "/" + r.Message
	}
	if r.Container != "" {
		s += " " + r.Container
	}
	if r.Blob != "" {
		s += "/" + r.Blob
	}
	if r.PartitionKey+r.RowKey != "" {
		s += "('" + r.PartitionKey + "','" + r.RowKey + "')"
	}
	var ops []string
	for _, o := range r.Operations {
		o.Table = ""
		ops = append(ops, o.target())
	}
	if ops != nil {
		s += " {" + strings.Join(ops, ", ") + "}"
	}
	return s
}

// requestLog counts requests and keeps the last requests.
type requestLog struct {
	size   int // the number of requests that the log returns, where each operation of a transaction counts; negative: none
	counts requests.Counts
	last   []Request
	weight int // of last, in requests and operations
}

// add counts a request and appends it to the log. The log drops old requests when it is twice as
// long as required.
func (l *requestLog) add(r Request) {
	if l.counts == nil {
		l.counts = requests.Counts{}
	}
	l.counts[r.Kind]++
	if l.size < 0 {
		return
	}
	l.last = append(l.last, r)
	if l.weight += weight(r); l.weight <= 2*l.size {
		return
	}
	first := 0
	for l.weight > l.size && first < len(l.last)-1 {
		l.weight -= weight(l.last[first])
		first++
	}
	l.last = slices.Clone(l.last[first:])
}

// list returns the last requests, oldest first.
func (l *requestLog) list() []Request {
	total, first := 0, len(l.last)
	for first > 0 && total < l.size {
		first--
		total += weight(l.last[first])
	}
	return slices.Clone(l.last[first:])
}

// takeCounts returns the numbers of requests by kind, and resets the numbers.
func (l *requestLog) takeCounts() requests.Counts {
	counts := l.counts
	l.counts = nil
	return counts
}

func weight(r Request) int { return 1 + len(r.Operations) }

// received is a request with the call of the service that it was sent to.
type received struct {
	*protocol.Request
	service string // "table"
	call    protocol.Call
}

// reads reports whether the request changes nothing.
func (r *received) reads() bool {
	switch r.Method {
	case http.MethodGet:
		return r.call.Describe(false).Kind != kinds.MessageGet // which hides messages
	case http.MethodHead, http.MethodOptions:
		return true
	}
	return false
}

// maxBody limits the body of a request at a port. The SDKs send larger blobs in blocks.
const maxBody = 512 << 20

// readBody reads a body. If its length is known, as that of a large block is, the body is read into
// memory of that length.
func readBody(r io.Reader, length int64) ([]byte, error) {
	if length <= 0 || length > maxBody {
		return io.ReadAll(r)
	}
	body := make([]byte, length)
	n, err := io.ReadFull(r, body)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return body[:n], nil
	}
	if err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(r)
	return append(body, rest...), err
}

// outcome is the result of a request for its client.
type outcome struct {
	response *protocol.Response
	err      error // instead of a response
	bodyErr  error // at the end of the response's body
	hang     bool
	delay    time.Duration
}

// The connection is refused, or breaks.
var (
	errConnectionRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	errConnectionReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)

// wait waits until the client receives the outcome.
func (o *outcome) wait(ctx context.Context) error {
	if o.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if o.delay > 0 {
		t := time.NewTimer(o.delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return o.err
}

// shorten shortens the body of the response, if the fault does.
func (o *outcome) shorten(f Fault) {
	if f.kind != cut && f.kind != truncate {
		return
	}
	n, body := f.n, o.response.Body
	if n < 0 {
		n = max(0, len(body)+n)
	}
	switch {
	case f.kind == truncate && n >= len(body):
		return
	case len(body) == 0:
		o.err = errConnectionReset
		return
	}
	o.response.Body = body[:min(n, len(body))]
	if f.kind == cut {
		o.bodyErr = io.ErrUnexpectedEOF
	} else {
		o.response.Header.Del("Content-Length")
	}
}

// handle executes a request with its fault.
func (s *Service) handle(r *http.Request, body []byte) *outcome {
	req := s.receive(r, body)
	record := s.admit(r, req)
	f := record.Fault
	o := &outcome{delay: f.delay}
	respond := func(resp *protocol.Response) {
		o.response = resp
		record.Status, record.Code = resp.Status, resp.Code
	}
	execute := func() { respond(s.execute(req, f.injection())) }
	fail := func() { respond(s.fail(req, f.failure())) }
	switch f.kind {
	case notSent:
		o.err = errConnectionRefused
	case lostRequest, late:
		o.err = errConnectionReset
	case refuse, unknownKind:
		fail()
	case refuseInTransaction:
		if record.Kind == requests.Transaction {
			execute()
		} else {
			fail()
		}
	case hang:
		o.hang = true
	case twice:
		execute()
		s.report(record)
		execute()
	default:
		execute()
	}
	s.report(record)
	switch f.kind {
	case lostResponse:
		o.err = errConnectionReset
	case executeThenRefuse:
		fail()
	case executeThenHang:
		o.hang = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if (f.kind == late || f.kind == lateDuplicate) && req.call.Accepted() {
		s.late.add(record, req, f.n)
	}
	if o.response != nil {
		o.response.Header.Set("Date", s.now().UTC().Format(http.TimeFormat))
		o.shorten(f)
	}
	s.log.add(record)
	return o
}

// admit numbers a request, delivers the late requests that arrive before it, and asks the FaultFunc
// for the fault. The FaultFunc may call the methods of the Service, so the lock is not held then.
func (s *Service) admit(r *http.Request, req *received) Request {
	s.admission.Lock()
	defer s.admission.Unlock()
	s.mu.Lock()
	s.number++
	number, faults := s.number, s.faults
	// The keys of operations are only for FaultFuncs, functions and logs.
	withBody := req.call.Accepted() && (faults != nil || s.afterRequest != nil || s.log.size > 0)
	req.ID = requestID(number)
	record := newRequest(req.call.Describe(withBody))
	record.Number, record.Method, record.URL, record.Time = number, r.Method, r.URL.String(), s.now()
	s.mu.Unlock()
	s.deliverBefore(number)
	if faults != nil {
		record.Fault = faults(record).take()
	}
	return record
}

// requestID returns the ID of a request in the service's form.
func requestID(number int) string {
	return fmt.Sprintf("%08x-0002-%04x-7ebc-3bbd59000000", uint32(number)*2654435761, number&0xffff)
}

// execute executes a request with the lock held.
func (s *Service) execute(r *received, in protocol.Injection) *protocol.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if r.Secondary {
		return s.executeOnSecondary(r, in, now)
	}
	resp := r.call.Execute(now, in)
	s.replica.record(r, in, now)
	return resp
}

// fail returns the response that reports a failure, with the lock held.
func (s *Service) fail(r *received, f protocol.Failure) *protocol.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.call.Fail(f, s.now())
}

// report calls AfterRequest.
func (s *Service) report(r Request) {
	if s.afterRequest != nil {
		s.afterRequest(r)
	}
}
