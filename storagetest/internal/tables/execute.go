package tables

import (
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

// Execute implements protocol.Call.
func (c *call) Execute(now time.Time, in protocol.Injection) *protocol.Response {
	var r *response
	c.now = now
	if c.refusal != nil {
		r = refuse(c.refusal)
	} else if r = c.execute(now, in); r.failure != nil {
		c.store.rollback()
	}
	c.store.commit()
	return r.toProtocol(c, now)
}

// Fail implements protocol.Call.
func (c *call) Fail(f protocol.Failure, now time.Time) *protocol.Response {
	return refuse(&odata.Failure{Failure: f}).toProtocol(c, now)
}

func (c *call) execute(now time.Time, in protocol.Injection) *response {
	a, f := c.address()
	switch {
	case settings.IsPreflight(c.Request):
		return c.preflight()
	case c.valid() != nil:
		return refuse(c.valid())
	case f != nil:
		return refuse(f)
	case a.resource == batchResource && c.Method == http.MethodPost:
		return c.executeTransaction(now, in.LastOperation)
	case a.resource == batchResource:
		return refuse(errMethodNotAllowed)
	case c.Query.Get("comp") == "acl":
		return c.accessPolicies(a)
	case a.resource == "" && settings.WantsStatistics(c.Request):
		return c.statistics()
	case a.resource == "" && c.Query.Get("restype") == "service" && c.Query.Get("comp") == "properties":
		return c.properties()
	case a.resource == "", c.Query.Has("comp"), c.Query.Has("restype"):
		return refuse(odata.NotImplemented)
	case a.resource == tablesResource:
		return c.tableOperation(a, now)
	case c.Method == http.MethodGet && !a.isEntity:
		return c.query(a, in)
	}
	return c.entityOperation(a, now)
}
