package storagetest_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// The IDs of two leases.
const (
	leaseA = "aaaaaaaa-0000-4000-8000-000000000001"
	leaseB = "bbbbbbbb-0000-4000-8000-000000000002"
)

// leaseClient changes the lease of one blob or container.
type leaseClient struct {
	*blobClient
	path string
}

// leaseResult sends a lease operation with header values in the order ID, proposed ID, duration, break period; "" for none. It
// returns the status and the error code, or the status and the value of the response.
func (r *leaseClient) change(action string, values ...string) string {
	r.Helper()
	header := []string{"x-ms-lease-action", action}
	for i, name := range []string{"x-ms-lease-id", "x-ms-proposed-lease-id", "x-ms-lease-duration", "x-ms-lease-break-period"} {
		if i < len(values) && values[i] != "" {
			header = append(header, name, values[i])
		}
	}
	a := r.send("PUT", r.path+"comp=lease", "", header...)
	return strings.TrimSpace(strconv.Itoa(a.status) + " " + a.header.Get("x-ms-error-code") + a.header.Get("x-ms-lease-id") + a.header.Get("x-ms-lease-time"))
}

// state returns the state of the lease.
func (r *leaseClient) leaseState() string {
	r.Helper()
	a := r.send("HEAD", strings.TrimRight(r.path, "?&"), "")
	return strings.TrimSpace(a.header.Get("x-ms-lease-status") + " " + a.header.Get("x-ms-lease-state") + " " + a.header.Get("x-ms-lease-duration"))
}

// advance sets the clock of the service forward.
func (r *leaseClient) advance(seconds int) { r.now = r.now.Add(time.Duration(seconds) * time.Second) }

// TestLeaseStates: each operation on a lease in each state has the documented outcome, on blobs and on containers.
func TestLeaseStates(t *testing.T) {
	t.Parallel()
	const (
		absent   = "409 LeaseNotPresentWithLeaseOperation"
		mismatch = "409 LeaseIdMismatchWithLeaseOperation"
		present  = "409 LeaseAlreadyPresent"
		noRenew  = "409 LeaseIsBrokenAndCannotBeRenewed"
	)
	prepare := map[string]func(*leaseClient){
		"unlocked available":     func(*leaseClient) {},
		"locked leased fixed":    func(r *leaseClient) { r.change("acquire", "", leaseA, "15") },
		"locked leased infinite": func(r *leaseClient) { r.change("acquire", "", leaseA, "-1") },
		"unlocked expired":       func(r *leaseClient) { r.change("acquire", "", leaseA, "15"); r.advance(15) },
		"locked breaking":        func(r *leaseClient) { r.change("acquire", "", leaseA, "60"); r.change("break", "", "", "", "10") },
		"unlocked broken":        func(r *leaseClient) { r.change("acquire", "", leaseA, "60"); r.change("break", "", "", "", "0") },
	}
	// The results in the order of the operations below.
	outcomes := map[string][]string{
		"unlocked available":     {"201 " + leaseA, "201 " + leaseB, absent, absent, mismatch, mismatch, absent, mismatch, mismatch},
		"locked leased fixed":    {"201 " + leaseA, present, "202 15", "202 5", "200 " + leaseA, mismatch, "200 " + leaseB, "200", mismatch},
		"locked leased infinite": {"201 " + leaseA, present, "202 0", "202 5", "200 " + leaseA, mismatch, "200 " + leaseB, "200", mismatch},
		"unlocked expired":       {"201 " + leaseA, "201 " + leaseB, "202 0", "202 0", "200 " + leaseA, mismatch, absent, "200", mismatch},
		"locked breaking":        {"409 LeaseIsBreakingAndCannotBeAcquired", present, "202 10", "202 5", noRenew, mismatch, "409 LeaseIsBreakingAndCannotBeChanged", "200", mismatch},
		"unlocked broken":        {"201 " + leaseA, "201 " + leaseB, "202 0", "202 0", noRenew, mismatch, absent, "200", mismatch},
	}
	operations := []struct {
		action string
		values []string
	}{
		{"acquire", []string{"", leaseA, "30"}}, {"acquire", []string{"", leaseB, "30"}}, {"break", nil}, {"break", []string{"", "", "", "5"}},
		{"renew", []string{leaseA}}, {"renew", []string{leaseB}}, {"change", []string{leaseA, leaseB}}, {"release", []string{leaseA}}, {"release", []string{leaseB}},
	}
	for _, path := range []string{"/logs/app.log?", "/logs?restype=container&"} {
		for state, prepared := range prepare {
			for i, op := range operations {
				r := &leaseClient{newBlobClient(t, storagetest.Options{}), path}
				if prepared(r); r.leaseState() != state {
					t.Fatalf("%s: got %s; want %s", path, r.leaseState(), state)
				}
				if got, want := r.change(op.action, op.values...), outcomes[state][i]; got != want {
					t.Errorf("%s, %s: %s %v: got %s; want %s", path, state, op.action, op.values, got, want)
				}
			}
		}
	}
}

// TestLeaseHeaders: a lease operation with an invalid header fails and changes nothing.
func TestLeaseHeaders(t *testing.T) {
	t.Parallel()
	r := &leaseClient{newBlobClient(t, storagetest.Options{}), "/logs/app.log?"}
	const invalid, missing = "400 InvalidHeaderValue", "400 MissingRequiredHeader"
	for _, duration := range []string{"0", "14", "61", "-2", "x"} {
		if got := r.change("acquire", "", leaseA, duration); got != invalid {
			t.Errorf("duration %s: got %s; want %s", duration, got, invalid)
		}
	}
	for _, c := range []struct {
		action string
		values []string
		want   string
	}{
		{"acquire", []string{"", leaseA}, missing}, {"acquire", []string{"", "no-guid", "15"}, invalid}, {"renew", nil, missing}, {"release", nil, missing},
		{"change", []string{leaseA}, missing}, {"change", []string{"", leaseB}, missing}, {"change", []string{leaseA, "x"}, invalid},
	} {
		if got := r.change(c.action, c.values...); got != c.want {
			t.Errorf("%s %v: got %s; want %s", c.action, c.values, got, c.want)
		}
	}
	r.change("acquire", "", leaseA, "60")
	for _, period := range []string{"-1", "61", "x"} {
		if got := r.change("break", "", "", "", period); got != invalid {
			t.Errorf("break after %s: got %s; want %s", period, got, invalid)
		}
	}
	if got := r.leaseState(); got != "locked leased fixed" {
		t.Errorf("got %s; want the lease unchanged", got)
	}
	// Without a proposed ID, the service chooses one.
	r.change("release", leaseA)
	got := r.change("acquire", "", "", "15")
	if id, ok := strings.CutPrefix(got, "201 "); !ok || r.change("renew", id) != "200 "+id || r.change("renew", strings.ToUpper(id)) != "200 "+id {
		t.Errorf("got %s; want an ID that renews the lease", got)
	}
}

// TestLeaseProtects: a held lease refuses writes without its ID, and a lease that has ended refuses its ID.
func TestLeaseProtects(t *testing.T) {
	t.Parallel()
	writes := []string{"PUT /logs/app.log?comp=appendblock", "PUT /logs/app.log?comp=metadata", "PUT /logs/app.log?comp=properties", "PUT /logs/app.log", "DELETE /logs/app.log"}
	send := func(r *leaseClient, request, id string) string {
		method, path, _ := strings.Cut(request, " ")
		header := []string{"x-ms-blob-type", "AppendBlob"}
		if id != "" {
			header = append(header, "x-ms-lease-id", id)
		}
		body := ""
		if strings.HasSuffix(path, "appendblock") {
			body = "a"
		}
		return r.send(method, path, body, header...).header.Get("x-ms-error-code")
	}
	for _, c := range []struct {
		name     string
		prepare  func(*leaseClient)
		write    [3]string // without an ID, with the lease's ID, with another ID
		read     [3]string
		lostByID bool
	}{
		{"available", func(*leaseClient) {}, [3]string{"", "LeaseNotPresentWithBlobOperation", "LeaseNotPresentWithBlobOperation"}, [3]string{"", "LeaseNotPresentWithBlobOperation", "LeaseNotPresentWithBlobOperation"}, false},
		{"leased", func(r *leaseClient) { r.change("acquire", "", leaseA, "60") }, [3]string{"LeaseIdMissing", "", "LeaseIdMismatchWithBlobOperation"}, [3]string{"", "", "LeaseIdMismatchWithBlobOperation"}, false},
		{"breaking", func(r *leaseClient) { r.change("acquire", "", leaseA, "60"); r.change("break") }, [3]string{"LeaseIdMissing", "", "LeaseIdMismatchWithBlobOperation"}, [3]string{"", "", "LeaseIdMismatchWithBlobOperation"}, false},
		{"expired", func(r *leaseClient) { r.change("acquire", "", leaseA, "15"); r.advance(15) }, [3]string{"", "LeaseLost", "LeaseNotPresentWithBlobOperation"}, [3]string{"", "LeaseLost", "LeaseNotPresentWithBlobOperation"}, true},
		{"broken", func(r *leaseClient) { r.change("acquire", "", leaseA, "60"); r.change("break", "", "", "", "0") }, [3]string{"", "LeaseLost", "LeaseNotPresentWithBlobOperation"}, [3]string{"", "LeaseLost", "LeaseNotPresentWithBlobOperation"}, true},
	} {
		for i, id := range []string{"", leaseA, leaseB} {
			for _, request := range append(writes, "GET /logs/app.log", "HEAD /logs/app.log") {
				r := &leaseClient{newBlobClient(t, storagetest.Options{}), "/logs/app.log?"}
				c.prepare(r)
				want := c.write[i]
				if !strings.HasPrefix(request, "PUT") && !strings.HasPrefix(request, "DELETE") {
					want = c.read[i]
				}
				if got := send(r, request, id); got != want {
					t.Errorf("%s: %s with ID %q: got %q; want %q", c.name, request, id, got, want)
				}
				if got := r.change("renew", leaseA); c.lostByID && i == 0 && strings.HasPrefix(request, "PUT") && got != "409 LeaseIdMismatchWithLeaseOperation" {
					t.Errorf("%s: renewal after %s: got %s; want 409 LeaseIdMismatchWithLeaseOperation", c.name, request, got)
				}
			}
		}
	}
}

// TestContainerLease: a lease on a container protects the container from deletion only.
func TestContainerLease(t *testing.T) {
	t.Parallel()
	r := &leaseClient{newBlobClient(t, storagetest.Options{}), "/logs?restype=container&"}
	const path = "/logs?restype=container"
	r.expectCode(r.send("DELETE", path, "", "x-ms-lease-id", leaseA), 412, "LeaseNotPresentWithContainerOperation")
	r.change("acquire", "", leaseA, "60")
	r.expectCode(r.send("DELETE", path, ""), 412, "LeaseIdMissing")
	r.expectCode(r.send("DELETE", path, "", "x-ms-lease-id", leaseB), 412, "LeaseIdMismatchWithContainerOperation")
	for _, request := range []string{"PUT " + path + "&comp=metadata", "GET " + path, "GET " + path + "&comp=list"} {
		method, path, _ := strings.Cut(request, " ")
		r.expectCode(r.send(method, path, ""), 200, "")
		r.expectCode(r.send(method, path, "", "x-ms-lease-id", leaseA), 200, "")
		r.expectCode(r.send(method, path, "", "x-ms-lease-id", leaseB), 412, "LeaseIdMismatchWithContainerOperation")
	}
	r.expect(r.append("a"), 201, "")
	if a := r.send("GET", "/?comp=list", ""); !strings.Contains(a.body, "<LeaseStatus>locked</LeaseStatus><LeaseState>leased</LeaseState><LeaseDuration>fixed</LeaseDuration>") {
		t.Errorf("got %s; want a container with a lease", a.body)
	}
	r.change("break", "", "", "", "0")
	r.expectCode(r.send("DELETE", path, "", "x-ms-lease-id", leaseA), 412, "LeaseLost")
	r.change("acquire", "", leaseA, "60")
	r.expectCode(r.send("DELETE", path, "", "x-ms-lease-id", leaseA), 202, "")
}
