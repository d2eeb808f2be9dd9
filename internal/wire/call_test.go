package wire

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
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// fromService is a response of the service with a body.
func fromService(status int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"X-Ms-Version": {"2019-02-02"}}, Body: io.NopCloser(body)}
}

// TestCallBody: the body of a call is the service's, as it was sent, and no other.
func TestCallBody(t *testing.T) {
	t.Parallel()
	cut := errors.New("connection broken")
	foreign := fromService(http.StatusOK, strings.NewReader("<html>"))
	foreign.Header = nil
	for what, c := range map[string]struct {
		resp *http.Response
		kept string // of a transaction
		want string
		err  error
	}{
		"a row":                                {resp: fromService(200, strings.NewReader("{}")), want: "{}"},
		"a row behind a byte order mark":       {resp: fromService(200, strings.NewReader("\xef\xbb\xbf{}")), want: "{}"},
		"a response that the SDK has read":     {resp: fromService(202, strings.NewReader("")), kept: "--batch", want: "--batch"},
		"a response that the SDK has not read": {resp: fromService(202, strings.NewReader("--batch")), kept: "--other", want: "--batch"},
		"a response that is cut":               {resp: fromService(202, iotest.ErrReader(cut)), kept: "--batch", err: cut},
		"a page of a proxy":                    {resp: foreign, err: new(NotServiceError)},
	} {
		call := Call{resp: c.resp, kept: []byte(c.kept)}
		body, err := call.Body()
		var ne *NotServiceError
		if isForeign := errors.As(c.err, &ne); string(body) != c.want || errors.As(err, &ne) != isForeign || !isForeign && !errors.Is(err, c.err) {
			t.Errorf("%s: got body %q, error %v; want %q, %v", what, body, err, c.want, c.err)
		}
	}
}

// policyFunc is a policy of a program, and transportFunc its transport.
type (
	policyFunc    func(*policy.Request) (*http.Response, error)
	transportFunc func(*http.Request) (*http.Response, error)
)

func (f policyFunc) Do(r *policy.Request) (*http.Response, error)  { return f(r) }
func (f transportFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// closable is a body that reports whether it was closed.
type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Close() error { c.closed = true; return nil }

// TestExchangeReadsBody: a policy of a program, between those of the library, replaces the body of the response. Exchange reads and closes
// that body, too, so that its error is the call's, and the connection is free. No policy in front of the library's gets a signature.
func TestExchangeReadsBody(t *testing.T) {
	t.Parallel()
	cut := errors.New("connection broken")
	for what, c := range map[string]struct {
		sent, body io.Reader // by the service, and by the policy
		want       error
	}{
		"whole":                    {strings.NewReader("{}"), strings.NewReader("{}"), nil},
		"cut":                      {strings.NewReader("{}"), iotest.ErrReader(cut), cut},
		"cut, with an URL":         {strings.NewReader("{}"), iotest.ErrReader(fmt.Errorf("GET https://account/?sig=secret: %w", cut)), cut},
		"cut in front of a policy": {iotest.TimeoutReader(strings.NewReader("{}")), nil, iotest.ErrTimeout}, // another read succeeds
	} {
		body := &closable{Reader: c.body}
		var seen error // by the policy in front
		client, err := aztables.NewClientWithNoCredential("https://account/staff", &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{
			Retry: policy.RetryOptions{MaxRetries: -1},
			PerCallPolicies: []policy.Policy{policyFunc(func(r *policy.Request) (resp *http.Response, err error) {
				resp, err = r.Next()
				seen = err
				return resp, err
			}), ProbeCall{}},
			PerRetryPolicies: []policy.Policy{policyFunc(func(r *policy.Request) (*http.Response, error) {
				resp, err := r.Next()
				if err == nil {
					resp.Body = body
				}
				return resp, err
			}), ProbeRetry{}},
			Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
				resp := fromService(http.StatusOK, c.sent)
				resp.Request = r
				return resp, nil
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		var call Call
		err = call.Exchange(context.Background(), client, &Request{Method: http.MethodGet, Target: Row, PartitionKey: "p", RowKey: "r"}, 0)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || body.closed != (c.body != nil) {
			t.Errorf("%s: got error %v, body closed %v; want error %v, body closed", what, err, body.closed, c.want)
		}
		if text, err := call.Body(); c.want == nil && (string(text) != "{}" || err != nil) {
			t.Errorf("%s: got body %q, error %v; want {}", what, text, err)
		}
		if strings.Contains(fmt.Sprint(seen, err), "secret") {
			t.Errorf("%s: got the errors %v, for the policy in front, and %v; want no signature", what, seen, err)
		}
	}
}
