package wire

import (
	"net/http"
	"net/url"
	"testing"
)

// TestKind checks requests as the SDK sends them, with both forms of addresses.
func TestKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path, match, want string
	}{
		{"GET", "/staff(PartitionKey='a',RowKey='b')", "", Get},
		{"GET", "/acct/staff(PartitionKey='a(',RowKey=')')", "", Get},
		{"GET", "/staff()", "", Query},
		{"GET", "/acct/staff", "", Query},
		{"POST", "/staff", "", Insert},
		{"PUT", "/staff(PartitionKey='a',RowKey='b')", "*", Replace},
		{"PUT", "/staff(PartitionKey='a',RowKey='b')", "", InsertOrReplace},
		{"PATCH", "/staff(PartitionKey='a',RowKey='b')", "x", Merge},
		{"MERGE", "/staff(PartitionKey='a',RowKey='b')", "", InsertOrMerge},
		{"DELETE", "/staff(PartitionKey='a',RowKey='b')", "x", Delete},
		{"POST", "/acct/$batch", "", Transaction},
		{"POST", "/Tables", "", TableCreate},
		{"DELETE", "/acct/Tables('staff')", "", TableDelete},
		{"GET", "/Tables", "", TableQuery},
		{"HEAD", "/staff", "", Other},
	} {
		r := &http.Request{Method: c.method, URL: &url.URL{Path: c.path}, Header: http.Header{}}
		if c.want != TableDelete {
			r.Header["DataServiceVersion"] = []string{"3.0"}
		}
		r.Header.Set("Accept", "application/json;odata=minimalmetadata")
		if c.match != "" {
			r.Header["If-Match"] = []string{c.match}
		}
		if got := Kind(r); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.method, c.path, got, c.want)
		}
	}
	for _, path := range []string{"/photos/blob", "/photos/Tables", "/photos/$batch"} {
		for _, method := range []string{"PUT", "GET", "POST", "DELETE"} {
			if got := Kind(&http.Request{Method: method, URL: &url.URL{Path: path}, Header: http.Header{"Accept": {"application/xml"}}}); got != Other {
				t.Errorf("%s of the blob %s: got %s, want %s", method, path, got, Other)
			}
		}
	}
}
