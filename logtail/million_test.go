package logtail_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
)

var logRecords = testkit.Count("logrecords", 50_000, "records that are appended and dropped by period")

// TestManyRecords: records are appended for 20 days, of which a job keeps 2. Each drop is one delete and two writes of the state, and
// memory, which is that of the records kept, stays the same from day to day. It runs alone, because it measures memory.
func TestManyRecords(t *testing.T) {
	testkit.Long(t)
	ctx := context.Background()
	const days, keep = 20, 2
	s := storagetest.New(&storagetest.Options{RequestLogSize: 1_000})
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	c := &clock{now: noon}
	common := options.At(c.Now)
	log := logtail.NewByPeriod[claim](&host.Host{Tables: acc.Tables()}, "claims", &logtail.PeriodOptions{Common: common, Keep: keep, Ahead: 1}, &logtail.Options{Common: common})
	noError(t, log.Err())
	periods := log.Periods()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var atKeep, most uint64
	dropped := 0
	batch := make([]*claim, 1000)
	for day := range days {
		c.set(noon.AddDate(0, 0, day))
		_, err := periods.Create(ctx)
		noError(t, err)
		for n := 0; n < *logRecords/days; n += len(batch) {
			for i := range batch {
				batch[i] = &claim{day, n + i}
			}
			_, err := log.AppendAll(ctx, batch[:min(len(batch), *logRecords/days-n)]...)
			noError(t, err)
		}
		s.Count()
		old, err := periods.Drop(ctx, nil)
		noError(t, err)
		want := "1 query"
		if len(old) > 0 {
			want = "1 query, 2 replace, 1 table-delete"
		}
		testkit.Expect(t, "requests of Drop", s.Count().String(), want)
		dropped += len(old)
		if now := heap(); day == keep {
			atKeep = now
		} else {
			most = max(most, now)
		}
	}
	testkit.Expect(t, "dropped", dropped, days-1-keep)
	if most > 2*atKeep {
		t.Errorf("memory: got %d KiB at most; want about the %d KiB of day %d", most>>10, atKeep>>10, keep)
	}
	t.Logf("%d records, %d of %d tables dropped; heap after %d days %d KiB, at most %d KiB later", *logRecords, dropped, days, keep+1, atKeep>>10, most>>10)
	n := 0
	for r, err := range log.Since(ctx, time.Time{}) {
		noError(t, err)
		if n++; n == 1 {
			testkit.Expect(t, "the newest record", r.Value, claim{days - 1, *logRecords/days - 1})
		}
	}
	testkit.Expect(t, "records kept", n, (keep+1)*(*logRecords/days))
}
