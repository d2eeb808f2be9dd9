package storagetest

import "github.com/aztablekit/aztablekit/storagetest/internal/protocol"

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
