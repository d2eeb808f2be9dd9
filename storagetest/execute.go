package storagetest

import "github.com/aztablekit/aztablekit/storagetest/internal/protocol"

// execute executes a call with the lock held.
func (s *Service) execute(call protocol.Call, in protocol.Injection) *protocol.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return call.Execute(s.now(), in)
}

// report calls AfterRequest.
func (s *Service) report(r Request) {
	if s.afterRequest != nil {
		s.afterRequest(r)
	}
}
