package testkit

import (
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// EachRefused runs an operation again and again: in the first run the service refuses the first
// request with 403, in the second run the second request, and so on, until a run ends before its
// turn, which must return no error. EachRefused returns the errors of the other runs. prepare is
// called before each run, without faults.
func EachRefused(t testing.TB, s *storagetest.Service, what string, prepare func(), op func() error) (all []error) {
	t.Helper()
	for n := 1; n < 200; n++ {
		prepare()
		count := 0
		s.SetFaults(func(storagetest.Request) storagetest.Fault {
			if count++; count == n {
				return storagetest.Refuse(403, "AuthorizationFailure")
			}
			return storagetest.Fault{}
		})
		err := op()
		s.SetFaults(nil)
		if count < n {
			NoError(t, err)
			return all
		}
		all = append(all, err)
	}
	t.Errorf("%s: got 200 requests, want fewer", what)
	return all
}
