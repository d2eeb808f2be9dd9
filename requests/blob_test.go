package requests_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
)

// TestKindOfBlobs: a request whose host name or User-Agent names the Blob service has its kind, in both forms of addresses. Other
// services' requests and those of an unknown service are not taken for it.
func TestKindOfBlobs(t *testing.T) {
	t.Parallel()
	const agent = "app azsdk-go-azblob/v1.8.0 (go1.25; linux)"
	for request, want := range map[string]requests.Kind{
		"PUT /logs?restype=container":                kinds.ContainerCreate,
		"DELETE /logs?restype=container":             kinds.ContainerDelete,
		"GET /?comp=list":                            kinds.ContainerList,
		"GET /logs?restype=container":                kinds.ContainerGet,
		"HEAD /logs?restype=container":               kinds.ContainerGet,
		"PUT /logs?comp=metadata&restype=container":  kinds.ContainerSet,
		"PUT /logs?comp=lease&restype=container":     kinds.ContainerLease,
		"GET /logs?comp=list&restype=container":      kinds.BlobList,
		"PUT /logs/a.log":                            kinds.BlobCreate,
		"PUT /logs/a.log?comp=copy&copyid=a":         kinds.BlobCreate,
		"PUT /logs/a.log?comp=appendblock":           kinds.BlobAppend,
		"GET /logs/a.log":                            kinds.BlobGet,
		"HEAD /logs/a.log":                           kinds.BlobProperties,
		"PUT /logs/a.log?comp=metadata":              kinds.BlobSetMetadata,
		"PUT /logs/a.log?comp=properties":            kinds.BlobSetHeaders,
		"DELETE /logs/a.log":                         kinds.BlobDelete,
		"PUT /logs/a.log?comp=lease":                 kinds.BlobLease,
		"GET /logs/messages":                         kinds.BlobGet,
		"GET /logs/Tables":                           kinds.BlobGet,
		"PUT /logs/a.log?comp=block&blockid=AAAA":    kinds.BlobStage,
		"PUT /logs/a.log?comp=blocklist":             kinds.BlobCommit,
		"GET /logs/a.log?comp=blocklist":             kinds.BlobBlocks,
		"PUT /logs/a.log?comp=snapshot":              kinds.Other,
		"GET /logs/a.log?snapshot=2014-07-31":        kinds.Other,
		"GET /logs/a.log?versionid=2014-07-31":       kinds.Other,
		"GET /logs?comp=acl&restype=container":       kinds.Other,
		"GET /?comp=properties&restype=service":      kinds.Other,
		"POST /logs?comp=batch&restype=container":    kinds.Other,
		"PUT /logs/$batch?comp=appendblock":          kinds.BlobAppend,
		"GET /$root?restype=container&comp=metadata": kinds.ContainerGet,
	} {
		method, address, _ := strings.Cut(request, " ")
		for _, c := range []struct {
			base, agent string
			known       bool
		}{
			{"https://contoso.blob.core.windows.net", "", true},
			{"https://contoso.z01.blob.storage.azure.net", "", true},
			{"http://storagetest.blob.storagetest.test", "", true},
			{"http://127.0.0.1:10000/devstoreaccount1", agent, true},
			{"https://data.contoso.com", agent, true},
			{"http://127.0.0.1:10000/devstoreaccount1", "", false},
			{"https://data.contoso.com", "azsdk-go-azqueue/v2.1.0", false},
			{"https://contoso.queue.core.windows.net", agent, false},
		} {
			u, err := url.Parse(c.base + address)
			if err != nil {
				t.Fatal(err)
			}
			r := &http.Request{Method: method, URL: u, Header: http.Header{"Accept": {"application/xml"}, "User-Agent": {c.agent}}}
			expected := want
			if !c.known {
				expected = kinds.Other
			}
			if got := requests.KindOf(r); got != expected {
				t.Errorf("%s at %s with User-Agent %q: got %s; want %s", request, c.base, c.agent, got, expected)
			}
		}
	}
}
