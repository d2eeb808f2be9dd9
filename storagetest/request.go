package storagetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Request is a request to the account.
type Request struct {
	Number int // starts with 1
	Kind   requests.Kind
	Table  string

	// PartitionKey and RowKey are the keys in the address or in the inserted entity, or the keys that a filter requires.
	PartitionKey, RowKey string

	// Operations are the operations of a transaction.
	Operations []Request

	// Queue is the name of a queue, and Message the ID of a message in the queue.
	Queue, Message string

	// Container is the name of a container, and Blob the name of a blob in the container.
	Container, Blob string

	Method, URL string
	Time        time.Time

	Late   bool   // the request arrives after it was sent
	Fault  Fault  // the injected fault
	Status int    // the status of the response, 0 without a response
	Code   string // the error code of the response
}

// newRequest returns the record of what a request addresses.
func newRequest(d protocol.Description) Request {
	r := Request{Kind: d.Kind, Table: d.Table, PartitionKey: d.PartitionKey, RowKey: d.RowKey, Queue: d.Queue, Message: d.Message,
		Container: d.Container, Blob: d.Blob}
	if len(d.Operations) > 0 {
		r.Operations = make([]Request, 0, len(d.Operations))
	}
	for _, op := range d.Operations {
		r.Operations = append(r.Operations, newRequest(op))
	}
	return r
}

// String returns the request in one line, as in "3 insert staff('Sales','empid_000223'): 409 EntityAlreadyExists".
func (r Request) String() string {
	s := r.target()
	if r.Number > 0 {
		s = fmt.Sprintf("%d %s", r.Number, s)
	}
	if r.Late {
		s += " arrives"
	} else if r.Fault != (Fault{}) {
		s += " [" + r.Fault.String() + "]"
	}
	if r.Status > 0 {
		s += fmt.Sprintf(": %d", r.Status)
	}
	if r.Code != "" {
		s += " " + r.Code
	}
	return s
}

// target returns the kind of the request and what the request addresses.
func (r Request) target() string {
	s := r.Kind.String()
	if r.Table != "" {
		s += " " + r.Table
	}
	if r.Queue != "" {
		s += " " + r.Queue
	}
	if r.Message != "" {
		s += "/" + r.Message
	}
	if r.Container != "" {
		s += " " + r.Container
	}
	if r.Blob != "" {
		s += "/" + r.Blob
	}
	if r.PartitionKey+r.RowKey != "" {
		s += "('" + r.PartitionKey + "','" + r.RowKey + "')"
	}
	var ops []string
	for _, o := range r.Operations {
		o.Table = ""
		ops = append(ops, o.target())
	}
	if ops != nil {
		s += " {" + strings.Join(ops, ", ") + "}"
	}
	return s
}
