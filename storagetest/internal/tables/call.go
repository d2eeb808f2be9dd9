package tables

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

// call is a request, or one operation of a transaction.
type call struct {
	*protocol.Request
	store    *store
	settings *settings.Settings
	options  *Options

	level   odata.Level
	grant   *grant         // the rights of a shared access signature; nil: all rights
	now     time.Time      // of the execution
	refusal *odata.Failure // why the head of the request, or the operation, is invalid

	parsed parsedAddress // the path
	body   parsedBody    // the body as an entity

	operations       []*call // the operations of a transaction, once parsed
	operationsParsed bool
	inTransaction    bool
	changeSet        bool // the operations are a change set; otherwise the transaction is a single GET
}

// parsedAddress is the result of parsing the path, once it is done.
type parsedAddress struct {
	done bool
	address
	failure *odata.Failure
}

// parsedBody is the result of parsing the body of a write, once it is done.
type parsedBody struct {
	done    bool
	entity  odata.Entity
	failure *odata.Failure
}

// tunnel replaces the method of a POST by the one that X-HTTP-Method names, for clients whose proxies know few methods.
func (c *call) tunnel() {
	if c.Method != http.MethodPost {
		return
	}
	switch method := c.Get("X-Http-Method"); method {
	case http.MethodGet, http.MethodPut, http.MethodPatch, "MERGE", http.MethodDelete:
		c.Method = method
	}
}

// Accepted implements protocol.Call.
func (c *call) Accepted() bool { return c.refusal == nil }

// address parses the path.
func (c *call) address() (address, *odata.Failure) {
	if !c.parsed.done {
		a, f := parseAddress(c.Path)
		c.parsed = parsedAddress{true, a, f}
	}
	return c.parsed.address, c.parsed.failure
}

// entity parses the body of a write. A call may be executed twice: the caller may sort the properties and append to them.
func (c *call) entity() (odata.Entity, *odata.Failure) {
	b := c.parsedBody()
	e := b.entity
	e.Properties = slices.Clip(e.Properties)
	return e, b.failure
}

func (c *call) parsedBody() *parsedBody {
	if !c.body.done {
		c.body.done = true
		if odata.IsJSON(c.Get("Content-Type")) {
			c.body.entity, c.body.failure = odata.ParseEntity(c.Body)
		} else {
			c.body.failure = odata.UnknownMediaType
		}
	}
	return &c.body
}

// entityAddress returns the address of the entity that the call addresses, or that it inserts.
func (c *call) entityAddress() (a address, f *odata.Failure) {
	a, f = c.address()
	if f != nil || a.isEntity {
		return a, f
	}
	if c.Method != http.MethodPost {
		return a, odata.InvalidInput
	}
	b := c.parsedBody()
	switch {
	case b.failure != nil:
		return a, b.failure
	case b.entity.PartitionKey == nil || b.entity.RowKey == nil:
		return a, errMissingKeys
	}
	a.pk, a.rk = *b.entity.PartitionKey, *b.entity.RowKey
	return a, nil
}

// parseOperations parses the body as a transaction and sets operations and changeSet.
func (c *call) parseOperations() *odata.Failure {
	if c.operationsParsed {
		return nil
	}
	b, f := odata.ParseBatch(c.Get("Content-Type"), c.Body, c.Base)
	if f != nil {
		return f
	}
	c.operationsParsed, c.changeSet = true, b.ChangeSet
	calls, operations := make([]call, len(b.Operations)), make([]protocol.Request, len(b.Operations))
	c.operations = make([]*call, 0, len(calls))
	for i, o := range b.Operations {
		op := &calls[i]
		operations[i] = protocol.Request{Method: o.Method, Path: o.Path, Query: o.Query, Fields: o.Header, Body: o.Body, Account: c.Account, Base: c.Base, Version: c.Version, ID: c.ID}
		*op = call{Request: &operations[i], store: c.store, settings: c.settings, options: c.options, grant: c.grant, inTransaction: true}
		op.tunnel()
		if o.BadQuery {
			op.refusal = odata.QuerySyntax
		}
		if op.level, f = odata.ChooseLevel(op.Get("Accept"), o.Query); f != nil {
			op.refusal = f
		}
		c.operations = append(c.operations, op)
	}
	return nil
}

// preference returns what an insert prefers: "return-content", "return-no-content" or "".
func (c *call) preference() string {
	switch p := strings.TrimSpace(c.Get("Prefer")); p {
	case "return-content", "return-no-content":
		return p
	}
	return ""
}
