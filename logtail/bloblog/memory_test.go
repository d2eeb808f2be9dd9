package bloblog_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/storagetest"
)

// endless is a service that stores nothing: it counts the bytes of blocks, and returns as many bytes of equal lines.
type endless struct {
	*storagetest.Service
	line   string
	bytes  int64
	blocks int
	names  []string // of the blobs that got blocks, one after another
}

func (e *endless) Do(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	body, status, length := io.Reader(strings.NewReader("")), http.StatusCreated, int64(0)
	switch {
	case query.Get("comp") == "appendblock":
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return nil, err
		}
		e.bytes += n
		e.blocks++
		if len(e.names) == 0 || e.names[len(e.names)-1] != r.URL.Path {
			e.names = append(e.names, r.URL.Path)
		}
	case query.Get("comp") == "list":
		text := `<?xml version="1.0"?><EnumerationResults><Blobs><Blob><Name>orders/2014/07/31/1800/000001.log</Name><Properties></Properties></Blob></Blobs></EnumerationResults>`
		body, status, length = strings.NewReader(text), http.StatusOK, int64(len(text))
	case r.Method == http.MethodGet:
		body, status, length = io.LimitReader(&repeated{text: []byte(e.line)}, e.bytes), http.StatusOK, e.bytes
	}
	h := http.Header{"Etag": {`"1"`}, "X-Ms-Request-Id": {"1"}, "Content-Type": {"application/xml"}, "Content-Length": {fmt.Sprint(length)}}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(body), ContentLength: length, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// repeated is a text without an end.
type repeated struct {
	text []byte
	at   int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		copied := copy(p[n:], r.text[r.at:])
		n += copied
		r.at = (r.at + copied) % len(r.text)
	}
	return n, nil
}

// TestMemory: 100 MiB are written and read with little memory. Run it with -v to see how much.
func TestMemory(t *testing.T) { // not parallel: it measures the heap
	ctx := context.Background()
	total := testkit.Fewer(100 << 20)
	text := strings.Repeat("x", 1000)
	line := fmt.Sprintf("{\"Number\":1,\"Text\":%q}\n", text)
	s := &endless{Service: storagetest.New(nil), line: line}
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	o := &bloblog.Options[event]{}
	options.SetNow(&o.Common, func() time.Time { return evening })
	l := bloblog.New(&host.Host{Account: acc}, "logs", o)
	w := newWriter(t, l, "orders")

	before, most := liveHeap(), 0.0
	e := &event{Number: 1, Text: text}
	records := total / len(line)
	for i := range records {
		noError(t, w.Append(ctx, e))
		if i%(records/20) == 0 {
			most = max(most, liveHeap()-before)
		}
	}
	noError(t, w.Flush(ctx))
	testkit.Expect(t, "bytes", s.bytes, int64(records*len(line)))
	t.Logf("wrote %d records, %d MiB, in %d blocks, with at most %.1f MiB of live heap", records, s.bytes>>20, s.blocks, most)
	written := most

	before, most = liveHeap(), 0
	n := 0
	for r, err := range between(l) {
		noError(t, err)
		if n++; n%(records/20) == 0 {
			most = max(most, liveHeap()-before)
		}
		if r.Value.Text != text {
			t.Fatalf("got record %d with another text", n)
		}
	}
	testkit.Expect(t, "records", n, records)
	t.Logf("read them with at most %.1f MiB", most)
	if limit := 24.0; written > limit || most > limit {
		t.Errorf("got %.1f MiB written and %.1f MiB read; want at most %.0f", written, most, limit)
	}
}

// TestMemoryAfterFlush: a stored block takes no memory.
func TestMemoryAfterFlush(t *testing.T) { // not parallel: it measures the heap
	ctx := context.Background()
	l := openLog(t, &endless{Service: storagetest.New(nil)}, nil)
	w := newWriter(t, l, "orders")
	before := liveHeap()
	noError(t, w.Append(ctx, &event{Text: strings.Repeat("x", 3<<20)}))
	noError(t, w.Flush(ctx))
	if more := liveHeap() - before; more > 1 {
		t.Errorf("got %.1f MiB after a flush of 3 MiB; want less than 1 MiB", more)
	}
	runtime.KeepAlive(w)
}

// liveHeap returns the size of the live heap in MiB.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // empties pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkAppend appends records of 1 KiB and flushes them by the defaults.
func BenchmarkAppend(b *testing.B) {
	ctx := context.Background()
	e := &event{Number: 1, Text: strings.Repeat("x", 1000)}
	s := &endless{Service: storagetest.New(nil)}
	acc, err := account.FromTransport(s, nil)
	noError(b, err)
	l := bloblog.New[event](&host.Host{Account: acc}, "logs", nil)
	w := newWriter(b, l, "orders")
	b.SetBytes(1 << 10)
	b.ReportAllocs()
	for b.Loop() {
		noError(b, w.Append(ctx, e))
	}
	noError(b, w.Close(ctx))
	b.ReportMetric(float64(b.N)/float64(s.blocks), "records/block")
}
