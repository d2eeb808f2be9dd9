package storagetest_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestObserved: what other programs' tests of the live service have shown, besides the recordings of package conformance.
func TestObserved(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.insert("r", `"b":1,"a":2,"c":3`)
	const row = "/staff(PartitionKey='p',RowKey='r')"
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		has, hasNot              string // in the response, header and body
	}{
		{name: "constant filter: true", method: "GET", path: "/staff()?$filter=true", status: 200, has: `"RowKey":"r"`},
		{name: "constant filter: false", method: "GET", path: "/staff()?$filter=false", status: 200, has: `"value":[]`},
		{name: "constant in a filter", method: "GET", path: "/staff()?$filter=(true%20and%20b%20eq%201)", status: 200, has: `"RowKey":"r"`},
		{name: "negated constant", method: "GET", path: "/staff()?$filter=not%20false", status: 200, has: `"RowKey":"r"`},
		{name: "constant after an operator", method: "GET", path: "/staff()?$filter=5", status: 400, has: "InvalidInput"},
		{name: "selection out of order", method: "GET", path: row + "?$select=c,RowKey,b,b,x", status: 200, has: `"RowKey":"r","b":1,"c":3,"x":null}`},
		{name: "Prefer of a replacement", method: "PUT", path: row, body: `{"b":1}`, header: []string{"Prefer", "return-no-content"}, status: 204, has: "Preference-Applied: return-no-content"},
		{name: "Prefer of a deletion that fails", method: "DELETE", path: row[:len(row)-2] + "none')", header: []string{"Prefer", "return-no-content", "If-Match", "*"}, status: 404, hasNot: "Preference-Applied"},
		{name: "a list of ETags", method: "PUT", path: row, body: `{"b":1}`, header: []string{"If-Match", `"a", x`}, status: 400, has: "The etag value '\\\"a\\\", x' specified in one of the request headers is not valid."},
		{name: "an ETag of another form", method: "PUT", path: row, body: `{"b":1}`, header: []string{"If-Match", `"0x8D"`}, status: 412, has: "ConditionNotMet"},
		{name: "a tunnelled merge", method: "POST", path: row, body: `{"d":4}`, header: []string{"X-HTTP-Method", "MERGE", "If-Match", "*"}, status: 204},
		{name: "the merged row", method: "GET", path: row, status: 200, has: `"b":1,"d":4`},
		{name: "a version that is none", method: "GET", path: row, header: []string{"x-ms-version", "newest"}, status: 400, has: "InvalidHeaderValue"},
	} {
		a := r.send(c.method, c.path, c.body, c.header...)
		var all strings.Builder
		for name, values := range a.header {
			fmt.Fprintf(&all, "%s: %s\n", name, strings.Join(values, ","))
		}
		all.WriteString(a.body)
		if got := all.String(); a.status != c.status || !strings.Contains(got, c.has) || c.hasNot != "" && strings.Contains(got, c.hasNot) {
			t.Errorf("%s: got %d\n%s\nwant %d with %q, without %q", c.name, a.status, got, c.status, c.has, c.hasNot)
		}
	}
	a := r.transact(changeSet(op("PUT", "http://elsewhere"+row, `{"e":5}`, "Prefer", "return-no-content")))
	if a.status != 202 || !strings.Contains(a.body, "Preference-Applied: return-no-content\nDataServiceVersion: 3.0;\n") && !strings.Contains(a.body, "Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n") {
		t.Errorf("a part with another host and Prefer: got %d %s; want 202 with Preference-Applied and DataServiceVersion 3.0", a.status, a.body)
	}
	// A long selection takes no time that grows with the square of its length, and OPTIONS is no transaction.
	names := make([]string, 40_000)
	for i := range names {
		names[i] = fmt.Sprint("n", i)
	}
	began := time.Now()
	if a := r.send("GET", row+"?$select="+strings.Join(names, ","), ""); a.status != 200 || time.Since(began) > 10*time.Second {
		t.Errorf("40,000 names: got %d after %v; want 200 at once", a.status, time.Since(began))
	}
	r.Count()
	r.send("OPTIONS", "/$batch", "")
	r.send("OPTIONS", "/Tables", "")
	if got := r.Count().String(); got != "2 other" {
		t.Errorf("OPTIONS: got %s; want 2 other", got)
	}
	// Transactions in transactions are refused, and do not take a time that grows with the square of their length.
	nested := "{}"
	for range 2000 {
		nested = changeSet("POST /$batch HTTP/1.1\r\nContent-Type: multipart/mixed; boundary=batch_1\r\n\r\n" + nested)
	}
	if a := r.transact(nested); a.status != 400 && !strings.Contains(a.body, "400 Bad Request") {
		t.Errorf("nested transactions: got %d %.300s; want 400", a.status, a.body)
	}
}

// TestLenient: requests that only the documentation forbids are executed if the options say so.
func TestLenient(t *testing.T) {
	t.Parallel()
	for _, lenient := range []bool{false, true} {
		r := &tableClient{newServiceClient(t, storagetest.Options{Lenient: lenient})}
		r.expect(r.send("POST", "/Tables", `{"TableName":"staff"}`, "Prefer", "return-no-content"), 204, "")
		r.insert("r", "")
		long := strings.Repeat("k", 1025)
		for _, c := range []struct {
			method, path, body string
			header             []string
			strict, lenient    int
		}{
			{"GET", "/staff()?$filter=" + strings.Repeat("a%20eq%201%20or%20", 15) + "a%20eq%201", "", nil, 400, 200},
			{"POST", "/staff", `{"PartitionKey":"p","RowKey":"` + long + `"}`, nil, 400, 201},
			{"GET", "/staff()", "", []string{"x-ms-version", "next"}, 400, 200},
			{"DELETE", "/staff(PartitionKey='p',RowKey='r')", "", nil, 400, 204},
		} {
			want := c.strict
			if lenient {
				want = c.lenient
			}
			if a := r.send(c.method, c.path, c.body, c.header...); a.status != want {
				t.Errorf("lenient %v: %s %.60s: got %d %s; want %d", lenient, c.method, c.path, a.status, a.body, want)
			}
		}
	}
}

// TestRawPort: what clients without an SDK see at a port.
func TestRawPort(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	connection := listen(t, s)
	_, address, _ := strings.Cut(connection, "TableEndpoint=http://")
	address, _, _ = strings.Cut(address, "/")
	open := func(request string) net.Conn {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(c, request, address)
		return c
	}
	open("GET /storagetest/Tables HTTP/1.1\r\nHost: %s\r\n") // a request without an end keeps no others waiting
	for name, c := range map[string]struct{ request, status, has string }{
		"headers of the service are in lower case": {"GET /storagetest/Tables HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nx-ms-version: 2019-02-02\r\n\r\n", "403", "\r\nx-ms-error-code: AuthenticationFailed\r\n"},
		"a body that is too long":                  {"POST /storagetest/staff HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: 999999999\r\n\r\n", "413", "RequestBodyTooLarge"},
	} {
		text, err := io.ReadAll(open(c.request))
		if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 "+c.status) || !strings.Contains(string(text), c.has) {
			t.Errorf("%s: got %q, %v; want %s with %q", name, text, err, c.status, c.has)
		}
	}
}
