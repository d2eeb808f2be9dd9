package archive_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// outageFaults returns the ways in which a service can fail: each fault that a request can have, and each status.
func outageFaults() map[string]storagetest.Fault {
	all := map[string]storagetest.Fault{
		"applied, but 500": storagetest.ExecuteThenRefuse(500, "InternalError"),
		"applied, but 503": storagetest.ExecuteThenRefuse(503, "ServerBusy"),
	}
	for _, f := range []storagetest.Fault{
		storagetest.NotSent(), storagetest.LostRequest(), storagetest.LostResponse(), storagetest.Late(3), storagetest.Late(0), storagetest.Twice(),
		storagetest.LateDuplicate(2), storagetest.Cut(0), storagetest.Cut(10), storagetest.Cut(-1), storagetest.Truncate(0), storagetest.Truncate(10), storagetest.Truncate(-1),
		storagetest.Hang(), storagetest.ExecuteThenHang(), storagetest.Slow(2 * time.Minute),
		storagetest.RefuseInTransaction(503, "ServerBusy"), storagetest.RefuseInTransaction(500, "InternalError"), storagetest.RefuseInTransaction(403, "AuthorizationFailure"),
		storagetest.Refuse(302, ""), storagetest.Refuse(400, "InvalidAuthenticationInfo"), storagetest.Refuse(401, "InvalidAuthenticationInfo"), storagetest.Refuse(401, ""),
		storagetest.Refuse(403, "AuthenticationFailed"), storagetest.Refuse(403, "AuthorizationFailure"), storagetest.Refuse(403, "AccountIsDisabled"), storagetest.Refuse(403, ""),
		storagetest.Refuse(404, "TableNotFound"), storagetest.Refuse(404, ""), storagetest.Refuse(407, ""), storagetest.Refuse(408, ""),
		storagetest.Refuse(409, "TableBeingDeleted"), storagetest.Refuse(409, "AccountBeingCreated"), storagetest.Refuse(429, "TooManyRequests"), storagetest.Refuse(429, ""),
		storagetest.Refuse(500, "InternalError"), storagetest.Refuse(500, "OperationTimedOut"), storagetest.Refuse(502, ""), storagetest.Refuse(503, "ServerBusy"), storagetest.Refuse(504, ""),
	} {
		all[f.String()] = f
	}
	return all
}

// sampleOf returns the names of the faults that a test tries: of a sample, a part that differs from side to side.
func sampleOf(faults map[string]storagetest.Fault, side int) (names []string) {
	for i, name := range slices.Sorted(maps.Keys(testkit.SomeNamed(faults))) {
		if (i+5*side)%testkit.Sample(6) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// workThroughOutage archives three clerks, and runs a worker during an outage of two hours, far longer than all attempts of a move,
// and after it. No message becomes poison or uses up an attempt, and every clerk is moved once.
func workThroughOutage(t testing.TB, fx *fixture, s, destination *storagetest.Service, begin, end func()) {
	t.Helper()
	ctx := context.Background()
	for id := 1; id <= 3; id++ {
		must(t, fx.mover.Archive(ctx, insertClerk(t, fx, s, id)))
	}
	w := fx.workerOf(t, eventual.WorkerOptions{Common: fx.common}, fx.mover.Handler)
	outage, cancel := context.WithTimeout(ctx, 2*time.Hour)
	defer cancel()
	begin()
	must(t, w.Run(outage))
	end()
	if got := w.Stats(); got.Poisoned > 0 || got.Retried > 0 {
		t.Errorf("during the outage: got %+v; want no poison and no attempt", got)
	}
	s.Deliver()
	time.Sleep(10 * time.Minute) // deferred messages become visible
	must(t, w.Drain(ctx))
	current, _ := storedClerks(s)
	_, old := storedClerks(destination)
	testkit.Expect(t, "entities of table current", current, nil)
	testkit.Expect(t, "entities of table old", old, []string{"c_000001=Name1", "c_000002=Name2", "c_000003=Name3"})
	wantNoMessages(t, s)
	for _, r := range s.Rows("current") {
		if r.Get("State") == "pending" {
			t.Errorf("commit record %s is pending; want it done", r.RowKey)
		}
	}
}

// TestOutages: the destination, or the table, fails in each way: of a sample, one side in each way.
func TestOutages(t *testing.T) {
	t.Parallel()
	sides := []struct {
		name  string
		fails func(storagetest.Request) bool
	}{
		{"destination", func(q storagetest.Request) bool { return q.Table == "old" }},
		{"reads", func(q storagetest.Request) bool { return q.Table == "old" && q.Kind == requests.Get }},
		{"writes", func(q storagetest.Request) bool { return q.Table == "old" && q.Kind != requests.Get }},
		{"table", func(q storagetest.Request) bool { return q.Table == "current" }},
	}
	faults := outageFaults()
	for i, side := range sides {
		for _, name := range sampleOf(faults, i) {
			t.Run(side.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					fx, s := newFixture(t, nil)
					workThroughOutage(t, fx, s, s, func() { s.SetFaults(storagetest.When(side.fails, faults[name])) }, func() { s.SetFaults(nil) })
				})
			})
		}
	}
}

// TestLongOutage: during an outage of five hours a message is deferred again and again, and is not poison.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		fx, s, _ := newPendingMove(t)
		w := fx.workerOf(t, eventual.WorkerOptions{Common: fx.common}, fx.mover.Handler)
		outage, cancel := context.WithTimeout(ctx, 5*time.Hour)
		defer cancel()
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == "old" }, storagetest.Refuse(503, "ServerBusy")))
		must(t, w.Run(outage))
		if got := w.Stats(); got.Poisoned > 0 || got.Deferred < 20 {
			t.Errorf("during the outage: got %+v; want no poison, and at least 20 deferred", got)
		}
		s.SetFaults(nil)
		time.Sleep(10 * time.Minute)
		must(t, w.Drain(ctx))
		wantArchived(t, fx.mover, "Name1")
	})
}

// moveTo makes the fixture's mover move to the table "old" of a service, through a transport.
func (fx *fixture) moveTo(t testing.TB, s *storagetest.Service, transport policy.Transporter) {
	t.Helper()
	acc, err := account.FromConnectionString(s.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: transport}})
	must(t, err)
	to := archive.ToTable("old", &archive.Options{Common: fx.common})
	fx.destination, err = workertest.Place(&host.Host{Tables: acc.Tables()}, to)
	must(t, err)
	must(t, fx.destination.Ensure(context.Background()))
	fx.mover, err = workertest.NewMover("current/old", fx.current, fx.destination, fx.outbox)
	must(t, err)
}

// failingTransport fails with err, if that is not nil.
type failingTransport struct {
	policy.Transporter
	err error
}

func (f *failingTransport) Do(r *http.Request) (*http.Response, error) {
	if f.err != nil {
		return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: f.err}
	}
	return f.Transporter.Do(r)
}

// TestNetworkOutages: the destination is in another account, whose network fails in each way.
func TestNetworkOutages(t *testing.T) {
	t.Parallel()
	for name, failure := range testkit.SomeNamed(map[string]error{
		"refused":     &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
		"unreachable": &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ENETUNREACH},
		"reset":       &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET},
		"broken":      &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE},
		"no name":     &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "x.table.core.windows.net", IsNotFound: true}},
		"certificate": &tls.CertificateVerificationError{Err: errors.New("expired")},
		"a proxy":     errors.New("Service Unavailable"),
		"no token":    errors.New("DefaultAzureCredential: failed to acquire a token"),
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fx, s := newFixture(t, nil)
				destination := storagetest.New(nil)
				transport := &failingTransport{Transporter: destination}
				fx.moveTo(t, destination, transport)
				workThroughOutage(t, fx, s, destination, func() { transport.err = failure }, func() { transport.err = nil })
			})
		})
	}
}

// foreignServer answers every request with a success and a body, if it has one.
type foreignServer struct {
	*storagetest.Service
	body *string
}

func (f *foreignServer) Do(r *http.Request) (*http.Response, error) {
	if f.body == nil {
		return f.Service.Do(r)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(*f.body)), Request: r}, nil
}

// TestForeignResponses: another server answers in the destination's place, with a success.
func TestForeignResponses(t *testing.T) {
	t.Parallel()
	for _, body := range testkit.Some([]string{"", "{}", "null", "[]", "<html>", `{"status":"ok"}`, `{"PartitionKey":1,"RowKey":2}`, `{"PartitionKey":"x"}`, `{"odata.etag":1}`, `{"Timestamp":"soon"}`, `{"odata.error":{"code":"x"}}`}) {
		t.Run(fmt.Sprintf("%q", body), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fx, s := newFixture(t, nil)
				server := &foreignServer{Service: s}
				fx.moveTo(t, s, server)
				workThroughOutage(t, fx, s, s, func() { server.body = &body }, func() { server.body = nil })
			})
		})
	}
}
