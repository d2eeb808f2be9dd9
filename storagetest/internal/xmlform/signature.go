package xmlform

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

// Check checks the address, the signature with the account's key, the shared access signature or
// the token, and the version of a request. verify checks the shared access signature. Check returns
// the rights of such a signature, nil for all rights, or the refusal.
func Check(r *protocol.Request, now time.Time, verify func() (*access.Rights, *protocol.Failure)) (rights *access.Rights, f *Failure) {
	switch {
	case r.OtherAccount:
		return nil, ErrAuthentication
	case r.BadQuery:
		return nil, ErrQuerySyntax
	case r.Chunked:
		return nil, FailureOf(&protocol.MissingLength)
	case settings.IsPreflight(r):
		return nil, nil // without a signature
	case access.HasSignature(r):
		verified, f := verify()
		if f != nil {
			return nil, &Failure{Failure: *f}
		}
		rights = verified
	case !r.HasToken() && !hasKeySignature(r, now):
		return nil, ErrAuthentication
	}
	switch {
	case r.Version == "":
		return nil, ErrNotImplemented // the version of 2009
	case !protocol.IsVersion(r.Version) && !r.Lenient:
		f := InvalidHeader("x-ms-version", r.Version)
		f.FrontEnd = true
		return nil, f
	}
	return rights, nil
}

// hasKeySignature reports whether a request has a signature with the account's key, in the long
// form or in the short one.
func hasKeySignature(r *protocol.Request, now time.Time) bool {
	switch scheme, _ := r.Authorization(); scheme {
	case "SharedKey":
		return r.HasKeySignature(signedText(r), now)
	case "SharedKeyLite":
		lines := []string{r.Method, r.Header.Get("Content-MD5"), r.Header.Get("Content-Type"), signedDate(r)}
		return r.HasKeySignature(strings.Join(append(append(lines, signedHeaders(r)...), r.SignedResource()), "\n"), now)
	}
	return false
}

// signedDate returns the date that a signature contains beside the headers of the service.
func signedDate(r *protocol.Request) string {
	if r.Header.Get("x-ms-date") != "" {
		return ""
	}
	return r.Header.Get("Date")
}

// signedHeaders returns the headers of the service as a signature contains them.
func signedHeaders(r *protocol.Request) (lines []string) {
	headers := map[string]string{}
	for name, values := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			headers[name] = strings.TrimSpace(strings.Join(values, ","))
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(headers), compareHeaders) {
		lines = append(lines, name+":"+headers[name])
	}
	return lines
}

// signedText returns the text that the signature of a request signs. It contains the whole query
// and more of the header than the Table service signs.
func signedText(r *protocol.Request) string {
	length := ""
	if len(r.Body) > 0 {
		length = strconv.Itoa(len(r.Body))
	}
	lines := []string{r.Method, r.Header.Get("Content-Encoding"), r.Header.Get("Content-Language"), length}
	for _, name := range []string{"Content-MD5", "Content-Type"} {
		lines = append(lines, r.Header.Get(name))
	}
	lines = append(lines, signedDate(r))
	for _, name := range []string{"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
		lines = append(lines, r.Header.Get(name))
	}
	lines = append(append(lines, signedHeaders(r)...), r.SignedPath())
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

// compareHeaders compares names of headers in the order of a signature: hyphens count only between
// names that are otherwise equal.
func compareHeaders(a, b string) int {
	if c := strings.Compare(withoutHyphens.Replace(a), withoutHyphens.Replace(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}
