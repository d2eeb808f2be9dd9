package table_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// busyService is a service that takes so many rows of a partition in a second, and answers 503 to all others. A transaction takes
// 5 ms.
type busyService struct {
	*storagetest.Service
	most int

	mu      sync.Mutex
	second  time.Time
	rows    map[string]int // in this second, by partition
	refused int
}

func (s *busyService) Do(r *http.Request) (*http.Response, error) {
	if !isBatch(r) {
		return s.Service.Do(r)
	}
	time.Sleep(5 * time.Millisecond)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	_, partition, _ := strings.Cut(string(body), "PartitionKey='")
	partition, _, _ = strings.Cut(partition, "'")
	if !s.takes(partition, strings.Count(string(body), " HTTP/1.1")) {
		return &http.Response{StatusCode: 503, Status: "503 Service Unavailable", Request: r, Header: http.Header{"X-Ms-Error-Code": {"ServerBusy"}}, Body: http.NoBody}, nil
	}
	return s.Service.Do(r)
}

func (s *busyService) takes(partition string, rows int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now().Truncate(time.Second); now != s.second {
		s.second, s.rows = now, map[string]int{}
	}
	if s.rows[partition] += rows; s.rows[partition] > s.most {
		s.rows[partition] -= rows
		s.refused++
		return false
	}
	return true
}

// TestPace: how long 3,000 upserts take, and how often a service is busy that takes 500 rows of a partition in a second.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what        string
		o           engine.BulkOptions
		partitions  int
		most        int // rows of a partition that the service takes in a second
		least, last time.Duration
		refused     bool
	}{
		{"no limit, and the service is not busy", engine.BulkOptions{}, 1, 1_000_000, 0, time.Second, false},
		{"in all", engine.BulkOptions{Rate: 1000}, 3, 1_000_000, 2600 * time.Millisecond, 3000 * time.Millisecond, false},
		{"in each partition", engine.BulkOptions{PartitionRate: 500}, 3, 1_000_000, 1700 * time.Millisecond, 2100 * time.Millisecond, false},
		{"below what the service takes", engine.BulkOptions{PartitionRate: 400}, 2, 500, 3500 * time.Millisecond, 4 * time.Second, false},
		{"the first 503 sets the limits", engine.BulkOptions{}, 1, 2000, time.Second, 10 * time.Second, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &busyService{Service: storagetest.New(nil), most: c.most}
				acc, err := account.FromConnectionString(s.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: s}})
				noError(t, err)
				staff, err := bare.NewTable(acc.Tables(), "staff", staffSchema, &table.Options{BlindWrites: true})
				noError(t, err)
				noError(t, tabledoor.Ensure(t.Context(), staff))
				began := time.Now()
				r, err := door.Bulk(t.Context(), stream(3000, upserts(staff, c.partitions)), &c.o)
				took := time.Since(began)
				if err != nil || r.Applied != 3000 || len(s.Rows("staff")) != 3000 {
					t.Errorf("got %+v, %v; want 3000 rows", r, err)
				}
				if took < c.least || took > c.last || (s.refused > 0) != c.refused {
					t.Errorf("got %v, %d refused; want %v to %v, refused: %v", took, s.refused, c.least, c.last, c.refused)
				}
			})
		})
	}
}

// TestPaceAfterBusy: after the first 503, the other partitions are written at 2,000 rows a second, derived rows included.
func TestPaceAfterBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		staff, s := newBulkStaff()
		began := time.Now()
		after := map[time.Duration]int{} // transactions in each second
		first := true
		s.BeforeRequest = func(r *http.Request) {
			after[time.Since(began).Truncate(time.Second)]++
			if isBatch(r) && first {
				first = false
				s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.Refuse(503, "ServerBusy"))))
			}
		}
		r, err := door.Bulk(t.Context(), stream(10_000, upserts(staff, 1)), nil)
		if err != nil || r.Applied != 10_000 {
			t.Errorf("got %+v, %v; want 10000", r, err)
		}
		if took := time.Since(began); took < 4500*time.Millisecond || took > 5500*time.Millisecond {
			t.Errorf("got %v, %v transactions in each second; want about 5 s", took, after)
		}
	})
}

// TestPaceEnds: the end of the context ends a pause, and what was written is counted.
func TestPaceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		staff, s := newBulkStaff()
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		r, err := door.Bulk(ctx, stream(1000, upserts(staff, 1)), &engine.BulkOptions{Rate: 1})
		if !errors.Is(err, context.DeadlineExceeded) || r.Applied != 200 || len(s.Rows("staff")) != 200 {
			t.Errorf("got %+v, %v; want 200 and DeadlineExceeded", r, err)
		}
	})
}

// TestBulkPassRefused: fields of the pass that are wrong, or that bulk work cannot use, are refused, and nothing is sent.
func TestBulkPassRefused(t *testing.T) {
	t.Parallel()
	staff, s := newBulkStaff()
	for _, c := range []struct {
		field string
		pass  table.Pass
	}{
		{"Pass.Rate", table.Pass{Rate: -1}},
		{"Pass.Concurrency", table.Pass{Concurrency: -1}},
		{"Pass.DryRun", table.Pass{DryRun: true}},
		{"Pass.Partitions", table.Pass{Partitions: keys.RawPartitions("a", "b")}},
		{"Pass.Token", table.Pass{Token: "x"}},
		{"Pass.Token", table.Pass{Token: "-1"}},
	} {
		var ve *table.ValueError
		if _, err := table.Bulk(t.Context(), stream(1, upserts(staff, 1)), &c.pass); !errors.As(err, &ve) || ve.Field != c.field {
			t.Errorf("got %v; want a *ValueError of %s", err, c.field)
		}
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
}
