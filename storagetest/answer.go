package storagetest

import (
	"context"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// outcome is what a client gets to see.
type outcome struct {
	reply  *reply
	head   http.Header
	err    error // instead of a response
	broken error // at the end of its body
	hang   bool
	slow   time.Duration
}

// The errors of connections that were not made, and that broke.
var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)

// wait is over when there is something to see.
func (o *outcome) wait(ctx context.Context) error {
	if o.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if o.slow > 0 {
		t := time.NewTimer(o.slow)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return o.err
}

// answer carries out a request, with what goes wrong with it.
func (s *Service) answer(r *http.Request, body []byte) *outcome {
	c, early := s.receive(r, body)
	req := s.admit(r, c, early != nil)
	f := req.Fault
	o := &outcome{slow: f.delay}
	say := func(r *reply) {
		o.reply = r
		if r.id == "" {
			r.finish(c, s.Now())
		}
		req.Status, req.Code = r.status, r.code()
	}
	work := func() {
		if early == nil {
			say(s.work(c, f))
		} else {
			say(early)
		}
	}
	switch f.kind {
	case notSent:
		o.err = errRefused
	case lostRequest, late:
		o.err = errReset
	case refusal, mistaken:
		say(refuse(f.failure()))
	case refusalInside:
		if req.Kind == "transaction" {
			work()
		} else {
			say(refuse(f.failure()))
		}
	case hang:
		o.hang = true
	case twice:
		work()
		s.seen(req)
		work()
	default:
		work()
	}
	s.seen(req)
	switch f.kind {
	case lostReply:
		o.err = errReset
	case refusalAfter:
		say(refuse(f.failure()))
	case hangAfter:
		o.hang = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if (f.kind == late || f.kind == again) && early == nil {
		h := held{request: req, call: c.copy()}
		if f.n > 0 {
			h.at = req.Number + f.n + 1
		}
		s.held = append(s.held, h)
	}
	if o.reply != nil {
		o.head = o.reply.head(s.now())
		o.cut(f)
	}
	s.remember(req)
	return o
}

// work carries out a call, for good.
func (s *Service) work(c *call, f Fault) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.carry(c, f)
	s.state.commit()
	return r
}

// seen tells of a request that the service has seen.
func (s *Service) seen(r Request) {
	if s.opt.After != nil {
		s.opt.After(r)
	}
}

// admit numbers a request, lets those arrive that come before it, and asks the plan, which may ask the service.
func (s *Service) admit(r *http.Request, c *call, unread bool) Request {
	s.planning.Lock()
	defer s.planning.Unlock()
	s.mu.Lock()
	s.number++
	number, plan := s.number, s.plan
	c.id = requestID(number)
	req := s.describe(r, c, unread)
	s.mu.Unlock()
	s.arrive(number)
	if plan != nil {
		req.Fault = plan(req).hit()
	}
	return req
}

// cut shortens the response.
func (o *outcome) cut(f Fault) {
	if f.kind != cut && f.kind != cutClean {
		return
	}
	n := f.n
	if n < 0 {
		n = max(0, len(o.reply.body)+n)
	}
	switch {
	case f.kind == cutClean && n >= len(o.reply.body):
		return
	case len(o.reply.body) == 0:
		o.err = errReset
		return
	}
	o.reply.body = o.reply.body[:min(n, len(o.reply.body))]
	o.head.Del("Content-Length")
	if f.kind == cut {
		o.broken = io.ErrUnexpectedEOF
	}
}
