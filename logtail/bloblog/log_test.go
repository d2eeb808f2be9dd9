package bloblog_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

var noError = testkit.NoError

// event is the type of the records of these tests.
type event struct {
	Number int
	Text   string    `json:",omitempty"`
	Time   time.Time `json:",omitzero"`
}

func timeOfEvent(e *event) time.Time { return e.Time }

// evening is in the hour of the examples of the design guide.
var evening = time.Date(2014, 7, 31, 18, 30, 0, 0, time.UTC)

// openLog returns a log of events in a service.
func openLog(t testing.TB, s account.Transport, o *bloblog.Options[event]) *bloblog.Log[event] {
	t.Helper()
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	l := bloblog.New(&host.Host{Account: acc}, "logs", o)
	noError(t, l.Ensure(context.Background()))
	return l
}

// newLog returns a log in a new service, whose clock stands still unless o has another.
func newLog(t testing.TB, o *bloblog.Options[event]) (*bloblog.Log[event], *storagetest.Service) {
	t.Helper()
	if o == nil {
		o = &bloblog.Options[event]{}
	}
	if options.SourcesOf(o.Common).Now == nil {
		options.SetNow(&o.Common, func() time.Time { return evening })
	}
	s := storagetest.New(nil)
	l := openLog(t, s, o)
	s.Count()
	return l, s
}

func newWriter(t testing.TB, l *bloblog.Log[event], source string) *bloblog.Writer[event] {
	t.Helper()
	w, err := l.Writer(source)
	noError(t, err)
	return w
}

// appendAll appends events with numbers.
func appendAll(t testing.TB, w *bloblog.Writer[event], numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		noError(t, w.Append(context.Background(), &event{Number: n}))
	}
}

// numbers returns the numbers of the events of a list.
func numbers(t testing.TB, list iter.Seq2[*bloblog.Record[event], error]) (all []int) {
	t.Helper()
	for r, err := range list {
		noError(t, err)
		all = append(all, r.Value.Number)
	}
	return all
}

// stored returns the names of the stored blobs, with their lines.
func stored(s *storagetest.Service) (all []string) {
	for _, b := range s.StoredBlobs("logs") {
		all = append(all, b.Name+": "+strings.ReplaceAll(string(b.Content()), "\n", ";"))
	}
	return all
}

// between reads source orders from the beginning.
func between(l *bloblog.Log[event]) iter.Seq2[*bloblog.Record[event], error] {
	return l.Between(context.Background(), "orders", time.Time{}, evening.Add(24*time.Hour))
}

// TestLog: records are stored in blobs of their hour, with the first and the last time, and are read in their order.
func TestLog(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := evening
	o := &bloblog.Options[event]{}
	options.SetNow(&o.Common, func() time.Time { return now })
	l, s := newLog(t, o)
	w := newWriter(t, l, "orders")
	appendAll(t, w, 1, 2)
	testkit.Expect(t, "requests of Append", s.Count().String(), "none")
	noError(t, w.Flush(ctx))
	testkit.Expect(t, "requests of the first flush", s.Count().String(), "1 blob-append, 1 blob-create")
	now = evening.Add(10 * time.Minute)
	appendAll(t, w, 3)
	noError(t, w.Flush(ctx))
	testkit.Expect(t, "requests of the second flush", s.Count().String(), "1 blob-append")
	noError(t, w.Flush(ctx))
	testkit.Expect(t, "requests of an empty flush", s.Count().String(), "none")
	now = evening.Add(time.Hour)
	appendAll(t, w, 4)
	noError(t, w.Flush(ctx))
	testkit.Expect(t, "requests of the next hour", s.Count().String(), "1 blob-append, 1 blob-create, 1 blob-set-metadata")
	noError(t, w.Close(ctx))
	noError(t, w.Close(ctx))
	testkit.Expect(t, "requests of Close", s.Count().String(), "1 blob-set-metadata")
	testkit.Expect(t, "blobs", stored(s), []string{
		`orders/2014/07/31/1800/000001.log: {"Number":1};{"Number":2};{"Number":3};`,
		`orders/2014/07/31/1900/000001.log: {"Number":4};`,
	})
	first := s.StoredBlobs("logs")[0]
	testkit.Expect(t, "first time", first.Metadata["StartTime"], "2014-07-31T18:30:00Z")
	testkit.Expect(t, "last time", first.Metadata["EndTime"], "2014-07-31T18:40:00Z")
	testkit.Expect(t, "records", numbers(t, between(l)), []int{1, 2, 3, 4})
	testkit.Expect(t, "requests of Between", s.Count().String(), "2 blob-get, 1 blob-list")
	testkit.Expect(t, "records of an hour", numbers(t, l.Between(ctx, "orders", evening.Add(time.Hour), evening.Add(61*time.Minute))), []int{4})
	testkit.Expect(t, "requests of one hour", s.Count().String(), "1 blob-get, 1 blob-list")
	testkit.Expect(t, "records after the last", numbers(t, l.Between(ctx, "orders", evening.Add(15*time.Minute), evening.Add(29*time.Minute))), []int(nil))
	testkit.Expect(t, "requests without a blob in the range", s.Count().String(), "1 blob-list")
	for r, err := range between(l) {
		noError(t, err)
		testkit.Expect(t, "record", fmt.Sprint(r.Line, r.Offset, r.Time.IsZero(), r.Blob.Number, r.Blob.First.Equal(evening)), "1 0 true 1 true")
		break
	}
}

// TestWriters: the writers of a source and hour have blobs of their own.
func TestWriters(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, nil)
	for i := range 3 {
		w := newWriter(t, l, "orders")
		appendAll(t, w, i)
		noError(t, w.Flush(ctx))
	}
	// The first writer needs 2 requests. The others find their number by a list of the hour.
	testkit.Expect(t, "requests", s.Count().String(), "3 blob-append, 5 blob-create, 2 blob-list")
	testkit.Expect(t, "records", numbers(t, between(l)), []int{0, 1, 2})
	names := ""
	for b, err := range l.Blobs(ctx, "orders", evening, evening.Add(1)) {
		noError(t, err)
		names += fmt.Sprintln(b.Name, b.Source, b.Number, b.Hour.Hour(), b.First.Equal(b.Hour), b.Last.IsZero(), b.Size)
	}
	testkit.Expect(t, "blobs", names, `orders/2014/07/31/1800/000001.log orders 1 18 true true 13
orders/2014/07/31/1800/000002.log orders 2 18 true true 13
orders/2014/07/31/1800/000003.log orders 3 18 true true 13
`)
}

// TestLateRecords: with Options.Time, a record is stored in its hour, a few hours are open at once, and Between is exact.
func TestLateRecords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, &bloblog.Options[event]{Time: timeOfEvent, OpenHours: 2})
	w := newWriter(t, l, "orders")
	at := func(number int, after time.Duration) {
		t.Helper()
		noError(t, w.Append(ctx, &event{Number: number, Time: evening.Add(after).In(time.FixedZone("", 3600*5))}))
		noError(t, w.Flush(ctx))
	}
	at(1, 0)
	at(2, time.Hour)
	at(3, -10*time.Minute) // late, and before the first of its hour
	testkit.Expect(t, "requests of two hours", s.Count().String(), "3 blob-append, 2 blob-create")
	at(4, 2*time.Hour) // ends the blob of 19:00
	testkit.Expect(t, "requests of a third hour", s.Count().String(), "1 blob-append, 1 blob-create, 1 blob-set-metadata")
	at(5, time.Hour) // has another blob
	testkit.Expect(t, "requests of an hour that was left", s.Count().String(), "1 blob-append, 2 blob-create, 1 blob-list, 1 blob-set-metadata")
	noError(t, w.Close(ctx))
	testkit.Expect(t, "records", numbers(t, between(l)), []int{1, 3, 2, 5, 4})
	testkit.Expect(t, "records in a range", numbers(t, l.Between(ctx, "orders", evening.Add(-10*time.Minute), evening)), []int{3})
	testkit.Expect(t, "records in another", numbers(t, l.Between(ctx, "orders", evening, evening.Add(61*time.Minute))), []int{1, 2, 5})
	first := s.StoredBlobs("logs")[0]
	testkit.Expect(t, "times of the first blob", first.Metadata["StartTime"]+" "+first.Metadata["EndTime"], "2014-07-31T18:20:00Z 2014-07-31T18:30:00Z")

	// While a blob is open, an earlier record may come: no reader leaves it out.
	other := newWriter(t, l, "late")
	noError(t, other.Append(ctx, &event{Number: 1, Time: evening}))
	noError(t, other.Flush(ctx))
	noError(t, other.Append(ctx, &event{Number: 2, Time: evening.Add(-20 * time.Minute)}))
	noError(t, other.Flush(ctx))
	testkit.Expect(t, "records of an open blob", numbers(t, l.Between(ctx, "late", evening.Add(-30*time.Minute), evening.Add(-time.Minute))), []int{2})
}

// TestZeroTo: a zero to is an hour from now, for the blobs and for their records.
func TestZeroTo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, _ := newLog(t, &bloblog.Options[event]{Time: timeOfEvent})
	w := newWriter(t, l, "orders")
	for i, after := range []time.Duration{0, time.Hour - 1, time.Hour, 2 * time.Hour} {
		noError(t, w.Append(ctx, &event{Number: i, Time: evening.Add(after)}))
	}
	noError(t, w.Flush(ctx))
	testkit.Expect(t, "records", numbers(t, l.Between(ctx, "orders", time.Time{}, time.Time{})), []int{0, 1})
}

// TestManyHours: one flush stores the records of many hours, and few of their blobs are open afterwards.
func TestManyHours(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, &bloblog.Options[event]{Time: timeOfEvent, OpenHours: 2})
	w := newWriter(t, l, "orders")
	for flush := range 2 {
		for i := range 100 {
			noError(t, w.Append(ctx, eventOf(100*flush+i, i%10)))
		}
		noError(t, w.Flush(ctx))
	}
	// The second flush goes to new blobs, but for the two hours that were open.
	testkit.Expect(t, "requests", s.Count().String(), "20 blob-append, 26 blob-create, 8 blob-list, 16 blob-set-metadata")
	got := numbers(t, between(l))
	testkit.Expect(t, "records", len(got), 200)
	testkit.Expect(t, "records of the first hour", got[:20], []int{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190})
}

// TestClockStepsBack: a record has the time of the clock when it is appended, also if the clock was ahead before, and readers find
// it then.
func TestClockStepsBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := evening
	o := &bloblog.Options[event]{}
	options.SetNow(&o.Common, func() time.Time { return now })
	l, _ := newLog(t, o)
	w := newWriter(t, l, "orders")
	steps := []time.Duration{0, 2 * time.Minute, -10 * time.Minute, 3 * 365 * 24 * time.Hour, time.Minute, -time.Hour}
	for _, flush := range []bool{false, true} {
		for i, by := range steps {
			now = evening.Add(by)
			appendAll(t, w, i)
			if flush {
				noError(t, w.Flush(ctx))
			}
		}
	}
	for range 2 { // with open blobs, and with their last times
		for i, by := range steps {
			at := evening.Add(by)
			got := numbers(t, l.Between(ctx, "orders", at, at.Add(time.Second)))
			if others := slices.DeleteFunc(slices.Clone(got), func(n int) bool { return n == i }); len(got)-len(others) != 2 {
				t.Errorf("records at %v: got %v; want %d twice among them", at, got, i)
			}
		}
		noError(t, w.Close(ctx))
	}
	testkit.Expect(t, "records", len(numbers(t, l.Between(ctx, "orders", evening.Add(-2*time.Hour), evening.AddDate(4, 0, 0)))), 2*len(steps))
}

// TestFlushAfterStep: a clock that steps back does not delay a flush.
func TestFlushAfterStep(t *testing.T) {
	t.Parallel()
	now := time.Now()
	o := &bloblog.Options[event]{FlushInterval: 10 * time.Second}
	options.SetNow(&o.Common, func() time.Time { return now })
	l, s := newLog(t, o)
	w := newWriter(t, l, "orders")
	appendAll(t, w, 1)
	const step = -2 * time.Hour
	now = now.Add(10*time.Second + step)
	(*[2]int64)(unsafe.Pointer(&now))[1] -= int64(step) // the monotonic clock does not step
	appendAll(t, w, 2)
	testkit.Expect(t, "requests", s.Count().String(), "2 blob-append, 2 blob-create, 1 blob-set-metadata")
}

// TestRotation: after Options.BlobBlocks blocks, and if the service refuses another block, a writer goes to its next blob.
func TestRotation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, &bloblog.Options[event]{BlobBlocks: 2})
	w := newWriter(t, l, "orders")
	for i := range 5 {
		appendAll(t, w, i)
		noError(t, w.Flush(ctx))
	}
	noError(t, w.Close(ctx))
	testkit.Expect(t, "requests", s.Count().String(), "5 blob-append, 3 blob-create, 3 blob-set-metadata")
	testkit.Expect(t, "blobs", stored(s), []string{
		`orders/2014/07/31/1800/000001.log: {"Number":0};{"Number":1};`,
		`orders/2014/07/31/1800/000002.log: {"Number":2};{"Number":3};`,
		`orders/2014/07/31/1800/000003.log: {"Number":4};`,
	})
}

// TestDefaultRotation: by default, a blob gets 45,000 blocks.
func TestDefaultRotation(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: sends 45,001 blocks")
	}
	s := &endless{Service: storagetest.New(nil)}
	o := &bloblog.Options[event]{FlushRecords: 1}
	options.SetNow(&o.Common, func() time.Time { return evening })
	w := newWriter(t, openLog(t, s, o), "orders")
	for n := range 45_000 {
		appendAll(t, w, n)
	}
	noError(t, w.Flush(t.Context()))
	testkit.Expect(t, "blobs of 45,000 blocks", len(s.names), 1)
	appendAll(t, w, 0)
	noError(t, w.Flush(t.Context()))
	testkit.Expect(t, "blocks", s.blocks, 45_001)
	testkit.Expect(t, "blobs", len(s.names), 2)
}

// TestNoContainer: writers and readers tell that the container is missing, and a writer continues when it exists.
func TestNoContainer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, nil)
	missing := bloblog.New[event](&host.Host{Account: s}, "missing", nil)
	w := newWriter(t, missing, "orders")
	appendAll(t, w, 1)
	if err := w.Flush(ctx); !errors.Is(err, table.ErrNotCreated) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("Flush: got error %v; want ErrNotCreated alone", err)
	}
	for _, err := range missing.Between(ctx, "orders", time.Time{}, time.Time{}) {
		if !errors.Is(err, table.ErrNotCreated) {
			t.Errorf("Between: got error %v; want ErrNotCreated", err)
		}
	}
	noError(t, missing.Ensure(ctx))
	noError(t, missing.Ensure(ctx))
	noError(t, w.Close(ctx))
	testkit.Expect(t, "records", numbers(t, missing.Between(ctx, "orders", time.Time{}, time.Time{})), []int{1})
	testkit.Expect(t, "records of the other log", numbers(t, between(l)), []int(nil))
}
