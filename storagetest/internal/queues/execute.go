package queues

import (
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// Execute implements protocol.Call.
func (c *call) Execute(now time.Time, in protocol.Injection) *protocol.Response {
	if c.refusal != nil {
		return c.respond(xmlform.Refuse(c.refusal), now)
	}
	return c.respond(c.execute(now, in), now)
}

// Fail implements protocol.Call.
func (c *call) Fail(f protocol.Failure, now time.Time) *protocol.Response {
	return c.respond(xmlform.Refuse(&xmlform.Failure{Failure: f}), now)
}

// permits returns the failure of an operation that the rights of the caller do not permit.
func (c *call) permits(a address, kind requests.Kind, now time.Time) *xmlform.Failure {
	return xmlform.FailureOf(c.rights.Check(needs[kind], c.policies(a), now))
}

// valid returns the failure of a signature that is not valid at a time.
func (c *call) valid(a address, now time.Time) *xmlform.Failure {
	return xmlform.FailureOf(c.rights.Valid(c.policies(a), now))
}

// policies returns the stored access policies of the queue that is addressed.
func (c *call) policies(a address) access.Policies {
	if q := c.store.queues[a.queue]; q != nil {
		return q.policies
	}
	return nil
}

// execute executes the call. Each operation checks the whole call before its first change, so no change is rolled back.
func (c *call) execute(now time.Time, in protocol.Injection) *xmlform.Response {
	a, f := parseAddress(c.Path)
	kind := c.kind(a, f)
	switch {
	case settings.IsPreflight(c.Request):
		return xmlform.Preflight(c.settings, c.Request)
	case c.valid(a, now) != nil:
		return xmlform.Refuse(c.valid(a, now))
	case f != nil:
		return xmlform.Refuse(f)
	case a == address{} && settings.WantsStatistics(c.Request):
		return xmlform.Statistics(c.Request, c.rights, now)
	case a == address{} && c.Query.Get("restype") == "service" && c.Query.Get("comp") == "properties":
		return xmlform.Properties(c.settings, c.Request, c.rights, now)
	case c.Query.Get("comp") == "acl" && !a.isMessages && a.queue != "":
		return c.accessPolicies(c.store.queue(a.queue, now))
	case c.Query.Has("restype") || c.Query.Has("comp") && kind == requests.Other:
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case kind == requests.Other && a.queue == "":
		return xmlform.Refuse(xmlform.ErrName)
	case kind == requests.Other:
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	if f := c.permits(a, kind, now); f != nil {
		return xmlform.Refuse(f)
	}
	if kind == requests.QueueList {
		return c.listQueues()
	}
	if f := xmlform.CheckName(a.queue); f != nil {
		return xmlform.Refuse(f)
	}
	if kind == requests.QueueCreate {
		return c.createQueue(a.queue, now)
	}
	q := c.store.queue(a.queue, now)
	if q == nil {
		return xmlform.Refuse(errQueueNotFound)
	}
	limit := maxReceive
	if in.PageLimit != nil {
		limit = *in.PageLimit
	}
	switch kind {
	case requests.QueueDelete:
		return c.deleteQueue(a.queue, now)
	case requests.QueueGet:
		return q.properties()
	case requests.QueueSet:
		return c.setMetadata(q)
	case requests.MessagePut:
		return c.putMessage(q, now)
	case requests.MessageGet:
		return c.getMessages(q, now, limit)
	case requests.MessagePeek:
		return c.peekMessages(q, now, limit)
	case requests.MessageUpdate:
		return c.updateMessage(q, a.message, now)
	case requests.MessageDelete:
		return c.deleteMessage(q, a.message)
	default: // requests.MessageClear
		q.messages = nil
		return &xmlform.Response{Status: http.StatusNoContent}
	}
}
