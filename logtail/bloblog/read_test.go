package bloblog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// foreignBlob creates a blob as another program.
func foreignBlob(t testing.TB, s account.Transport, name, text string, metadata map[string]*string) {
	t.Helper()
	c := containerOf(t, s)
	_, err := c.NewAppendBlobClient(name).Create(context.Background(), &appendblob.CreateOptions{Metadata: metadata})
	noError(t, err)
	for part := range strings.SplitSeq(text, "|") { // blocks
		if part != "" {
			foreignAppend(t, c, name, part)
		}
	}
}

// TestForeignLines: lines of other programs end with \r\n, may be empty, and a torn last one is left out.
func TestForeignLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		"":   nil,
		"\n": nil,
		"{\"Number\":1}\r\n\r\n\n{\"Number\":2}\n":   {1, 2},
		"{\"Number\":1}\n{\"Number\":2}":             {1},
		"{\"Number\":1}|\n{\"Num|ber\":2}\n{\"Numbe": {1, 2},
		"{\"Number\":1":                                nil,
		" {\"Number\" : 1 } \n{}\n":                    {1, 0},
		"{\"Number\":1,\"Text\":\"\u2028\\r\\n\"}\r\n": {1},
	} {
		l, s := newLog(t, nil)
		foreignBlob(t, s, blobName(1), text, nil)
		testkit.Expect(t, fmt.Sprintf("%q", text), numbers(t, between(l)), want)
	}
}

// TestLongLines: a line that is longer than the reader's buffer is read whole, and the lines behind it, too.
func TestLongLines(t *testing.T) {
	t.Parallel()
	for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 128 << 10, 1 << 20} {
		frame := len(`{"Number":1,"Text":""}` + "\n")
		l, s := newLog(t, nil)
		text := fmt.Sprintf(`{"Number":1,"Text":%q}`+"\n"+`{"Number":2}`+"\n", strings.Repeat("x", size-frame))
		foreignBlob(t, s, blobName(1), text, nil)
		testkit.Expect(t, fmt.Sprint("a line of ", size, " bytes"), numbers(t, between(l)), []int{1, 2})
	}
}

// TestForeignBlobs: blobs of other sources and other programs are not read.
func TestForeignBlobs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, nil)
	for i, source := range []string{"orders", "orders/2014", "orders/2014/07", "orders/2014/07/31/1800", "orders2014", "order", "Orders", "orders/europe"} {
		w := newWriter(t, l, source)
		appendAll(t, w, i)
		noError(t, w.Close(ctx))
		testkit.Expect(t, "records of "+source, numbers(t, l.Between(ctx, source, time.Time{}, evening.Add(time.Hour))), []int{i})
	}
	for _, name := range []string{"orders/readme.txt", "orders/2014/07/31/1800/1.log", "orders/2014/07/31/1830/000001.log", "orders/2014/07/31/1800/000001.log.bak"} {
		foreignBlob(t, s, name, "no JSON\n", nil)
	}
	foreignBlob(t, s, blobName(7), "{\"Number\":70}\n", map[string]*string{"StartTime": to.Ptr("?")})
	for _, to := range []time.Duration{time.Minute, time.Hour, 48 * time.Hour, 1000 * time.Hour, 100_000 * time.Hour} {
		testkit.Expect(t, fmt.Sprint("records up to ", to), numbers(t, l.Between(ctx, "orders", evening, evening.Add(to))), []int{0, 70})
	}
	// A new writer's number is above all others of the hour.
	w := newWriter(t, l, "orders")
	appendAll(t, w, 8)
	noError(t, w.Close(ctx))
	testkit.Expect(t, "records", numbers(t, between(l)), []int{0, 70, 8})
}

// TestServiceLogs: the service's own logs in container $logs have blobs of this form, with times in whole seconds.
func TestServiceLogs(t *testing.T) {
	t.Parallel()
	type entry struct {
		time      time.Time
		operation string
	}
	_, s := newLog(t, nil)
	foreignBlob(t, s, "table/2014/07/31/1800/000000.log", "1.0;2014-07-31T18:59:58.1000000Z;QueryEntities;Success\n", nil) // numbers start with 0
	foreignBlob(t, s, "table/2014/07/31/1800/000001.log", "1.0;2014-07-31T18:59:59.5000000Z;InsertEntity;Success\n",
		map[string]*string{"LogType": to.Ptr("write"), "StartTime": to.Ptr("2014-07-31T18:59:59Z"), "EndTime": to.Ptr("2014-07-31T18:59:59Z"), "LogVersion": to.Ptr("1.0")})
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	logs := bloblog.New(&host.Host{Account: acc}, "logs", &bloblog.Options[entry]{
		Time: func(e *entry) time.Time { return e.time },
		Decode: func(line []byte, e *entry) (err error) {
			fields := strings.Split(string(line), ";")
			e.operation = fields[2]
			e.time, err = time.Parse(time.RFC3339Nano, fields[1])
			return err
		},
	})
	noError(t, err)
	var got []string
	last := time.Date(2014, 7, 31, 18, 59, 59, 200_000_000, time.UTC)
	for r, err := range logs.Between(context.Background(), "table", last.Add(-2*time.Second), last.Add(time.Second)) {
		noError(t, err)
		got = append(got, r.Value.operation)
	}
	testkit.Expect(t, "operations", got, []string{"QueryEntities", "InsertEntity"})
	got = nil
	for r, err := range logs.Between(context.Background(), "table", last, last.Add(time.Second)) {
		noError(t, err)
		got = append(got, r.Value.operation)
	}
	testkit.Expect(t, "operations after the last whole second", got, []string{"InsertEntity"})
}

// TestBadLines: a line that cannot be read ends the read with its place, unless Skip leaves it out.
func TestBadLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5<<20)
	text := "{\"Number\":1}\n\nsecret\n{\"Number\":2}\n" + long + "|\n{\"Number\":3}\n"
	l, s := newLog(t, nil)
	foreignBlob(t, s, blobName(1), text, nil)
	var got []int
	for r, err := range between(l) {
		if err == nil {
			got = append(got, r.Value.Number)
			continue
		}
		var le *bloblog.LineError
		if !errors.As(err, &le) || le.Blob != blobName(1) || le.Line != 3 || le.Offset != 14 || strings.Contains(err.Error(), "secret") {
			t.Errorf("got error %v; want a *LineError of line 3 without its data", err)
		}
	}
	testkit.Expect(t, "records before the error", got, []int{1})

	var skipped []string
	l = openLog(t, s, &bloblog.Options[event]{Skip: func(e *bloblog.LineError) bool {
		skipped = append(skipped, e.Error())
		return true
	}})
	testkit.Expect(t, "records", numbers(t, between(l)), []int{1, 2, 3})
	testkit.Expect(t, "skipped", strings.Join(skipped, "\n"), `bloblog: line 3 of blob "orders/2014/07/31/1800/000001.log", at byte 14, cannot be decoded
bloblog: line 5 of blob "orders/2014/07/31/1800/000001.log", at byte 34, is too long: 5242881 bytes, with its line break; at most 4194304 are allowed`)
}

// TestBadArguments: a source or a time that no name contains is refused before any request, and an empty range reads nothing.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, nil)
	for name, list := range map[string]func(func(*bloblog.Record[event], error) bool){
		"source": l.Between(ctx, "a/../b", evening, evening.Add(1)),
		"from":   l.Between(ctx, "orders", time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), evening),
		"to":     l.Between(ctx, "orders", evening, evening.AddDate(8000, 0, 0)),
	} {
		n := 0
		for _, err := range list {
			n++
			var ve *table.ValueError
			if !errors.As(err, &ve) || ve.Field != name {
				t.Errorf("%s: got error %v; want a *table.ValueError", name, err)
			}
		}
		testkit.Expect(t, "errors of "+name, n, 1)
	}
	testkit.Expect(t, "records of an empty range", numbers(t, l.Between(ctx, "orders", evening, evening)), []int(nil))
	testkit.Expect(t, "requests", s.Count().String(), "none")
	var ve *table.ValueError
	if _, err := l.Writer("a//b"); !errors.As(err, &ve) {
		t.Errorf("Writer: got error %v; want a *table.ValueError", err)
	}
	last := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	testkit.Expect(t, "records up to the end of time", numbers(t, l.Between(ctx, "orders", time.Time{}, last)), []int(nil))
}

// TestBrokenResponses: a response that breaks off is continued, also if the blob grows meanwhile, up to the length seen first.
func TestBrokenResponses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		l, s := newLog(t, &bloblog.Options[event]{FlushRecords: -1, FlushBytes: -1})
		w := newWriter(t, l, "orders")
		for i := range 20_000 {
			appendAll(t, w, i)
		}
		noError(t, w.Flush(ctx))
		s.Count()
		breaks := 0
		s.SetFaults(func(r storagetest.Request) storagetest.Fault {
			if r.Kind != kinds.BlobGet || breaks == 6 {
				return storagetest.Fault{}
			}
			breaks++
			return []storagetest.Fault{storagetest.Cut(0), storagetest.Cut(20_001), storagetest.LostResponse(), storagetest.Refuse(503, "ServerBusy"), storagetest.Cut(70_000), storagetest.Truncate(30_000)}[breaks-1]
		})
		n := 0
		for r, err := range between(l) {
			noError(t, err)
			if r.Value.Number != n {
				t.Fatalf("got record %d; want %d", r.Value.Number, n)
			}
			if n++; n%1000 == 0 { // the ETag of the blob changes
				appendAll(t, w, 100_000)
				noError(t, w.Flush(ctx))
			}
		}
		testkit.Expect(t, "records", n, 20_000)
		testkit.Expect(t, "broken responses", breaks, 6)
	})
}

// TestNoLength: a response without a length is no empty blob, neither for a reader nor for a writer that looks for its block.
func TestNoLength(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &lengthless{Service: storagetest.New(nil), without: http.MethodHead}
	o := &bloblog.Options[event]{}
	o.Retry.Attempts = 1
	l := openLog(t, s, o)
	w := newWriter(t, l, "orders")
	appendAll(t, w, 1)
	noError(t, w.Flush(ctx))
	s.SetFaults(storagetest.OfKind(kinds.BlobAppend, storagetest.Once(storagetest.LostResponse())))
	appendAll(t, w, 2)
	if err := w.Flush(ctx); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("Flush: got error %v; want ErrUnknownOutcome", err)
	}
	s.without = http.MethodGet
	noError(t, w.Close(ctx))
	var failed error
	for _, failed = range l.Between(ctx, "orders", time.Time{}, time.Time{}) {
	}
	if failed == nil || !strings.Contains(failed.Error(), "Content-Length") {
		t.Errorf("Between: got error %v; want one of the length", failed)
	}
	s.without = ""
	testkit.Expect(t, "records", numbers(t, l.Between(ctx, "orders", time.Time{}, time.Time{})), []int{1, 2})
}

// lengthless is a service whose responses to a method have no length if they are about a blob.
type lengthless struct {
	*storagetest.Service
	without string
}

func (s *lengthless) Do(r *http.Request) (*http.Response, error) {
	resp, err := s.Service.Do(r)
	if err == nil && r.Method == s.without && r.URL.Query().Get("comp") == "" {
		resp.Header.Del("Content-Length")
	}
	return resp, err
}

// TestSilentResponse: a request without a response is given up after Common.ReadTimeout. A body that stops is continued then.
func TestSilentResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stalling{Service: storagetest.New(nil)}
		l := openLog(t, s, nil)
		w := newWriter(t, l, "orders")
		appendAll(t, w, 1, 2)
		noError(t, w.Close(context.Background()))
		list := l.Between(context.Background(), "orders", time.Time{}, time.Time{})
		began := time.Now()
		s.stall = true
		testkit.Expect(t, "records", numbers(t, list), []int{1, 2})
		if d := time.Since(began); d < time.Minute || d > 2*time.Minute {
			t.Errorf("got the records after %v; want them after 1 minute", d)
		}
		s.SetFaults(storagetest.OfKind(kinds.BlobGet, storagetest.Hang()))
		began = time.Now()
		for _, err := range list {
			if !errors.Is(err, table.ErrUnreachable) {
				t.Errorf("got error %v; want ErrUnreachable", err)
			}
		}
		testkit.Expect(t, "time until the error", time.Since(began), time.Minute)
	})
}

// stalling is a service that sends 5 bytes of the content of a blob, once, and then nothing.
type stalling struct {
	*storagetest.Service
	stall bool
}

func (s *stalling) Do(r *http.Request) (*http.Response, error) {
	resp, err := s.Service.Do(r)
	if err == nil && s.stall && r.Method == http.MethodGet && r.URL.Query().Get("comp") == "" {
		s.stall = false
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(resp.Body, 5), readerFunc(func([]byte) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		})), resp.Body}
	}
	return resp, err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestDeletedWhileRead: a blob that is deleted between the list and its turn, or while it is read, ends there.
func TestDeletedWhileRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := &testkit.Hooked{Service: storagetest.New(nil)}
		l := openLog(t, s, &bloblog.Options[event]{Time: timeOfEvent, FlushRecords: -1, FlushBytes: -1})
		w := newWriter(t, l, "orders")
		for i := range 30_000 {
			noError(t, w.Append(ctx, &event{Number: i, Time: evening.Add(time.Duration(i/10_000) * time.Hour)}))
		}
		noError(t, w.Close(ctx))
		c := containerOf(t, s.Service)
		gets := 0
		s.BeforeRequest = func(r *http.Request) {
			if r.Method == http.MethodGet && r.URL.Query().Get("comp") == "" {
				if gets++; gets == 2 { // for the second blob
					for _, b := range s.StoredBlobs("logs")[:2] {
						_, err := c.NewBlobClient(b.Name).Delete(ctx, nil)
						noError(t, err)
					}
				}
			}
		}
		got := numbers(t, between(l))
		if len(got) != 20_000 || got[10_000] != 20_000 {
			t.Errorf("got %d records; want those of the first and the third blob", len(got))
		}
	})
}

// TestLiveReader: while a writer appends, each read yields a beginning of what is appended, in its order.
func TestLiveReader(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, _ := newLog(t, &bloblog.Options[event]{FlushRecords: 3, BlobBlocks: 20})
	w := newWriter(t, l, "orders")
	const records = 300
	flushed := make(chan int, records)
	go func() {
		defer close(flushed)
		for i := range records {
			if err := w.Append(ctx, &event{Number: i}); err != nil {
				t.Errorf("Append: got error %v; want none", err)
			}
			if i%10 == 9 {
				if err := w.Flush(ctx); err != nil {
					t.Errorf("Flush: got error %v; want none", err)
				}
				flushed <- i + 1
			}
		}
	}()
	for least := range flushed {
		got := numbers(t, between(l))
		if len(got) < least {
			t.Fatalf("got %d records; want the %d that are flushed", len(got), least)
		}
		for i, n := range got {
			if n != i {
				t.Fatalf("got record %d at %d; want their order", n, i)
			}
		}
	}
}

// TestStop: a read that is left sends no more requests.
func TestStop(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	l, s := newLog(t, &bloblog.Options[event]{BlobBlocks: 1})
	w := newWriter(t, l, "orders")
	for i := range 3 {
		appendAll(t, w, i)
		noError(t, w.Flush(ctx))
	}
	s.Count()
	for range between(l) {
		break
	}
	testkit.Expect(t, "requests", s.Count().String(), "1 blob-get, 1 blob-list")
	for range l.Blobs(ctx, "orders", evening, evening.Add(1)) {
		break
	}
	cancel()
	for _, err := range l.Between(ctx, "orders", evening, evening.Add(1)) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v; want the end of the context", err)
		}
	}
}
