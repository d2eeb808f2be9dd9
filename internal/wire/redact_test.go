package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
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
	for _, text := range []string{"Post https://x/?sv=1&sig=c2VjcmV0%3D: EOF", "bad url 'https://x?sig=secret'", `{"sig":"secret"}`, "x?SIG%3Dsecret&se=1"} {
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
