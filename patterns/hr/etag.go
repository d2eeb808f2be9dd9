package main

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// etagHeader encodes the ETag of a row for the header ETag. The service's own ETags are weak, such as W/"datetime'…'", and HTTP compares
// If-Match only with strong ETags.
func etagHeader(e azcore.ETag) string {
	return `"` + base64.RawURLEncoding.EncodeToString([]byte(e)) + `"`
}

// ifMatch returns the ETag of the header If-Match. The client must send the header, with one ETag of this service.
func ifMatch(r *http.Request) (azcore.ETag, error) {
	header := r.Header.Get("If-Match")
	if header == "" {
		return "", &refusal{http.StatusPreconditionRequired, "the header If-Match is required"}
	}
	etag, err := base64.RawURLEncoding.DecodeString(strings.Trim(header, `"`))
	if err != nil {
		return "", &refusal{http.StatusPreconditionFailed, "If-Match contains no ETag of this service"}
	}
	return azcore.ETag(etag), nil // a write with any other text fails with table.ErrNotRead
}
