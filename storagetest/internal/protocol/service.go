package protocol

import (
	"time"

	"github.com/aztablekit/aztablekit/requests"
)

// Service is one service of an account, as the Table service is. The account's lock protects its state.
type Service interface {
	// Receive authenticates a request and reads its head. It reads no state, so the caller need not hold the account's lock.
	Receive(r *Request, now time.Time) Call
}

// Call is a request that a service has received.
type Call interface {
	// Accepted reports whether the head of the request is valid. Execute then executes the request; otherwise Execute returns the
	// refusal.
	Accepted() bool

	// Describe returns what the request addresses. Without withBody, Describe reads only the address.
	Describe(withBody bool) Description

	// Execute executes the request completely, or not at all. The caller holds the account's lock. A call may be executed again.
	Execute(now time.Time, in Injection) *Response

	// Fail returns the response that reports f, in the form of the service. Fail changes nothing. The caller holds the lock.
	Fail(f Failure, now time.Time) *Response
}

// Injection is the part of a fault that takes effect inside a service. The zero value is no fault.
type Injection struct {
	PageLimit     *int     // the most rows, messages, containers or blobs in the response; nil: as requested
	PartitionPage bool     // a page of entities ends with its first partition
	LastOperation *Failure // the failure of the last operation of a transaction; nil: none
}

// Description is what a request addresses.
type Description struct {
	Kind requests.Kind

	Table                string
	PartitionKey, RowKey string
	Operations           []Description // of a transaction

	Queue, Message string

	Container, Blob string
}
