package storagetest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestClients: the clients of a Service have the options of the Service, and send their requests to the Service.
func TestClients(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var counter requests.Counter
	s := storagetest.New(&storagetest.Options{Account: "contoso", Client: azcore.ClientOptions{
		Transport: http.DefaultClient, Retry: policy.RetryOptions{MaxRetries: -1}, PerRetryPolicies: []policy.Policy{&counter},
	}})
	s.SetFaults(storagetest.OfKind(kinds.TableCreate, storagetest.Once(storagetest.Refuse(503, "ServerBusy"))))
	for _, want := range []string{"ServerBusy", ""} {
		if _, err := s.Tables().CreateTable(ctx, "staff", nil); code(err) != want {
			t.Errorf("got %v, want code %q", err, want)
		}
	}
	if _, err := s.Queues().NewQueueClient("letters").Create(ctx, nil); err != nil {
		t.Error(err)
	}
	if _, err := s.Queues().NewListQueuesPager(nil).NextPage(ctx); err != nil {
		t.Error(err)
	}
	if got, want := counter.Take().String(), "2 other, 2 table-create"; got != want {
		t.Errorf("counter: got %s, want %s", got, want)
	}
	if got, want := s.Count().String(), "1 queue-create, 1 queue-list, 2 table-create"; got != want {
		t.Errorf("Count: got %s, want %s", got, want)
	}
}

// TestClientsOfInvalidAccount: a client of an account whose name breaks the connection string panics, and names the option.
func TestClientsOfInvalidAccount(t *testing.T) {
	t.Parallel()
	s := storagetest.New(&storagetest.Options{Account: "a;b"})
	for service, open := range map[string]func(){"tables": func() { s.Tables() }, "queues": func() { s.Queues() }, "blobs": func() { s.Blobs() }} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "Options.Account") {
					t.Errorf("%s: got panic %s, want one that names Options.Account", service, got)
				}
			}()
			open()
		}()
	}
}

// recognized is a Transport that compares the kind of each request according to the Service with requests.KindOf.
type recognized struct {
	*testing.T
	*storagetest.Service
	kinds map[requests.Kind]bool
}

func (r *recognized) Do(req *http.Request) (*http.Response, error) {
	d, req, err := r.Describe(req)
	if err != nil {
		return nil, err
	}
	want := d.Kind
	switch d.Kind {
	case kinds.MessageClear, kinds.QueueCreate, kinds.QueueDelete, kinds.QueueList, kinds.QueueGet, kinds.QueueSet:
		want = kinds.Other // because the URL may name a blob
	}
	if got := requests.KindOf(req); got != want {
		r.Errorf("KindOf(%s): got %v, want %v", d, got, want)
	}
	r.kinds[d.Kind] = true
	return r.Service.Do(req)
}

// TestRecognized: requests.KindOf and the Service recognize each kind of request independently, and agree.
func TestRecognized(t *testing.T) {
	t.Parallel()
	r := &recognized{t, storagetest.New(nil), map[requests.Kind]bool{}}
	acc, err := account.FromTransport(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	tab := acc.Tables().NewClient("staff")
	if _, err := tab.CreateTable(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.SubmitTransaction(ctx, []aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd, Entity: entity("c")}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := acc.Tables().NewListTablesPager(nil).NextPage(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := acc.Queues().GetStatistics(ctx, nil); err == nil {
		t.Fatal("statistics: got no error, want 501")
	}
	sendTableRequests(t, tab)
	sendQueueRequests(t, acc.Queues())
	sendBlobRequests(t, acc.Blobs())
	for _, kind := range kinds.All() {
		if !r.kinds[requests.Kind(kind)] {
			t.Errorf("got no request of kind %v, want one", kind)
		}
	}
}
