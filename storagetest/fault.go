package storagetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Fault is a fault that a test injects into one request, such as a lost response. The zero Fault is
// no fault. Faults are comparable.
type Fault struct {
	kind      faultKind
	n         int // bytes, rows, requests or a status, as the kind defines
	code      string
	delay     time.Duration
	unknown   requests.Kind // the kind of request in an invalid FaultFunc
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
	spreadTimes
	unknownKind
)

var faultNames = [...]string{
	"none", "not sent", "request lost", "response lost", "twice", "late duplicate", "late", "refused", "executed, then refused", "refused in transaction",
	"response cut", "response truncated", "hang", "executed, then hang", "slow", "short page", "page of a partition", "Timestamps spread", "unknown kind of request",
}

// NotSent fails the connection. The client knows that the service did not receive the request.
func NotSent() Fault { return Fault{kind: notSent} }

// LostRequest breaks the connection before the service receives the request. The client cannot
// distinguish LostRequest from [LostResponse].
func LostRequest() Fault { return Fault{kind: lostRequest} }

// LostResponse executes the request and breaks the connection before the response.
func LostResponse() Fault { return Fault{kind: lostResponse} }

// Twice executes the request twice, as if the network had duplicated the request, and returns the
// second response.
func Twice() Fault { return Fault{kind: twice} }

// LateDuplicate executes the request, and executes a duplicate later: before the request that
// follows n further requests, or if n is 0, when [Service.Deliver] is called.
func LateDuplicate(n int) Fault { return Fault{kind: lateDuplicate, n: n} }

// Late breaks the connection, and executes the request later: before the request that follows n
// further requests, or if n is 0, when [Service.Deliver] is called.
func Late(n int) Fault { return Fault{kind: late, n: n} }

// Refuse responds with a status and an error code. The request is not executed.
func Refuse(status int, code string) Fault { return Fault{kind: refuse, n: status, code: code} }

// ExecuteThenRefuse executes the request, and responds with a status and an error code
// nevertheless. The service may do so with the statuses 500 and 503.
func ExecuteThenRefuse(status int, code string) Fault {
	return Fault{kind: executeThenRefuse, n: status, code: code}
}

// RefuseInTransaction accepts a transaction with 202, and reports in the response that the last
// operation failed with a status and an error code. The transaction is not executed. For another
// request, RefuseInTransaction is [Refuse].
func RefuseInTransaction(status int, code string) Fault {
	return Fault{kind: refuseInTransaction, n: status, code: code}
}

// Cut executes the request and breaks the connection after n bytes of the response's body. If n is
// negative, -n bytes are missing.
func Cut(n int) Fault { return Fault{kind: cut, n: n} }

// Truncate executes the request and ends the response's body after n bytes as if the body were
// complete, as a proxy that hides a broken connection does. If n is negative, -n bytes are missing.
func Truncate(n int) Fault { return Fault{kind: truncate, n: n} }

// Hang never executes the request, and never responds. The request ends with its context.
func Hang() Fault { return Fault{kind: hang} }

// ExecuteThenHang executes the request and never responds.
func ExecuteThenHang() Fault { return Fault{kind: executeThenHang} }

// Slow executes the request and responds after d.
func Slow(d time.Duration) Fault { return Fault{kind: slow, delay: d} }

// ShortPage limits a page of a query to n rows, with a continuation token if the query has more
// rows, as the service may do at any time. ShortPage also limits a request for messages to n
// messages, and a page of containers or blobs to n of them. For another request, ShortPage is no
// fault.
func ShortPage(n int) Fault { return Fault{kind: shortPage, n: n} }

// PartitionPage ends a page of a query of entities with the first partition in it. The continuation
// token then has the partition that follows, and no row, as the service may do at any time. For
// another request, PartitionPage is no fault.
func PartitionPage() Fault { return Fault{kind: partitionPage} }

// Times limits f to the first n requests for which a FaultFunc chooses f. Repeated attempts count
// as requests. The returned Fault holds the count, wherever it is used. Another call of Times
// starts another count.
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
	case unknownKind:
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
	case f.kind == unknownKind:
		text = fmt.Sprintf("storagetest.OfKind: no request is of kind '%v'; package requests has the kinds.", f.unknown)
	case text == "":
		text = http.StatusText(f.n) + "."
	}
	return protocol.Failure{Status: f.n, Code: f.code, Text: text}
}

// injection returns the effect of the fault inside a service.
func (f Fault) injection() (in protocol.Injection) {
	switch {
	case f.kind == shortPage && f.n >= 0:
		in.PageLimit = &f.n
	case f.kind == partitionPage:
		in.PartitionPage = true
	case f.kind == spreadTimes:
		in.SpreadTimes = true
	case f.kind == refuseInTransaction:
		failure := f.failure()
		in.LastOperation = &failure
	}
	return in
}

// FaultFunc chooses the fault of each request, before the request is executed. It is called for one
// request at a time, in the order of the numbers of the requests. It may call the methods of the
// [Service] and must not send requests.
type FaultFunc func(Request) Fault

// AtRequest returns a FaultFunc for the request with a number, which counts all requests to the
// service from 1 on, also those of Ensure.
func AtRequest(number int, f Fault) FaultFunc {
	return When(func(r Request) bool { return r.Number == number }, f)
}

// OfKind returns a FaultFunc for all requests of a kind, such as requests.Insert. With [Once], it
// affects only the first of these requests:
//
//	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostResponse())))
//
// If kind is not one of the kinds of package requests, the FaultFunc refuses every request with 400
// UnknownRequestKind, because the test contains a mistake.
func OfKind(kind requests.Kind, f Fault) FaultFunc {
	if !slices.Contains(kinds.All(), string(kind)) {
		return func(Request) Fault {
			return Fault{kind: unknownKind, n: http.StatusBadRequest, code: "UnknownRequestKind", unknown: kind}
		}
	}
	return When(func(r Request) bool { return r.Kind == kind }, f)
}

// When returns a FaultFunc for the requests for which matches returns true.
func When(matches func(Request) bool, f Fault) FaultFunc {
	return func(r Request) Fault {
		if matches(r) {
			return f.take()
		}
		return Fault{}
	}
}

// First returns a FaultFunc that asks FaultFuncs in order. The first fault counts.
func First(choices ...FaultFunc) FaultFunc {
	return func(r Request) Fault {
		for _, p := range choices {
			if f := p(r).take(); f != (Fault{}) {
				return f
			}
		}
		return Fault{}
	}
}

// Adversity describes what [Adverse] does. The zero value is ready for use.
type Adversity struct {
	// Seed chooses the faults. The same requests in the same order have the same faults.
	Seed uint64

	// PartitionRate and AccountRate are how many entities of a partition and of the account the
	// service reads and writes in a second of its clock, in requests for single entities and in
	// transactions. Further requests are refused with 503 ServerBusy. Default to 2,000 and 20,000,
	// as in the live service. Negative rates are no limits.
	PartitionRate, AccountRate int

	// Move is how long requests to a partition fail with 500 OperationTimedOut when the service
	// moves it. It does not move again within 20 times of that. Defaults to 2 seconds. A negative
	// time lets no partition move.
	Move time.Duration

	// Delay is the longest time that a response is late. Defaults to 20 milliseconds. A negative
	// time lets no response be late.
	Delay time.Duration
}

// How often a request has a fault: once in so many requests.
const (
	shortPages     = 4 // of the requests for pages
	partitionPages = 8
	moves          = 200 // of the requests for entities
	delays         = 10
	spreads        = 3 // of the transactions
)

// rest is how long a partition does not move again, in times of a move.
const rest = 20

// Adverse returns a FaultFunc that makes the service as unpleasant as the live service may be at
// any time: short and empty pages, tokens without a row, throttled partitions, partitions that
// move, Timestamps of a transaction that differ, late responses. No request and no response is
// lost, so a program that repeats refused requests, and reads all pages, works as without the
// FaultFunc.
//
//	s.SetFaults(storagetest.Adverse(storagetest.Adversity{Seed: 1}))
func Adverse(a Adversity) FaultFunc {
	a.PartitionRate, a.AccountRate = cmp.Or(a.PartitionRate, 2_000), cmp.Or(a.AccountRate, 20_000)
	a.Move, a.Delay = cmp.Or(a.Move, 2*time.Second), cmp.Or(a.Delay, 20*time.Millisecond)
	p := &adverse{Adversity: a, used: map[string]*bucket{}, moving: map[string]time.Time{}}
	return p.choose
}

// adverse is the state of a FaultFunc.
type adverse struct {
	Adversity
	used   map[string]*bucket   // of each partition, and of the account under ""
	moving map[string]time.Time // when each partition can be reached again
}

// bucket holds the entities that can still be read or written. It fills with time.
type bucket struct {
	rate, left float64
	at         time.Time
}

// choose is the FaultFunc. It is called for one request at a time.
func (a *adverse) choose(r Request) Fault {
	random := rand.New(rand.NewPCG(a.Seed, uint64(r.Number)))
	oneIn := func(n int) bool { return random.IntN(n) == 0 }
	shortPage, partitionPage, move, late := oneIn(shortPages), oneIn(partitionPages), oneIn(moves), oneIn(delays)
	spread := oneIn(spreads)
	switch r.Kind {
	case requests.Query, kinds.TableQuery, kinds.QueueList, kinds.ContainerList, kinds.BlobList:
		switch {
		case partitionPage && r.Kind == requests.Query:
			return PartitionPage()
		case shortPage && continues(r):
			return ShortPage(1 + random.IntN(3)) // not 0, since a token that repeats itself would have no end
		case shortPage:
			return ShortPage(random.IntN(2))
		}
	case requests.Get, requests.Insert, requests.Replace, requests.Merge, kinds.InsertOrReplace, kinds.InsertOrMerge, requests.Delete, requests.Transaction:
		if f := a.refusal(r, move); f != (Fault{}) {
			return f
		}
		if spread && r.Kind == requests.Transaction {
			return Fault{kind: spreadTimes}
		}
	}
	if late && a.Delay > 0 {
		return Slow(time.Duration(random.Int64N(int64(a.Delay))) + 1)
	}
	return Fault{}
}

// continues reports whether a request asks for a page that is not the first.
func continues(r Request) bool {
	return strings.Contains(r.URL, "NextPartitionKey=") || strings.Contains(r.URL, "NextTableName=") || strings.Contains(r.URL, "marker=")
}

// refusal returns the refusal of a request for entities, if its partition moves, or if it or the
// account is throttled.
func (a *adverse) refusal(r Request, move bool) Fault {
	partition, entities := partitionOf(r)
	if move && a.Move > 0 && !r.Time.Before(a.moving[partition].Add(rest*a.Move)) {
		a.moving[partition] = r.Time.Add(a.Move)
	}
	if r.Time.Before(a.moving[partition]) {
		return Refuse(http.StatusInternalServerError, "OperationTimedOut")
	}
	ofAccount, ofPartition := a.bucket("", a.AccountRate, r.Time), a.bucket(partition, a.PartitionRate, r.Time)
	if !ofAccount.has(entities) || !ofPartition.has(entities) {
		return Refuse(http.StatusServiceUnavailable, "ServerBusy")
	}
	ofAccount.left -= float64(entities)
	ofPartition.left -= float64(entities)
	return Fault{}
}

// partitionOf returns the partition of a request for entities, and the number of its entities.
func partitionOf(r Request) (partition string, entities int) {
	if len(r.Operations) > 0 {
		partition, _ = partitionOf(r.Operations[0])
		return partition, len(r.Operations)
	}
	return strings.ToLower(r.Table) + "\x00" + r.PartitionKey, 1
}

// bucket returns a bucket at a time. It holds the entities of one second at most.
func (a *adverse) bucket(name string, rate int, now time.Time) *bucket {
	b := a.used[name]
	if b == nil || now.Before(b.at) {
		b = &bucket{rate: float64(rate), left: float64(rate), at: now}
		a.used[name] = b
	}
	b.left, b.at = min(b.rate, b.left+now.Sub(b.at).Seconds()*b.rate), now
	return b
}

// has reports whether a bucket holds n entities, or is full.
func (b *bucket) has(n int) bool { return b.rate < 0 || b.left >= min(float64(n), b.rate) }

// LateRequests returns the requests that have not arrived yet; see [Late] and [LateDuplicate].
func (s *Service) LateRequests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late.list()
}

// Deliver executes all late requests and returns them with their responses, which no client
// receives.
func (s *Service) Deliver() (all []Request) {
	for range s.LateRequests() {
		all = append(all, s.DeliverOne(0))
	}
	return all
}

// DeliverOne executes late request i of [Service.LateRequests]. It panics if there is no such
// request.
func (s *Service) DeliverOne(i int) Request {
	late := s.takeLate(i)
	resp := s.execute(late.received, protocol.Injection{})
	r := late.request
	r.Status, r.Code, r.Late = resp.Status, resp.Code, true
	s.report(r)
	return r
}

func (s *Service) takeLate(i int) *lateRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late.take(i)
}

// deliverBefore executes the late requests that arrive before the request with a number.
func (s *Service) deliverBefore(number int) {
	for {
		s.mu.Lock()
		i := s.late.due(number)
		s.mu.Unlock()
		if i < 0 {
			return
		}
		s.DeliverOne(i)
	}
}

// lateRequest is a request that arrives later.
type lateRequest struct {
	request  Request
	received *received
	before   int // the number of the request before which it arrives; 0: only when delivered
}

// lateRequests are the requests that have not arrived yet, in the order in which they were sent.
type lateRequests []*lateRequest

// add adds a request. The request arrives after so many other requests, or if others is 0, only
// when delivered.
func (l *lateRequests) add(r Request, received *received, others int) {
	late := &lateRequest{request: r, received: received}
	if others > 0 {
		late.before = r.Number + others + 1
	}
	*l = append(*l, late)
}

// due returns the index of the first request that arrives before the request with a number, or a
// negative number.
func (l lateRequests) due(number int) int {
	return slices.IndexFunc(l, func(r *lateRequest) bool { return r.before != 0 && r.before <= number })
}

// take removes and returns request i.
func (l *lateRequests) take(i int) *lateRequest {
	r := (*l)[i]
	*l = slices.Delete(*l, i, i+1)
	return r
}

// list returns the descriptions of the requests.
func (l lateRequests) list() []Request {
	var all []Request
	for _, r := range l {
		all = append(all, r.request)
	}
	return all
}
