package storagetest

import (
	"net/http"
	"slices"

	"github.com/aztablekit/aztablekit/requests"
)

// Plan chooses the fault of each request, before the request is executed. Plans are called for one request at a time, in the order
// of the numbers of the requests. A plan may call the methods of the [Service] and must not send requests.
type Plan func(Request) Fault

// AtRequest returns a plan for the request with a number.
func AtRequest(number int, f Fault) Plan {
	return When(func(r Request) bool { return r.Number == number }, f)
}

// OfKind returns a plan for all requests of a kind, such as requests.Insert. With [Once], the plan affects only the first of these
// requests:
//
//	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostResponse())))
//
// If kind is not one of requests.Kinds, the plan refuses every request with 400 UnknownRequestKind, because the test contains a
// mistake.
func OfKind(kind requests.Kind, f Fault) Plan {
	if !slices.Contains(requests.Kinds(), kind) {
		return func(Request) Fault {
			return Fault{kind: invalidPlan, n: http.StatusBadRequest, code: "UnknownRequestKind", unknown: kind}
		}
	}
	return When(func(r Request) bool { return r.Kind == kind }, f)
}

// When returns a plan for the requests for which matches returns true.
func When(matches func(Request) bool, f Fault) Plan {
	return func(r Request) Fault {
		if matches(r) {
			return f.take()
		}
		return Fault{}
	}
}

// First returns a plan that asks plans in order. The first fault counts.
func First(plans ...Plan) Plan {
	return func(r Request) Fault {
		for _, p := range plans {
			if f := p(r).take(); f != (Fault{}) {
				return f
			}
		}
		return Fault{}
	}
}
