package storagetest

import (
	"slices"

	"github.com/aztablekit/aztablekit/requests"
)

// requestLog counts requests and keeps the last requests.
type requestLog struct {
	size   int // the number of requests that the log returns, where each operation of a transaction counts; negative: none
	counts requests.Counts
	last   []Request
	weight int // of last, in requests and operations
}

// add counts a request and appends it to the log. The log drops old requests when it is twice as long as required.
func (l *requestLog) add(r Request) {
	if l.counts == nil {
		l.counts = requests.Counts{}
	}
	l.counts[r.Kind]++
	if l.size < 0 {
		return
	}
	l.last = append(l.last, r)
	if l.weight += weight(r); l.weight <= 2*l.size {
		return
	}
	first := 0
	for l.weight > l.size && first < len(l.last)-1 {
		l.weight -= weight(l.last[first])
		first++
	}
	l.last = slices.Clone(l.last[first:])
}

// list returns the last requests, oldest first.
func (l *requestLog) list() []Request {
	total, first := 0, len(l.last)
	for first > 0 && total < l.size {
		first--
		total += weight(l.last[first])
	}
	return slices.Clone(l.last[first:])
}

// takeCounts returns the numbers of requests by kind, and resets the numbers.
func (l *requestLog) takeCounts() requests.Counts {
	counts := l.counts
	l.counts = nil
	return counts
}

func weight(r Request) int { return 1 + len(r.Operations) }
