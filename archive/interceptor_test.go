package archive_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// interceptor is a transport that does something before or after a request, as a concurrent process would.
type interceptor struct {
	*storagetest.Service
	t      testing.TB
	before func(storagetest.Request) error
	after  func(storagetest.Request) // once the service has the request, and before the client sees the response
}

func (i *interceptor) Do(r *http.Request) (*http.Response, error) {
	q, r, err := i.Describe(r)
	if err != nil {
		return nil, err
	}
	if i.before != nil {
		noError(i.t, i.before(q))
	}
	resp, err := i.Service.Do(r)
	if i.after != nil {
		i.after(q)
	}
	return resp, err
}

// beforeFirst does something before the first request that matches.
func (i *interceptor) beforeFirst(matches func(storagetest.Request) bool, do func() error) {
	i.before = func(q storagetest.Request) error {
		if !matches(q) {
			return nil
		}
		i.before = nil
		return do()
	}
}

// transactionOn returns a condition: a request is a transaction on a table.
func transactionOn(table string) func(storagetest.Request) bool {
	return func(q storagetest.Request) bool { return q.Kind == requests.Transaction && q.Table == table }
}

// newInterceptedFixture returns another program's fixture, and the interceptor of its requests.
func newInterceptedFixture(t testing.TB, s *storagetest.Service) (*fixture, *interceptor) {
	t.Helper()
	i := &interceptor{Service: s, t: t}
	return newFixtureOn(t, s, i, noPauses(), nil), i
}

// crashAt runs a worker that takes one message and crashes at its first transaction on a table, which meets a fault.
func crashAt(t testing.TB, s *storagetest.Service, table string, fault storagetest.Fault) {
	t.Helper()
	ctx, crash := context.WithCancel(context.Background())
	fx, i := newInterceptedFixture(t, s)
	s.SetFaults(storagetest.When(transactionOn(table), fault))
	i.after = func(q storagetest.Request) {
		if transactionOn(table)(q) {
			crash()
		}
	}
	opt := fx.options()
	opt.StopTimeout, opt.Retry.Attempts = 1, -1
	must(t, fx.newWorker(t, opt).Run(ctx))
	s.SetFaults(nil)
}

// crashBeforeDelete runs a worker that crashes when the destination contains the entity and the table does too.
func crashBeforeDelete(t testing.TB, s *storagetest.Service) {
	t.Helper()
	crashAt(t, s, "current", storagetest.LostRequest())
	s.Advance(time.Hour)
}
