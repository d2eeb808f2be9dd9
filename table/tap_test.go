package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// withTap adds the policies of ClientOptions to a client of sdkClient.
func withTap(o *azcore.ClientOptions) { *o = table.ClientOptions(*o, nil) }

// front is a per-call policy in front of those of ClientOptions. It sees what the SDK sends.
type front struct{ sent []string }

func (f *front) Do(r *policy.Request) (*http.Response, error) {
	f.sent = append(f.sent, r.Raw().Method+" "+r.Raw().URL.Path)
	return r.Next()
}

// addTo adds the policy in front of those that the client has.
func (f *front) addTo(o *azcore.ClientOptions) {
	o.PerCallPolicies = append([]policy.Policy{f}, o.PerCallPolicies...)
}

// smallCall is what a policy in front sees of each request of a tapped client.
const smallCall = "DELETE /account/staff(PartitionKey='-',RowKey='-')"

// TestSDKsSmallCall pins what the tap needs of the SDK's DeleteEntity: its method, its address, its headers, and that it takes a response
// of status 204 without headers for a success.
func TestSDKsSmallCall(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) {
		return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
	}}
	never := azcore.ETag("W/\"none\"")
	_, err := sdkClient(t, w).NewClient("staff").DeleteEntity(context.Background(), "-", "-", &aztables.DeleteEntityOptions{IfMatch: &never})
	got := w.last()
	var headers []string
	for name := range got.header {
		headers = append(headers, name)
	}
	slices.Sort(headers)
	want := "[Accept DataServiceVersion If-Match User-Agent x-ms-version]"
	if err != nil || got.method+" "+got.path != smallCall || fmt.Sprint(headers) != want {
		t.Errorf("got %s %s with %v, and %v; want %s with %s, and no error: this version of the SDK sends another request than the one that "+
			"internal/wire/probe.go replaces; change that before the SDK is updated", got.method, got.path, headers, err, smallCall, want)
	}
}

// TestTapReplacesRequests: a client with the policies of ClientOptions sends its first request by the SDK, and all others by the
// small call, in front of which a policy sees nothing else.
func TestTapReplacesRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var f front
	w := &fakeTransport{}
	staff := newStaff(t, sdkClient(t, w, withTap, f.addTo))
	w.respond = func(*http.Request, string) (*http.Response, error) { return jsonResponse(200, employeeJSON), nil }
	for range 2 {
		e, err := staff.Get(ctx, employeeKey("Sales", 223))
		if err != nil || e.Value.Last != "Jones" || e.ETag != etag {
			t.Errorf("Get: got %+v, %v; want Jones", e, err)
		}
	}
	w.respond = func(r *http.Request, _ string) (*http.Response, error) {
		page := `{"value":[` + employeeJSON + `]}`
		if r.URL.Query().Get("NextRowKey") == "" {
			return jsonResponse(200, page, "x-ms-continuation-NextPartitionKey", "Sales", "x-ms-continuation-NextRowKey", "empid_000224"), nil
		}
		return jsonResponse(200, strings.ReplaceAll(page, "000223", "000224")), nil
	}
	n := 0
	for e, err := range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
		noError(t, err)
		if n++; e.Value.ID != 222+n {
			t.Errorf("List: got %+v; want the ID %d", e.Value, 222+n)
		}
	}
	if n != 2 {
		t.Errorf("List: got %d entities; want 2", n)
	}
	want := []string{"GET /account/staff(PartitionKey='Sales',RowKey='empid_000223')", smallCall, smallCall, smallCall}
	if !slices.Equal(f.sent, want) {
		t.Errorf("got the requests %q in front of the tap; want %q", f.sent, want)
	}
}

// TestTapReadsAsSDK: the requests of reads are the SDK's: address, query, headers.
func TestTapReadsAsSDK(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, endpoint := range []string{"http://127.0.0.1:1/account", "https://account.table.core.windows.net/", "https://account.table.core.windows.net/?sv=2019-02-02&sig=a%2Fb%2Bc%3D&se=2026-11-21T01%3A02%3A03Z&spk=O%27B"} {
		var sent [2]string
		for i := range sent {
			w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "()") {
					return jsonResponse(200, `{"value":[]}`, "x-ms-continuation-NextPartitionKey", "p%+ é", "x-ms-continuation-NextRowKey", r.URL.Query().Get("NextRowKey")+"1"), nil
				}
				return errorResponse(404, "ResourceNotFound"), nil
			}}
			options := azcore.ClientOptions{Transport: w}
			if i == 1 {
				withTap(&options)
			}
			s, err := aztables.NewServiceClientWithNoCredential(endpoint, &aztables.ClientOptions{ClientOptions: options})
			noError(t, err)
			tab := writtenTable(t, s)
			_, _ = tab.Get(ctx, keys.Raw("p", "first"))
			w.sent = nil
			for _, rk := range []string{"a b%é:&=+$,;@!*()~'", "..", "日本[]|<>"} {
				_, err := tab.Get(ctx, keys.Raw("p'", rk))
				if !errors.Is(err, table.ErrNotFound) {
					t.Errorf("Get: got %v; want ErrNotFound", err)
				}
			}
			q := table.Query[written]{TableScan: true, Budget: table.Budget{Requests: 2}, Where: table.FieldOf(func(e *written) *string { return &e.Text }).Eq("a'&+ é")}
			for _, err := range tab.List(ctx, q) {
				if !errors.Is(err, table.ErrBudget) {
					t.Errorf("List: got %v; want ErrBudget", err)
				}
			}
			for _, r := range w.sent {
				query, err := url.ParseQuery(r.query)
				noError(t, err)
				sent[i] += fmt.Sprintln(r.method, r.path, r.escaped, query, r.header)
			}
		}
		if sent[0] != sent[1] {
			t.Errorf("%s: got\n%s\nwant, as the SDK sends it,\n%s", endpoint, sent[1], sent[0])
		}
	}
}

// conditions are the errors by which a result of the two paths is compared.
var conditions = []error{table.ErrNotFound, table.ErrNotCreated, table.ErrExists, table.ErrChanged, table.ErrUnreachable, table.ErrUnknownOutcome}

// visible is what a caller can tell about an error.
func visible(err error) string {
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

// bothPaths calls f with a client without the options of the library and with one that is known to be tapped, and returns what each call
// returned.
func bothPaths(t *testing.T, respond func(*http.Request, string) (*http.Response, error), f func(*table.Table[employee]) string) (plain, tapped string) {
	t.Helper()
	results := [2]string{}
	for i, o := range [][]func(*azcore.ClientOptions){nil, {withTap}} {
		w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return jsonResponse(200, employeeJSON), nil }}
		staff := newStaff(t, sdkClient(t, w, o...))
		_, err := staff.Get(context.Background(), employeeKey("Sales", 223))
		noError(t, err)
		w.sent, w.respond = nil, respond
		results[i] = f(staff) + " after " + w.requests()
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
		return fmt.Sprintf("%+v, %s", e, visible(err))
	}
	list := func(staff *table.Table[employee]) string {
		var last error
		for _, err := range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
			last = err
		}
		return visible(last)
	}
	count := func(staff *table.Table[employee]) string {
		n, err := staff.Count(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")})
		return fmt.Sprint(n, visible(err))
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
	long := page + strings.Repeat(" ", 4096)
	for what, length := range map[string]int{"": len(long), ", of more bytes than it says": 2500, ", of fewer": 1 << 20, " of unknown length": -1} {
		answers["a long page"+what] = func() *http.Response { return withLength(jsonResponse(200, long), length) }
		answers["a long page"+what+", broken"] = func() *http.Response { return withLength(broken(long, 2600), length) }
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

// withLength sets the length that a response says it has.
func withLength(r *http.Response, n int) *http.Response {
	r.ContentLength = int64(n)
	return r
}

// broken is a response of status 200 whose connection breaks after n bytes.
func broken(body string, n int) *http.Response {
	r := jsonResponse(200, "")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(body[:n]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	return r
}

// spans is a tracing provider that notes the names of spans.
type spans struct {
	mu    sync.Mutex
	names []string
}

func (s *spans) provider() tracing.Provider {
	return tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, _ *tracing.SpanOptions) (context.Context, tracing.Span) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.names = append(s.names, name)
			return ctx, tracing.NewSpan(tracing.SpanImpl{})
		}, nil)
	}, nil)
}

// TestTapTraced: the spans of a client that traces name what is done, and never the small call of the tap.
func TestTapTraced(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		client, library bool
		spans           string
		small           int // calls of the tap
	}{
		{false, false, "[]", 2},
		{true, false, "[Client.GetEntity HTTP GET Client.GetEntity HTTP GET Client.GetEntity HTTP GET]", 0},
		{false, true, "[aztablekit.Table.Get HTTP GET aztablekit.Table.Get HTTP GET aztablekit.Table.Get HTTP GET]", 2},
		{true, true, "[aztablekit.Table.Get HTTP GET aztablekit.Table.Get HTTP GET aztablekit.Table.Get HTTP GET]", 2},
	} {
		var seen spans
		var f front
		w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return jsonResponse(200, employeeJSON), nil }}
		s := sdkClient(t, w, func(o *azcore.ClientOptions) {
			if c.client {
				o.TracingProvider = seen.provider()
			}
		}, withTap, f.addTo)
		o := singleAttempt()
		if c.library {
			o.Tracing = seen.provider()
		}
		staff, err := bare.NewTable(s, "staff", staffSchema, o)
		noError(t, err)
		for range 3 {
			_, err := staff.Get(ctx, employeeKey("Sales", 223))
			noError(t, err)
		}
		small := 0
		for _, r := range f.sent {
			if r == smallCall {
				small++
			}
		}
		if got := fmt.Sprint(seen.names); got != c.spans || small != c.small {
			t.Errorf("client traces %t, library traces %t: got the spans %s, and %d small calls; want %s and %d", c.client, c.library, got, small, c.spans, c.small)
		}
	}
}

// TestCosmosDB: requests to Cosmos DB are not sent.
func TestCosmosDB(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"https://a.table.cosmos.azure.com", "https://a.table.cosmosdb.azure.com", "https://localhost:8902"} {
		w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
			t.Errorf("got request %s %s, want none", r.Method, r.URL)
			return noContent(), nil
		}}
		s, err := aztables.NewServiceClientWithNoCredential(host, &aztables.ClientOptions{ClientOptions: table.ClientOptions(azcore.ClientOptions{Transport: w}, nil)})
		noError(t, err)
		staff := newStaff(t, s)
		jones := &employee{"Sales", 3, "Jones", 44}
		for range 2 { // the second time, the library knows that it may send requests of its own
			_, insert := staff.Insert(t.Context(), jones)
			_, get := staff.Get(t.Context(), employeeKey("Sales", 3))
			_, exact := staff.Exact().Insert(t.Context(), jones)
			_, list := table.Collect(staff.List(t.Context(), table.Query[employee]{TableScan: true}))
			for method, err := range map[string]error{"Insert": insert, "Get": get, "exact Insert": exact, "List": list, "Ensure": tabledoor.Ensure(t.Context(), staff)} {
				if !errors.Is(err, errs.ErrCosmosDB) || errors.Is(err, table.ErrUnknownOutcome) || errors.Is(err, table.ErrUnreachable) {
					t.Errorf("%s: %s: got error %v, want ErrCosmosDB alone", host, method, err)
				}
			}
		}
	}
}

// TestCosmosInName: an account of Azure Storage may have cosmos in its name.
func TestCosmosInName(t *testing.T) {
	t.Parallel()
	sent := 0
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { sent++; return noContent(), nil }}
	s, err := aztables.NewServiceClientWithNoCredential("https://cosmosdata.table.core.windows.net", &aztables.ClientOptions{ClientOptions: table.ClientOptions(azcore.ClientOptions{Transport: w}, nil)})
	noError(t, err)
	if _, err := newStaff(t, s).Insert(t.Context(), &employee{"Sales", 3, "Jones", 44}); errors.Is(err, errs.ErrCosmosDB) || sent == 0 {
		t.Errorf("got error %v and %d requests, want no ErrCosmosDB and some", err, sent)
	}
}

// again is a per-call policy that sends each request twice, as one that repeats requests does.
type again struct{}

func (again) Do(r *policy.Request) (*http.Response, error) {
	if resp, err := r.Next(); err != nil {
		return resp, err
	}
	if err := r.RewindBody(); err != nil {
		return nil, err
	}
	return r.Next()
}

// TestTapSentAgain: a policy in front may send a request again.
func TestTapSentAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
	staff := newStaff(t, sdkClient(t, w, withTap, func(o *azcore.ClientOptions) {
		o.PerCallPolicies = append([]policy.Policy{again{}}, o.PerCallPolicies...)
	}))
	for range 2 {
		_, err := staff.Insert(ctx, &employee{"Sales", 3, "Jones", 44})
		noError(t, err)
	}
	if len(w.sent) != 4 {
		t.Fatalf("got %d requests; want 4", len(w.sent))
	}
	for _, r := range w.sent {
		if r.method != "POST" || !strings.Contains(r.body, "Jones") {
			t.Errorf("got %s with %s; want POST with the entity", r.method, r.body)
		}
	}
}

// againAsCopies is a per-call policy that sends copies of each request, as one that keeps the request for another try does.
type againAsCopies struct{}

func (againAsCopies) Do(r *policy.Request) (*http.Response, error) {
	if resp, err := r.Clone(r.Raw().Context()).Next(); err != nil {
		return resp, err
	}
	return r.Clone(r.Raw().Context()).Next()
}

// TestTapSentAgainAsCopies: a policy in front may send a request again as the SDK has made it. The method of a delete is that of the
// small call, but its address is not.
func TestTapSentAgainAsCopies(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
	staff := newStaff(t, sdkClient(t, w, withTap, func(o *azcore.ClientOptions) {
		o.PerCallPolicies = append([]policy.Policy{againAsCopies{}}, o.PerCallPolicies...)
	}))
	for range 2 {
		noError(t, staff.DeleteAny(ctx, employeeKey("Sales", 223)))
	}
	var got []string
	for _, r := range w.sent {
		got = append(got, r.method+" "+r.path+" "+r.header.Get("If-Match"))
	}
	want := slices.Repeat([]string{"DELETE /account/staff(PartitionKey='Sales',RowKey='empid_000223') *"}, 4)
	if !slices.Equal(got, want) {
		t.Errorf("got the requests %q; want %q", got, want)
	}
}

// TestTapCapturedResponse: a caller that captures responses gets the same with the tap and without it: none, since a method may send
// several requests.
func TestTapCapturedResponse(t *testing.T) {
	t.Parallel()
	respond := func(*http.Request, string) (*http.Response, error) { return jsonResponse(200, employeeJSON), nil }
	plain, tapped := bothPaths(t, respond, func(staff *table.Table[employee]) string {
		var captured *http.Response
		_, err := staff.Get(policy.WithCaptureResponse(context.Background(), &captured), employeeKey("Sales", 223))
		noError(t, err)
		return fmt.Sprint(captured)
	})
	if plain != tapped || !strings.HasPrefix(plain, "<nil>") {
		t.Errorf("got %s with the tap, and %s without it; want none", tapped, plain)
	}
}
