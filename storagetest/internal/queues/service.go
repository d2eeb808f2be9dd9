package queues

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// Service is the Queue service of an account. It implements protocol.Service.
type Service struct {
	store    store
	settings settings.Settings
	options  Options
}

// New returns a service without queues.
func New(o Options) *Service { return &Service{store: newStore(), options: o} }

// Receive implements protocol.Service.
func (s *Service) Receive(r *protocol.Request, now time.Time) protocol.Call {
	c := &call{Request: r, store: &s.store, settings: &s.settings, options: &s.options}
	c.rights, c.refusal = xmlform.Check(r, now, func() (*access.Rights, *protocol.Failure) {
		a, _ := parseAddress(r.Path)
		return access.Verify(r, access.Of{Service: "queue", Resource: "/" + a.queue, Permissions: permissions})
	})
	return c
}

// Message is a stored message.
type Message struct {
	ID, Text                   string
	Inserted, Expires, Visible time.Time
	Dequeued                   int
}

// Messages returns the messages of a queue, including hidden messages, oldest first. Messages
// changes nothing: an expired message is left out, and stays until the next request. The caller
// holds the account's lock.
func (s *Service) Messages(name string, now time.Time) []Message {
	q := s.store.queues[name]
	if q == nil {
		return nil
	}
	var all []Message
	for _, m := range q.messages {
		if now.Before(m.expires) {
			all = append(all, Message{m.id, m.text, m.inserted, m.expires, m.visible, m.dequeued})
		}
	}
	return all
}

// Queues returns the names of the queues in order. The caller holds the account's lock.
func (s *Service) Queues() []string { return slices.Sorted(maps.Keys(s.store.queues)) }

// Options of a Queue service.
type Options struct {
	NameReuseDelay  time.Duration // before the name of a deleted queue can be used again
	ShuffleSeed     uint64        // the seed of a random order of messages; 0: oldest first
	ReceiptMismatch bool          // an outdated receipt fails with 400 PopReceiptMismatch, and otherwise with 404 MessageNotFound
}

// call is a request to the Queue service.
type call struct {
	*protocol.Request
	store    *store
	settings *settings.Settings
	options  *Options
	rights   *access.Rights   // of a shared access signature; nil: all rights
	refusal  *xmlform.Failure // why the head of the request is invalid
}

// Accepted implements protocol.Call.
func (c *call) Accepted() bool { return c.refusal == nil }

// respond completes a response.
func (c *call) respond(r *xmlform.Response, now time.Time) *protocol.Response {
	out := r.ToProtocol(c.Request, "Windows-Azure-Queue/1.0", now)
	if r.Failure == nil && (c.Method == http.MethodGet || c.Method == http.MethodHead) {
		out.Header.Set("Cache-Control", "no-cache")
	}
	maps.Copy(out.Header, c.settings.Header(c.Request))
	return out
}

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

// execute executes the call. Each operation checks the whole call before its first change, so no
// change is rolled back.
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
	case c.Query.Has("restype") || c.Query.Has("comp") && kind == kinds.Other:
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case kind == kinds.Other && a.queue == "":
		return xmlform.Refuse(xmlform.ErrName)
	case kind == kinds.Other:
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	if f := c.permits(a, kind, now); f != nil {
		return xmlform.Refuse(f)
	}
	if kind == kinds.QueueList {
		return c.listQueues()
	}
	if f := xmlform.CheckName(a.queue); f != nil {
		return xmlform.Refuse(f)
	}
	if kind == kinds.QueueCreate {
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
	case kinds.QueueDelete:
		return c.deleteQueue(a.queue, now)
	case kinds.QueueGet:
		return q.properties()
	case kinds.QueueSet:
		return c.setMetadata(q)
	case kinds.MessagePut:
		return c.putMessage(q, now)
	case kinds.MessageGet:
		return c.getMessages(q, now, limit)
	case kinds.MessagePeek:
		return c.peekMessages(q, now, limit)
	case kinds.MessageUpdate:
		return c.updateMessage(q, a.message, now)
	case kinds.MessageDelete:
		return c.deleteMessage(q, a.message)
	default: // kinds.MessageClear
		q.messages = nil
		return &xmlform.Response{Status: http.StatusNoContent}
	}
}

// Describe implements protocol.Call.
func (c *call) Describe(bool) protocol.Description {
	a, f := parseAddress(c.Path)
	return protocol.Description{Kind: c.kind(a, f), Queue: a.queue, Message: a.message}
}

// kind returns the kind of the request.
func (c *call) kind(a address, f *xmlform.Failure) requests.Kind {
	method := c.Method
	if c.Method == http.MethodHead && c.Query.Get("comp") == "metadata" {
		method = http.MethodGet
	}
	if comp := c.Query.Get("comp"); comp != "" || c.Query.Has("restype") {
		method += " " + comp
	}
	switch {
	case f != nil || c.Query.Has("restype"):
	case a.queue == "":
		if method == "GET list" {
			return kinds.QueueList
		}
	case a.message != "":
		switch method {
		case "PUT":
			return kinds.MessageUpdate
		case "DELETE":
			return kinds.MessageDelete
		}
	case a.isMessages:
		switch {
		case method == "POST":
			return kinds.MessagePut
		case method == "DELETE":
			return kinds.MessageClear
		case method == "GET" && c.Query.Get("peekonly") == "true":
			return kinds.MessagePeek
		case method == "GET":
			return kinds.MessageGet
		}
	default:
		switch method {
		case "PUT":
			return kinds.QueueCreate
		case "DELETE":
			return kinds.QueueDelete
		case "GET metadata":
			return kinds.QueueGet
		case "PUT metadata":
			return kinds.QueueSet
		}
	}
	return kinds.Other
}

// address is what a path addresses: the account, a queue, the messages of a queue, or one message.
type address struct {
	queue      string
	isMessages bool // the path ends in /messages or in a message's ID
	message    string
}

// parseAddress parses a path: /, /jobs, /jobs/messages, /jobs/messages/id.
func parseAddress(path string) (a address, f *xmlform.Failure) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range parts {
		var err error
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			return a, xmlform.ErrURI
		}
	}
	a.queue = parts[0]
	if parts = parts[1:]; len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1] // a trailing slash
	}
	switch {
	case len(parts) == 0:
		return a, nil
	case len(parts) > 2 || parts[0] != "messages":
		return a, xmlform.ErrURI
	}
	a.isMessages = true
	if len(parts) == 2 {
		a.message = parts[1]
	}
	return a, nil
}

// needs are the rights that the operations need. An operation that is not listed cannot be
// permitted by a signature.
var needs = map[requests.Kind]access.Need{
	kinds.QueueList:     {Type: "s", Permissions: []string{"l"}, Account: true},
	kinds.QueueCreate:   {Type: "c", Permissions: []string{"c", "w"}, Account: true},
	kinds.QueueDelete:   {Type: "c", Permissions: []string{"d"}, Account: true},
	kinds.QueueGet:      {Type: "c", Permissions: []string{"r"}},
	kinds.QueueSet:      {Type: "c", Permissions: []string{"w"}, Account: true},
	kinds.MessagePut:    {Type: "o", Permissions: []string{"a"}},
	kinds.MessageGet:    {Type: "o", Permissions: []string{"p"}},
	kinds.MessagePeek:   {Type: "o", Permissions: []string{"r"}},
	kinds.MessageUpdate: {Type: "o", Permissions: []string{"u"}},
	kinds.MessageDelete: {Type: "o", Permissions: []string{"p"}},
	kinds.MessageClear:  {Type: "o", Permissions: []string{"d"}, Account: true},
}

// permissions are the letters of the permissions for a queue, in their order.
const permissions = "raup"

// accessPolicies reads or replaces the stored access policies of a queue.
func (c *call) accessPolicies(q *queue) *xmlform.Response {
	switch {
	case c.rights != nil:
		return xmlform.Refuse(&xmlform.Failure{Failure: access.Unauthorized})
	case q == nil:
		return xmlform.Refuse(errQueueNotFound)
	case c.Method == http.MethodGet, c.Method == http.MethodHead:
		return &xmlform.Response{Status: http.StatusOK, Body: q.policies.XML()}
	case c.Method != http.MethodPut:
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	policies, fault := access.ParsePolicies(c.Body, permissions)
	if fault != nil {
		return xmlform.Refuse(xmlform.InvalidDocument(*fault))
	}
	q.policies = policies
	return &xmlform.Response{Status: http.StatusNoContent}
}

// The failures of the Queue service, in the words of the live service.
var (
	errQueueExists       = xmlform.NewFailure(http.StatusConflict, "QueueAlreadyExists", "The specified queue already exists.")
	errQueueBeingDeleted = xmlform.NewFailure(http.StatusConflict, "QueueBeingDeleted", "The specified queue is being deleted.")
	errQueueNotFound     = xmlform.NewFailure(http.StatusNotFound, "QueueNotFound", "The specified queue does not exist.")
	errMessageNotFound   = xmlform.NewFailure(http.StatusNotFound, "MessageNotFound", "The specified message does not exist.")
	errReceiptMismatch   = xmlform.NewFailure(http.StatusBadRequest, "PopReceiptMismatch", "The specified pop receipt did not match the pop receipt for a dequeued message.")

	errMissingText = xmlform.NewFailure(http.StatusBadRequest, "MissingRequiredXmlNode", "A required XML node was not specified in the request body.").
			With("<XmlNodeName>MessageText</XmlNodeName>")
	errMessageTooLarge = xmlform.ErrBodyTooLarge.With("<MaxLimit>%d</MaxLimit>", maxMessage)
)

// maxMessage is the maximum length of a message's text in bytes.
const maxMessage = 64 << 10
