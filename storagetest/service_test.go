package storagetest_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestAfterRequest: AfterRequest is called after each execution of a request, including late execution.
func TestAfterRequest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var s *storagetest.Service
	var calls []string
	s = storagetest.New(&storagetest.Options{AfterRequest: func(r storagetest.Request) { calls = append(calls, fmt.Sprintf("%v with %q", r, rows(s))) }})
	tab := newStaffTable(t, s)
	s.SetFaults(storagetest.First(storagetest.AtRequest(2, storagetest.Late(1)), storagetest.AtRequest(3, storagetest.Twice()), storagetest.AtRequest(4, storagetest.NotSent())))
	for _, row := range []string{"a", "b", "c"} {
		tab.AddEntity(ctx, entity(row), nil)
	}
	want := []string{
		`1 table-create staff: 201 with ""`,
		`2 insert staff('p','a') [late, after 1 others] with ""`,
		`3 insert staff('p','b') [twice]: 201 with "b"`, `3 insert staff('p','b') [twice]: 409 EntityAlreadyExists with "b"`,
		`2 insert staff('p','a') arrives: 201 with "a b"`,
		`4 insert staff('p','c') [not sent] with "a b"`,
	}
	if fmt.Sprint(calls) != fmt.Sprint(want) {
		t.Errorf("got %q; want %q", calls, want)
	}
}

// TestCount: Count counts the requests of each kind and starts again, and Requests returns the last requests.
func TestCount(t *testing.T) {
	t.Parallel()
	s := storagetest.New(&storagetest.Options{RequestLogSize: 3})
	tab := newStaffTable(t, s)
	if got := s.Count().String(); got != "1 table-create" {
		t.Errorf("got %s; want 1 table-create", got)
	}
	sendTableRequests(t, tab)
	if got, want := s.Count().String(), "1 delete, 1 get, 2 insert, 1 insert-or-merge, 1 insert-or-replace, 1 merge, 1 query, 1 replace, 1 table-delete"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	if got := s.Count().String(); got != "none" {
		t.Errorf("got %s; want none", got)
	}
	if got, want := fmt.Sprint(s.Requests()), "[9 get staff('p','a'): 200 10 query staff('p',''): 200 11 table-delete staff: 204]"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	if got := storagetest.New(&storagetest.Options{RequestLogSize: -1}); got.Requests() != nil {
		t.Errorf("got requests %v without a log; want none", got.Requests())
	}
}

// TestAddresses: Listen opens the services at the addresses of the options, with the key of the options, or fails.
func TestAddresses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	s := storagetest.New(&storagetest.Options{Key: []byte("mine"), Addresses: storagetest.Addresses{Blob: address}})
	if cs, err := s.Listen(); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("got %q, %v; want an error with the address %s, which is taken", cs, err, address)
	}
	s = storagetest.New(&storagetest.Options{Key: []byte("mine"), Addresses: storagetest.Addresses{Table: "localhost:0"}})
	cs := listen(t, s)
	c, err := aztables.NewServiceClientFromConnectionString(cs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(t.Context(), "staff", nil); err != nil || !strings.Contains(cs, "AccountKey=bWluZQ==;") {
		t.Errorf("got %v with %s; want the key bWluZQ==", err, cs)
	}
}

// TestPort: the Table service and its faults work at a port.
func TestPort(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(&storagetest.Options{Account: "other"})
	cs := listen(t, s)
	c, err := aztables.NewServiceClientFromConnectionString(cs, &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(ctx, "staff", nil); err != nil {
		t.Fatal(err)
	}
	tab := c.NewClient("staff")
	if _, err := tab.AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"O'Brien é","A":1}`), nil); err != nil {
		t.Fatal(err)
	}
	got, err := tab.GetEntity(ctx, "p", "O'Brien é", nil)
	if err != nil || !strings.Contains(string(got.Value), `"A":1`) {
		t.Errorf("got %s, %v; want A 1", got.Value, err)
	}
	for fault, stored := range map[storagetest.Fault]bool{storagetest.LostResponse(): true, storagetest.NotSent(): false, storagetest.Cut(20): true} {
		s.SetFaults(storagetest.OfKind(requests.Insert, fault))
		row := strings.ReplaceAll(fault.String(), " ", "")
		if _, err := tab.AddEntity(ctx, entity(row), nil); err == nil {
			t.Errorf("%v: got no error; want an error", fault)
		}
		if strings.Contains(rows(s), row) != stored {
			t.Errorf("%v: got rows %s; want %s stored %v", fault, rows(s), row, stored)
		}
	}
	resp, err := http.Get(strings.SplitAfter(strings.SplitAfter(cs, "TableEndpoint=")[1], "other")[0] + "/staff()")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 403 || !strings.Contains(string(body), "<m:code>AuthenticationFailed</m:code>") || resp.Header.Get("x-ms-error-code") != "AuthenticationFailed" || resp.Header.Get("x-ms-version") != "" {
		t.Errorf("without a signature: got %v %s; want 403 AuthenticationFailed in XML", resp, body)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tab.GetEntity(ctx, "p", "x", nil); err == nil {
		t.Error("got a response after Close; want an error")
	}
}
