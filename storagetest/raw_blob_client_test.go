package storagetest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// blobClient sends requests to the Blob service without an SDK.
type blobClient struct{ *xmlClient }

// newBlobClient returns a client of a new account with an append blob called app.log in a container called logs.
func newBlobClient(t *testing.T, o storagetest.Options) *blobClient {
	r := &blobClient{newXMLClient(t, "blob", o)}
	r.expect(r.send("PUT", "/logs?restype=container", ""), 201, "")
	r.create("/logs/app.log")
	return r
}

// create creates an append blob.
func (r *blobClient) create(path string, header ...string) {
	r.Helper()
	r.expect(r.send("PUT", path, "", append([]string{"x-ms-blob-type", "AppendBlob"}, header...)...), 201, "")
}

// append appends a block to the blob app.log.
func (r *blobClient) append(text string, header ...string) response {
	r.Helper()
	return r.send("PUT", "/logs/app.log?comp=appendblock", text, header...)
}

// expectCode checks the status and the error code of a response, "" for success.
func (r *blobClient) expectCode(a response, status int, code string) {
	r.Helper()
	if a.status != status || a.header.Get("x-ms-error-code") != code {
		r.Errorf("got %d %s; want %d %s", a.status, a.header.Get("x-ms-error-code"), status, code)
	}
}

// expectHeader checks the header of a response without the request ID, in the form "name: value" sorted by name.
func (r *blobClient) expectHeader(a response, want ...string) {
	r.Helper()
	var got []string
	for name, values := range a.header {
		if name != "X-Ms-Request-Id" {
			got = append(got, strings.ToLower(name)+": "+strings.Join(values, ","))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.Errorf("got header\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// state returns all that the Blob service stores.
func (r *blobClient) state() string {
	var all []any
	for _, name := range r.ContainerNames() {
		all = append(all, name, r.StoredBlobs(name))
	}
	return fmt.Sprint(all...)
}

// etag returns the ETag of a response.
func etag(a response) string { return http.Header(a.header).Get("ETag") }

// refused is a request that the service refuses.
type refused struct {
	request, body string
	header        string // lines with a name and a value
	status        int
	code          string
}

// expectRefused checks that the service refuses requests, and that state stays as it is.
func (r *blobClient) expectRefused(all []refused, state func() string) {
	r.Helper()
	before := state()
	for _, c := range all {
		method, path, _ := strings.Cut(c.request, " ")
		var header []string
		for line := range strings.SplitSeq(c.header, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				header = append(header, name, value)
			}
		}
		if a := r.send(method, path, c.body, header...); a.status != c.status || a.header.Get("x-ms-error-code") != c.code {
			r.Errorf("%s %.100s %s: got %d %s; want %d %s", c.request, c.body, c.header, a.status, a.header.Get("x-ms-error-code"), c.status, c.code)
		}
		if after := state(); after != before {
			r.Fatalf("%s: got %.300s; want %.300s", c.request, after, before)
		}
	}
}
