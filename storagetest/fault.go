package storagetest

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Fault is a fault of one request, such as a lost response. The zero Fault is no fault. Faults are comparable.
type Fault struct {
	kind      faultKind
	n         int // bytes, rows, requests or a status, as the kind defines
	code      string
	delay     time.Duration
	unknown   requests.Kind // the kind of request in an invalid plan
	remaining *atomic.Int64 // the number of requests that the fault still affects; nil: all
}

type faultKind int

const (
	noFault faultKind = iota
	notSent
	lostRequest
	lostResponse
	twice
	lateDuplicate
	late
	refuse
	executeThenRefuse
	refuseInTransaction
	cut
	truncate
	hang
	executeThenHang
	slow
	shortPage
	partitionPage
	invalidPlan
)

var faultNames = [...]string{
	"none", "not sent", "request lost", "response lost", "twice", "late duplicate", "late", "refused", "executed, then refused", "refused in transaction",
	"response cut", "response truncated", "hang", "executed, then hang", "slow", "short page", "page of a partition", "invalid plan",
}

// NotSent fails the connection. The client knows that the service did not receive the request.
func NotSent() Fault { return Fault{kind: notSent} }

// LostRequest breaks the connection before the service receives the request. The client cannot tell LostRequest from
// [LostResponse].
func LostRequest() Fault { return Fault{kind: lostRequest} }

// LostResponse executes the request and breaks the connection before the response.
func LostResponse() Fault { return Fault{kind: lostResponse} }

// Twice executes the request twice, as if the network had duplicated the request, and returns the second response.
func Twice() Fault { return Fault{kind: twice} }

// LateDuplicate executes the request, and executes a duplicate later: before the request that follows n further requests, or if n
// is 0, when [Service.Deliver] is called.
func LateDuplicate(n int) Fault { return Fault{kind: lateDuplicate, n: n} }

// Late breaks the connection, and executes the request later: before the request that follows n further requests, or if n is 0,
// when [Service.Deliver] is called.
func Late(n int) Fault { return Fault{kind: late, n: n} }

// Refuse responds with a status and an error code. The request is not executed.
func Refuse(status int, code string) Fault { return Fault{kind: refuse, n: status, code: code} }

// ExecuteThenRefuse executes the request, and responds with a status and an error code nevertheless. The service may do so with the
// statuses 500 and 503.
func ExecuteThenRefuse(status int, code string) Fault {
	return Fault{kind: executeThenRefuse, n: status, code: code}
}

// RefuseInTransaction accepts a transaction with 202, and reports in the response that the last operation failed with a status and
// an error code. The transaction is not executed. For another request, RefuseInTransaction is [Refuse].
func RefuseInTransaction(status int, code string) Fault {
	return Fault{kind: refuseInTransaction, n: status, code: code}
}

// Cut executes the request and breaks the connection after n bytes of the response's body. If n is negative, -n bytes are missing.
func Cut(n int) Fault { return Fault{kind: cut, n: n} }

// Truncate executes the request and ends the response's body after n bytes as if the body were complete, as a proxy that hides a
// broken connection does. If n is negative, -n bytes are missing.
func Truncate(n int) Fault { return Fault{kind: truncate, n: n} }

// Hang never executes the request, and never responds. The request ends with its context.
func Hang() Fault { return Fault{kind: hang} }

// ExecuteThenHang executes the request and never responds.
func ExecuteThenHang() Fault { return Fault{kind: executeThenHang} }

// Slow executes the request and responds after d.
func Slow(d time.Duration) Fault { return Fault{kind: slow, delay: d} }

// ShortPage limits a page of a query to n rows, with a continuation token if the query has more rows, as the service may do at any
// time. ShortPage also limits a request for messages to n messages, and a page of containers or blobs to n of them. For another
// request, ShortPage is no fault.
func ShortPage(n int) Fault { return Fault{kind: shortPage, n: n} }

// PartitionPage ends a page of a query of entities with the first partition in it. The continuation token then has the partition that
// follows, and no row, as the service may do at any time. For another request, PartitionPage is no fault.
func PartitionPage() Fault { return Fault{kind: partitionPage} }

// Times limits f to the first n requests for which a plan chooses f. Repeated attempts count as requests. The returned Fault holds
// the count, wherever it is used. Another call of Times starts another count.
func Times(n int, f Fault) Fault {
	f.remaining = &atomic.Int64{}
	f.remaining.Store(int64(n))
	return f
}

// Once is Times(1, f), so the next attempt of the client succeeds.
func Once(f Fault) Fault { return Times(1, f) }

// take returns the fault for one request, or no fault if Times has no request left.
func (f Fault) take() Fault {
	if f.remaining != nil && f.remaining.Add(-1) < 0 {
		return Fault{}
	}
	f.remaining = nil
	return f
}

// String describes the fault, as in "response lost" or "executed, then refused 503 ServerBusy".
func (f Fault) String() string {
	s := faultNames[f.kind]
	switch f.kind {
	case refuse, executeThenRefuse, refuseInTransaction:
		s += fmt.Sprintf(" %d %s", f.n, f.code)
	case cut, truncate:
		s += fmt.Sprintf(" at %d", f.n)
	case lateDuplicate, late:
		if f.n == 0 {
			s += ", at the end"
		} else {
			s += fmt.Sprintf(", after %d others", f.n)
		}
	case invalidPlan:
		s += fmt.Sprintf(": kind %v", f.unknown)
	case slow:
		s += " " + f.delay.String()
	case shortPage:
		s += fmt.Sprintf(" of %d", f.n)
	}
	return s
}

// failure returns the service's failure that the fault simulates.
func (f Fault) failure() protocol.Failure {
	text := map[string]string{"ServerBusy": "The server is busy.", "OperationTimedOut": "Operation could not be completed within the specified time."}[f.code]
	switch {
	case f.kind == invalidPlan:
		text = fmt.Sprintf("storagetest.OfKind: no request is of kind '%v'; the kinds are the constants of package requests.", f.unknown)
	case text == "":
		text = http.StatusText(f.n) + "."
	}
	return protocol.Failure{Status: f.n, Code: f.code, Text: text}
}

// injection returns the part of the fault that takes effect inside a service.
func (f Fault) injection() (in protocol.Injection) {
	switch {
	case f.kind == shortPage && f.n >= 0:
		in.PageLimit = &f.n
	case f.kind == partitionPage:
		in.PartitionPage = true
	case f.kind == refuseInTransaction:
		failure := f.failure()
		in.LastOperation = &failure
	}
	return in
}
