// Package spreadlog is a log of events, newest first, that takes more records a second than one partition does.
package spreadlog

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/logtail"
)

// Event is a record of the log.
type Event struct {
	Number int32
}

// spread is the number of partitions, of which each takes some 2,000 records a second. Never make it smaller.
const spread = 4

// Log is the events of a shop.
type Log struct {
	*aztablekit.Store
	events *logtail.Log[Event]
}

// Open declares the log. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Log {
	s := aztablekit.Open(acc, "shop", o)
	return &Log{s, logtail.New[Event](s, "events", &logtail.Options{Spread: spread})}
}

// Append stores an event in one of the partitions, and returns its record. 1 request.
func (l *Log) Append(ctx context.Context, e *Event) (*logtail.Record[Event], error) {
	return l.events.Append(ctx, e)
}

// Newest yields the n newest events, newest first. 1 request for each partition, all at the same time, and more for a partition with many
// of these events.
func (l *Log) Newest(ctx context.Context, n int) iter.Seq2[*logtail.Record[Event], error] {
	return l.events.Tail(ctx, n)
}
