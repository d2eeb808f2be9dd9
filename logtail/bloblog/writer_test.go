package bloblog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestBounds: Append flushes when a bound of the buffer is reached.
func TestBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    bloblog.Options[event]
		want string // the numbers of the appends that flush
	}{
		"records":           {bloblog.Options[event]{FlushRecords: 3}, "3 6"},
		"bytes":             {bloblog.Options[event]{FlushBytes: 50}, "4 8"}, // 13 bytes each
		"time":              {bloblog.Options[event]{FlushInterval: 2 * time.Second}, "3 6"},
		"each":              {bloblog.Options[event]{FlushRecords: 1}, "1 2 3 4 5 6 7 8"},
		"none":              {bloblog.Options[event]{FlushRecords: -1, FlushBytes: -1, FlushInterval: -1}, ""},
		"the first of them": {bloblog.Options[event]{FlushRecords: 5, FlushBytes: 30}, "3 6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := c.o
				options.SetNow(&o.Common, time.Now)
				if o.FlushInterval == 0 {
					o.FlushInterval = -1
				}
				l, s := newLog(t, &o)
				w := newWriter(t, l, "orders")
				var flushes []string
				for i := 1; i <= 8; i++ {
					appendAll(t, w, i)
					if s.Count()[kinds.BlobAppend] > 0 {
						flushes = append(flushes, fmt.Sprint(i))
					}
					time.Sleep(time.Second)
				}
				testkit.Expect(t, "flushes", strings.Join(flushes, " "), c.want)
			})
		})
	}
}

// TestRun: Run flushes when the interval has passed, also after a flush that failed, and ends with its context and with Close.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		var log bytes.Buffer
		o := &bloblog.Options[event]{FlushInterval: 10 * time.Second}
		options.SetNow(&o.Common, time.Now)
		o.Retry.Attempts, o.Logger = 1, slog.New(slog.NewTextHandler(&log, nil))
		l, s := newLog(t, o)
		w := newWriter(t, l, "orders")
		ended := make(chan bool)
		go func() { w.Run(ctx); close(ended) }()
		time.Sleep(time.Hour)
		appendAll(t, w, 1)
		time.Sleep(9 * time.Second)
		appendAll(t, w, 2)
		testkit.Expect(t, "requests before", s.Count().String(), "none")
		time.Sleep(time.Second + time.Millisecond)
		testkit.Expect(t, "requests after the interval", s.Count().String(), "1 blob-append, 1 blob-create")
		s.SetFaults(storagetest.OfKind(kinds.BlobAppend, storagetest.Once(storagetest.LostRequest())))
		appendAll(t, w, 3)
		time.Sleep(12 * time.Second)
		testkit.Expect(t, "records after a flush that failed", len(numbers(t, l.Between(ctx, "orders", time.Time{}, time.Time{}))), 2)
		time.Sleep(10 * time.Second)
		testkit.Expect(t, "records", len(numbers(t, l.Between(ctx, "orders", time.Time{}, time.Time{}))), 3)
		cancel()
		<-ended
		if !strings.Contains(log.String(), "a flush failed") || !strings.Contains(log.String(), "source=orders") {
			t.Errorf("log: got %q; want the flush that failed", log.String())
		}
		noError(t, w.Close(context.Background()))

		other := newWriter(t, l, "orders")
		ended = make(chan bool)
		go func() { other.Run(context.Background()); close(ended) }()
		time.Sleep(time.Second)
		noError(t, other.Close(context.Background()))
		<-ended
	})
}

// TestFullBuffer: appends go on while a flush is under way, until the buffer is full. Then they wait, and nothing is dropped.
func TestFullBuffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := &testkit.Hooked{Service: storagetest.New(nil)}
		o := &bloblog.Options[event]{FlushRecords: 4, Buffer: 8 * 13} // 8 records
		l := openLog(t, s, o)
		w := newWriter(t, l, "orders")
		s.BeforeRequest = func(*http.Request) { time.Sleep(time.Second) }
		var writers sync.WaitGroup
		waits := make([]time.Duration, 10)
		for i := range waits { // one each 10 ms
			writers.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				began := time.Now()
				if err := w.Append(ctx, &event{Number: i}); err != nil {
					t.Errorf("Append: got error %v; want none", err)
				}
				waits[i] = time.Since(began)
			})
		}
		writers.Wait()
		for i, waited := range waits {
			// The fourth flushes in two requests. The next four fill the buffer while it does, and the others wait for room.
			if long := waited > 500*time.Millisecond; long != (i == 3 || i > 7) {
				t.Errorf("append %d: got %v; want a long wait for 3, 8 and 9 only", i, waited)
			}
		}
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		for i := range 20 {
			if err := w.Append(short, &event{Number: 10 + i}); err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Append with a full buffer: got error %v; want the end of the context", err)
				}
				break
			}
			if i > 8 {
				t.Fatalf("Append: got room for %d records; want at most 8", i)
			}
		}
		s.BeforeRequest = nil
		noError(t, w.Close(ctx))
		seen := map[int]int{}
		for _, n := range numbers(t, l.Between(ctx, "orders", time.Time{}, time.Time{})) {
			seen[n]++
		}
		for i := range 10 {
			testkit.Expect(t, fmt.Sprint("record ", i), seen[i], 1)
		}
	})
}

// TestOutage: while the service cannot be reached, Append does not fail before the buffer is full, and nothing is lost.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o := &bloblog.Options[event]{FlushRecords: 2, Buffer: 100 * 13}
		options.SetNow(&o.Common, time.Now)
		l, s := newLog(t, o)
		w := newWriter(t, l, "orders")
		s.SetFaults(storagetest.OfKind(kinds.BlobCreate, storagetest.NotSent()))
		for i := 1; i <= 100; i++ {
			appendAll(t, w, 0)
		}
		if n := s.Count().Total(); n > 60 {
			t.Errorf("got %d requests; want few, since a flush that failed is not repeated at once", n)
		}
		if err := w.Append(ctx, &event{}); !errors.Is(err, table.ErrUnreachable) {
			t.Errorf("Append with a full buffer: got error %v; want ErrUnreachable", err)
		}
		if err := w.Close(ctx); !errors.Is(err, table.ErrUnreachable) {
			t.Errorf("Close: got error %v; want ErrUnreachable", err)
		}
		if err := w.Append(ctx, &event{}); !errors.Is(err, bloblog.ErrClosed) {
			t.Errorf("Append after Close: got error %v; want ErrClosed", err)
		}
		s.SetFaults(nil)
		s.Count()
		noError(t, w.Close(ctx))
		testkit.Expect(t, "requests of all 100 records", s.Count().String(), "1 blob-append, 1 blob-create, 1 blob-set-metadata")
		testkit.Expect(t, "records", len(numbers(t, l.Between(ctx, "orders", time.Time{}, time.Time{}))), 100)
	})
}

// TestWrite: each Write is one or more lines.
func TestWrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, nil)
	w := newWriter(t, l, "orders")
	for _, text := range []string{"{\"Number\":1}\n", `{"Number":2}`, "{\"Number\":3}\n{\"Number\":4}\r\n\n\r\n{\"Number\":5}", "", "\n"} {
		n, err := w.Write([]byte(text))
		noError(t, err)
		testkit.Expect(t, "n", n, len(text))
	}
	noError(t, w.Close(ctx))
	testkit.Expect(t, "blobs", stored(s), []string{"orders/2014/07/31/1800/000001.log: {\"Number\":1};{\"Number\":2};{\"Number\":3};{\"Number\":4}\r;{\"Number\":5};"})
	testkit.Expect(t, "records", numbers(t, between(l)), []int{1, 2, 3, 4, 5})
	if n, err := w.Write([]byte("x")); n != 0 || !errors.Is(err, bloblog.ErrClosed) {
		t.Errorf("Write after Close: got %d, error %v; want ErrClosed", n, err)
	}
}

// TestWriteTimes: with Options.Time, Write puts each line into its hour, and refuses all lines if one has no time.
func TestWriteTimes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, &bloblog.Options[event]{Time: timeOfEvent})
	w := newWriter(t, l, "orders")
	_, err := w.Write([]byte("{\"Number\":1,\"Time\":\"2014-07-31T18:00:00Z\"}\n\n{\"Number\":2,\"Time\":\"2014-07-31T17:59:59Z\"}\r\n"))
	noError(t, err)
	for text, field := range map[string]string{
		"{\"Number\":3,\"Time\":\"2014-07-31T18:00:00Z\"}\n{":                "line 2",
		"{\"Number\":3,\"Time\":\"2014-07-31T18:00:00Z\"}\n{\"Number\":4}\n": "Options.Time",
	} {
		n, err := w.Write([]byte(text))
		var ve *table.ValueError
		if n != 0 || !errors.As(err, &ve) || ve.Field != field {
			t.Errorf("Write of %q: got %d, error %v; want a *table.ValueError of %s", text, n, err, field)
		}
	}
	noError(t, w.Close(ctx))
	testkit.Expect(t, "records", numbers(t, between(l)), []int{2, 1})
	testkit.Expect(t, "blobs", len(s.StoredBlobs("logs")), 2)
}

// TestBadRecords: a record that would not be read as it was appended is refused before any request.
func TestBadRecords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	text := func(e *event) ([]byte, error) {
		if e.Text == "fails" {
			return nil, errEncode
		}
		return []byte(e.Text), nil
	}
	l, s := newLog(t, &bloblog.Options[event]{Encode: text, Time: timeOfEvent})
	w := newWriter(t, l, "orders")
	for name, c := range map[string]struct {
		v    *event
		want string
	}{
		"nil":                        {nil, "value is nil"},
		"a line break":               {&event{Text: "a\nb", Time: evening}, "value is encoded with a line break; a record is one line"},
		"a line break at the end":    {&event{Text: "a\n", Time: evening}, "value is encoded with a line break; a record is one line"},
		"a carriage return":          {&event{Text: "a\r", Time: evening}, "value is encoded with a carriage return at its end, which readers remove"},
		"nothing":                    {&event{Time: evening}, "value is encoded as an empty line, which readers ignore"},
		"more than a block":          {&event{Text: strings.Repeat("x", 4<<20), Time: evening}, "value has 4194305 bytes, with its line break; at most 4194304 are allowed"},
		"no time":                    {&event{Text: "x"}, "Options.Time is zero for a record"},
		"the year 10000":             {&event{Text: "x", Time: evening.AddDate(8000, 0, 0)}, "Options.Time is in the year 10014; the names of blobs contain the years 1 to 9999"},
		"the year 0":                 {&event{Text: "x", Time: time.Date(0, 12, 31, 23, 0, 0, 0, time.UTC)}, "Options.Time is in the year 0; the names of blobs contain the years 1 to 9999"},
		"an error of Options.Encode": {&event{Text: "fails", Time: evening}, "the record cannot be encoded: " + errEncode.Error()},
	} {
		err := w.Append(ctx, c.v)
		if err == nil {
			t.Errorf("%s: got no error; want one", name)
			continue
		}
		testkit.Expect(t, name, strings.TrimPrefix(err.Error(), `bloblog: Append "orders": `), c.want)
		var ve *table.ValueError
		var le *table.LimitError
		if !errors.As(err, &ve) && !errors.As(err, &le) && !errors.Is(err, errEncode) {
			t.Errorf("%s: got error %T; want a typed one", name, err)
		}
	}
	noError(t, w.Append(ctx, &event{Text: strings.Repeat("x", 4<<20-1), Time: evening}))
	noError(t, w.Append(ctx, &event{Text: strings.Repeat("y", 4<<20-1), Time: evening}))
	noError(t, w.Close(ctx))
	testkit.Expect(t, "requests", s.Count().String(), "2 blob-append, 1 blob-create, 1 blob-set-metadata")

	n, err := newWriter(t, l, "raw").Write(bytes.Repeat([]byte("x"), 4<<20))
	var limit *table.LimitError
	if n != 0 || !errors.As(err, &limit) || limit.Field != "line 1" {
		t.Errorf("Write of a long line: got %d, error %v; want a *table.LimitError", n, err)
	}
}

// TestBadOptions: options out of range are refused.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	h := &host.Host{Account: storagetest.New(nil)}
	for want, o := range map[string]bloblog.Options[event]{
		"Options.Buffer":     {Buffer: -1},
		"Options.OpenHours":  {OpenHours: -1},
		"Options.BlobBlocks": {BlobBlocks: -1},
	} {
		err := bloblog.New(h, "logs", &o).Err()
		var ve *table.ValueError
		if !errors.As(err, &ve) || ve.Field != want {
			t.Errorf("New: got error %v; want a *table.ValueError of %s", err, want)
		}
	}
	var le *table.LimitError
	if err := bloblog.New(h, "logs", &bloblog.Options[event]{BlobBlocks: 50_001}).Err(); !errors.As(err, &le) {
		t.Errorf("New: got error %v; want a *table.LimitError", err)
	}
	var ve *table.ValueError
	if err := bloblog.New[event](nil, "logs", nil).Err(); !errors.As(err, &ve) || ve.Field != "s" {
		t.Errorf("New: got error %v; want a *table.ValueError of the store", err)
	}
	o := &bloblog.Options[event]{}
	options.SetNewID(&o.Common, func() string { return "?" })
	l, _ := newLog(t, o)
	if _, err := l.Writer("orders"); !errors.As(err, &ve) || ve.Field != "Options.NewID" {
		t.Errorf("Writer: got error %v; want a *table.ValueError of Options.NewID", err)
	}
	o = &bloblog.Options[event]{}
	options.SetNow(&o.Common, func() time.Time { return evening.AddDate(8000, 0, 0) })
	l, _ = newLog(t, o)
	if err := newWriter(t, l, "orders").Append(context.Background(), &event{}); !errors.As(err, &ve) || ve.Field != "Options.Now" {
		t.Errorf("Append: got error %v; want a *table.ValueError of Options.Now", err)
	}
}

// TestFaultyLog: a log that cannot be used says why, from each method, and so does its store.
func TestFaultyLog(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	service := storagetest.New(nil)
	used := aztablekit.Open(service, "shop", nil)
	noError(t, used.Ensure(ctx))
	for want, s := range map[string]*aztablekit.Store{
		"Options.Buffer is negative":  aztablekit.Open(service, "shop", nil),
		"s is nil":                    nil,
		"store My Shop":               aztablekit.Open(service, "My Shop", nil),
		"the declaration is too late": used,
	} {
		o := &bloblog.Options[event]{}
		if want == "Options.Buffer is negative" {
			o.Buffer = -1
		}
		l := bloblog.New(s, "logs", o)
		_, opened := l.Writer("orders")
		_, listed := table.Collect(l.Blobs(ctx, "orders", time.Time{}, time.Time{}))
		_, read := table.Collect(l.Between(ctx, "orders", time.Time{}, time.Time{}))
		all := []error{l.Err(), l.Ensure(ctx), opened, listed, read}
		if s != used {
			all = append(all, s.Ensure(ctx))
		}
		for i, err := range all {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("method %d: got %v; want %q", i, err, want)
			}
		}
	}
	if n := service.Count().Total(); n != 0 {
		t.Errorf("got %d requests; want none", n)
	}
}

// TestConcurrentAppends: many goroutines append, flush and write to one writer, and each record is stored once.
func TestConcurrentAppends(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, &bloblog.Options[event]{FlushRecords: 7, Buffer: 500, BlobBlocks: 3})
	s.SetFaults(func(r storagetest.Request) storagetest.Fault {
		if r.Kind == kinds.BlobAppend && r.Number%5 == 0 {
			return storagetest.Twice()
		}
		return storagetest.Fault{}
	})
	w := newWriter(t, l, "orders")
	const goroutines, each = 8, 50
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := range each {
				number := g*each + i
				var err error
				switch i % 10 {
				case 3:
					_, err = fmt.Fprintf(w, `{"Number":%d}`, number)
				case 7:
					if err = w.Append(ctx, &event{Number: number}); err == nil {
						err = w.Flush(ctx)
					}
				default:
					err = w.Append(ctx, &event{Number: number})
				}
				if err != nil {
					t.Errorf("record %d: got error %v; want none", number, err)
				}
			}
		})
	}
	running.Wait()
	noError(t, w.Close(ctx))
	seen := map[int]int{}
	last := map[int]int{}
	for _, n := range numbers(t, between(l)) {
		seen[n]++
		if g := n / each; n < last[g] {
			t.Errorf("got record %d after %d; want the order of the goroutine", n, last[g])
		}
		last[n/each] = n
	}
	testkit.Expect(t, "records", len(seen), goroutines*each)
	for n, times := range seen {
		if times != 1 {
			t.Errorf("record %d: got it %d times; want once", n, times)
		}
	}
}

var errEncode = errors.New("no line")
