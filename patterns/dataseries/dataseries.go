// Package dataseries counts the visits of web pages by the hour, and stores the counts of a day in one row.
package dataseries

import (
	"context"
	"iter"
	"maps"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity/series"
)

// Count is the visits of an hour. Present is false for an hour whose count is not stored.
type Count = series.Value[int64]

var page = keys.Text()

// Site is the visits of a web site.
type Site struct {
	*aztablekit.Store
	visits *series.Series[int64]
}

// Open declares the counts, whose days are those of UTC. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Site {
	s := aztablekit.Open(acc, "site", o)
	return &Site{s, series.New[int64](s, "visits", series.Every(time.Hour, time.UTC), nil)}
}

func (s *Site) counts(name string) *series.Series[int64] {
	return s.visits.In(page.PartitionKey(name))
}

// Set stores the count of the hour of a time, and leaves the other hours alone. 1 request. Use Set or Add for an hour, not both: a Set that is
// sent again after a lost response may overwrite an Add.
func (s *Site) Set(ctx context.Context, page string, at time.Time, count int64) error {
	return s.counts(page).Set(ctx, at, count)
}

// SetAll stores counts by the beginning of their hours. 1 request for each 100 days.
func (s *Site) SetAll(ctx context.Context, page string, counts map[time.Time]int64) error {
	return s.counts(page).SetAll(ctx, maps.All(counts))
}

// Add adds visits to the count of the hour of a time, and returns the sum. After table.ErrUnknownOutcome, they may have been added.
// 2 requests, and 3 more after each conflict with another writer of the day.
func (s *Site) Add(ctx context.Context, page string, at time.Time, visits int64) (int64, error) {
	return s.counts(page).Add(ctx, at, visits)
}

// Day returns the counts of all hours of the day of a time. 1 request.
func (s *Site) Day(ctx context.Context, page string, at time.Time) ([]Count, error) {
	return s.counts(page).Read(ctx, at)
}

// Between yields the counts of the hours that begin at a time or later, and before another. 1 request for each 1,000 days.
func (s *Site) Between(ctx context.Context, page string, from, to time.Time) iter.Seq2[Count, error] {
	return s.counts(page).Between(ctx, from, to)
}
