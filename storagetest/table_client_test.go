package storagetest_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

const (
	jsonMinimal = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
	stamp       = "2017-10-02T20:21:54.8228007Z"
	stampETag   = `W/"datetime'2017-10-02T20%3A21%3A54.8228007Z'"`
)

// tableClient sends requests to the Table service without an SDK.
type tableClient struct{ *serviceClient }

// newTableClient returns a client of a new account.
func newTableClient(t *testing.T) *tableClient {
	return &tableClient{newServiceClient(t, storagetest.Options{})}
}

// newStaffClient returns a client of a new account with a table called staff.
func newStaffClient(t *testing.T) *tableClient {
	r := newTableClient(t)
	r.expect(r.send("POST", "/Tables", `{"TableName":"staff"}`, "Prefer", "return-no-content"), 204, "")
	return r
}

var boundaries = regexp.MustCompile(`[0-9a-f]{8}-0002-4[0-9a-f]{3}-7ebc-3bbd5900000([12])`)

// send signs and sends a request with the headers of a usual client. The names and values of header replace those headers. The
// value "-" drops a header.
func (r *tableClient) send(method, path, body string, header ...string) response {
	r.Helper()
	u, err := url.Parse("https://storagename.table.storagetest.test" + path)
	if err != nil {
		r.Fatal(err)
	}
	req := &http.Request{Method: method, URL: u, Header: http.Header{
		"Accept": {"application/json;odata=minimalmetadata"}, "Dataserviceversion": {"3.0"}, "X-Ms-Version": {"2019-02-02"}, "X-Ms-Date": {"Mon, 02 Oct 2017 20:21:54 GMT"},
	}}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Body = io.NopCloser(strings.NewReader(body))
	}
	for i := 0; i < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i+1] == "-" {
			req.Header.Del(header[i])
		}
	}
	resource := "/storagename" + u.EscapedPath()
	if comp := u.Query().Get("comp"); comp != "" {
		resource += "?comp=" + comp
	}
	req.Header.Set("Authorization", "SharedKeyLite storagename:"+r.signature("Mon, 02 Oct 2017 20:21:54 GMT\n"+resource))
	resp := r.roundTrip(req)
	resp.body = strings.ReplaceAll(boundaries.ReplaceAllString(resp.body, "GUID$1"), "https://storagename.table.storagetest.test", "BASE")
	return resp
}

// expectError checks that a response is an error in JSON.
func (r *tableClient) expectError(a response, status int, code, text string) {
	r.Helper()
	want := `{"odata.error":{"code":"` + code + `","message":{"lang":"en-US","value":"` + text + `\nRequestId:ID\nTime:` + r.now.Format("2006-01-02T15:04:05.0000000Z") + `"}}}`
	r.expect(a, status, want)
	if got := a.header.Get("x-ms-error-code"); got != "" {
		r.Errorf("got x-ms-error-code %q; want none with a JSON error", got)
	}
}

// insert inserts the entity ('p', row). The properties are JSON without braces.
func (r *tableClient) insert(row, properties string) {
	r.Helper()
	if properties != "" {
		properties = "," + properties
	}
	if a := r.send("POST", "/staff", `{"PartitionKey":"p","RowKey":"`+row+`"`+properties+`}`, "Prefer", "return-no-content"); a.status != 204 {
		r.Fatalf("insert %s: got %d %s; want 204", row, a.status, a.body)
	}
}

// stored returns the properties of the entity ('p', row) as JSON without braces.
func (r *tableClient) stored(row string) string {
	r.Helper()
	a := r.send("GET", "/staff(PartitionKey='p',RowKey='"+row+"')", "", "Accept", "application/json;odata=minimalmetadata")
	if a.status != 200 {
		r.Fatalf("get %s: got %d %s; want 200", row, a.status, a.body)
	}
	_, rest, _ := strings.Cut(a.body, `"Timestamp":"`)
	_, rest, _ = strings.Cut(rest, `Z"`)
	return strings.TrimSuffix(strings.TrimPrefix(rest, ","), "}")
}

// forTest returns the client for a subtest.
func (r *tableClient) forTest(t *testing.T) *tableClient {
	c := *r.serviceClient
	c.T = t
	return &tableClient{&c}
}
