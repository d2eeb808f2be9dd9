package table_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// inMemory is a table of employee 1 on a service of its own.
func staffInMemory(t *testing.T, o *table.Options) (*table.Table[employee], *table.Entity[employee], *hookedService) {
	t.Helper()
	if o == nil {
		o = blindOptions()
	}
	s := &hookedService{Service: storagetest.New(nil)}
	acc, err := account.FromConnectionString(s.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: s}})
	check(err)
	staff, err := table.New(acc.Tables(), "staff", staffSchema, o)
	check(err)
	check(staff.Ensure(context.Background()))
	e, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
	check(err)
	s.Count()
	return staff, e, s
}

// interposed is a service to which something can happen before a request.
type hookedService struct {
	*storagetest.Service
	beforeRequest func(*http.Request)
}

func (i *hookedService) Do(r *http.Request) (*http.Response, error) {
	if f := i.beforeRequest; f != nil {
		f(r)
	}
	return i.Service.Do(r)
}

// beforeBatch does something before each transaction.
func (i *hookedService) beforeBatch(f func(n int)) {
	n := 0
	i.beforeRequest = func(r *http.Request) {
		if isBatch(r) {
			n++
			f(n)
		}
	}
}

func sdkClientOf(s *hookedService) *aztables.ServiceClient {
	c, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s}})
	check(err)
	return c
}

// lostOnce lets a fault happen to the first request that writes, and calls meanwhile when it is sent again.
func faultOnFirstWrite(s *hookedService, fault storagetest.Fault, meanwhile func()) {
	n := 0
	s.beforeRequest = func(r *http.Request) {
		if r.Method == http.MethodGet {
			return
		}
		s.SetFaults(nil)
		if n++; n == 1 {
			s.SetFaults(func(storagetest.Request) storagetest.Fault { s.SetFaults(nil); return fault })
			return
		}
		s.beforeRequest = nil
		if meanwhile != nil {
			meanwhile()
		}
	}
}

// lostThen loses the response to the first write, and calls meanwhile before the next one, or, if read is true, before the next
// request of any kind.
func loseFirstResponse(s *hookedService, read bool, meanwhile func()) {
	lost := false
	s.beforeRequest = func(r *http.Request) {
		switch {
		case !lost && r.Method != http.MethodGet:
			lost = true
			s.SetFaults(func(storagetest.Request) storagetest.Fault { s.SetFaults(nil); return storagetest.LostReply() })
		case lost && (read || r.Method != http.MethodGet):
			s.beforeRequest = nil
			meanwhile()
		}
	}
}

// batchFault is a fault of the n-th transaction.
func batchFault(n int, f storagetest.Fault) storagetest.Plan {
	seen := 0
	return storagetest.When(func(q storagetest.Request) bool {
		if q.Kind == "transaction" {
			seen++
		}
		return q.Kind == "transaction" && seen == n
	}, f)
}

func isBatch(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "$batch") }
