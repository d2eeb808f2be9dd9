package settings

import (
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// PreflightFailure is the failure of a preflight request that no rule allows.
var PreflightFailure = protocol.Failure{Status: http.StatusForbidden, Code: "CorsPreflightFailure", Text: "CORS not enabled or no matching rule found for this request."}

// IsPreflight reports whether a request asks what another origin may do.
func IsPreflight(r *protocol.Request) bool { return r.SentMethod == http.MethodOptions }

// requiredOfPreflight are the headers that each preflight request has.
var requiredOfPreflight = []string{"Origin", "Access-Control-Request-Method"}

// MissingOfPreflight returns the name of a header that a preflight request must have and does not have, or "".
func MissingOfPreflight(r *protocol.Request) string {
	for _, name := range requiredOfPreflight {
		if r.Header.Get(name) == "" {
			return name
		}
	}
	return ""
}

// Preflight returns the header of the answer to a preflight request. ok is false if no rule allows what the request asks for.
func (s *Settings) Preflight(r *protocol.Request) (header http.Header, ok bool) {
	method, headers := r.Header.Get("Access-Control-Request-Method"), r.Header.Get("Access-Control-Request-Headers")
	for _, u := range s.rules {
		if !u.allows(r.Header.Get("Origin"), method) || !u.allowsHeaders(headers) {
			continue
		}
		header = u.header(r.Header.Get("Origin"))
		header.Set("Access-Control-Allow-Methods", method)
		if headers != "" {
			header.Set("Access-Control-Allow-Headers", headers)
		}
		header.Set("Access-Control-Max-Age", u.MaxAgeInSeconds)
		return header, true
	}
	return nil, false
}

// Header returns the headers that the response to a request, other than a preflight request, has because of the rules. Only responses
// to reads name the header Origin in Vary, because clients store no others.
func (s *Settings) Header(r *protocol.Request) http.Header {
	if IsPreflight(r) {
		return nil
	}
	origin := r.Header.Get("Origin")
	reads := r.SentMethod == http.MethodGet || r.SentMethod == http.MethodHead
	for _, u := range s.rules {
		if origin != "" && u.allows(origin, r.SentMethod) {
			header := u.header(origin)
			if reads && header.Get("Access-Control-Allow-Credentials") != "" {
				header.Set("Vary", "Origin")
			}
			if u.ExposedHeaders != "" {
				header.Set("Access-Control-Expose-Headers", u.ExposedHeaders)
			}
			return header
		}
	}
	if len(s.rules) > 0 && reads {
		return http.Header{"Vary": {"Origin"}}
	}
	return nil
}
