package settings

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// maxRules is the number of rules for CORS that a service can have.
const maxRules = 5

// rule is a rule for requests of other origins.
type rule struct {
	AllowedOrigins, AllowedMethods, AllowedHeaders, ExposedHeaders, MaxAgeInSeconds string
}

// methods are the methods that a rule can allow.
var methods = []string{"DELETE", "GET", "HEAD", "MERGE", "POST", "OPTIONS", "PUT", "PATCH"}

func parseRules(cors *protocol.Element) (all []rule, ok bool) {
	for _, e := range cors.Children {
		u := rule{e.ChildText("AllowedOrigins"), e.ChildText("AllowedMethods"), e.ChildText("AllowedHeaders"), e.ChildText("ExposedHeaders"), e.ChildText("MaxAgeInSeconds")}
		allowed := split(u.AllowedMethods)
		unknown := func(method string) bool { return !slices.Contains(methods, method) }
		_, err := strconv.ParseUint(u.MaxAgeInSeconds, 10, 31)
		if e.Name != "CorsRule" || len(split(u.AllowedOrigins)) == 0 || len(allowed) == 0 || slices.ContainsFunc(allowed, unknown) || err != nil {
			return nil, false
		}
		all = append(all, u)
	}
	return all, len(all) <= maxRules
}

// writeRules writes rules as a property.
func writeRules(b *bytes.Buffer, all []rule) {
	if len(all) == 0 {
		b.WriteString("<Cors />")
		return
	}
	b.WriteString("<Cors>")
	for _, u := range all {
		b.WriteString("<CorsRule>")
		writeElement(b, "AllowedMethods", u.AllowedMethods)
		writeElement(b, "AllowedOrigins", u.AllowedOrigins)
		writeElement(b, "AllowedHeaders", u.AllowedHeaders)
		writeElement(b, "ExposedHeaders", u.ExposedHeaders)
		writeElement(b, "MaxAgeInSeconds", u.MaxAgeInSeconds)
		b.WriteString("</CorsRule>")
	}
	b.WriteString("</Cors>")
}

func (u *rule) allows(origin, method string) bool {
	origins, methods := split(u.AllowedOrigins), split(u.AllowedMethods)
	return origin != "" && (slices.Contains(origins, "*") || slices.Contains(origins, origin)) && slices.Contains(methods, method)
}

// allowsHeaders reports whether all headers of a list are allowed: by their names, or by the
// beginnings of their names.
func (u *rule) allowsHeaders(list string) bool {
	for _, name := range split(list) {
		if !slices.ContainsFunc(split(u.AllowedHeaders), func(allowed string) bool {
			start, isStart := strings.CutSuffix(strings.ToLower(allowed), "*")
			name := strings.ToLower(name)
			return name == start || isStart && strings.HasPrefix(name, start)
		}) {
			return false
		}
	}
	return true
}

// header returns the headers that name the allowed origin.
func (u *rule) header(origin string) http.Header {
	h := http.Header{}
	if slices.Contains(split(u.AllowedOrigins), "*") {
		h.Set("Access-Control-Allow-Origin", "*")
		return h
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
	return h
}

// split splits a list at its commas.
func split(list string) (all []string) {
	for s := range strings.SplitSeq(list, ",") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// writeElement writes an element that contains a text.
func writeElement(b *bytes.Buffer, name, text string) {
	if text == "" {
		b.WriteString("<" + name + " />")
		return
	}
	b.WriteString("<" + name + ">")
	xml.EscapeText(b, []byte(text))
	b.WriteString("</" + name + ">")
}

// PreflightFailure is the failure of a preflight request that no rule allows.
var PreflightFailure = protocol.Failure{Status: http.StatusForbidden, Code: "CorsPreflightFailure", Text: "CORS not enabled or no matching rule found for this request."}

// IsPreflight reports whether a request asks what another origin may do.
func IsPreflight(r *protocol.Request) bool { return r.SentMethod == http.MethodOptions }

// requiredOfPreflight are the headers that each preflight request has.
var requiredOfPreflight = []string{"Origin", "Access-Control-Request-Method"}

// MissingOfPreflight returns the name of a header that a preflight request must have and does not
// have, or "".
func MissingOfPreflight(r *protocol.Request) string {
	for _, name := range requiredOfPreflight {
		if r.Header.Get(name) == "" {
			return name
		}
	}
	return ""
}

// Preflight returns the header of the answer to a preflight request. ok is false if no rule allows
// what the request asks for.
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

// Header returns the headers that the response to a request, other than a preflight request, has
// because of the rules. Only responses to reads name the header Origin in Vary, because clients
// store no other responses.
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
