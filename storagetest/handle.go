package storagetest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// outcome is the result of a request for its client.
type outcome struct {
	response *protocol.Response
	err      error // instead of a response
	bodyErr  error // at the end of the response's body
	hang     bool
	delay    time.Duration
}

// The errors of a refused and of a broken connection.
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
	case refuse, invalidPlan:
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

// admit numbers a request, delivers the late requests that arrive before it, and asks the plan for the fault. The plan may call the
// methods of the Service, so the lock is not held then.
func (s *Service) admit(r *http.Request, req *received) Request {
	s.planning.Lock()
	defer s.planning.Unlock()
	s.mu.Lock()
	s.number++
	number, plan := s.number, s.plan
	// The keys of operations are only for plans, functions and logs.
	withBody := req.call.Accepted() && (plan != nil || s.afterRequest != nil || s.log.size > 0)
	req.ID = requestID(number)
	record := newRequest(req.call.Describe(withBody))
	record.Number, record.Method, record.URL, record.Time = number, r.Method, r.URL.String(), s.now()
	s.mu.Unlock()
	s.deliverBefore(number)
	if plan != nil {
		record.Fault = plan(record).take()
	}
	return record
}

// requestID returns the ID of a request in the service's form.
func requestID(number int) string {
	return fmt.Sprintf("%08x-0002-%04x-7ebc-3bbd59000000", uint32(number)*2654435761, number&0xffff)
}
