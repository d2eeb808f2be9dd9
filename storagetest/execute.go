package storagetest

import "github.com/aztablekit/aztablekit/storagetest/internal/protocol"

// execute executes a call with the lock held.
func (s *Service) execute(call protocol.Call, in protocol.Injection) *protocol.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return call.Execute(s.now(), in)
}

// fail returns the response that reports a failure, with the lock held.
func (s *Service) fail(call protocol.Call, f protocol.Failure) *protocol.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return call.Fail(f, s.now())
}

// report calls AfterRequest.
func (s *Service) report(r Request) {
	if s.afterRequest != nil {
		s.afterRequest(r)
	}
}
