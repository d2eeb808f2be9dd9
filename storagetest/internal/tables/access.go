package tables

import (
	"net/http"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

// errDocument is the failure of a body that is not the XML document that the request requires.
var errDocument = &odata.Failure{Failure: protocol.Failure{Status: http.StatusBadRequest, Code: "InvalidXmlDocument", Text: "XML specified is not syntactically valid."}}

// permissions are the letters of the permissions for a table, in their order.
const permissions = "raud"

// accessPolicies reads or replaces the stored access policies of a table. The responses are XML.
func (c *call) accessPolicies(a address) *response {
	t := c.store.table(a.resource)
	switch {
	case c.grant != nil:
		return refuse(errAuthorization).asXML()
	case t == nil || a.isEntity:
		return refuse(errTableNotFound).asXML()
	case c.Method == http.MethodGet:
		return (&response{status: http.StatusOK, body: t.policies.XML()}).asXML()
	case c.Method != http.MethodPut:
		return refuse(errMethodNotAllowed).asXML()
	}
	policies, fault := access.ParsePolicies(c.Body, permissions)
	if fault != nil {
		return refuse(errDocument).asXML()
	}
	t.policies = policies
	return (&response{status: http.StatusNoContent}).asXML()
}

// asXML gives a response the form of responses that are XML.
func (r *response) asXML() *response {
	r.xml = true
	return r
}

// grant holds the rights of a shared access signature. A nil grant holds all rights, as the
// account's key does.
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

// covers reports whether an entity is in the range of the grant. The service compares both keys
// together.
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

// authenticate checks the key's signature, the token or the shared access signature of a request,
// and returns the rights of the caller.
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
	rights, f := access.Verify(r, access.Of{
		Service: "table", Resource: "/" + name, Permissions: permissions,
		More: []string{q.Get("spk"), q.Get("srk"), q.Get("epk"), q.Get("erk")},
	})
	switch {
	case q.Has("skoid"):
		return nil, odata.NotImplemented // a signature by a user
	case f != nil:
		return nil, refusalOf(f)
	case rights.IsAccount():
		return &grant{Rights: rights}, nil
	case table != batchResource && strings.ToLower(table) != name,
		q.Get("srk") != "" && !q.Has("spk"), q.Get("erk") != "" && !q.Has("epk"):
		return nil, errAuthentication
	}
	return &grant{Rights: rights, table: name, startPK: q.Get("spk"), startRK: q.Get("srk"), endPK: q.Get("epk"), endRK: q.Get("erk")}, nil
}

// permits returns the failure of an operation on entities that the grant does not permit: all
// letters of one of the permissions are needed.
func (c *call) permits(permissions ...string) *odata.Failure {
	return c.check(access.Need{Type: "o", Permissions: permissions})
}

// check returns the failure of an operation that the grant does not permit.
func (c *call) check(n access.Need) *odata.Failure {
	if c.grant == nil {
		return nil
	}
	if f := c.grant.Check(n, c.policies(), c.now); f != nil {
		return refusalOf(f)
	}
	return nil
}

// valid returns the failure of a grant that is not valid at the time of the execution.
func (c *call) valid() *odata.Failure {
	if c.grant == nil {
		return nil
	}
	if f := c.grant.Valid(c.policies(), c.now); f != nil {
		return refusalOf(f)
	}
	return nil
}

// policies returns the stored access policies of the table of the grant.
func (c *call) policies() access.Policies {
	if t := c.store.table(c.grant.table); t != nil {
		return t.policies
	}
	return nil
}

// preflight answers a preflight request.
func (c *call) preflight() *response {
	if settings.MissingOfPreflight(c.Request) != "" {
		return refuse(errHeader).asXML()
	}
	header, ok := c.settings.Preflight(c.Request)
	if !ok {
		return refuse(&odata.Failure{Failure: settings.PreflightFailure}).asXML()
	}
	r := (&response{status: http.StatusOK}).asXML()
	r.cors = header
	return r
}

// properties reads or sets the properties of the service.
func (c *call) properties() *response {
	need := access.Need{Type: "s", Permissions: []string{"r"}, Account: true}
	if c.Method == http.MethodPut {
		need.Permissions = []string{"w"}
	}
	if f := c.check(need); f != nil {
		return refuse(f).asXML()
	}
	switch c.Method {
	case http.MethodGet:
		return (&response{status: http.StatusOK, body: c.settings.XML(c.Version)}).asXML()
	case http.MethodPut:
		if c.settings.Set(c.Body) != nil {
			return refuse(errDocument).asXML()
		}
		return (&response{status: http.StatusAccepted}).asXML()
	}
	return refuse(errMethodNotAllowed).asXML()
}

// statistics returns how far the second location is.
func (c *call) statistics() *response {
	if f := c.check(access.Need{Type: "s", Permissions: []string{"r"}, Account: true}); f != nil {
		return refuse(f).asXML()
	}
	if !c.Secondary {
		return refuse(errStatistics).asXML()
	}
	return (&response{status: http.StatusOK, body: settings.Statistics(c.Request)}).asXML()
}
