package table_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// staffInMemory returns a table of employees in a service of its own, which contains employee 1.
func staffInMemory(t testing.TB, o *table.Options) (*table.Table[employee], *table.Entity[employee], *testkit.Hooked) {
	t.Helper()
	if o == nil {
		o = blindOptions()
	}
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	staff, err := bare.NewTable(serviceOf(t, s), "staff", staffSchema, o)
	noError(t, err)
	noError(t, tabledoor.Ensure(context.Background(), staff))
	e, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
	noError(t, err)
	s.Count()
	return staff, e, s
}

// beforeBatch calls f before each transaction, with the number of the transaction.
func beforeBatch(s *testkit.Hooked, f func(n int)) {
	n := 0
	s.BeforeRequest = func(r *http.Request) {
		if isBatch(r) {
			n++
			f(n)
		}
	}
}

// sdkClientOf returns a client of the SDK, with the SDK's own retries, for a service in memory.
func sdkClientOf(t testing.TB, s *testkit.Hooked) *aztables.ServiceClient {
	t.Helper()
	c, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s}})
	noError(t, err)
	return c
}

// faultOnFirstWrite applies a fault to the first request that writes. It calls meanwhile before the second one.
func faultOnFirstWrite(s *testkit.Hooked, fault storagetest.Fault, meanwhile func()) {
	n := 0
	s.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodGet {
			return
		}
		s.SetFaults(nil)
		if n++; n == 1 {
			s.SetFaults(func(storagetest.Request) storagetest.Fault { s.SetFaults(nil); return fault })
			return
		}
		s.BeforeRequest = nil
		if meanwhile != nil {
			meanwhile()
		}
	}
}

// loseFirstResponse loses the response to the first write. It calls meanwhile before the next write, or, if read is true,
// before the next request.
func loseFirstResponse(s *testkit.Hooked, read bool, meanwhile func()) {
	lost := false
	s.BeforeRequest = func(r *http.Request) {
		switch {
		case !lost && r.Method != http.MethodGet:
			lost = true
			s.SetFaults(func(storagetest.Request) storagetest.Fault { s.SetFaults(nil); return storagetest.LostResponse() })
		case lost && (read || r.Method != http.MethodGet):
			s.BeforeRequest = nil
			meanwhile()
		}
	}
}

// batchFault is a fault of the n-th transaction.
func batchFault(n int, f storagetest.Fault) storagetest.FaultFunc {
	seen := 0
	return storagetest.When(func(q storagetest.Request) bool {
		if q.Kind == requests.Transaction {
			seen++
		}
		return q.Kind == requests.Transaction && seen == n
	}, f)
}

// isBatch reports whether a request is a transaction.
func isBatch(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "$batch") }

// path opens the Table service of an account: openService or openPlainService.
type path func(account.Transport) (engine.Service, error)

// openPlainService returns a client of the SDK for the Table service of an account, without the policies of table.ClientOptions.
func openPlainService(a account.Transport) (engine.Service, error) {
	return aztables.NewServiceClientFromConnectionString(a.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: a}})
}

// openService returns the Table service of an account.
func openService(a account.Transport) (engine.Service, error) {
	acc, err := account.FromTransport(a, nil)
	if err != nil {
		return nil, err
	}
	return acc.Tables(), nil
}

// serviceOf returns the Table service of an account.
func serviceOf(t testing.TB, a account.Transport) engine.Service {
	t.Helper()
	service, err := openService(a)
	noError(t, err)
	return service
}
