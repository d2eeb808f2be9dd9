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

// queueClient sends requests to the Queue service without an SDK.
type queueClient struct{ *serviceClient }

// The dates of the recordings, and the start of each XML document.
const (
	inserted = "Mon, 02 Oct 2017 20:21:54 GMT"
	expires  = "Mon, 09 Oct 2017 20:21:54 GMT"
	xmlHead  = "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>`
)

// newQueueClient returns a client of a new account with a queue called hints.
func newQueueClient(t *testing.T, o storagetest.Options) *queueClient {
	r := &queueClient{newServiceClient(t, o)}
	r.expect(r.send("PUT", "/hints", ""), 201, "")
	return r
}

// send signs and sends a request. header contains names and values.
func (r *queueClient) send(method, path, body string, header ...string) response {
	r.Helper()
	u, err := url.Parse("http://storagename.queue.storagetest.test" + path)
	if err != nil {
		r.Fatal(err)
	}
	const date = "Mon, 02 Oct 2017 20:21:54 GMT"
	req := &http.Request{Method: method, URL: u, Header: http.Header{"X-Ms-Version": {"2018-03-28"}, "X-Ms-Date": {date}}}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	length, mime := "", ""
	if body != "" {
		mime = "application/xml"
		req.Header.Set("Content-Type", mime)
		length = strconv.Itoa(len(body))
		req.Body = io.NopCloser(strings.NewReader(body))
	}
	// The documented order: the method, eleven headers, the headers of the service, the resource.
	lines := []string{method, "", "", length, "", mime, "", "", "", "", "", ""}
	var own []string
	for name := range req.Header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own = append(own, name+":"+req.Header.Get(name))
		}
	}
	slices.Sort(own)
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
func (r *queueClient) expectError(a response, status int, code, text, detail string) {
	r.Helper()
	r.expect(a, status, xmlHead+"<Error><Code>"+code+"</Code><Message>"+text+"\nRequestId:ID\nTime:"+r.now.Format("2006-01-02T15:04:05.0000000Z")+"</Message>"+detail+"</Error>")
	if a.header.Get("x-ms-error-code") != code || a.header.Get("Content-Type") != "application/xml" {
		r.Errorf("got header %v; want x-ms-error-code %s and Content-Type application/xml", a.header, code)
	}
}

// text returns a message with the text s as XML.
func text(s string) string {
	return "<QueueMessage><MessageText>" + s + "</MessageText></QueueMessage>"
}

// put sends a message and returns its ID and receipt.
func (r *queueClient) put(s, query string) (id, receipt string) {
	r.Helper()
	a := r.send("POST", "/hints/messages"+query, text(s))
	if a.status != 201 {
		r.Fatalf("put %.40s: got %d %s; want 201", s, a.status, a.body)
	}
	return part(a.body, "MessageId"), part(a.body, "PopReceipt")
}

// part returns the text of the first element with a name.
func part(body, name string) string {
	_, rest, _ := strings.Cut(body, "<"+name+">")
	s, _, _ := strings.Cut(rest, "</"+name+">")
	return s
}

// texts returns the texts of the messages in a response.
func texts(a response) string {
	var all []string
	for rest := a.body; ; {
		_, after, ok := strings.Cut(rest, "<MessageText>")
		if !ok {
			return strings.Join(all, " ")
		}
		s, r, _ := strings.Cut(after, "</MessageText>")
		all, rest = append(all, s), r
	}
}
