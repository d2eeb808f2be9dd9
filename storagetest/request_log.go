package storagetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// requestLog counts requests and keeps the last requests.
type requestLog struct {
	size   int // the number of requests that the log returns, where each operation of a transaction counts; negative: none
	counts map[string]int
	last   []Request
	weight int // of last, in requests and operations
}

// add counts a request and appends it to the log. The log drops old requests when it is twice as long as required.
func (l *requestLog) add(r Request) {
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

// takeCounts returns the numbers of requests by kind as text, and resets the numbers.
func (l *requestLog) takeCounts() string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(l.counts)) {
		all = append(all, fmt.Sprintf("%d %s", l.counts[kind], kind))
	}
	clear(l.counts)
	if all == nil {
		return "none"
	}
	return strings.Join(all, ", ")
}

func weight(r Request) int { return 1 + len(r.Operations) }
