package logtail_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// BenchmarkTail reads the 100 newest records of 16 partitions over a service that takes 5 ms, and reports how long that takes in
// comparison with the slowest of the 16 partitions alone (x-slowest-partition).
func BenchmarkTail(b *testing.B) {
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	spread := openLog(b, s, &logtail.Options{Spread: 16})
	for i := range 20_000 {
		_, err := spread.Append(ctx, &claim{1, i})
		noError(b, err)
	}
	partitions := map[string]bool{}
	for _, r := range s.Rows("claims") {
		partitions[r.PartitionKey] = true
	}
	acc, err := account.FromTransport(s, nil)
	noError(b, err)
	rows, err := table.New(acc.Tables(), "claims", table.Schema[claim]{}, nil)
	noError(b, err)
	s.BeforeRequest = func(*http.Request) { time.Sleep(5 * time.Millisecond) }
	// measure returns how long it takes to read 100 records.
	measure := func(read func() (int, error)) time.Duration {
		began := time.Now()
		n, err := read()
		if n != 100 || err != nil {
			b.Fatalf("got %d records, error %v; want 100", n, err)
		}
		return time.Since(began)
	}
	var merged, slowest time.Duration
	for b.Loop() {
		merged += measure(func() (int, error) {
			all, err := table.Collect(spread.Tail(ctx, 100))
			return len(all), err
		})
		var most time.Duration
		for p := range partitions {
			most = max(most, measure(func() (int, error) {
				all, err := table.Collect(rows.List(ctx, table.Query[claim]{Partition: keys.Raw(p), Limit: 100}))
				return len(all), err
			}))
		}
		slowest += most
	}
	b.ReportMetric(float64(merged.Nanoseconds())/float64(b.N), "ns/merged")
	b.ReportMetric(float64(merged)/float64(slowest), "x-slowest-partition")
}
