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
		if c.match != "" {
			r.Header["If-Match"] = []string{c.match}
		}
		if got := Kind(r); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.path, got, c.want)
		}
	}
	if got := Kind(&http.Request{Method: "PUT", URL: &url.URL{Path: "/photos/blob"}}); got != Other {
		t.Errorf("a blob: %s", got)
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
	if Redact(nil) != nil || Redact(cause) != cause {
		t.Error("an error without a URL was changed")
	}
}
