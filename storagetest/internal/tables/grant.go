package tables

import (
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// grant holds the rights of a shared access signature. A nil grant holds all rights, as the account's key does.
type grant struct {
	*access.Rights
	table            string // in lower case; "" for the account
	startPK, startRK string
	endPK, endRK     string
}

// refusalOf returns the failure of a signature in the form of the service.
func refusalOf(f *protocol.Failure) *odata.Failure {
	if f.Code == protocol.AuthenticationFailed.Code {
		return errAuthentication
	}
	return &odata.Failure{Failure: *f}
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
	switch {
	case access.HasSignature(r):
		return verify(r, table)
	case r.HasToken():
		return nil, nil
	}
	text := r.Date() + "\n" + r.SignedResource()
	if scheme, _ := r.Authorization(); scheme == "SharedKey" {
		text = strings.Join([]string{r.SentMethod, r.Header.Get("Content-MD5"), r.Header.Get("Content-Type"), text}, "\n")
	} else if scheme != "SharedKeyLite" {
		return nil, errAuthentication
	}
	if !r.HasKeySignature(text, now) {
		return nil, errAuthentication
	}
	return nil, nil
}

// verify checks a shared access signature for a table or for the account.
func verify(r *protocol.Request, table string) (*grant, *odata.Failure) {
	q := r.Query
	name := strings.ToLower(q.Get("tn"))
	rights, f := access.Verify(r, "table", "/"+name, q.Get("spk"), q.Get("srk"), q.Get("epk"), q.Get("erk"))
	switch {
	case q.Has("skoid"):
		return nil, odata.NotImplemented // a signature by a user
	case f != nil:
		return nil, refusalOf(f)
	case rights.IsAccount():
		return &grant{Rights: rights}, nil
	case table != batchResource && strings.ToLower(table) != name:
		return nil, errAuthentication
	}
	return &grant{Rights: rights, table: name, startPK: q.Get("spk"), startRK: q.Get("srk"), endPK: q.Get("epk"), endRK: q.Get("erk")}, nil
}
