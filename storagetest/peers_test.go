package storagetest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestLearnedOfBlobs: what the own tests of the Go SDK expect of the live Blob service, besides the recordings.
func TestLearnedOfBlobs(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.expect(r.send("PUT", "/logs/new?comp=block&blockid=AAAA", "a"), 201, "")
	const (
		appendTo   = "/logs/app.log?comp=appendblock"
		properties = "/?restype=service&comp=properties"
		commit     = "/logs/new?comp=blocklist"
		list       = "<BlockList><Latest>AAAA</Latest></BlockList>"
		later      = "Mon, 02 Oct 2017 20:22:04 GMT"
	)
	retention := func(text string) string {
		return "<StorageServiceProperties><DeleteRetentionPolicy>" + text + "</DeleteRetentionPolicy></StorageServiceProperties>"
	}
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code                     string
	}{
		{"an ETag that is no number and has no quotes", "PUT", appendTo, "a", []string{"If-Match", "garbage"}, 412, "ConditionNotMet"},
		{"uncommitted blocks, changed since a later time", "PUT", commit, list, []string{"If-Modified-Since", later}, 412, "ConditionNotMet"},
		{"uncommitted blocks, unchanged since a later time", "PUT", commit, list, []string{"If-Unmodified-Since", later}, 201, ""},
		{"a retention without days", "PUT", properties, retention("<Enabled>true</Enabled>"), nil, 400, "InvalidXmlDocument"},
		{"a retention of no days", "PUT", properties, retention("<Enabled>true</Enabled><Days>0</Days>"), nil, 400, "InvalidXmlDocument"},
		{"a retention of 366 days", "PUT", properties, retention("<Enabled>true</Enabled><Days>366</Days>"), nil, 400, "InvalidXmlDocument"},
		{"an empty retention", "PUT", properties, retention(""), nil, 400, "InvalidXmlDocument"},
		{"a retention of 365 days", "PUT", properties, retention("<Enabled>true</Enabled><Days>365</Days>"), nil, 202, ""},
		{"no retention", "PUT", properties, retention("<Enabled>false</Enabled>"), nil, 202, ""},
		{"a container without a name", "PUT", "/?restype=container", "", nil, 400, "InvalidQueryParameterValue"},
		{"a key for encryption", "GET", "/logs/app.log", "", []string{"x-ms-encryption-key", "AAAA"}, 501, "NotImplemented"},
		{"a scope for encryption", "PUT", appendTo, "a", []string{"x-ms-encryption-scope", "a"}, 501, "NotImplemented"},
		{"a change of the kind of account", "PUT", "/?restype=account&comp=properties", "", nil, 405, "UnsupportedHttpVerb"},
	} {
		a := r.send(c.method, c.path, c.body, c.header...)
		if got := a.header.Get("x-ms-error-code"); a.status != c.status || got != c.code {
			t.Errorf("%s: got %d %s; want %d %s", c.name, a.status, got, c.status, c.code)
		}
	}
	for _, path := range []string{"/", "/logs", "/logs/app.log"} {
		a := r.send("GET", path+"?restype=account&comp=properties", "")
		if a.status != 200 || a.header.Get("x-ms-account-kind") != "StorageV2" || a.header.Get("x-ms-sku-name") != "Standard_RAGRS" {
			t.Errorf("%s: got %d, header %v; want the kind of the account", path, a.status, a.header)
		}
	}
	for version, want := range map[string]string{"2018-03-28": "403 AuthenticationFailed", "2019-12-12": "401 NoAuthenticationInformation Bearer"} {
		a := r.roundTrip(&http.Request{
			Method: "GET", URL: &url.URL{Scheme: "http", Host: "storagename.blob.storagetest.test", Path: "/logs/app.log"}, Header: http.Header{"X-Ms-Version": {version}},
		})
		scheme, _, _ := strings.Cut(a.header.Get("WWW-Authenticate"), " ")
		if got := strings.TrimSpace(fmt.Sprint(a.status, " ", a.header.Get("x-ms-error-code"), " ", scheme)); got != want {
			t.Errorf("a request without a signature in version %s: got %s; want %s", version, got, want)
		}
	}
}
