// Package claims is a log of expense claims by department, whose newest records come first.
package claims

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
)

// Claim is what an employee asks for.
type Claim struct {
	Employee int
	Amount   int32
}

var department = keys.Text()

// Log is the claims of a company.
type Log struct {
	*aztablekit.Store
	claims *logtail.Log[Claim]
}

// Open declares the log. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Log {
	s := aztablekit.Open(acc, "company", o)
	return &Log{s, logtail.New[Claim](s, "claims", nil)}
}

func (l *Log) source(name string) *logtail.Log[Claim] {
	return l.claims.In(department.PartitionKey(name))
}

// Append stores claims, also those of one moment. 1 request for each 100.
func (l *Log) Append(ctx context.Context, department string, all ...*Claim) error {
	_, err := l.source(department).AppendAll(ctx, all...)
	return err
}

// Newest yields the n newest claims of a department, newest first. 1 request for each 1,000.
func (l *Log) Newest(ctx context.Context, department string, n int) iter.Seq2[*logtail.Record[Claim], error] {
	return l.source(department).Tail(ctx, n)
}

// Since yields the claims from a time on, newest first. 1 request for each 1,000.
func (l *Log) Since(ctx context.Context, department string, from time.Time) iter.Seq2[*logtail.Record[Claim], error] {
	return l.source(department).Since(ctx, from)
}

// Follow yields the claims behind a cursor, oldest first, and then each new one, until ctx or the loop ends.
func (l *Log) Follow(ctx context.Context, department string, cursor *logtail.Cursor) iter.Seq2[*logtail.Record[Claim], error] {
	return l.source(department).Follow(ctx, cursor)
}
