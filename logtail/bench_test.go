package logtail_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
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
	single := openLog(b, s, nil)
	s.BeforeRequest = func(*http.Request) { time.Sleep(5 * time.Millisecond) }
	tail := func(l *logtail.Log[claim]) time.Duration {
		began := time.Now()
		n := 0
		for _, err := range l.Tail(ctx, 100) {
			noError(b, err)
			n++
		}
		if n != 100 {
			b.Fatalf("Tail: got %d records; want 100", n)
		}
		return time.Since(began)
	}
	var merged, slowest time.Duration
	for b.Loop() {
		merged += tail(spread)
		var most time.Duration
		for p := range partitions {
			most = max(most, tail(single.In(keys.Raw(p))))
		}
		slowest += most
	}
	b.ReportMetric(float64(merged.Nanoseconds())/float64(b.N), "ns/merged")
	b.ReportMetric(float64(merged)/float64(slowest), "x-slowest-partition")
}
