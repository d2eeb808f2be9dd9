package queues

import (
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// The kinds of requests.
const (
	kindMessagePut    = "message-put"
	kindMessageGet    = "message-get"
	kindMessagePeek   = "message-peek"
	kindMessageUpdate = "message-update"
	kindMessageDelete = "message-delete"
	kindMessageClear  = "message-clear"
	kindQueueCreate   = "queue-create"
	kindQueueDelete   = "queue-delete"
	kindQueueList     = "queue-list"
	kindQueueGet      = "queue-get"
	kindQueueSet      = "queue-set"
)

// Kinds returns the kinds of the service's requests.
func Kinds() []string {
	return []string{
		kindMessagePut, kindMessageGet, kindMessagePeek, kindMessageUpdate, kindMessageDelete, kindMessageClear,
		kindQueueCreate, kindQueueDelete, kindQueueList, kindQueueGet, kindQueueSet,
	}
}

// Describe implements protocol.Call.
func (c *call) Describe(bool) protocol.Description {
	a, f := parseAddress(c.Path)
	return protocol.Description{Kind: c.kind(a, f), Queue: a.queue, Message: a.message}
}

// kind returns the kind of the request.
func (c *call) kind(a address, f *failure) string {
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
			return kindQueueList
		}
	case a.message != "":
		switch method {
		case "PUT":
			return kindMessageUpdate
		case "DELETE":
			return kindMessageDelete
		}
	case a.isMessages:
		switch {
		case method == "POST":
			return kindMessagePut
		case method == "DELETE":
			return kindMessageClear
		case method == "GET" && c.Query.Get("peekonly") == "true":
			return kindMessagePeek
		case method == "GET":
			return kindMessageGet
		}
	default:
		switch method {
		case "PUT":
			return kindQueueCreate
		case "DELETE":
			return kindQueueDelete
		case "GET metadata":
			return kindQueueGet
		case "PUT metadata":
			return kindQueueSet
		}
	}
	return protocol.KindOther
}
