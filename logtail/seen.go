package logtail

import (
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// seen is the set of the records that a cursor has yielded and that are read again. A writer's records have ascending numbers and
// times, so that the set of a writer is a few spans of numbers, however many records there are.
type seen struct {
	Writers map[string][]span `json:"w,omitempty"` // ascending, with gaps between them
	Plain   map[string]bool   `json:"p,omitempty"` // the RowKeys of records without a writer, / and their PartitionKeys
}

// span is the numbers from First to Last.
type span struct {
	First int64 `json:"f"`
	Last  int64 `json:"l"`
	Ticks int64 `json:"t"` // the time of Last
}

// has reports whether a record is in the set.
func (s *seen) has(k keys.Key, p position) bool {
	if p.writer == "" {
		return s.Plain[plainOf(k)]
	}
	_, is := slices.BinarySearchFunc(s.Writers[p.writer], p.sequence, compareSpan)
	return is
}

// add adds a record.
func (s *seen) add(k keys.Key, p position) {
	if p.writer == "" {
		if s.Plain == nil {
			s.Plain = map[string]bool{}
		}
		s.Plain[plainOf(k)] = true
		return
	}
	if s.Writers == nil {
		s.Writers = map[string][]span{}
	}
	s.Writers[p.writer] = insert(s.Writers[p.writer], p)
}

// newest returns the greatest number of a writer in the set, -1 for none.
func (s *seen) newest(writer string) int64 {
	if spans := s.Writers[writer]; len(spans) > 0 {
		return spans[len(spans)-1].Last
	}
	return -1
}

// dropBefore shrinks the set: records before a time are not read again.
func (s *seen) dropBefore(before time.Time) {
	for id, spans := range s.Writers {
		n, _ := slices.BinarySearchFunc(spans, ticksOf(before), func(s span, t int64) int { return int(min(max(s.Ticks-t, -1), 1)) })
		switch {
		case n == len(spans):
			delete(s.Writers, id)
		case n > 1: // the numbers between older records are of older records, or of none
			s.Writers[id] = append([]span{{spans[0].First, spans[n-1].Last, spans[n-1].Ticks}}, spans[n:]...)
		}
	}
	for k := range s.Plain {
		rowKey, _, _ := strings.Cut(k, "/")
		if p, _ := positionOf(rowKey); p.time.Before(before) {
			delete(s.Plain, k)
		}
	}
}

// plainOf returns what names a record without a writer: neither key contains a /.
func plainOf(k keys.Key) string { return k.RowKey() + "/" + k.PartitionKey() }

// insert adds a record to the spans of its writer.
func insert(spans []span, p position) []span {
	n, t := p.sequence, ticksOf(p.time)
	at, is := slices.BinarySearchFunc(spans, n, compareSpan)
	if is {
		return spans
	}
	joinsBefore := at > 0 && spans[at-1].Last == n-1
	joinsAfter := at < len(spans) && spans[at].First == n+1
	switch {
	case joinsBefore && joinsAfter:
		spans[at].First = spans[at-1].First
		return slices.Delete(spans, at-1, at)
	case joinsBefore:
		spans[at-1].Last, spans[at-1].Ticks = n, t
		return spans
	case joinsAfter:
		spans[at].First = n
		return spans
	}
	return slices.Insert(spans, at, span{n, n, t})
}

func compareSpan(s span, n int64) int {
	switch {
	case s.Last < n:
		return -1
	case s.First > n:
		return 1
	}
	return 0
}

// ticksOf returns the ticks of a time that a key contains.
func ticksOf(t time.Time) int64 {
	n, _ := keys.Ticks(t)
	return n
}
