package archive_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// outages are the ways in which a destination can be away: each fault that a request can have, and each status.
func outages() map[string]storagetest.Fault {
	all := map[string]storagetest.Fault{
		"done, but 500": storagetest.ExecuteThenRefuse(500, "InternalError"),
		"done, but 503": storagetest.ExecuteThenRefuse(503, "ServerBusy"),
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

// TestOutages: a destination, or the table itself, is away for hours, far longer than all attempts of a move, in every way: no
// move becomes poison, and all are made when the destination is back, once.
func TestOutages(t *testing.T) {
	t.Parallel()
	sides := []string{"destination", "reads", "writes", "table"}
	if testing.Short() {
		sides = sides[:1]
	}
	for _, where := range sides {
		for name, fault := range outages() {
			t.Run(where+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h, s := opened(t, nil)
					outage(t, h, s, storagetest.When(func(q storagetest.Request) bool {
						switch where {
						case "table":
							return q.Table == "current"
						case "destination":
							return q.Table == "old"
						}
						return q.Table == "old" && (q.Kind == "get") == (where == "reads")
					}, fault))
				})
			})
		}
	}
}

// outage archives three entities while faults last, for two hours, and looks what has become of them then.
func outage(t *testing.T, h *house, s *storagetest.Service, faults storagetest.Plan) {
	t.Helper()
	ctx := context.Background()
	for id := 1; id <= 3; id++ {
		check(h.mover.Archive(ctx, hire(h, s, id)))
	}
	w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), []eventual.Handler{h.mover.Handler()}, &eventual.WorkerOptions{Common: h.opt})
	check(err)
	during, end := context.WithTimeout(ctx, 2*time.Hour)
	defer end()
	s.SetFaults(faults)
	check(w.Run(during))
	s.SetFaults(nil)
	if got := w.Stats(); got.Poisoned > 0 || got.Retried > 0 {
		t.Errorf("during the outage: %+v", got)
	}
	s.Deliver()
	time.Sleep(10 * time.Minute) // what was put off comes back
	check(w.Drain(ctx))
	current, old := places(s)
	expect(t, "current", current, nil)
	expect(t, "old", old, []string{"c_000001=Name1", "c_000002=Name2", "c_000003=Name3"})
	for _, q := range []string{"moves", "poison"} {
		if left := s.Messages(q); len(left) > 0 {
			t.Errorf("%d messages are left in %s: %v", len(left), q, left)
		}
	}
	for _, r := range s.Rows("current") {
		if state := r.Get("State"); state == "live" {
			t.Errorf("%s is live", r.RowKey)
		}
	}
}

// down is a transport of another account's that cannot be reached, for a reason, while it is closed.
type down struct {
	policy.Transporter
	why func() error
}

func (d *down) Do(r *http.Request) (*http.Response, error) {
	if d.why != nil {
		if err := d.why(); err != nil {
			return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: err}
		}
	}
	return d.Transporter.Do(r)
}

// TestNetworkOutages: the destination is in another account, whose network is away as networks are.
func TestNetworkOutages(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]error{
		"refused":     &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
		"unreachable": &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ENETUNREACH},
		"reset":       &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET},
		"broken":      &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE},
		"no name":     &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "x.table.core.windows.net", IsNotFound: true}},
		"certificate": &tls.CertificateVerificationError{Err: errors.New("expired")},
		"a proxy":     errors.New("Service Unavailable"),
		"no token":    errors.New("DefaultAzureCredential: failed to acquire a token"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				h, s := opened(t, nil)
				there := storagetest.New(nil)
				way := &down{Transporter: there}
				acc, err := account.FromConnectionString(there.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: way}})
				check(err)
				h.old, err = archive.ToTable(acc.Tables(), "old", &table.Options{Common: h.opt})
				check(err)
				check(h.old.Ensure(ctx))
				h.mover, err = archive.New("current/old", h.current, h.old, h.out)
				check(err)
				for id := 1; id <= 3; id++ {
					check(h.mover.Archive(ctx, hire(h, s, id)))
				}
				w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), []eventual.Handler{h.mover.Handler()}, &eventual.WorkerOptions{Common: h.opt})
				check(err)
				away, end := context.WithTimeout(ctx, 2*time.Hour)
				defer end()
				way.why = func() error { return why }
				check(w.Run(away))
				way.why = nil
				if got := w.Stats(); got.Poisoned > 0 || got.Retried > 0 || got.Later < 20 {
					t.Errorf("during the outage: %+v", got)
				}
				time.Sleep(10 * time.Minute)
				check(w.Drain(ctx))
				current, _ := places(s)
				_, old := places(there)
				if fmt.Sprint(current, old) != "[] [c_000001=Name1 c_000002=Name2 c_000003=Name3]" || len(s.Messages("poison"))+len(s.Messages("moves")) > 0 {
					t.Error(current, old, s.Messages("poison"), s.Messages("moves"))
				}
			})
		})
	}
}

// TestForeignAnswers: something else answers in the destination's place, with a success.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{}", "null", "[]", "<html>", `{"status":"ok"}`, `{"PartitionKey":1,"RowKey":2}`, `{"PartitionKey":"x"}`, `{"odata.etag":1}`, `{"Timestamp":"soon"}`, `{"odata.error":{"code":"x"}}`} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			h, s := opened(t, nil)
			way := &captured{Service: s}
			acc, err := account.FromConnectionString(s.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: way}})
			check(err)
			h.old, err = archive.ToTable(acc.Tables(), "old", &table.Options{Common: h.opt})
			check(err)
			h.mover, err = archive.New("current/old", h.current, h.old, h.out)
			check(err)
			check(h.mover.Archive(ctx, hire(h, s, 1)))
			w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), []eventual.Handler{h.mover.Handler()}, &eventual.WorkerOptions{Common: h.opt})
			check(err)
			during, end := context.WithTimeout(ctx, 2*time.Hour)
			defer end()
			way.body = &body
			check(w.Run(during))
			way.body = nil
			if got := w.Stats(); got.Poisoned > 0 || got.Retried > 0 {
				t.Errorf("%q: %+v", body, got)
			}
			time.Sleep(10 * time.Minute)
			check(w.Drain(ctx))
			if current, old := places(s); fmt.Sprint(current, old) != "[] [c_000001=Name1]" {
				t.Errorf("%q: %v, %v", body, current, old)
			}
		})
	}
}

// captured answers itself if it has a body.
type captured struct {
	*storagetest.Service
	body *string
}

func (c *captured) Do(r *http.Request) (*http.Response, error) {
	if c.body == nil {
		return c.Service.Do(r)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(*c.body)), Request: r}, nil
}
