package xmlform

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Check checks the address, the signature with the account's key or the token, and the version of a request. It returns the
// refusal, or nil.
func Check(r *protocol.Request) *Failure {
	scheme, _ := r.Authorization()
	switch {
	case r.OtherAccount:
		return ErrAuthentication
	case r.BadQuery:
		return ErrQuerySyntax
	case scheme == "" && r.Query.Has("sig"):
		return ErrNotImplemented
	case !r.HasToken() && (scheme != "SharedKey" || !r.HasKeySignature(signedText(r))):
		return ErrAuthentication
	case r.Version == "":
		return ErrNotImplemented // the version of 2009
	}
	return nil
}

// signedText returns the text that the signature of a request signs. It contains the whole query and more of the header than the
// Table service signs.
func signedText(r *protocol.Request) string {
	length := ""
	if len(r.Body) > 0 {
		length = strconv.Itoa(len(r.Body))
	}
	date := r.Header.Get("Date")
	if r.Header.Get("x-ms-date") != "" {
		date = ""
	}
	lines := []string{r.Method, r.Header.Get("Content-Encoding"), r.Header.Get("Content-Language"), length}
	for _, name := range []string{"Content-MD5", "Content-Type"} {
		lines = append(lines, r.Header.Get(name))
	}
	lines = append(lines, date)
	for _, name := range []string{"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
		lines = append(lines, r.Header.Get(name))
	}
	headers := map[string]string{}
	for name, values := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			headers[name] = strings.TrimSpace(strings.Join(values, ","))
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(headers), compareHeaders) {
		lines = append(lines, name+":"+headers[name])
	}
	lines = append(lines, r.SignedPath())
	query := map[string][]string{}
	for name, values := range r.Query {
		name = strings.ToLower(name)
		query[name] = append(query[name], values...)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		slices.Sort(query[name])
		lines = append(lines, name+":"+strings.Join(query[name], ","))
	}
	return strings.Join(lines, "\n")
}

// withoutHyphens sorts an underscore before digits and letters.
var withoutHyphens = strings.NewReplacer("-", "", "_", "!")

// compareHeaders compares names of headers in the order of a signature: hyphens count only between names that are otherwise equal.
func compareHeaders(a, b string) int {
	if c := strings.Compare(withoutHyphens.Replace(a), withoutHyphens.Replace(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}
