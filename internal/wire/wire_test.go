package wire

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestKind: requests as the SDK sends them, on both forms of addresses.
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
			t.Errorf("%s %s: %s, want %s", c.method, c.path, got, c.want)
		}
	}
	for _, path := range []string{"/photos/blob", "/photos/Tables", "/photos/$batch"} {
		for _, method := range []string{"PUT", "GET", "POST", "DELETE"} {
			if got := Kind(&http.Request{Method: method, URL: &url.URL{Path: path}, Header: http.Header{"Accept": {"application/xml"}}}); got != Other {
				t.Errorf("the blob %s: %s", path, got)
			}
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	cause := errors.New("reset")
	const signed = "https://acct.table.core.windows.net/staff?sv=1&sig=secret"
	for _, err := range []error{
		&url.Error{Op: "Get", URL: signed, Err: cause},
		fmt.Errorf("wrapped: %w", &url.Error{Op: "Get", URL: signed, Err: cause}),
		&url.Error{Op: "Get", URL: signed, Err: &url.Error{Op: "Get", URL: signed, Err: cause}},
		&url.Error{Op: "Get", URL: "://sig=secret", Err: cause},
	} {
		got := Redact(err)
		if strings.Contains(got.Error(), "secret") || !errors.Is(got, cause) {
			t.Errorf("%v became %v", err, got)
		}
	}
	// Transports of other people write texts of their own.
	for _, text := range []string{"Post https://x/?sv=1&sig=c2VjcmV0%3D: EOF", "bad url 'https://x?sig=secret'", `{"sig":"secret"}`, "x?SIG%3Dsecret&se=1"} {
		err := Redact(fmt.Errorf("proxy: %w", fmt.Errorf("%s: %w", text, cause)))
		for deep := err; deep != nil; deep = errors.Unwrap(deep) {
			if s := deep.Error(); strings.Contains(s, "secret") || strings.Contains(s, "c2Vj") {
				t.Errorf("%q became %q", text, s)
			}
		}
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), "proxy") {
			t.Errorf("%q became %v", text, err)
		}
	}
	if Redact(nil) != nil || Redact(cause) != cause {
		t.Error("an error without a URL was changed")
	}
}
