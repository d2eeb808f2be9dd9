package storagetest

import "github.com/aztablekit/aztablekit/storagetest/internal/protocol"

// LateRequests returns the requests that have not arrived yet; see [Late] and [LateDuplicate].
func (s *Service) LateRequests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late.list()
}

// Deliver executes all late requests and returns them with their responses, which no client receives.
func (s *Service) Deliver() (all []Request) {
	for range s.LateRequests() {
		all = append(all, s.DeliverOne(0))
	}
	return all
}

// DeliverOne executes late request i of [Service.LateRequests]. It panics if there is no such request.
func (s *Service) DeliverOne(i int) Request {
	late := s.takeLate(i)
	resp := s.execute(late.received, protocol.Injection{})
	r := late.request
	r.Status, r.Code, r.Late = resp.Status, resp.Code, true
	s.report(r)
	return r
}

func (s *Service) takeLate(i int) lateRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late.take(i)
}

// deliverBefore executes the late requests that arrive before the request with a number.
func (s *Service) deliverBefore(number int) {
	for {
		s.mu.Lock()
		i := s.late.due(number)
		s.mu.Unlock()
		if i < 0 {
			return
		}
		s.DeliverOne(i)
	}
}
