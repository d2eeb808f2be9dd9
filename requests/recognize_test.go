package requests_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
)

// TestKindOf checks requests as the SDK sends them, with both forms of addresses.
func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path, match string
		want                requests.Kind
	}{
		{"GET", "/staff(PartitionKey='a',RowKey='b')", "", requests.Get},
		{"GET", "/acct/staff(PartitionKey='a(',RowKey=')')", "", requests.Get},
		{"GET", "/staff()", "", requests.Query},
		{"GET", "/acct/staff", "", requests.Query},
		{"POST", "/staff", "", requests.Insert},
		{"PUT", "/staff(PartitionKey='a',RowKey='b')", "*", requests.Replace},
		{"PUT", "/staff(PartitionKey='a',RowKey='b')", "", kinds.InsertOrReplace},
		{"PATCH", "/staff(PartitionKey='a',RowKey='b')", "x", requests.Merge},
		{"MERGE", "/staff(PartitionKey='a',RowKey='b')", "", kinds.InsertOrMerge},
		{"DELETE", "/staff(PartitionKey='a',RowKey='b')", "x", requests.Delete},
		{"POST", "/acct/$batch", "", requests.Transaction},
		{"POST", "/Tables", "", kinds.TableCreate},
		{"DELETE", "/acct/Tables('staff')", "", kinds.TableDelete},
		{"GET", "/Tables", "", kinds.TableQuery},
		{"HEAD", "/staff", "", kinds.Other},
	} {
		r := &http.Request{Method: c.method, URL: &url.URL{Path: c.path}, Header: http.Header{}}
		if c.want != kinds.TableDelete {
			r.Header["DataServiceVersion"] = []string{"3.0"}
		}
		r.Header.Set("Accept", "application/json;odata=minimalmetadata")
		if c.match != "" {
			r.Header["If-Match"] = []string{c.match}
		}
		if got := requests.KindOf(r); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.method, c.path, got, c.want)
		}
	}
	for _, path := range []string{"/photos/blob", "/photos/Tables", "/photos/$batch"} {
		for _, method := range []string{"PUT", "GET", "POST", "DELETE"} {
			if got := requests.KindOf(&http.Request{Method: method, URL: &url.URL{Path: path}, Header: http.Header{"Accept": {"application/xml"}}}); got != kinds.Other {
				t.Errorf("%s of the blob %s: got %s, want %s", method, path, got, kinds.Other)
			}
		}
	}
}
