package storagetest_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// xmlClient sends requests to the Queue service or to the Blob service without an SDK.
type xmlClient struct {
	*serviceClient
	service string // in the host name
}

// xmlHead is the start of each XML document.
const xmlHead = "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>`

// newXMLClient returns a client of a new account.
func newXMLClient(t *testing.T, service string, o storagetest.Options) *xmlClient {
	return &xmlClient{newServiceClient(t, o), service}
}

// send signs and sends a request. header contains names and values.
func (r *xmlClient) send(method, path, body string, header ...string) response {
	r.Helper()
	u, err := url.Parse("http://storagename." + r.service + ".storagetest.test" + path)
	if err != nil {
		r.Fatal(err)
	}
	const date = "Mon, 02 Oct 2017 20:21:54 GMT"
	req := &http.Request{Method: method, URL: u, Header: http.Header{"X-Ms-Version": {"2018-03-28"}, "X-Ms-Date": {date}}}
	length := ""
	if body != "" {
		req.Header.Set("Content-Type", "application/xml")
		length = strconv.Itoa(len(body))
		req.Body = io.NopCloser(strings.NewReader(body))
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	// The documented order: the method, eleven headers, the headers of the service, the resource.
	lines := []string{method, "", "", length}
	for _, name := range []string{"Content-MD5", "Content-Type", "Date", "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
		lines = append(lines, req.Header.Get(name))
	}
	var own []string
	for name := range req.Header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own = append(own, name+":"+req.Header.Get(name))
		}
	}
	slices.SortFunc(own, func(a, b string) int { // by name
		return strings.Compare(strings.Replace(a, ":", "\x00", 1), strings.Replace(b, ":", "\x00", 1))
	})
	lines = append(append(lines, own...), "/storagename"+u.EscapedPath())
	var query []string
	for name, values := range u.Query() {
		query = append(query, name+":"+strings.Join(values, ","))
	}
	slices.Sort(query)
	if req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "SharedKey storagename:"+r.signature(strings.Join(append(lines, query...), "\n")))
	}
	return r.roundTrip(req)
}

// expectError checks that a response is an error in XML.
func (r *xmlClient) expectError(a response, status int, code, text, detail string) {
	r.Helper()
	r.expect(a, status, xmlHead+"<Error><Code>"+code+"</Code><Message>"+text+"\nRequestId:ID\nTime:"+r.now.Format("2006-01-02T15:04:05.0000000Z")+"</Message>"+detail+"</Error>")
	if a.header.Get("x-ms-error-code") != code || a.header.Get("Content-Type") != "application/xml" {
		r.Errorf("got header %v; want x-ms-error-code %s and Content-Type application/xml", a.header, code)
	}
}

// part returns the text of the first element with a name.
func part(body, name string) string {
	_, rest, _ := strings.Cut(body, "<"+name+">")
	s, _, _ := strings.Cut(rest, "</"+name+">")
	return s
}
