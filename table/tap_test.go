package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/aztablekit/aztablekit/table"
)

// withTap adds the policies of ClientOptions to a client of sdkClient.
func withTap(o *azcore.ClientOptions) { *o = table.ClientOptions(*o, nil) }

// front is a per-call policy that sees what the SDK sends, and what the SDK gets.
type front struct{ sent, got []byte }

func (f *front) Do(r *policy.Request) (*http.Response, error) {
	f.sent, f.got = nil, nil
	if body := r.Body(); body != nil {
		f.sent, _ = io.ReadAll(body)
		if err := r.RewindBody(); err != nil {
			return nil, err
		}
	}
	resp, err := r.Next()
	if err == nil {
		f.got, err = runtime.Payload(resp)
	}
	return resp, err
}

// with adds the policy in front of those that the client has.
func (f *front) with(o *azcore.ClientOptions) {
	o.PerCallPolicies = append([]policy.Policy{f}, o.PerCallPolicies...)
}

// TestSDKAcceptsSmallResponses pins what the tap needs of the SDK: an empty object in place of an entity or a page, beside the
// headers of the service.
func TestSDKAcceptsSmallResponses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const advice = "this version of the SDK does not accept what internal/wire/tap.go hands it in place of a response; change the tap before the SDK is updated"
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) {
		return jsonResponse(200, "{}", "ETag", etag, "Date", "Sat, 21 Nov 2026 01:02:03 GMT", "x-ms-continuation-NextPartitionKey", "p", "x-ms-continuation-NextRowKey", "r"), nil
	}}
	sdk := sdkClient(t, w).NewClient("staff")
	if got, err := sdk.GetEntity(ctx, "p", "r", nil); err != nil || got.ETag != etag {
		t.Errorf("GetEntity: got the ETag %q, %v; want %q and no error: %s", got.ETag, err, etag, advice)
	}
	got, err := sdk.NewListEntitiesPager(nil).NextPage(ctx)
	if err != nil || got.NextPartitionKey == nil || got.NextRowKey == nil || *got.NextPartitionKey != "p" || *got.NextRowKey != "r" {
		t.Errorf("NextPage: got %+v, %v; want the tokens p and r, and no error: %s", got, err, advice)
	}
}

// TestTapTakesResponses: the SDK of a tapped client gets no entity to decode, and the reads return all of them.
func TestTapTakesResponses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var f front
	w := &fakeTransport{}
	staff := newStaff(t, sdkClient(t, w, withTap, f.with))
	w.respond = func(*http.Request, string) (*http.Response, error) { return jsonResponse(200, employeeJSON), nil }
	e, err := staff.Get(ctx, employeeKey("Sales", 223))
	if err != nil || e.Value.Last != "Jones" || e.ETag != etag || string(f.got) != "{}" {
		t.Errorf("Get: got %+v, %v, and %s for the SDK; want Jones and {}", e, err, f.got)
	}
	w.respond = func(r *http.Request, _ string) (*http.Response, error) {
		page := `{"value":[` + employeeJSON + `]}`
		if r.URL.Query().Get("NextRowKey") == "" {
			return jsonResponse(200, page, "x-ms-continuation-NextPartitionKey", "Sales", "x-ms-continuation-NextRowKey", "empid_000224"), nil
		}
		return jsonResponse(200, strings.ReplaceAll(page, "000223", "000224")), nil
	}
	n := 0
	for e, err := range staff.List(ctx, table.Query[employee]{Partition: dept.Of("Sales")}) {
		noError(t, err)
		if n++; e.Value.ID != 222+n || string(f.got) != "{}" {
			t.Errorf("List: got %+v, and %s for the SDK; want the ID %d and {}", e.Value, f.got, 222+n)
		}
	}
	if n != 2 {
		t.Errorf("List: got %d entities; want 2", n)
	}
}

// conditions are the errors by which a result of the two paths is compared.
var conditions = []error{table.ErrNotFound, table.ErrTableNotFound, table.ErrExists, table.ErrChanged, table.ErrUnreachable, table.ErrUnknownOutcome}

// shape is what a caller can tell about an error.
func shape(err error) string {
	if err == nil {
		return "no error"
	}
	var s []string
	for _, is := range conditions {
		if errors.Is(err, is) {
			s = append(s, is.Error())
		}
	}
	var de *table.DecodeError
	var re *azcore.ResponseError
	var be *table.BatchError
	if errors.As(err, &de) {
		s = append(s, "a *DecodeError")
	}
	if errors.As(err, &re) {
		s = append(s, fmt.Sprint("status ", re.StatusCode, re.ErrorCode))
	}
	if errors.As(err, &be) {
		s = append(s, fmt.Sprint("operation ", be.Index))
	}
	if len(s) == 0 {
		return err.Error()
	}
	return strings.Join(s, ", ")
}

// bothPaths calls f with a client of ClientOptions and with one without them, and returns what each call returned.
func bothPaths(t *testing.T, respond func(*http.Request, string) (*http.Response, error), f func(*table.Table[employee]) string) (plain, tapped string) {
	t.Helper()
	results := [2]string{}
	for i, o := range [][]func(*azcore.ClientOptions){nil, {withTap}} {
		w := &fakeTransport{respond: respond}
		results[i] = f(newStaff(t, sdkClient(t, w, o...))) + " after " + w.requests()
	}
	return results[0], results[1]
}

// TestPathsReadAlike: the tap changes no result of a read: not of a cut or broken response, an error, or a response that lacks an
// entity.
func TestPathsReadAlike(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	get := func(staff *table.Table[employee]) string {
		e, err := staff.Get(ctx, employeeKey("Sales", 223))
		return fmt.Sprintf("%+v, %s", e, shape(err))
	}
	list := func(staff *table.Table[employee]) string {
		var last error
		for _, err := range staff.List(ctx, table.Query[employee]{Partition: dept.Of("Sales")}) {
			last = err
		}
		return shape(last)
	}
	count := func(staff *table.Table[employee]) string {
		n, err := staff.Count(ctx, table.Query[employee]{Partition: dept.Of("Sales")})
		if err != nil {
			n = 0 // the SDK checks a page before the library sees it; the tap finds a fault when it comes to it
		}
		return fmt.Sprint(n, shape(err))
	}
	page := `{"odata.metadata":"x","value":[` + employeeJSON + `,` + strings.Replace(employeeJSON, "000223", "000224", 1) + `]}`
	answers := map[string]func() *http.Response{
		"an entity": func() *http.Response { return jsonResponse(200, employeeJSON) },
		"an ETag in the header": func() *http.Response {
			return jsonResponse(200, strings.Replace(employeeJSON, `"odata.etag"`, `"odata.x"`, 1), "ETag", "x")
		},
		"white space around it":  func() *http.Response { return jsonResponse(200, "\r\n"+employeeJSON+"\n") },
		"data behind it":         func() *http.Response { return jsonResponse(200, employeeJSON+"}") },
		"two entities":           func() *http.Response { return jsonResponse(200, employeeJSON+employeeJSON) },
		"a mark of byte order":   func() *http.Response { return jsonResponse(200, "\xef\xbb\xbf"+employeeJSON) },
		"a page":                 func() *http.Response { return jsonResponse(200, page) },
		"a page with a comma":    func() *http.Response { return jsonResponse(200, strings.Replace(page, "]}", ",]}", 1)) },
		"an unreadable date":     func() *http.Response { return jsonResponse(200, employeeJSON, "Date", "yesterday") },
		"a page, unreadable":     func() *http.Response { return jsonResponse(200, page, "Date", "yesterday") },
		"status 201":             func() *http.Response { return jsonResponse(201, employeeJSON) },
		"status 204":             func() *http.Response { return jsonResponse(204, "") },
		"no such row":            func() *http.Response { return errorResponse(404, "ResourceNotFound") },
		"no such table":          func() *http.Response { return errorResponse(404, "TableNotFound") },
		"forbidden":              func() *http.Response { return errorResponse(403, "AuthorizationFailure") },
		"a proxy's page":         func() *http.Response { return jsonResponse(200, "<html>") },
		"a proxy's page of 404":  func() *http.Response { return jsonResponse(404, "{}") },
		"a broken entity":        func() *http.Response { return broken(employeeJSON, 100) },
		"a broken page":          func() *http.Response { return broken(page, len(employeeJSON)+100) },
		"a break behind the end": func() *http.Response { return broken(employeeJSON, len(employeeJSON)) },
	}
	for cut := 0; cut < len(page); cut += 7 {
		answers[fmt.Sprint("a page cut at ", cut)] = func() *http.Response { return jsonResponse(200, page[:cut]) }
		if cut < len(employeeJSON) {
			answers[fmt.Sprint("an entity cut at ", cut)] = func() *http.Response { return jsonResponse(200, employeeJSON[:cut]) }
		}
	}
	for what, answer := range answers {
		for name, read := range map[string]func(*table.Table[employee]) string{"Get": get, "List": list, "Count": count} {
			plain, tapped := bothPaths(t, func(*http.Request, string) (*http.Response, error) { return answer(), nil }, read)
			if tapped != plain {
				t.Errorf("%s of %s: got %s with the tap; want %s, as without it", name, what, tapped, plain)
			}
		}
	}
}

// broken is a response of status 200 whose connection breaks after n bytes.
func broken(body string, n int) *http.Response {
	r := jsonResponse(200, "")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(body[:n]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	return r
}
