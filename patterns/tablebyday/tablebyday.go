// Package tablebyday is a log of logins with a table for each day, so that old logins are deleted with their table.
package tablebyday

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/table"
)

// Login is a record of the log. Its time is in its key.
type Login struct{ User int }

// Site is the logins of a web site.
type Site struct {
	*aztablekit.Store
	Logins *logtail.Log[Login]
}

// Open declares the log, which keeps the present day and the two before it. Call Ensure of the result when the program starts, and Run in one
// program: each day, it makes the tables of that day and the next, and deletes the tables of earlier days than the log keeps.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Site {
	s := aztablekit.Open(acc, "site", o)
	return &Site{s, logtail.NewByPeriod[Login](s, "logins", &logtail.PeriodOptions{Keep: 2, Ahead: 1}, nil)}
}

// LogIn stores logins of the present moment, in the table of the day. 1 request for each 100.
func (s *Site) LogIn(ctx context.Context, all ...*Login) error {
	_, err := s.Logins.AppendAll(ctx, all...)
	return err
}

// Newest yields the n newest logins, newest first. 1 request for each 1,000; if the day has fewer than n, 1 more, and those of earlier days.
func (s *Site) Newest(ctx context.Context, n int) iter.Seq2[*logtail.Record[Login], error] {
	return s.Logins.Tail(ctx, n)
}

// Between yields the logins from a time to another, newest first. 1 request for each 1,000 of a day, and 1 more for earlier days.
func (s *Site) Between(ctx context.Context, from, to time.Time) iter.Seq2[*logtail.Record[Login], error] {
	return s.Logins.Between(ctx, from, to)
}

// Due returns the days whose tables the next work of a day deletes. 1 request.
func (s *Site) Due(ctx context.Context) ([]logtail.Period, error) {
	return s.Logins.Periods().Drop(ctx, &table.Pass{DryRun: true})
}
