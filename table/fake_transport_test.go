package table_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// fakeTransport answers requests by a function and records them.
type fakeTransport struct {
	respond func(r *http.Request, body string) (*http.Response, error)

	mu   sync.Mutex
	sent []sentRequest
}

type sentRequest struct {
	method, path, query, body string
	escaped                   string // the path
	header                    http.Header
}

func (w *fakeTransport) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	w.mu.Lock()
	w.sent = append(w.sent, sentRequest{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.URL.EscapedPath(), r.Header.Clone()})
	w.mu.Unlock()
	resp, err := w.respond(r, string(body))
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

// requests returns the methods of the requests.
func (w *fakeTransport) requests() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var s []string
	for _, r := range w.sent {
		s = append(s, r.method)
	}
	return strings.Join(s, " ")
}

func (w *fakeTransport) last() sentRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[len(w.sent)-1]
}

// jsonResponse returns a response as the service sends it, without x-ms-error-code.
func jsonResponse(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json;odata=minimalmetadata;streaming=true;charset=utf-8"}, "X-Ms-Version": {"2019-02-02"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// errorResponse is a response with an error of the service.
func errorResponse(status int, code string) *http.Response {
	return jsonResponse(status, fmt.Sprintf(`{"odata.error":{"code":%q,"message":{"lang":"en-US","value":"text\nRequestId:x\nTime:2017-10-02T20:21:34.0618764Z"}}}`, code))
}

const etag = `W/"datetime'2026-11-21T01%3A02%3A03.1234567Z'"`

// noContent is the response to a write that was applied.
func noContent() *http.Response { return jsonResponse(204, "", "ETag", etag) }

// sdkClient returns a client of the SDK as a user makes it, with another transport and short pauses.
func sdkClient(t testing.TB, w policy.Transporter, o ...func(*azcore.ClientOptions)) *aztables.ServiceClient {
	t.Helper()
	options := azcore.ClientOptions{Transport: w, Retry: policy.RetryOptions{RetryDelay: time.Millisecond}}
	for _, f := range o {
		f(&options)
	}
	s, err := aztables.NewServiceClientWithNoCredential("http://127.0.0.1:1/account", &aztables.ClientOptions{ClientOptions: options})
	noError(t, err)
	return s
}

type employee struct {
	Department string
	ID         int
	Last       string `table:"LastName"`
	Age        int32
}

var (
	dept        = keys.Text()
	empid       = keys.Digits[int](6).Named("empid")
	staffSchema = table.Schema[employee]{
		Partition: keys.Partition(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Row(empid, func(e *employee) *int { return &e.ID }),
	}
	age  = table.FieldOf(func(e *employee) *int32 { return &e.Age })
	last = table.FieldOf(func(e *employee) *string { return &e.Last })
)

// employeeKey returns the key of an employee.
func employeeKey(d string, id int) keys.Key { return keys.At(dept.PartitionKey(d), empid.RowKey(id)) }

// newStaff opens the table of employees, with options for a single attempt.
func newStaff(t testing.TB, s engine.Service) *table.Table[employee] {
	t.Helper()
	o := singleAttempt()
	o.Retry.ConflictWait = -1
	staff, err := bare.NewTable(s, "staff", staffSchema, o)
	noError(t, err)
	return staff
}

// employeeJSON is employee 223 as the service sends it.
const employeeJSON = `{"odata.metadata":"https://x/$metadata#staff/@Element","odata.etag":"W/\"datetime'2026-11-21T01%3A02%3A03.1234567Z'\"","PartitionKey":"Sales","RowKey":"empid_000223","Timestamp":"2026-11-21T01:02:03.1234567Z","LastName":"Jones","Age":44}`

// readEmployee returns employee 223 as Get reads it.
func readEmployee(t testing.TB, staff *table.Table[employee], w *fakeTransport) *table.Entity[employee] {
	t.Helper()
	answer := w.respond
	w.respond = func(*http.Request, string) (*http.Response, error) {
		return jsonResponse(200, employeeJSON, "ETag", etag), nil
	}
	e, err := staff.Get(context.Background(), employeeKey("Sales", 223))
	noError(t, err)
	w.respond, w.sent = answer, nil
	return e
}

// bodyOf returns the body of a request, and leaves it to be read again.
func bodyOf(t testing.TB, r *http.Request) string {
	t.Helper()
	if r.Body == nil {
		return ""
	}
	b, err := io.ReadAll(r.Body)
	noError(t, err)
	r.Body = io.NopCloser(strings.NewReader(string(b)))
	return string(b)
}
