package tables

import (
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// errDocument is the failure of a body that is not the XML document that the request requires.
var errDocument = &odata.Failure{Failure: protocol.Failure{Status: http.StatusBadRequest, Code: "InvalidXmlDocument", Text: "XML specified is not syntactically valid."}}

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
	policies, fault := access.ParsePolicies(c.Body, "raud")
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
