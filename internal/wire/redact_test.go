package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

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
			t.Errorf("%v: got %v, want no signature and the same cause", err, got)
		}
	}
	// The transport of a caller may put the URL anywhere into its error text.
	for _, text := range []string{"Post https://x/?sv=1&sig=c2VjcmV0%3D: EOF", "bad url 'https://x?sig=secret'", `{"sig":"secret"}`, "x?SIG%3Dsecret&se=1", "r=https%3A%2F%2Fx%3Fsv%3D1%26sig%3Dsecret%26se%3D1", "x%252526sig%25253Dsecret", "x?sv=1&amp;sig&#61;secret"} {
		err := Redact(fmt.Errorf("proxy: %w", fmt.Errorf("%s: %w", text, cause)))
		for deep := err; deep != nil; deep = errors.Unwrap(deep) {
			if s := deep.Error(); strings.Contains(s, "secret") || strings.Contains(s, "c2Vj") {
				t.Errorf("%q: got %q, want no signature", text, s)
			}
		}
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), "proxy") {
			t.Errorf("%q: got %v, want the cause and the word proxy", text, err)
		}
	}
	if Redact(nil) != nil || Redact(cause) != cause {
		t.Errorf("got %v, %v, want nil and an error without a URL unchanged", Redact(nil), Redact(cause))
	}
}

// TestRedactResponse: a refusal that repeats its URL keeps its status and its code, and has no signature anywhere. The response itself stays.
func TestRedactResponse(t *testing.T) {
	t.Parallel()
	const signed = "https://acct.table.core.windows.net/staff?sv=1&sig=secret&se=2"
	response := func(body, code string) *http.Response {
		h := http.Header{"X-Ms-Error-Code": {code}, "Location": {signed}}
		return &http.Response{StatusCode: 404, Status: "404 " + signed, Header: h, Body: io.NopCloser(strings.NewReader(body))}
	}
	resp := response("no "+signed, "ResourceNotFound")
	condition := errors.New("condition")
	err := Redact(fmt.Errorf("policy: %w, %w", condition, runtime.NewResponseError(resp)))
	var re *azcore.ResponseError
	if !errors.Is(err, condition) || !strings.HasPrefix(err.Error(), "policy: condition") {
		t.Errorf("got %v; want the text and the condition around the response", err)
	}
	if !errors.As(err, &re) || re.StatusCode != 404 || re.ErrorCode != "ResourceNotFound" || re.RawResponse == nil {
		t.Fatalf("got %#v; want the status and the code", err)
	}
	body, readErr := runtime.Payload(re.RawResponse)
	for _, text := range []string{err.Error(), re.RawResponse.Status, re.RawResponse.Header.Get("Location"), string(body)} {
		if strings.Contains(text, "secret") || !strings.Contains(text, "se=2") || readErr != nil {
			t.Errorf("got %q, %v; want the text without the signature", text, readErr)
		}
	}
	if resp.Header.Get("Location") != signed || resp.Status != "404 "+signed {
		t.Errorf("got %v; want the response as it was", resp)
	}
	plain := runtime.NewResponseError(&http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody})
	if got := Redact(plain); got != plain {
		t.Errorf("got %#v; want the same error for a response without a signature", got)
	}
	for _, text := range []string{"https://acct.queue.core.windows.net/q?comp=list&sig=secret", "https://acct.queue.core.windows.net/q?comp=list"} {
		r, err := http.NewRequest(http.MethodGet, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Ms-Copy-Source", text)
		// The body repeats nothing.
		plain := runtime.NewResponseError(&http.Response{StatusCode: 404, Header: http.Header{"Location": {text}}, Body: http.NoBody, Request: r})
		got := Redact(plain)
		if !errors.As(got, &re) || re.RawResponse.Request.Method != http.MethodGet || re.RawResponse.Request.URL.Query().Get("comp") != "list" {
			t.Fatalf("%s: got %#v; want an error with its request", text, got)
		}
		all := fmt.Sprint(re.RawResponse.Header, re.RawResponse.Request.URL, re.RawResponse.Request.Header)
		if strings.Contains(all, "secret") || r.URL.String() != text || r.Header.Get("X-Ms-Copy-Source") != text {
			t.Errorf("%s: got %s of %v; want no signature, and the request as it was", text, all, r)
		}
		if !strings.Contains(text, "sig=") && got != plain {
			t.Errorf("%s: got %#v; want the same error for a request without a signature", text, got)
		}
	}
	if errors.As(Redact(runtime.NewResponseError(response("", signed))), &re); re.ErrorCode == signed || re.ErrorCode == "" {
		t.Errorf("got %q; want the code without its signature", re.ErrorCode)
	}
}
