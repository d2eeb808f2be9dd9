package storagetest

import "slices"

// lateRequest is a request that arrives later.
type lateRequest struct {
	request  Request
	received *received
	before   int // the number of the request before which it arrives; 0: only when delivered
}

// lateRequests are the requests that have not arrived yet, in the order in which they were sent.
type lateRequests []lateRequest

// add adds a request. The request arrives after others further requests, or if others is 0, only when delivered.
func (l *lateRequests) add(r Request, received *received, others int) {
	late := lateRequest{request: r, received: received}
	if others > 0 {
		late.before = r.Number + others + 1
	}
	*l = append(*l, late)
}

// due returns the index of the first request that arrives before the request with a number, or a negative number.
func (l lateRequests) due(number int) int {
	return slices.IndexFunc(l, func(r lateRequest) bool { return r.before != 0 && r.before <= number })
}

// take removes and returns request i.
func (l *lateRequests) take(i int) lateRequest {
	r := (*l)[i]
	*l = slices.Delete(*l, i, i+1)
	return r
}

// list returns the records of the requests.
func (l lateRequests) list() []Request {
	var all []Request
	for _, r := range l {
		all = append(all, r.request)
	}
	return all
}
