package storagetest

import (
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// SetLag sets how far the second location is behind: it has the changes that are older. The lag is 0 first, so that reads of the second
// location see all changes. A longer lag takes no change away. See [Options.GeoRedundant].
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
