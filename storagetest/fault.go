package storagetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Fault is what goes wrong with a request. The zero Fault is nothing. Faults can be compared.
type Fault struct {
	kind  kind
	n     int
	code  string
	delay time.Duration
	text  string        // the kind that is none, of a plan that is mistaken
	left  *atomic.Int64 // how many requests it still hits; nil: all
}

// Times is a fault that hits the first n requests that a plan chooses for it. Those after them are answered as ever, as is a repetition
// by the client. The count belongs to the Fault that is returned, wherever that is used; another call of Times begins anew.
func Times(n int, f Fault) Fault {
	f.left = &atomic.Int64{}
	f.left.Store(int64(n))
	return f
}

// Once is Times(1, f): a response that is lost once, so that the client's next attempt succeeds.
func Once(f Fault) Fault { return Times(1, f) }

// hit is the fault of one request that was chosen for it: none, if it has hit as many as it should.
func (f Fault) hit() Fault {
	if f.left != nil && f.left.Add(-1) < 0 {
		return Fault{}
	}
	f.left = nil
	return f
}

type kind int

const (
	ok kind = iota
	notSent
	lostRequest
	lostReply
	twice
	again
	late
	refusal
	refusalAfter
	refusalInside
	cut
	cutClean
	hang
	hangAfter
	slow
	short
	mistaken
)

// NotSent: the connection cannot be made, so the client knows that nothing was sent.
func NotSent() Fault { return Fault{kind: notSent} }

// LostRequest: the connection breaks before the service has the request. The client cannot tell it from LostReply.
func LostRequest() Fault { return Fault{kind: lostRequest} }

// LostReply: the service does what it is asked, and the connection breaks before the response.
func LostReply() Fault { return Fault{kind: lostReply} }

// Twice: the request arrives twice, as when something between repeats it, and the response to the second is the one that
// comes.
func Twice() Fault { return Fault{kind: twice} }

// Again: the request arrives once more, later: before the request that comes after others more requests, or with
// [Service.Deliver] where that is 0.
func Again(others int) Fault { return Fault{kind: again, n: others} }

// Late: the client loses the connection, and the request arrives later: before the request that comes after others more
// requests, or with [Service.Deliver] where that is 0.
func Late(others int) Fault { return Fault{kind: late, n: others} }

// Refuse: the service answers with a status and an error code, and does nothing.
func Refuse(status int, code string) Fault { return Fault{kind: refusal, n: status, code: code} }

// RefuseAfter: the service does what it is asked, and answers with a status and an error code all the same, as it may with
// 500 and 503.
func RefuseAfter(status int, code string) Fault {
	return Fault{kind: refusalAfter, n: status, code: code}
}

// RefuseInside: the service accepts a transaction with 202 and says inside that its last operation failed, with a status and an
// error code. Nothing is done. Other requests are refused as by Refuse.
func RefuseInside(status int, code string) Fault {
	return Fault{kind: refusalInside, n: status, code: code}
}

// Cut: the service does what it is asked, and the connection breaks after n bytes of the response's body; below 0, that many
// bytes before its end.
func Cut(n int) Fault { return Fault{kind: cut, n: n} }

// CutClean is Cut where the response ends as if it were whole, as through a proxy that hides the break.
func CutClean(n int) Fault { return Fault{kind: cutClean, n: n} }

// Hang: the request never arrives and is never answered. It ends with its context.
func Hang() Fault { return Fault{kind: hang} }

// HangAfter: the service does what it is asked and never answers.
func HangAfter() Fault { return Fault{kind: hangAfter} }

// Slow: the response takes a while.
func Slow(d time.Duration) Fault { return Fault{kind: slow, delay: d} }

// Short: a page of a query ends after n rows, with a continuation token if there are more, as it may at any time. A request
// for messages brings at most n. Other requests are answered as ever.
func Short(n int) Fault { return Fault{kind: short, n: n} }

var faultNames = [...]string{"none", "not sent", "request lost", "reply lost", "twice", "again", "late", "refused", "done, but refused", "refused inside", "reply cut", "reply cut cleanly", "hang", "done, then hang", "slow", "short page", "mistaken plan"}

// String describes the fault, as in "reply lost" or "done, but refused 503 ServerBusy".
func (f Fault) String() string {
	s := faultNames[f.kind]
	switch f.kind {
	case refusal, refusalAfter, refusalInside:
		s += fmt.Sprintf(" %d %s", f.n, f.code)
	case cut, cutClean:
		s += fmt.Sprintf(" at %d", f.n)
	case again, late:
		if f.n == 0 {
			s += ", in the end"
		} else {
			s += fmt.Sprintf(", after %d others", f.n)
		}
	case mistaken:
		s += fmt.Sprintf(": kind %q", f.text)
	case slow:
		s += " " + f.delay.String()
	case short:
		s += fmt.Sprintf(" of %d", f.n)
	}
	return s
}

// failure is the answer of a service that does not do what it is asked.
func (f Fault) failure() *failure {
	text := map[string]string{"ServerBusy": "The server is busy.", "OperationTimedOut": "Operation could not be completed within the specified time."}[f.code]
	switch {
	case f.kind == mistaken:
		text = fmt.Sprintf("storagetest.OfKind: no request is of kind '%s'; the kinds are %s.", f.text, strings.Join(Kinds(), ", "))
	case text == "":
		text = http.StatusText(f.n) + "."
	}
	return &failure{status: f.n, code: f.code, text: text}
}

// inside is what becomes of the i-th of n operations.
func (f Fault) inside(i, n int) *failure {
	if f.kind != refusalInside || i != n-1 {
		return nil
	}
	return f.failure()
}

// Plan decides what goes wrong with each request, before it is carried out. It is called for one request at a time, in the
// order of their numbers. It may look at the service, and must not send requests.
type Plan func(Request) Fault

// kinds are all kinds of requests.
var kinds = []string{
	"insert", "replace", "merge", "insert-or-replace", "insert-or-merge", "delete", "get", "query", "transaction",
	"table-create", "table-delete", "table-query",
	"message-put", "message-get", "message-peek", "message-update", "message-delete", "message-clear",
	"queue-create", "queue-delete", "queue-list", "queue-get", "queue-set", "other",
}

// Kinds are the kinds of requests, as [Request].Kind has them and [OfKind] takes them.
func Kinds() []string { return slices.Clone(kinds) }

// AtRequest is a plan for the request with a number.
func AtRequest(number int, f Fault) Plan {
	return When(func(r Request) bool { return r.Number == number }, f)
}

// OfKind is a plan for all requests of a kind; see [Kinds]. A kind that no request has is a mistake of the test: every request is then
// refused with 400 UnknownRequestKind, and a text that lists the kinds.
func OfKind(kind string, f Fault) Plan {
	if !slices.Contains(Kinds(), kind) {
		return func(Request) Fault {
			return Fault{kind: mistaken, n: http.StatusBadRequest, code: "UnknownRequestKind", text: kind}
		}
	}
	return When(func(r Request) bool { return r.Kind == kind }, f)
}

// When is a plan for the requests that a predicate chooses.
func When(is func(Request) bool, f Fault) Plan {
	return func(r Request) Fault {
		if is(r) {
			return f.hit()
		}
		return Fault{}
	}
}

// First joins plans: of those that have a fault for a request, the first decides.
func First(plans ...Plan) Plan {
	return func(r Request) Fault {
		for _, p := range plans {
			if f := p(r).hit(); f != (Fault{}) {
				return f
			}
		}
		return Fault{}
	}
}
