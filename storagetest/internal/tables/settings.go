package tables

import (
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

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
