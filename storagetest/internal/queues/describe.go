package queues

import (
	"net/http"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

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
			return requests.QueueList
		}
	case a.message != "":
		switch method {
		case "PUT":
			return requests.MessageUpdate
		case "DELETE":
			return requests.MessageDelete
		}
	case a.isMessages:
		switch {
		case method == "POST":
			return requests.MessagePut
		case method == "DELETE":
			return requests.MessageClear
		case method == "GET" && c.Query.Get("peekonly") == "true":
			return requests.MessagePeek
		case method == "GET":
			return requests.MessageGet
		}
	default:
		switch method {
		case "PUT":
			return requests.QueueCreate
		case "DELETE":
			return requests.QueueDelete
		case "GET metadata":
			return requests.QueueGet
		case "PUT metadata":
			return requests.QueueSet
		}
	}
	return requests.Other
}
