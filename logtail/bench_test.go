package logtail_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// replayed is a service that executes each request once, and then returns the same response after 5 ms. So the work of the service
// in memory, which shares the processors of the test, is not measured.
type replayed struct {
	*storagetest.Service
	mu        sync.Mutex
	responses map[string]*http.Response
	bodies    map[string][]byte
	delay     time.Duration
}

func (s *replayed) Do(r *http.Request) (*http.Response, error) {
	if s.delay == 0 {
		return s.Service.Do(r)
	}
	key := r.URL.String()
	s.mu.Lock()
	if s.responses[key] == nil {
		resp, err := s.Service.Do(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		s.responses[key], s.bodies[key] = resp, body
	}
	resp := *s.responses[key]
	resp.Body, resp.Request = io.NopCloser(bytes.NewReader(s.bodies[key])), r
	s.mu.Unlock()
	time.Sleep(s.delay)
	return &resp, nil
}

// BenchmarkTail reads the 100 newest records of 16 partitions over a service that takes 5 ms, and reports how long that takes in
// comparison with the slowest of the 16 partitions alone (x-slowest-partition).
func BenchmarkTail(b *testing.B) {
	ctx := context.Background()
	s := &replayed{Service: storagetest.New(nil), responses: map[string]*http.Response{}, bodies: map[string][]byte{}}
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
	rows, err := bare.NewTable(acc.Tables(), "claims", table.Schema[claim]{}, nil)
	noError(b, err)
	s.delay = 5 * time.Millisecond
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
				all, err := table.Collect(rows.List(ctx, table.Query[claim]{Partition: keys.RawPartition(p), Limit: 100}))
				return len(all), err
			}))
		}
		slowest += most
	}
	b.ReportMetric(float64(merged.Nanoseconds())/float64(b.N), "ns/merged")
	b.ReportMetric(float64(merged)/float64(slowest), "x-slowest-partition")
}
