package access

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Rights are what a shared access signature permits.
type Rights struct {
	query       url.Values // of the request
	account     bool       // the signature is for the account, not for one resource
	types       string     // of the resources that a signature for the account is for: s, c and o
	permissions string
	start, end  string // times, or "" if the policy has them
	policy      string // the ID of a stored policy, or ""
}

// IsAccount reports whether the rights are for the account, not for one resource.
func (r *Rights) IsAccount() bool { return r.account }

// The failures of a shared access signature.
var (
	Unauthorized = forbidden("AuthorizationFailure", "")

	errService    = forbidden("AuthorizationServiceMismatch", " using this service")
	errType       = forbidden("AuthorizationResourceTypeMismatch", " using this resource type")
	errPermission = forbidden("AuthorizationPermissionMismatch", " using this permission")
	errProtocol   = forbidden("AuthorizationProtocolMismatch", " using this protocol")
	errSource     = forbidden("AuthorizationSourceIPMismatch", " using this source IP")
)

func forbidden(code, by string) protocol.Failure {
	return protocol.Failure{Status: http.StatusForbidden, Code: code, Text: "This request is not authorized to perform this operation" + by + "."}
}

// HasSignature reports whether a request has a shared access signature.
func HasSignature(r *protocol.Request) bool {
	scheme, _ := r.Authorization()
	return scheme == "" && r.Query.Has("sig")
}

// Of is a service, and what a signature for one of its resources contains.
type Of struct {
	Service     string   // "table"
	Resource    string   // "/staff"
	Permissions string   // the letters of all permissions in their order
	More        []string // the lines after the version
}

// Verify checks the signature of a request to a service, and where the request comes from. The
// failure is nil if the signature is valid.
func Verify(r *protocol.Request, of Of) (*Rights, *protocol.Failure) {
	q := r.Query
	rights := &Rights{query: q, account: q.Has("ss"), types: q.Get("srt"), permissions: q.Get("sp"), start: q.Get("st"), end: q.Get("se")}
	if !rights.account {
		rights.policy = q.Get("si")
	}
	text := rights.text(r, "/"+of.Service+"/"+r.Account.Name+of.Resource, of.More)
	if !rights.wellFormed(r, of.Permissions) || !r.Account.Signed(q.Get("sig"), text) {
		return nil, &protocol.AuthenticationFailed
	}
	switch {
	case rights.account && !strings.Contains(q.Get("ss"), of.Service[:1]):
		return nil, &errService
	case q.Get("spr") == "https" && !r.Secure:
		return nil, &errProtocol
	case !inRange(r.Remote, q.Get("sip")):
		return nil, &errSource
	}
	if r.Version == "" {
		r.Version = q.Get("sv")
	}
	return rights, nil
}

// wellFormed reports whether the parameters have the forms of the service. permissions are those of
// a signature for one resource.
func (s *Rights) wellFormed(r *protocol.Request, permissions string) bool {
	q := s.query
	for _, values := range q { // the lines of the signed text say which parameter each of them is
		for _, value := range values {
			if strings.Contains(value, "\n") {
				return false
			}
		}
	}
	spr := q.Get("spr")
	switch {
	case !protocol.IsVersion(q.Get("sv")) && !r.Lenient, spr != "" && spr != "https" && spr != "https,http":
		return false
	case s.account:
		return strings.Trim(q.Get("ss"), "bqtf") == "" && strings.Trim(s.types, "sco") == ""
	}
	return protocol.IsOrdered(s.permissions, permissions)
}

// text returns the text that the signature signs.
func (s *Rights) text(r *protocol.Request, resource string, more []string) string {
	list := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, s.query.Get(name))
		}
		return all
	}
	if s.account {
		lines := append([]string{r.Account.Name}, list("sp", "ss", "srt", "st", "se", "sip", "spr", "sv")...)
		if s.query.Get("sv") >= "2020-12-06" {
			lines = append(lines, s.query.Get("ses"))
		}
		return strings.Join(lines, "\n") + "\n"
	}
	lines := append(append(list("sp", "st", "se"), resource), list("si", "sip", "spr", "sv")...)
	return strings.Join(append(lines, more...), "\n")
}

// inRange reports whether an address is in a range of addresses of the form a or a-b. Requests in
// this process have no address.
func inRange(remote, addresses string) bool {
	if addresses == "" || remote == "" {
		return true
	}
	from, to, isRange := strings.Cut(addresses, "-")
	if !isRange {
		to = from
	}
	return compareAddresses(from, remote) <= 0 && compareAddresses(remote, to) <= 0
}

// compareAddresses compares two addresses. An invalid address is below all other addresses.
func compareAddresses(a, b string) int {
	x, _ := netip.ParseAddr(strings.TrimSpace(a))
	y, _ := netip.ParseAddr(strings.TrimSpace(b))
	return x.Compare(y)
}

// parseTime parses a time of a signature or of a policy.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// normalTime returns a time in the form in which policies are stored. An empty text stays empty.
func normalTime(s string) (string, bool) {
	t, ok := parseTime(s)
	if s == "" || !ok {
		return "", s == ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.0000000Z"), true
}
