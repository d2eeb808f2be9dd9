package azurite

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// ASCII is a per-call policy that escapes the non-ASCII characters of JSON bodies as \uXXXX.
// Azurite corrupts other characters at the packet boundaries of large bodies (Azurite issue 2670).
// Azure does not, so that applications do not need the policy.
type ASCII struct{}

// Do implements policy.Policy.
func (ASCII) Do(r *policy.Request) (*http.Response, error) {
	kind := r.Raw().Header.Get("Content-Type")
	if r.Body() == nil || !strings.HasPrefix(kind, "application/json") {
		return r.Next()
	}
	body, err := io.ReadAll(r.Body())
	if err != nil {
		return nil, err
	}
	if err := r.SetBody(streaming.NopCloser(bytes.NewReader(escapeNonASCII(body))), kind); err != nil {
		return nil, err
	}
	return r.Next()
}

func escapeNonASCII(body []byte) []byte {
	out := make([]byte, 0, len(body)+len(body)/4)
	for len(body) > 0 {
		c, n := utf8.DecodeRune(body)
		switch {
		case c < utf8.RuneSelf:
			out = append(out, byte(c))
		case c > 0xffff:
			hi, lo := utf16.EncodeRune(c)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, c)
		}
		body = body[n:]
	}
	return out
}
