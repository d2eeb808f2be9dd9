package tables

import (
	"net/url"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// grant holds the rights of a shared access signature. A nil grant holds all rights, as the account's key does.
type grant struct {
	table            string // in lower case
	permissions      string
	startPK, startRK string
	endPK, endRK     string
}

// permits reports whether the grant has a permission.
func (g *grant) permits(permission rune) bool {
	return g == nil || strings.ContainsRune(g.permissions, permission)
}

// covers reports whether an entity is in the range of the grant. The service compares both keys together.
func (g *grant) covers(pk, rk string) bool {
	if g == nil {
		return true
	}
	if g.startPK != "" {
		if n := odata.CompareText(pk, g.startPK); n < 0 || n == 0 && odata.CompareText(rk, g.startRK) < 0 {
			return false
		}
	}
	if g.endPK == "" {
		return true
	}
	n := odata.CompareText(pk, g.endPK)
	return n < 0 || n == 0 && (g.endRK == "" || odata.CompareText(rk, g.endRK) <= 0)
}

// authenticate checks the key's signature, the token or the shared access signature of a request, and returns the rights of the
// caller.
func authenticate(r *protocol.Request, table string, now time.Time) (*grant, *odata.Failure) {
	scheme, _ := r.Authorization()
	switch {
	case scheme == "" && r.Query.Has("sig"):
		if r.URL.Scheme == "http" && r.Query.Get("spr") == "https" {
			return nil, errAuthentication
		}
		return checkSignature(r, table, now)
	case r.HasToken():
		return nil, nil
	}
	resource := r.SignedPath()
	if comp := r.Query.Get("comp"); comp != "" {
		resource += "?comp=" + comp
	}
	text := r.Date() + "\n" + resource
	if scheme == "SharedKey" {
		text = strings.Join([]string{r.Method, r.Header.Get("Content-MD5"), r.Header.Get("Content-Type"), r.Date(), resource}, "\n")
	} else if scheme != "SharedKeyLite" {
		return nil, errAuthentication
	}
	if !r.HasKeySignature(text) {
		return nil, errAuthentication
	}
	return nil, nil
}

// checkSignature checks a shared access signature for a table.
func checkSignature(r *protocol.Request, table string, now time.Time) (*grant, *odata.Failure) {
	q := r.Query
	if q.Has("ss") || q.Has("si") || q.Has("skoid") {
		return nil, odata.NotImplemented // a signature for the account, by a stored policy, or by a user
	}
	name := strings.ToLower(q.Get("tn"))
	signed := []string{
		q.Get("sp"), q.Get("st"), q.Get("se"), "/table/" + r.Account.Name + "/" + name, "", q.Get("sip"), q.Get("spr"), q.Get("sv"),
		q.Get("spk"), q.Get("srk"), q.Get("epk"), q.Get("erk"),
	}
	if !r.Account.Signed(q.Get("sig"), strings.Join(signed, "\n")) || !now.Before(timeParameter(q, "se")) || now.Before(timeParameter(q, "st")) ||
		table != batchResource && strings.ToLower(table) != name {
		return nil, errAuthentication
	}
	return &grant{table: name, permissions: q.Get("sp"), startPK: q.Get("spk"), startRK: q.Get("srk"), endPK: q.Get("epk"), endRK: q.Get("erk")}, nil
}

// timeParameter returns a time in the query, or the zero time.
func timeParameter(q url.Values, name string) time.Time {
	t, _ := time.Parse(time.RFC3339, q.Get(name))
	return t
}
